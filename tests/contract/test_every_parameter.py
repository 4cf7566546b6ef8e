"""Every constructor parameter: keyword-only, documented, validated, and named in errors."""

import inspect
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from contract.subjects import EVERY_ESTIMATOR, has, is_fitted, quick, table, target, task

# One test per estimator covers all its parameters: each failure names the parameter.
every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)

# Positional parameters, as in scikit-learn's classes of the same or similar names.
POSITIONAL = {"estimator", "estimators", "final_estimator", "n_estimators"}


def parameters_of(estimator: type) -> list[str]:
    return list(inspect.signature(estimator).parameters)


def defaults_of(estimator: type) -> dict[str, Any]:
    """Parameters that have a default."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(estimator).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


# Invalid for any parameter: wrong types, NaN, and numbers out of all ranges.
NEVER_RIGHT = [
    "no such choice",
    b"bytes",
    [],
    {},
    object(),
    1j,
    np.nan,
    np.inf,
    -np.inf,
    -1.5,
    Fraction(10**400),
    np.array([1, 2]),
]


def documented(estimator: type, title: str) -> dict[str, str]:
    """Entries of a section of the docstring: names, and the text after the colon."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=\n\w[^\n]*\n-+\n|\Z)",
        inspect.getdoc(estimator) or "",
        re.DOTALL | re.MULTILINE,
    )
    return dict(re.findall(r"^(\w+) : (.*)$", found[1] if found else "", re.MULTILINE))


@every_estimator
def test_documented_are_the_parameters_and_no_others(estimator) -> None:
    assert set(documented(estimator, "Parameters")) == set(parameters_of(estimator))


@every_estimator
def test_attributes_of_a_fit_are_documented(estimator) -> None:
    X, y = task(estimator, n=30)
    oob = {"n_estimators": 40, "bootstrap": True, "oob_score": True}
    more: dict[str, Any] = oob if has(estimator, "oob_score") else {}
    more["n_bags"] = 3
    model = quick(estimator, early_stopping=True, subsample=0.5, store_weights=True, **more)
    model.fit(X, y)
    fitted = {name for name in vars(model) if name.endswith("_")}
    assert fitted <= set(documented(estimator, "Attributes"))
    # Only a frame has column names.
    there = {name for name in documented(estimator, "Attributes") if hasattr(model, name)}
    assert set(documented(estimator, "Attributes")) - there == {"feature_names_in_"}


@every_estimator
def test_defaults_are_documented(estimator) -> None:
    for name, default in defaults_of(estimator).items():
        found = re.search(r"default=(\S+)$", documented(estimator, "Parameters")[name])
        assert found, f"no default of {name} is documented"
        assert found[1].strip('"') == str(default) or float(found[1]) == default, name


@every_estimator
def test_limits_admit_the_defaults(estimator) -> None:
    for name, default in defaults_of(estimator).items():
        assert estimator._limits[name].admits(default), name


@every_estimator
def test_parameters_are_keyword_only(estimator) -> None:
    for name, parameter in inspect.signature(estimator).parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY or name in POSITIONAL, name


@every_estimator
def test_limits_are_those_of_parameters(estimator) -> None:
    assert set(estimator._limits) == set(parameters_of(estimator))


def wrong_values(estimator: type, name: str) -> list[Any]:
    """Invalid values of the parameter, including those just beyond its limits."""
    limit: Any = estimator._limits[name]
    may_be_none = limit.admits(None)
    limit = getattr(limit, "limit", limit)
    wrong = [*NEVER_RIGHT, *(() if may_be_none else (None,))]
    kind = type(limit).__name__
    if kind == "Columns":
        mixed = [[True, 1], ["a", 0], [0.5], [None], ["a", True], [[0]]]
        known = [value for value in wrong if not isinstance(value, np.ndarray)]
        return [*known, *mixed, 0, 1, True, np.array([[0]]), np.array([0.5]), "from_type"]
    if kind == "OneOf":
        return [*wrong, 0, 1, 1.0, "BEST_FIRST"]
    if kind == "Verbosity":
        return [*wrong, -1, 0.5, "1"]
    if kind == "NumbersOr":
        wrong = [value for value in wrong if not isinstance(value, np.ndarray)]
        return [*wrong, [1, -1], [0, 0], [np.nan, 1], [[1.0, 1.0]], 3]
    if kind in ("Members", "Layers", "EstimatorOr", "Folds"):
        return [*wrong, 0, 1, -5, True, quick]
    wrong += ["1", True, False, np.True_]
    if kind == "Seed":
        return [*wrong, -1, 2**32, 0.5]
    if kind == "Jobs":
        return [*wrong, 0, 1.0]
    if not hasattr(limit, "most"):
        return wrong
    if limit.most is not None:
        wrong += [limit.most + 1, limit.most * 1e6]
    if kind == "Whole":
        return [*wrong, limit.least - 1, float(limit.least), limit.least + 0.5, -(10**30)]
    return [*wrong, limit.least - 1e-9, *([limit.least] if limit.open_below else [])]


@every_estimator
def test_wrong_values_are_refused_by_name(estimator) -> None:
    X, y = task(estimator, n=12)
    for name in parameters_of(estimator):
        expected = rf"The '{name}' parameter of {estimator.__name__} must be .*\. Got .* instead\."
        for wrong in wrong_values(estimator, name):
            model = quick(estimator).set_params(**{name: wrong})
            with pytest.raises(ValueError, match=expected):
                model.fit(X, y)
            assert not is_fitted(model), (name, wrong)


@every_estimator
@pytest.mark.filterwarnings("ignore::weald.errors.WealdWarning")
def test_numbers_beyond_all_floats(estimator) -> None:
    """They count as no limit, or the error names the parameter."""
    X, y = task(estimator, n=30)
    for name in parameters_of(estimator):
        if name == "cv":
            continue  # number of folds, which scikit-learn compares with the number of rows
        for huge in (10**400, -(10**400), 10**5000, Fraction(10**400)):
            model = quick(estimator).set_params(**{name: huge})
            try:
                model.fit(X, y)
            except ValueError as error:
                assert name in str(error)
            else:
                assert np.isfinite(model.predict(X)).all(), name


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@every_estimator
def test_numpy_numbers_are_numbers(estimator) -> None:
    X, y = task(estimator, n=30)
    plain = quick(estimator).fit(X, y).fingerprint()
    numbers = {
        name: value
        for name in parameters_of(estimator)
        if is_number(value := getattr(quick(estimator), name))
    }
    for name, value in numbers.items():
        kinds = (np.int64, np.uint16) if isinstance(value, int) else (np.float64, np.longdouble)
        for kind in kinds:
            model = quick(estimator, **{name: kind(value)})
            assert model.fit(X, y).fingerprint() == plain, (name, kind)


def choices_of(estimator: type) -> list[tuple[str, Any]]:
    """All values of all parameters with a fixed set of values."""
    return [
        (name, value)
        for name, limit in estimator._limits.items()
        for value in getattr(limit, "values", ())
    ]


@every_estimator
@pytest.mark.filterwarnings("ignore::weald.errors.WealdWarning")
def test_numpy_choices_are_choices(estimator) -> None:
    """As given by a parameter grid that is an array."""
    X = table(30)
    y = target(estimator, X, n_classes=2)
    for name, value in choices_of(estimator):
        same = np.array([value])[0]
        assert isinstance(same, np.bool_ | np.str_), name
        # With few trees some rows have no out-of-bag prediction, which gives a warning.
        more = {"n_estimators": 40} if name == "oob_score" else {}
        plain = quick(estimator, **more, **{name: value})
        model = quick(estimator, **more, **{name: same})
        assert outcome(model, X, y) == outcome(plain, X, y), (name, value)
        has_loss = hasattr(plain, "validation_loss_")
        assert hasattr(model, "validation_loss_") == has_loss, (name, value)


def outcome(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    """Fingerprint or error of a fit; some choices exclude each other."""
    try:
        return model.fit(X, y).fingerprint()
    except ValueError as error:
        return str(error)


def test_there_are_choices_of_both_kinds() -> None:
    every_choice = [choice for estimator in EVERY_ESTIMATOR for choice in choices_of(estimator)]
    assert {type(value) for _, value in every_choice} == {bool, str}


@every_estimator
def test_unknown_parameters_are_refused(estimator) -> None:
    with pytest.raises(TypeError, match="max_leaves"):
        estimator(max_leaves=3)
    with pytest.raises(ValueError, match="max_leaves"):
        quick(estimator).set_params(max_leaves=3)


HUGE = {
    "max_depth": 10**9,
    "max_leaf_nodes": 2**40,
    "min_samples_split": 10**30,
    "min_samples_leaf": 10**30,
    "n_iter_no_change": 10**30,
    "n_jobs": 10**12,
}


@every_estimator
@pytest.mark.filterwarnings("ignore::weald.errors.WealdWarning")
def test_huge_limits_are_no_limits(estimator) -> None:
    """Far beyond any number of rows, leaves or cores: the fit ends quickly."""
    X, y = task(estimator, n=60)
    for name in HUGE.keys() & set(parameters_of(estimator)):
        model = quick(estimator, **{name: HUGE[name]}).fit(X, y)
        assert np.isfinite(model.predict(X)).all(), name


@every_estimator
def test_numbers_of_threads(estimator) -> None:
    X, y = task(estimator, n=60)
    expected = quick(estimator).fit(X, y).fingerprint()
    for n_jobs in (-1, -2, -1000, -(10**30), 3, 10**30, np.int64(2)):
        assert quick(estimator, n_jobs=n_jobs).fit(X, y).fingerprint() == expected, n_jobs

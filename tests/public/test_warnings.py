"""Warnings of a fit: given once, at the user's line, and not for each part of an ensemble."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import weald
from weald.errors import WealdWarning
from weald.theory import error_632plus

X = np.arange(120.0).reshape(60, 2)
CODES, NUMBERS = np.arange(60) % 2, np.arange(60.0)
DATES = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(60)]


def warnings_of(fit) -> list[str]:
    """Texts of all warnings, with repetitions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # LogisticRegression of scikit-learn 1.6 uses an argument that SciPy deprecates.
        warnings.filterwarnings("ignore", "scipy.optimize", DeprecationWarning)
        fit()
    assert {one.category for one in caught} <= {WealdWarning}
    assert {Path(one.filename) for one in caught} <= {Path(__file__)}
    return [str(one.message) for one in caught]


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"size": NUMBERS, **columns})


@pytest.mark.parametrize(
    "model",
    [
        weald.DecisionTreeClassifier(),
        weald.BoostedTreesClassifier(quality="fast", n_bags=2),
        weald.RandomForestClassifier(3),
        weald.BaggingClassifier(n_estimators=3),
        weald.BaggingClassifier(weald.DecisionTreeClassifier(), n_estimators=3, n_jobs=2),
        weald.VotingClassifier([("a", weald.DecisionTreeClassifier())]),
    ],
)
def test_one_class_is_warned_of_once(model) -> None:
    (text,) = warnings_of(lambda: model.fit(X, np.full(60, "only")))
    assert text.startswith("y holds one class only, 'only'")
    assert warnings_of(lambda: model.fit(X, CODES)) == []


def test_a_default_that_allows_no_split() -> None:
    for n in (5, 38):
        (text,) = warnings_of(
            lambda n=n: weald.BoostedTreesRegressor(quality="fast").fit(X[:n], NUMBERS[:n])
        )
        assert text.startswith(
            f"min_samples_leaf=20 of BoostedTreesRegressor allows no split of {n}"
        )
    assert (
        warnings_of(lambda: weald.BoostedTreesRegressor(quality="fast").fit(X[:40], NUMBERS[:40]))
        == []
    )
    asked_for = weald.BoostedTreesRegressor(quality="fast", min_samples_leaf=30)
    assert warnings_of(lambda: asked_for.fit(X[:38], NUMBERS[:38])) == []


def test_no_warning_for_base_estimators_that_cannot_split() -> None:
    bag = weald.BaggingRegressor(
        weald.BoostedTreesRegressor(quality="fast", n_estimators=2), n_estimators=3
    )
    assert warnings_of(lambda: bag.fit(X[:30], NUMBERS[:30])) == []


def test_parameters_without_effect() -> None:
    model = weald.BoostedTreesRegressor(quality="fast", n_iter_no_change=5, tol=0.1, prune="after")
    first, second = warnings_of(lambda: model.fit(X, NUMBERS))
    assert first == (
        "n_iter_no_change=5 and tol=0.1 of BoostedTreesRegressor have no effect: set "
        "early_stopping=True."
    )
    assert second.startswith("prune='after' of BoostedTreesRegressor has no effect: splits are")
    model.set_params(early_stopping=True, min_gain=0.1)
    assert warnings_of(lambda: model.fit(X, NUMBERS)) == []
    (text,) = warnings_of(
        lambda: weald.BoostedTreesRegressor(validation_fraction=0.3).fit(X, NUMBERS)
    )
    assert text.startswith("validation_fraction=0.3 has no effect: the folds")
    alone = weald.BoostedTreesRegressor(validation_fraction=0.3, n_bags=None)
    assert warnings_of(lambda: alone.fit(X, NUMBERS)) == []
    model = weald.GradientBoostingRegressor(validation_fraction=0.3)
    (text,) = warnings_of(lambda: model.fit(X, NUMBERS))
    assert "set n_iter_no_change" in text
    (text,) = warnings_of(
        lambda: weald.BoostedTreesRegressor(quality="fast", scoring="r2").fit(X, NUMBERS)
    )
    assert text.startswith("scoring has no effect")
    validated = weald.BoostedTreesRegressor(quality="fast", scoring="r2")
    assert warnings_of(lambda: validated.fit(X, NUMBERS, X_val=X, y_val=NUMBERS)) == []
    (text,) = warnings_of(
        lambda: weald.BoostedTreesClassifier(max_features=None, feature_sampling="tree").fit(
            X, CODES
        )
    )
    assert "Set max_features" in text


@pytest.mark.parametrize(
    "values",
    [
        [str(i) for i in range(60)],
        [f"{i / 7:.2f}" for i in range(60)],
        [f"-{i}e3" for i in range(60)],
        [*map(str, range(59)), None],
        [f"{i},5" for i in range(60)],
    ],
)
@pytest.mark.parametrize("model", [weald.DecisionTreeClassifier(), weald.BoostedTreesClassifier()])
def test_numbers_as_text(model, values) -> None:
    (text,) = warnings_of(lambda: model.fit(frame(age=values), CODES))
    assert text.startswith("Column 'age' holds numbers as text") and "to_numeric" in text


@pytest.mark.parametrize(
    "values",
    [
        DATES,
        [f"{date} 10:30:00" for date in DATES],
        [f"{date}T10:30:00Z" for date in DATES],
        [f"{date[8:]}.{date[5:7]}.{date[:4]}" for date in DATES],
        [f"{int(date[5:7])}/{int(date[8:])}/{date[2:4]}" for date in DATES],
    ],
)
def test_dates_as_text(values) -> None:
    (text,) = warnings_of(lambda: weald.RandomForestClassifier(2).fit(frame(when=values), CODES))
    assert text.startswith("Column 'when' holds text that looks like dates")
    assert "pandas.to_datetime" in text


@pytest.mark.parametrize(
    "column",
    [
        ["Ulm", "Rom", "Bonn"] * 20,
        ["0", "1"] * 30,  # two categories are split the same way
        [f"{i:05d}" for i in range(60)],  # postal codes
        [*map(str, range(59)), "unknown"],
        pd.Series(DATES, dtype="category"),
        pd.to_datetime(pd.Series(DATES)),
    ],
)
def test_no_warning_for_categories(column) -> None:
    assert warnings_of(lambda: weald.DecisionTreeClassifier().fit(frame(city=column), CODES)) == []


def test_no_warning_for_columns_given_as_categorical_features() -> None:
    model = weald.DecisionTreeClassifier(categorical_features=["when"])
    assert warnings_of(lambda: model.fit(frame(when=DATES), CODES)) == []


@pytest.mark.parametrize(
    "model",
    [
        weald.BaggingClassifier(weald.DecisionTreeClassifier(), n_estimators=4, n_jobs=2),
        weald.StackingClassifier(
            [("a", weald.DecisionTreeClassifier()), ("b", weald.RandomForestClassifier(2))],
            LogisticRegression(),
        ),
        weald.AdaBoostClassifier(n_estimators=2),
    ],
)
def test_base_estimators_warn_once(model) -> None:
    table = frame(when=[f"{date} {i % 24}:00" for i, date in enumerate(DATES)])
    (text,) = warnings_of(lambda: model.fit(table, (NUMBERS > 30).astype(int)))
    assert "looks like dates" in text


def test_many_fits_of_an_estimate_warn_once() -> None:
    tree = weald.DecisionTreeClassifier()
    texts = warnings_of(lambda: error_632plus(tree, frame(when=DATES), CODES, n_repeats=5))
    assert (
        len(texts) <= 2 and len(set(texts)) == 1
    )  # one from the fit on all rows, one from the repetitions


def test_warnings_as_errors_leave_the_model_unfitted() -> None:
    model = weald.BoostedTreesRegressor(quality="fast")
    with warnings.catch_warnings():
        warnings.simplefilter("error", WealdWarning)
        with pytest.raises(WealdWarning, match="allows no split"):
            model.fit(X[:5], NUMBERS[:5])
    assert not hasattr(model, "forest_")


def test_all_warnings_are_of_one_class() -> None:
    forest = weald.RandomForestClassifier(2, warm_start=True).fit(frame(), CODES)
    assert warnings_of(lambda: forest.fit(frame(), CODES)) == [
        "Warm-start fitting without increasing n_estimators does not fit new trees."
    ]
    (text,) = warnings_of(lambda: forest.predict(pd.DataFrame(frame().to_numpy())))
    assert "valid feature names" in text
    (text,) = warnings_of(lambda: weald.RandomForestClassifier(2, oob_score=True).fit(X, CODES))
    assert "OOB" in text

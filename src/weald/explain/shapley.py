"""Shapley values of fitted models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.advice import advise
from weald.data import refuse_beyond_memory
from weald.ensembles.members.members import n_rows_of, take
from weald.explain.additive import AdditiveForm, NotAdditive
from weald.explain.checks import check_model, checked_table, column_names, number_of_columns
from weald.explain.combined import additive_form
from weald.explain.explanation import Explanation
from weald.explain.responses import response_of
from weald.explain.sampled_values import sampled_values
from weald.explain.tree_values import against_background, path_dependent
from weald.parameters import Jobs, Limit, NoneOr, OneOf, Seed, Whole
from weald.resampling import seed_of
from weald.threads import thread_count

Floats = NDArray[np.float64]

_LIMITS: dict[str, Limit] = {
    "interactions": OneOf((True, False)),
    "output": OneOf(("auto", "prediction")),
    "n_samples": NoneOr(Whole(1)),
    "random_state": NoneOr(Seed()),
    "n_jobs": Jobs(),
}

_DEFAULT_SAMPLES = 200

# Sampling without background takes rows of X, of which it needs some.
_LEAST_ROWS = 10


def shap(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    interactions: bool = False,
    output: str = "auto",
    n_samples: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Explanation:
    """Explain predictions by Shapley values: what each column contributes to each of them.

    The values of a row add up to its prediction minus the mean prediction. They are exact where
    the model is a sum or mean of trees: boosted trees (raw scores), forests and trees
    (probabilities or means), AdaBoost (votes), bagging, means of such models and linear stacking.
    For any other model, of any library, they are sampled, with standard errors.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, frame or sparse table, shape (rows, columns)
        Rows to explain.
    background : table or None, default=None
        Rows whose values stand for the columns that are unknown in a coalition (interventional
        values). None: the exact methods follow the trees with the weights of the training rows
        (path-dependent values); sampling takes them from X. Sampling uses at most half as many
        rows as `n_samples`, evenly spaced.
    interactions : bool, default=False
        Whether to compute the interaction values of all pairs of columns, too. Only for exact
        path-dependent values.
    output : {"auto", "prediction"}, default="auto"
        What to explain: the scale on which the model is a sum of trees, if there is one ("auto"),
        or the values of `predict_proba` or `predict` ("prediction").
    n_samples : int or None, default=None
        Number of sampled orders of the columns; each is evaluated forwards and backwards. None
        means 200. No effect on exact values.
    random_state : int, RandomState or None, default=None
        Seed of the sampled orders; None means 0. No effect on exact values.
    n_jobs : int or None, default=None
        Number of threads of the exact methods; None means all usable cores. The values do not
        depend on it.

    Returns
    -------
    Explanation
        Values, base values, scale and method.

    Notes
    -----
    The parts of a date, and other numeric columns made from one column of X, are unknown or known
    together: their column has one value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import BoostedTreesRegressor
    >>> from weald.explain import shap
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> petals = X.pop("petal width (cm)")
    >>> model = BoostedTreesRegressor(n_estimators=30, n_bags=None).fit(X, petals)
    >>> explained = shap(model, X)
    >>> print(explained)
    Shapley values of 150 rows and 3 columns
    scale: prediction
    method: exact, path-dependent
    mean |value| of each column:
    column               mean
    petal length (cm)  0.3345
    sepal length (cm)   0.215
    sepal width (cm)    0.107
    >>> bool(abs(explained.predictions - model.predict(X)).max() < 1e-9)
    True
    """
    given = {
        "interactions": interactions,
        "output": output,
        "n_samples": n_samples,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    _check(given)
    check_model(model)
    X = checked_table(model, X)
    if background is not None:
        background = checked_table(model, background, "background")
    try:
        form = additive_form(model, _response_name(model, output))
    except NotAdditive as reason:
        if interactions:
            raise ValueError(
                f"interactions=True requires exact values, but {reason}. Set interactions=False."
            ) from None
        return _sampled(model, X, background, n_samples, random_state, str(reason))
    _advise_of_unused({"n_samples": n_samples, "random_state": random_state})
    return _exact(model, form, X, background, interactions, thread_count(n_jobs))


def _check(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if not _LIMITS[name].admits(value):
            raise ValueError(f"{name} must be {_LIMITS[name].expected}. Got {value!r} instead.")


def _advise_of_unused(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            advise(f"{name}={value!r} has no effect: the values of this model are exact.")


def _response_name(model: Any, output: str) -> str:
    if output == "auto":
        return "auto"
    return "predict_proba" if hasattr(model, "classes_") else "predict"


# ---- exact values ----


def _exact(
    model: Any, form: AdditiveForm, X: Any, background: Any, interactions: bool, n_threads: int
) -> Explanation:
    n_columns = number_of_columns(model, X)
    # The core computes interactions of eight rows at a time in each thread.
    n_rows = n_rows_of(X) + (8 * n_threads if interactions else 0)
    _refuse_too_large(n_rows, n_columns, len(form.outputs), interactions)
    if background is None:
        values, base = path_dependent(form, X, n_columns, n_threads, interactions=interactions)
        method = "exact, path-dependent"
    else:
        if interactions:
            raise ValueError(
                "interactions=True is available for path-dependent values only. Set "
                "background=None, or interactions=False."
            )
        values, base = against_background(form, X, background, n_columns, n_threads)
        method = f"exact, against {n_rows_of(background)} background rows"
    pairs = values if interactions else None
    return Explanation(
        values=_shaped(values if pairs is None else pairs.sum(axis=2)),
        base_values=_base(base),
        data=X,
        feature_names=column_names(model, X, n_columns),
        output_names=[name for name in form.outputs if name],
        scale=form.scale,
        is_exact=True,
        method=method,
        interaction_values=None if pairs is None else _shaped(pairs),
    )


def _refuse_too_large(n_rows: int, n_columns: int, n_outputs: int, interactions: bool) -> None:
    cells = n_rows * n_columns * n_outputs * (n_columns if interactions else 1)
    pairs = f" x {n_columns:,} columns" if interactions else ""
    refuse_beyond_memory(
        2 * 8 * cells,
        f"Shapley values of {n_rows:,} rows x {n_columns:,} columns{pairs} x {n_outputs:,} outputs",
        "Explain fewer rows at a time.",
    )


def _shaped(values: Floats) -> Floats:
    """Without the last axis if there is one output."""
    return values[..., 0] if values.shape[-1] == 1 else values


def _base(base: Floats) -> Any:
    return float(base[0]) if len(base) == 1 else base


# ---- sampled values ----


def _sampled(
    model: Any, X: Any, background: Any, n_samples: int | None, random_state: Any, reason: str
) -> Explanation:
    n_samples = _DEFAULT_SAMPLES if n_samples is None else int(n_samples)
    seed = seed_of(0 if random_state is None else random_state)
    if background is None:
        n_rows = n_rows_of(X)
        if n_rows < _LEAST_ROWS:
            raise ValueError(
                f"The values of this {type(model).__name__} are sampled ({reason}), which requires "
                f"background rows; X has {n_rows}, at least {_LEAST_ROWS} are required to take "
                "them from X. Pass background=, such as 100 rows of the training table."
            )
        background = X
    background = _thinned(background, max(1, n_samples // 2))
    response = response_of(model, take(X, np.arange(1)))
    n_columns = number_of_columns(model, X)
    _refuse_too_large(n_rows_of(X), n_columns, 3 * len(response.outputs), False)
    found = sampled_values(response, X, background, n_samples=n_samples, seed=seed)
    return Explanation(
        values=_shaped(found.values),
        base_values=_base(found.base_values),
        data=X,
        feature_names=column_names(model, X, n_columns),
        output_names=[name for name in response.outputs if name],
        scale=response.scale,
        is_exact=False,
        method=(
            f"sampled by {found.n_samples} orders of the columns against "
            f"{n_rows_of(background)} background rows, because {reason}"
        ),
        standard_error=_shaped(found.standard_error),
    )


def _thinned(table: Any, most: int) -> Any:
    """At most so many rows, evenly spaced."""
    n_rows = n_rows_of(table)
    if n_rows <= most:
        return table
    return take(table, np.linspace(0, n_rows - 1, most).astype(np.intp))

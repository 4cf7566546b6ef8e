"""Final estimators of blending and stacking."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from weald.ensembles.combining.greedy import GreedySelection
from weald.ensembles.combining.nonnegative import NonNegativeProduct, NonNegativeSum
from weald.ensembles.members.response_methods import ResponseMethod

Floats = NDArray[np.float64]

# Combiners that can be selected by name.
COMBINER_NAMES = ("nonnegative", "greedy")


def is_combiner(final: object) -> bool:
    """Whether the final estimator is a combiner, not a scikit-learn estimator.

    A combiner has `weights_`, and methods `fit` and `combine` that take predictions of shape
    (estimators, rows, columns); `combine` returns those of the ensemble, of shape (rows, columns).
    """
    return hasattr(final, "combine")


def is_named_combiner(final: object) -> bool:
    """Whether the parameter `final_estimator` is a combiner, or names one."""
    return isinstance(final, str) or is_combiner(final)


def new_final(owner: Any, final: Any, default: Any) -> Any:
    """An unfitted final estimator: a clone of the given one, or that of a name or None."""
    classify = is_classifier(owner)
    if final is None:
        return default
    if isinstance(final, str):
        if final == "greedy":
            return GreedySelection("log_loss" if classify else "squared_error")
        return NonNegativeProduct() if classify else NonNegativeSum()
    if is_combiner(final):
        return deepcopy(final)
    is_wanted = is_classifier if classify else is_regressor
    if not is_wanted(final):
        wanted = "classifier" if classify else "regressor"
        raise ValueError(
            f"The 'final_estimator' parameter of {type(owner).__name__} must be a {wanted}. Got "
            f"{type(final).__name__}."
        )
    return clone(final)


def stack_predictions(predictions: Sequence[Floats], responses: Sequence[ResponseMethod]) -> Floats:
    """Predictions of shape (estimators, rows, columns), as a combiner requires them.

    Raises
    ------
    ValueError
        If a classifier does not predict probabilities, or shapes differ.
    """
    for response in responses:
        if response.classes is not None and response.method != "predict_proba":
            raise ValueError(
                f"This final estimator combines class probabilities, but a base estimator uses "
                f"{response.method}. Use base estimators with predict_proba, or another final "
                "estimator."
            )
    if len({part.shape for part in predictions}) > 1:
        raise ValueError(
            "This final estimator requires predictions of equal shape, but the base estimators "
            f"return {', '.join(str(part.shape[1]) for part in predictions)} columns. Use another "
            "final estimator."
        )
    return np.stack(list(predictions))


def prediction_table(
    predictions: Sequence[Floats], responses: Sequence[ResponseMethod], X: Any
) -> Any:
    """Predictions as the columns of a table for the next layer, followed by X unless it is None."""
    columns = [response.table(part) for part, response in zip(predictions, responses, strict=True)]
    if X is None:
        return np.hstack(columns)
    if hasattr(X, "tocsr"):
        import scipy.sparse

        return scipy.sparse.hstack([*columns, X], format=X.format)
    return np.hstack([*columns, np.asarray(X)])


def fit_final(
    final: Any,
    predictions: Sequence[Floats],
    responses: Sequence[ResponseMethod],
    X: Any,
    y: NDArray[Any],
    weight: Floats | None,
    params: Mapping[str, Any],
) -> Any:
    """Fit a final estimator on predictions for rows that the base estimators were not fitted on."""
    if not is_combiner(final):
        final.fit(prediction_table(predictions, responses, X), y, **params)
        return final
    if X is not None:
        raise ValueError(
            f"{type(final).__name__} combines predictions only and does not use the columns of X. "
            "Set passthrough=False, or use another final estimator."
        )
    return final.fit(stack_predictions(predictions, responses), y, weight)


def final_fingerprint(final: Any) -> dict[str, NDArray[Any]]:
    """Weights or fingerprint of a fitted final estimator, as named arrays."""
    if is_combiner(final):
        return {
            "final weights": final.weights_,
            "final kind": np.array([type(final).__name__]),
            "final least": np.array([getattr(final, "least_", 0.0)]),
        }
    if hasattr(final, "fingerprint"):
        return {"final": np.array([final.fingerprint()])}
    raise TypeError(
        f"fingerprint requires weald's own models, which are reproducible bit by bit; the final "
        f"estimator is a {type(final).__name__}."
    )

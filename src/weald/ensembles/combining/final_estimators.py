"""Final models: what combines the members' answers in blending and stacking."""

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

# Combiners that can be asked for by a word.
WORDS = ("nonnegative", "greedy")


def is_combiner(final: object) -> bool:
    """Tell combiners from scikit-learn's estimators.

    A combiner knows which answer is whose: it takes arrays of the shape (members, rows, columns)
    in `fit` and `combine`, which gives one of the shape (rows, columns), and has `weights_`.
    """
    return hasattr(final, "combine")


def new_final(owner: Any, final: Any, default: Any) -> Any:
    """A final model to be fitted: a clone of the one given, or what a word or None stands for."""
    classify = is_classifier(owner)
    if final is None:
        return default
    if isinstance(final, str):
        if final == "greedy":
            return GreedySelection("log_loss" if classify else "squared_error")
        return NonNegativeProduct() if classify else NonNegativeSum()
    if is_combiner(final):
        return deepcopy(final)
    is_right = is_classifier if classify else is_regressor
    if not is_right(final):
        wanted = "classifier" if classify else "regressor"
        raise ValueError(
            f"The 'final_estimator' parameter of {type(owner).__name__} must be a {wanted}; "
            f"{type(final).__name__} is none."
        )
    return clone(final)


def stacked(predictions: Sequence[Floats], responses: Sequence[ResponseMethod]) -> Floats:
    """The answers of the shape (members, rows, columns) that a combiner needs.

    Raises
    ------
    ValueError
        If a member of a classifier was not asked for probabilities.
    """
    for response in responses:
        if response.classes is not None and response.method != "predict_proba":
            raise ValueError(
                f"This final estimator combines probabilities, but a member answers with "
                f"{response.method}. Use members that have predict_proba, or another final "
                "estimator."
            )
    if len({prediction.shape for prediction in predictions}) > 1:
        raise ValueError(
            "This final estimator combines answers to the same question, but the members' differ "
            f"in shape: {', '.join(str(prediction.shape[1:]) for prediction in predictions)} columns."
        )
    return np.stack(list(predictions))


def flat(predictions: Sequence[Floats], responses: Sequence[ResponseMethod], X: Any) -> Any:
    """The answers side by side, as a table for the next model; X (unless None) to their right.

    Of the probabilities of two classes only the second is taken: the first says nothing new.
    """
    columns = [
        prediction[:, 1:] if response.method == "predict_proba" and prediction.shape[1] == 2 else prediction
        for prediction, response in zip(predictions, responses, strict=True)
    ]
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
    """Fit a final model on answers to rows that the members have not seen."""
    if not is_combiner(final):
        return final.fit(flat(predictions, responses, X), y, **params)
    if X is not None:
        raise ValueError(
            f"{type(final).__name__} combines the members' answers only; it needs "
            "passthrough=False."
        )
    return final.fit(stacked(predictions, responses), y, weight)


def final_fingerprint(final: Any) -> dict[str, NDArray[Any]]:
    """What a final model has learnt, as named arrays."""
    if is_combiner(final):
        return {
            "final weights": final.weights_,
            "final kind": np.array([type(final).__name__]),
            "final least": np.array([getattr(final, "least_", 0.0)]),
        }
    if hasattr(final, "fingerprint"):
        return {"final": np.array([final.fingerprint()])}
    raise TypeError(
        f"There is no fingerprint: the final estimator is a {type(final).__name__}, and only "
        "weald's own models promise the same bits everywhere."
    )

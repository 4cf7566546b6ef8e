"""Scoring of the validation set with a scikit-learn scorer or the estimator's `score`."""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import as_one_array
from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Training
from weald.losses import Loss
from weald.returned import number_returned
from weald.trees import Forest

_LN2 = 0.6931471805599453


@dataclass(frozen=True)
class Scoring:
    """Validation of the `scoring` parameter."""

    @property
    def expected(self) -> str:
        return "'loss', the name of a scorer (sklearn.metrics.get_scorer_names()), a callable"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            if value == "loss":
                return True  # the default: does not need sklearn.metrics, which is slow to import
            from sklearn.metrics import get_scorer_names

            return value in get_scorer_names()
        return callable(value) and not isinstance(value, type)


class HeldOutScorer:
    """Scores the validation rows after a round.

    The scorer receives a copy of the estimator. Its predictions for the validation set are derived
    from the scores of the boosting loop, without traversing any tree; for any other table, the
    trees so far are evaluated.

    Parameters
    ----------
    model : estimator
        The model that is being fitted.
    training : Training
        Training and validation rows.
    loss : Loss
        The loss, which converts scores to predictions.
    forest : callable
        Returns the trees so far, in the user's units.
    """

    def __init__(
        self,
        model: Any,
        training: Training,
        loss: Loss,
        forest: Callable[[], Forest],
    ) -> None:
        _check_scorer(model.scoring)
        self._scoring = model.scoring
        self._training = training
        self._loss = loss
        self._forest = forest
        self._model = copy.copy(model)
        self._model._fitted_loss, self._model.forest_ = loss, forest()
        self._model._parts = []  # a single booster, also with n_bags
        assert training.held_out is not None
        self._held_out = np.flatnonzero(training.held_out)
        self._X, self._y = self._validation_set(model)
        self._weights = self._weights_for(self._scorer())

    def _validation_set(self, model: Any) -> tuple[Any, NDArray[Any]]:
        """X and y as passed by the user; of rows held out from the fit, X is numeric."""
        validation, rows = self._training.validation, self._training.rows
        if validation is not None:
            return validation.X, validation.labels
        X = as_one_array(rows.table[self._held_out])
        target = rows.target[self._held_out]
        if hasattr(model, "classes_"):
            return X, model.classes_[target.astype(np.intp)]
        return X, np.ldexp(target, rows.target_exponent)

    def _scorer(self) -> Callable[..., Any]:
        if self._scoring is None:
            return type(self._model).score  # type: ignore[no-any-return]
        from sklearn.metrics import get_scorer

        scorer: Callable[..., Any] = get_scorer(self._scoring)
        return scorer

    def _weights_for(self, scorer: Callable[..., Any]) -> dict[str, Floats]:
        """Keyword argument with the sample weights, unless these are all equal."""
        training = self._training
        weight = training.validation_copies[self._held_out].astype(np.float64)
        if training.validation_weight is not None:
            weight = weight * training.validation_weight[self._held_out]
        if (weight == weight[0]).all():
            return {}
        if not _takes_weights(scorer):
            raise ValueError(
                f"scoring={self._scoring!r} has no parameter sample_weight, and the validation "
                "rows have weights. Add one: scoring(estimator, X, y, sample_weight=None)."
            )
        return {"sample_weight": weight}

    def __call__(self, scores: Floats) -> float:
        """Return the validation score of these raw scores."""
        rows, held_out = self._training.rows, scores[:, self._held_out].T
        if self._loss.has_log_link:
            held_out = held_out + rows.target_exponent * _LN2
        else:
            held_out = np.ldexp(held_out, rows.target_exponent)
        model, forest = self._model, None
        if callable(self._scoring):
            forest = model.forest_ = self._forest()

        def scores_of(X: Any) -> Floats:
            if X is self._X:
                return np.ascontiguousarray(held_out)
            model.forest_ = self._forest() if forest is None else forest
            return type(model)._scores(model, X)  # type: ignore[no-any-return]

        model._scores = scores_of
        score = self._scorer()(model, self._X, self._y, **self._weights)
        return number_returned(score, f"scoring={self._scoring!r}, for the validation rows,")


def _check_scorer(scoring: Any) -> None:
    """Raise a TypeError for a callable without a scorer's signature, such as a metric."""
    if not callable(scoring):
        return
    try:
        signature = inspect.signature(scoring)
    except (TypeError, ValueError):
        return  # no signature to check
    try:
        signature.bind("estimator", "X", "y")
    except TypeError:
        name = getattr(scoring, "__name__", type(scoring).__name__)
        raise TypeError(
            "scoring must be a callable(estimator, X, y) that returns a number to maximise; "
            f"got {name}{signature}. Convert a metric of y_true and y_pred with "
            f"sklearn.metrics.make_scorer({name}), with greater_is_better=False if it is an error."
        ) from None


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer accepts `sample_weight`."""
    try:
        parameters = inspect.signature(scorer).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)

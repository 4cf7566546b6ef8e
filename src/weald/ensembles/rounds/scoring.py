"""A scorer of scikit-learn, a user's or an estimator's own as the judge of a fit."""

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
    """The limit of a `scoring` parameter."""

    @property
    def expected(self) -> str:
        return "'loss', the name of a scorer (sklearn.metrics.get_scorer_names()), a callable"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            if value == "loss":
                return True  # most fits say that: they need no module of scorers
            from sklearn.metrics import get_scorer_names

            return value in get_scorer_names()
        return callable(value) and not isinstance(value, type)


class HeldOutScorer:
    """Scores the held-out rows: the model as of a round answers for them what it is known to say.

    The scorer is handed a copy of the estimator. Of the rows it judges, the scores are known and
    no tree is asked again; of any other rows the trees so far are asked.
    """

    def __init__(
        self,
        model: Any,
        training: Training,
        loss: Loss,
        forest: Callable[[], Forest],
    ) -> None:
        _refuse_no_scorer(model.scoring)
        self._scoring = model.scoring
        self._training = training
        self._loss = loss
        self._forest = forest
        self._model = copy.copy(model)
        self._model._fitted_loss, self._model.forest_ = loss, forest()
        self._model._parts = []  # one booster, also where the model is to be several
        assert training.held_out is not None
        self._held = np.flatnonzero(training.held_out)
        self._X, self._y = self._shown(model)
        self._weights = self._weights_for(self._scorer())

    def _shown(self, model: Any) -> tuple[Any, NDArray[Any]]:
        """The rows as the user gave them, or, of rows held out by us, as numbers."""
        validation, rows = self._training.validation, self._training.rows
        if validation is not None:
            return validation.X, validation.labels
        X = as_one_array(rows.table[self._held])
        target = rows.target[self._held]
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
        """What rows count, if they count differently and the scorer can be told so."""
        training = self._training
        weight = training.held_copies[self._held].astype(np.float64)
        if training.held_weight is not None:
            weight = weight * training.held_weight[self._held]
        if (weight == weight[0]).all():
            return {}
        if not _takes_weights(scorer):
            raise ValueError(
                f"scoring={self._scoring!r} has no parameter sample_weight, and the rows to judge "
                "by have weights. Give it one: scoring(estimator, X, y, sample_weight=None)."
            )
        return {"sample_weight": weight}

    def __call__(self, scores: Floats) -> float:
        """The scorer's number for the held-out rows at these scores."""
        rows, known = self._training.rows, scores[:, self._held].T
        if self._loss.is_of_logarithms:
            known = known + rows.target_exponent * _LN2
        else:
            known = np.ldexp(known, rows.target_exponent)
        model, forest = self._model, None
        if callable(self._scoring):
            forest = model.forest_ = self._forest()

        def answers(X: Any) -> Floats:
            if X is self._X:
                return np.ascontiguousarray(known)
            model.forest_ = self._forest() if forest is None else forest
            return type(model)._scores(model, X)  # type: ignore[no-any-return]

        model._scores = answers
        found = self._scorer()(model, self._X, self._y, **self._weights)
        return number_returned(found, f"scoring={self._scoring!r}, for the rows that judge,")


def _refuse_no_scorer(scoring: Any) -> None:
    """Raise a TypeError for a function that cannot be called as a scorer, such as a metric."""
    if not callable(scoring):
        return
    try:
        signature = inspect.signature(scoring)
    except (TypeError, ValueError):
        return  # it says nothing of its parameters
    try:
        signature.bind("estimator", "X", "y")
    except TypeError:
        name = getattr(scoring, "__name__", type(scoring).__name__)
        raise TypeError(
            "scoring must be a callable(estimator, X, y) that returns a number to be made large; "
            f"got {name}{signature}. A metric of y_true and y_pred becomes one by "
            f"sklearn.metrics.make_scorer({name}); greater_is_better=False if it is an error."
        ) from None


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer has a parameter for weights, or takes any."""
    try:
        parameters = inspect.signature(scorer).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)

"""Where gradient boosting starts: at zero, at the best constant, or at an estimator's answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from weald.ensembles.base import Floats
from weald.ensembles.gradient_boosting.base_learners import answers_of, fit_foreign
from weald.ensembles.rounds.loop import Training
from weald.losses import BuiltinLoss, Loss
from weald.returned import probabilities_returned

_LEAST_SHARE = 2.0**-52


@dataclass(frozen=True, eq=False)
class Start:
    """Constant scores, and the estimator whose answers are added to them, if there is one."""

    base: Floats
    estimator: Any | None

    def scores(self, table: Any, loss: Loss, exponent: int = 0) -> Floats:
        """Scores of the shape (scores, rows); `exponent`: what the target was divided by."""
        if self.estimator is None:
            return np.repeat(self.base[:, np.newaxis], table.shape[0], axis=1)
        if isinstance(loss, BuiltinLoss) and loss.targets in ("classes", "shares"):
            return _scores_of_shares(self.estimator, table, loss)
        if not isinstance(loss, BuiltinLoss) and loss.of_classes:
            return _scores_of_shares(self.estimator, table, loss)
        answers = np.ldexp(answers_of(self.estimator, table), -exponent)
        if loss.is_of_logarithms:
            answers = np.log(np.maximum(answers, 2.0**-400))
        return answers[np.newaxis]


def _scores_of_shares(estimator: Any, table: Any, loss: Loss) -> Floats:
    name = f"predict_proba of init={type(estimator).__name__}"
    shares = answers_of(estimator, table, "predict_proba")
    expected = (len(table), max(2, loss.n_scores))
    if shares.shape != expected:
        raise ValueError(
            f"{name} must return the shape {expected}, a "
            f"probability for each class; got {shares.shape}."
        )
    shares = probabilities_returned(shares, name)
    shares = np.clip(shares, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    if loss.n_scores > 1:
        return np.ascontiguousarray(np.log(shares).T)
    odds = np.log(shares[:, 1] / shares[:, 0])
    return (odds / 2 if loss.name == "exponential" else odds)[np.newaxis]


def start_at(init: Any, training: Training, loss: Loss, labels: Any) -> Start:
    """Fit what `init` asks for; `labels` is the target as an estimator is to see it."""
    rows = training.rows
    zeros = np.zeros(loss.n_scores)
    if isinstance(init, str):
        return Start(zeros, None)
    if init is None:
        return Start(loss.base_scores(training.y, rows.weight, training.seen_copies), None)
    return Start(zeros, fit_foreign(clone(init), rows, labels, training.seen_copies))

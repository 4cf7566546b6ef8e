"""Initial scores of gradient boosting: zero, the best constant, or an estimator's predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from weald.ensembles.base import Floats
from weald.ensembles.gradient_boosting.base_learners import fit_foreign, predictions_of
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.starting_scores import fitted_base
from weald.losses import BuiltinLoss, Loss, UserLoss
from weald.returned import probabilities_returned

_LEAST_SHARE = 2.0**-52


@dataclass(frozen=True, eq=False)
class Start:
    """Constant initial scores, or the `init` estimator whose predictions replace them."""

    base: Floats
    estimator: Any | None

    def scores(self, table: Any, loss: Loss, exponent: int = 0) -> Floats:
        """Scores of shape (scores, rows); the target was divided by 2**exponent."""
        if self.estimator is None:
            return np.repeat(self.base[:, np.newaxis], table.shape[0], axis=1)
        if isinstance(loss, BuiltinLoss) and loss.targets in ("classes", "shares"):
            return _scores_of_shares(self.estimator, table, loss)
        if isinstance(loss, UserLoss) and loss.of_classes:
            return _scores_of_shares(self.estimator, table, loss)
        predictions = np.ldexp(predictions_of(self.estimator, table), -exponent)
        if loss.has_log_link:
            predictions = np.log(np.maximum(predictions, 2.0**-400))
        return predictions[np.newaxis]


def _scores_of_shares(estimator: Any, table: Any, loss: Loss) -> Floats:
    name = f"predict_proba of init={type(estimator).__name__}"
    shares = predictions_of(estimator, table, "predict_proba")
    expected = (len(table), max(2, loss.n_scores))
    if shares.shape != expected:
        raise ValueError(
            f"{name} must return shape {expected}, a "
            f"probability for each class; got {shares.shape}."
        )
    shares = probabilities_returned(shares, name)
    shares = np.clip(shares, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
    if loss.n_scores > 1:
        return np.ascontiguousarray(np.log(shares).T)
    odds = np.log(shares[:, 1] / shares[:, 0])
    return (odds / 2 if loss.name == "exponential" else odds)[np.newaxis]


def start_at(init: Any, training: Training, loss: Loss, labels: Any) -> Start:
    """Initial scores for the parameter `init`; `labels` is the y of an `init` estimator."""
    rows = training.rows
    zeros = np.zeros(loss.n_scores)
    if isinstance(init, str):
        return Start(zeros, None)
    if init is None:
        return Start(fitted_base(loss, training), None)
    if rows.offset is not None:
        raise ValueError(
            f"init={type(init).__name__} and offset cannot be combined: the estimator would be "
            "fitted without regard to the offset. Pass its raw scores as offset instead, or set "
            "init=None."
        )
    return Start(zeros, fit_foreign(clone(init), rows, labels, training.train_copies))

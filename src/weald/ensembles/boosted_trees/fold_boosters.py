"""The boosters of a bag, trained round by round together."""

from collections.abc import Sequence

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.rounds.loop import DerivativeBuffers, Learner, Stage, Training
from weald.losses import Loss


class FoldBoosters:
    """Learner whose round is one round of each booster, each on its own training rows.

    The scores that the boosting loop sees are validation scores: those of a row come from the
    boosters that are not trained on it, those of a validation set from all boosters. So early
    stopping judges all rows, and none is lost for training.

    Parameters
    ----------
    trainings : sequence of Training
        The training set of each booster; its fold is held out.
    learners : sequence of Learner
        Trains the trees of each booster.
    scores : sequence of arrays, shape (scores, rows)
        Raw predictions of each booster for all rows, updated in place.
    folds : BoosterFolds
        Which rows each booster leaves out.
    loss : Loss
        Loss function to minimise.
    fraction : float
        Row subsampling rate of each round.
    """

    weighs_gradients = True

    def __init__(
        self,
        trainings: Sequence[Training],
        learners: Sequence[Learner],
        scores: Sequence[Floats],
        folds: BoosterFolds,
        loss: Loss,
        fraction: float,
    ) -> None:
        self._trainings, self._learners, self._scores = trainings, learners, scores
        self._folds, self._loss, self._fraction = folds, loss, fraction
        self._buffers = DerivativeBuffers(scores[0])
        self._n_out = np.sum([folds.left_out(k) for k in range(folds.n_boosters)], axis=0)

    def learn(self, stage: Stage) -> None:
        """Train a round of each booster and update the validation scores."""
        for training, learner, scores in zip(
            self._trainings, self._learners, self._scores, strict=True
        ):
            y, weight = training.y, training.rows.weight
            loss = self._loss.at(y, scores, weight, training.train_copies)
            sample = training.drawn(self._fraction, stage.number)
            learner.learn(
                Stage(stage.number, loss, training, sample, scores, weight, self._buffers)
            )
        self.write_validation_scores(stage.scores)

    def write_validation_scores(self, out: Floats) -> None:
        """Write the mean over the boosters that leave a row out; of validation rows, over all."""
        n = self._folds.n
        out[:] = 0.0
        for k, scores in enumerate(self._scores):
            left_out = self._folds.left_out(k)
            out[:, :n][:, left_out] += scores[:, :n][:, left_out]
            out[:, n:] += scores[:, n:]
        out[:, :n] /= self._n_out
        out[:, n:] /= len(self._scores)

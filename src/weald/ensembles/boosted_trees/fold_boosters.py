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
        self._left_out = [np.flatnonzero(folds.left_out(k)) for k in range(folds.n_boosters)]
        self._n_out = np.bincount(np.concatenate(self._left_out), minlength=folds.n)

    def learn(self, stage: Stage) -> None:
        """Train a round of each booster and update the validation scores."""
        for training, learner, scores in zip(
            self._trainings, self._learners, self._scores, strict=True
        ):
            y, weight = training.y, training.rows.weight
            loss = self._loss.at(y, scores, weight, training.train_copies)
            sample, of_all = training.drawn(self._fraction, stage.number)
            buffers = self._buffers
            learner.learn(
                Stage(stage.number, loss, training, sample, scores, weight, buffers, of_all)
            )
        self.write_validation_scores(stage.scores)

    def write_validation_scores(self, out: Floats) -> None:
        """Write the mean over the boosters that leave a row out; of validation rows, over all."""
        n = self._folds.n
        for k, (scores, rows) in enumerate(zip(self._scores, self._left_out, strict=True)):
            own = scores.take(rows, axis=1)
            # The first few boosters leave out every row once.
            out[:, rows] = own if k < self._folds.n_folds else out[:, rows] + own
        if len(self._scores) > self._folds.n_folds:
            out[:, :n] /= self._n_out
        if out.shape[1] > n:
            out[:, n:] = self._scores[0][:, n:]
            for scores in self._scores[1:]:
                out[:, n:] += scores[:, n:]
            out[:, n:] /= len(self._scores)

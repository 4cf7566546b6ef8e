"""The boosters of a bag, trained round by round together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.folds import BoosterFolds
from weald.ensembles.rounds.loop import DerivativeBuffers, Learner, Stage, Training
from weald.losses import Loss

Index = NDArray[np.intp]


class FoldScores:
    """Raw predictions of each booster for all rows, by rows that it leaves out and others.

    Parameters
    ----------
    start : array, shape (scores, rows)
        Scores before the first round.
    folds : BoosterFolds
        Which rows each booster leaves out; rows behind those are left out by all boosters.

    Attributes
    ----------
    of_boosters : array, shape (boosters, scores, rows)
        The scores, which the learners of the boosters update in place.
    """

    def __init__(self, start: Floats, folds: BoosterFolds) -> None:
        self.of_boosters = np.tile(start, (folds.n_boosters, 1, 1))
        self._folds = folds
        # For each repetition of the folds the rows that it leaves out, and where their scores lie.
        self._left_out: list[tuple[slice | Index, Index]] = []
        for r, fold in enumerate(folds.fold):
            booster = fold + r * folds.n_folds
            rows = np.flatnonzero(booster < folds.n_boosters)
            place = self._places(booster[rows], rows)
            self._left_out.append((slice(folds.n) if len(rows) == folds.n else rows, place))
        left_out_by = [np.flatnonzero(folds.left_out(k)) for k in range(folds.n_boosters)]
        self._n_out = np.bincount(np.concatenate(left_out_by), minlength=folds.n)

    def _places(self, booster: Index, rows: Index) -> Index:
        """Where the scores of rows by one booster each lie in the flattened scores."""
        _, n_scores, n_rows = self.of_boosters.shape
        k = np.arange(n_scores)[:, np.newaxis]
        return np.asarray((booster * n_scores + k) * n_rows + rows, dtype=np.intp)

    def write_validation_scores(self, out: Floats) -> None:
        """Write the mean over the boosters that leave a row out; of validation rows, over all."""
        n, scores = self._folds.n, self.of_boosters
        (_, first), *others = self._left_out  # the first repetition leaves out every row
        out[:, :n] = scores.take(first)
        for rows, place in others:
            out[:, rows] += scores.take(place)
        if others:
            out[:, :n] /= self._n_out
        if out.shape[1] > n:
            out[:, n:] = scores[0][:, n:]
            for one in scores[1:]:
                out[:, n:] += one[:, n:]
            out[:, n:] /= len(scores)

    def fitted_places(self, rows: Index) -> Index:
        """Where the scores of rows lie by a booster that is trained on them."""
        left_out = np.append(self._folds.left_out(0), np.zeros(self._n_behind, dtype=bool))
        return self._places(left_out[rows].astype(np.intp), rows)

    @property
    def _n_behind(self) -> int:
        return int(self.of_boosters.shape[2]) - self._folds.n


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
    scores : FoldScores
        Raw predictions of each booster for all rows, updated in place.
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
        scores: FoldScores,
        loss: Loss,
        fraction: float,
    ) -> None:
        self._trainings, self._learners, self._scores = trainings, learners, scores
        self._loss, self._fraction = loss, fraction
        self._buffers = DerivativeBuffers(scores.of_boosters[0])

    def learn(self, stage: Stage) -> None:
        """Train a round of each booster and update the validation scores."""
        for training, learner, scores in zip(
            self._trainings, self._learners, self._scores.of_boosters, strict=True
        ):
            y, weight = training.y, training.rows.weight
            loss = self._loss.at(y, scores, weight, training.train_copies)
            sample, drawn = training.drawn(self._fraction, stage.number)
            buffers = self._buffers
            learner.learn(
                Stage(stage.number, loss, training, sample, scores, weight, buffers, drawn)
            )
        self._scores.write_validation_scores(stage.scores)

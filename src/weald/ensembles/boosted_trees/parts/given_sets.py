"""Validation sets that were passed to a fit on parts: their rows are in the client's memory."""

import numpy as np

from weald.data import ValidationRows, dense_blocks, target_in_units
from weald.ensembles.base import Floats
from weald.ensembles.rounds.scoring import LOSS
from weald.losses import BuiltinLoss
from weald.trees import Forest


class GivenSets:
    """Scores the rows of validation sets by the trees of each round.

    Parameters
    ----------
    validation : ValidationRows
        The sets, of which rows without weight are not scored.
    loss : BuiltinLoss
        Loss of the fit.
    target_exponent : int
        Targets of the fit were divided by 2**target_exponent.

    Attributes
    ----------
    has_missing : bool array, shape (columns,)
        Which columns have missing values.
    """

    def __init__(self, validation: ValidationRows, loss: BuiltinLoss, target_exponent: int) -> None:
        self._validation, self._loss = validation, loss
        blocks = [block for one in validation.sets for block in dense_blocks(one.table)]
        self._table = np.concatenate(blocks)
        self._y = target_in_units(validation.target, target_exponent)
        self._scores = np.empty((0, validation.n))
        self.has_missing = np.isnan(self._table).any(axis=0)

    @property
    def names(self) -> list[str]:
        """The names of the curves; that of the first set tells when to stop."""
        return [f"{one.name} {LOSS}" for one in self._validation.sets]

    def start(self, base: Floats) -> None:
        """Begin at the base scores."""
        self._scores = np.repeat(base[:, np.newaxis], len(self._y), axis=1)

    def add(self, trees: Forest) -> None:
        """Add the predictions of the trees of a round, which have no base scores."""
        self._scores += trees.predict(self._table, n_threads=self._loss.n_threads).T

    def losses(self) -> dict[str, float]:
        """The mean loss of each set."""
        weight, counted = self._validation.weight, self._validation.counted
        means = {}
        for name, (_, rows) in zip(self.names, self._validation.parts(), strict=True):
            some = np.arange(rows.start, rows.stop)
            if counted is not None:
                some = some[counted[some]]
            own = None if weight is None else weight[some]
            scores = np.ascontiguousarray(self._scores[:, some])
            means[name] = self._loss.mean(self._y[some], scores, own, None)
        return means

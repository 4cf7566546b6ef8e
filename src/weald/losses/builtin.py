"""A built-in loss: the core's formulas behind the few verbs boosting needs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weald import _native

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BuiltinLoss:
    """A loss of the core by name; `weald._native.losses()` lists them.

    Scores have the shape (n_scores, rows) while a model is fitted. Weights enter the gradients;
    copies (repetitions) do not: the tree counts them.
    """

    name: str
    n_scores: int
    n_threads: int

    def base_scores(
        self, y: Floats, weight: Floats | None, copies: NDArray[np.int64] | None
    ) -> Floats:
        """The constant scores of least loss."""
        return _native.base_scores(self.name, y, self.n_scores, weight, copies)

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Write both derivatives; False if the hessian is 1 everywhere and was left unwritten."""
        return _native.gradients(self.name, y, scores, weight, gradient, hessian, self.n_threads)

    def mean(
        self, y: Floats, scores: Floats, weight: Floats | None, copies: NDArray[np.int64] | None
    ) -> float:
        """The mean loss over weights and copies."""
        return _native.mean_loss(self.name, y, scores, weight, copies, self.n_threads)

    def predictions(self, scores: Floats) -> Floats:
        """From scores of the shape (rows, n_scores) to numbers or probabilities."""
        return _native.predictions(self.name, scores, self.n_threads)

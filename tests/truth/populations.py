"""Populations with a known distribution: a training sample, and a test sample that is independent.

An estimate that a model makes of its own error is right if it agrees with the error on new rows of
the same population. Every population can be asked for labels (a classification) and for numbers (a
regression).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

Generator = np.random.Generator
Sample = tuple[Any, np.ndarray]

# Rows of a test sample: the standard error of the truth is small beside that of an estimate.
N_TEST = 10_000


@dataclass(frozen=True)
class Population:
    """Rows x, a signal f(x), and a target that is the signal plus normal noise.

    A label is 1 where signal + noise exceeds `threshold`; a number is signal + noise, rounded to
    whole numbers if `whole`.
    """

    name: str
    rows: Callable[[Generator, int], Any]
    signal: Callable[[Any], np.ndarray]
    noise: float = 1.0
    threshold: float = 0.0
    whole: bool = False
    n: int = 2000

    def __str__(self) -> str:
        return self.name

    def labels(self, n: int, seed: int) -> Sample:
        """A sample with labels 0 and 1."""
        X, score = _scored(self, n, seed)
        return X, (score > self.threshold).astype(np.int64)

    def classes(self, n: int, seed: int) -> Sample:
        """A sample with four classes that overlap."""
        X, score = _scored(self, n, seed)
        return X, np.digitize(score, [-2.0, 0.0, 2.0])

    def numbers(self, n: int, seed: int) -> Sample:
        """A sample with a number to predict."""
        X, score = _scored(self, n, seed)
        return X, np.round(score) if self.whole else score


@cache
def _scored(population: Population, n: int, seed: int) -> Sample:
    """Rows, and signal plus noise; drawn once for all tests, which leave them as they are."""
    rng = np.random.default_rng([seed, n])
    X = population.rows(rng, n)
    return X, population.signal(X) + population.noise * rng.normal(size=n)


def _normal(rng: Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 4))


def _bent(X: np.ndarray) -> np.ndarray:
    return 2 * X[:, 0] + 2 * np.abs(X[:, 1]) - 1.6


def _grid(rng: Generator, n: int) -> np.ndarray:
    return rng.integers(0, 10, size=(n, 2)).astype(np.float64)


def _diagonal(X: Any) -> np.ndarray:
    table = np.asarray(X, dtype=np.float64)
    return table[:, 0] + table[:, 1] - 9.0


_EFFECT = np.random.default_rng(500).normal(size=500)
_FREQUENCY = 1 / (np.arange(500) + 20)


def _levels(rng: Generator, n: int) -> pd.DataFrame:
    number = rng.choice(500, size=n, p=_FREQUENCY / _FREQUENCY.sum())
    level = np.array([f"level {i}" for i in range(500)], dtype=object)[number]
    return pd.DataFrame({"level": level, "x": rng.integers(0, 5, size=n)})


def _level_effect(X: pd.DataFrame) -> np.ndarray:
    number = X["level"].str.removeprefix("level ").astype(int)
    return 1.5 * _EFFECT[number] + X["x"].to_numpy() - 2.0


def _named(rng: Generator, n: int) -> pd.DataFrame:
    table = pd.DataFrame(_grid(rng, n), columns=["a", "b"])
    table["name"] = [f"person {word:x}" for word in rng.integers(0, 2**62, size=n)]
    return table


# All rows differ.
CONTINUOUS = Population("continuous", _normal, _bent)
# Two columns of ten values: every x is there twenty times, with either label.
FEW_VALUES = Population("few values", _grid, _diagonal, whole=True)
# One row in a hundred is of class 1.
RARE = Population("rare", _normal, _bent, threshold=6.0, n=4000)
RARE_FEW_VALUES = Population("rare, few values", _grid, _diagonal, threshold=8.2, n=4000)
# Text: 500 levels, some frequent and many rare; and few values beside names that all differ.
LEVELS = Population("500 levels", _levels, _level_effect, whole=True, n=4000)
NAMES = Population("all names differ", _named, lambda X: _diagonal(X[["a", "b"]]), whole=True)

OF_NUMBERS = [CONTINUOUS, FEW_VALUES]
OF_TEXT = [LEVELS, NAMES]
IMBALANCED = [RARE, RARE_FEW_VALUES]
EVERY_POPULATION = [*OF_NUMBERS, *OF_TEXT]

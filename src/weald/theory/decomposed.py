"""What `bias_variance` gives: the parts of an error with their spreads, and how they print."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected
from weald.theory.results import Report, lines, read_only

Parts = dict[str, Floats]
Cut = Callable[[NDArray[Any], NDArray[Any], Expected], Parts]

# The jackknife leaves out one such block of training sets at a time; a mode is too jumpy for
# leaving out single ones.
_BLOCKS = 20

_UNKNOWN = "Noise cannot be told from bias: no true_target is given and not every test row repeats."


@dataclass(frozen=True, eq=False)
class Decomposition(Report):
    """Parts that every decomposition has.

    Attributes
    ----------
    loss : str
        "squared_error" or "zero_one".
    error : float
        Mean loss over training sets and test rows.
    variance : float
        How much the answers differ between training sets.
    noise : float or None
        How much y differs from what is to be expected of it; None where that is not known.
    bias_and_noise : float or None
        Both as one, where noise is not known; otherwise None.
    noise_from : str
        Where the expected target comes from: "true_target", "repeats" or "unknown".
    n_repeats, n_rows : int
        Training sets and test rows.
    standard_errors : dict
        By the names of the parts. They cover that training sets (by a jackknife) and test rows are
        few, not that resampled training sets resemble each other.
    per_row : dict
        By the names of the parts: an array with one entry for every test row.
    predictions : array, shape (n_repeats, n_rows)
        What the models answered.
    """

    loss: str
    error: float
    variance: float
    noise: float | None
    bias_and_noise: float | None
    noise_from: str
    n_repeats: int
    n_rows: int
    standard_errors: Mapping[str, float] = field(repr=False)
    per_row: Mapping[str, Floats] = field(repr=False)
    predictions: NDArray[Any] = field(repr=False)

    def _table(self, entries: list[tuple[str, str, str]]) -> str:
        """Lines for those of the (sign, field, words) that have a value."""
        there = [
            (sign, words, value, self.standard_errors[name])
            for sign, name, words in entries
            if (value := getattr(self, name)) is not None
        ]
        title = f"{self.loss}, {self.n_repeats} training sets, {self.n_rows} test rows"
        return lines(title, there, _UNKNOWN if self.noise_from == "unknown" else "")


@dataclass(frozen=True, eq=False)
class SquaredDecomposition(Decomposition):
    """error = variance + bias_squared + noise + remainder.

    Attributes
    ----------
    bias_squared : float or None
        Squared distance between the mean answer and the expected target; None where noise is not
        known. Like all parts it is estimated without bias, so that it may come out below zero.
    remainder : float
        With a `true_target`, the mean of 2(f̄ - ȳ)(ȳ - y): zero in expectation, but not on given
        rows. Zero otherwise.
    """

    bias_squared: float | None
    remainder: float

    def __str__(self) -> str:
        entries = [
            ("", "error", "error"),
            ("=", "variance", "variance"),
            ("+", "bias_squared", "bias²"),
            ("+", "noise", "noise"),
            ("+", "bias_and_noise", "bias² and noise"),
        ]
        if self.noise_from == "true_target":
            entries.append(("+", "remainder", "remainder"))
        return self._table(entries)


@dataclass(frozen=True, eq=False)
class ZeroOneDecomposition(Decomposition):
    """error = bias + variance_unbiased - variance_biased + noise_effect.

    Attributes
    ----------
    bias : float or None
        Share of rows whose main prediction is not the best answer; None where noise is not known.
    variance_unbiased : float
        The variance of rows without bias, which adds to the error.
    variance_biased : float
        What the variance of rows with bias takes off the error: the share of answers that differ
        from the main prediction and hit the best one.
    noise_effect : float
        What noise adds to the error, after the answers that it happens to make right.
    """

    bias: float | None
    variance_unbiased: float
    variance_biased: float
    noise_effect: float | None

    def __str__(self) -> str:
        return self._table(
            [
                ("", "error", "error"),
                ("=", "bias", "bias"),
                ("=", "bias_and_noise", "bias and noise"),
                ("+", "variance_unbiased", "variance, unbiased rows"),
                ("-", "variance_biased", "variance, biased rows"),
                ("+", "noise_effect", "noise, net effect"),
            ]
        )


def decomposed(
    cut: Cut, answers: NDArray[Any], target: NDArray[Any], expected: Expected
) -> dict[str, Any]:
    """The fields that all decompositions share and those that the parts give by their names."""
    parts = cut(answers, target, expected)
    whole = {name: float(rows.mean()) for name, rows in parts.items()}
    names = ("noise", "bias_and_noise")
    return {
        **{name: whole.get(name) for name in names},
        **whole,
        "noise_from": expected.source,
        "n_repeats": len(answers),
        "n_rows": len(target),
        "standard_errors": _standard_errors(cut, answers, target, expected, parts),
        "per_row": {name: read_only(rows) for name, rows in parts.items()},
    }


def _standard_errors(
    cut: Cut, answers: NDArray[Any], target: NDArray[Any], expected: Expected, parts: Parts
) -> dict[str, float]:
    """For every part √(a² + b²): a by a jackknife over training sets, b over (groups of) rows."""
    n_blocks = min(len(answers), _BLOCKS)
    without = []
    for block in np.array_split(np.arange(len(answers)), n_blocks):
        left = cut(np.delete(answers, block, axis=0), target, expected)
        without.append({name: rows.mean() for name, rows in left.items()})
    spread = {}
    for name, rows in parts.items():
        means = np.array([one[name] for one in without])
        over_repeats = (n_blocks - 1) * means.var()
        spread[name] = float(np.sqrt(over_repeats + _squared_error_of_mean(rows, expected.groups)))
    return spread


def _squared_error_of_mean(rows: Floats, groups: NDArray[np.intp]) -> float:
    """Equal rows stand or fall together, so whole groups of them are what was drawn."""
    sums = np.bincount(groups, weights=rows - rows.mean())
    if len(sums) < 2:
        return 0.0
    return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / len(rows) ** 2

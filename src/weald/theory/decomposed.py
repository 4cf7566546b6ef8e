"""Results of `bias_variance`: error components with standard errors, printable as a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.theory.arguments import Floats
from weald.theory.repeats import Expected
from weald.theory.results import Report, lines, read_only

Parts = dict[str, Floats]
Decompose = Callable[[NDArray[Any], NDArray[Any], Expected], Parts]

# Number of jackknife blocks. A delete-one jackknife is inconsistent for a mode (0/1 loss).
_BLOCKS = 20

_UNKNOWN = "Noise and bias are not separable without true_target or repeated test rows."


@dataclass(frozen=True, eq=False)
class Decomposition(Report):
    """Components common to all decompositions.

    Attributes
    ----------
    loss : str
        "squared_error" or "zero_one".
    error : float
        Mean loss over training sets and test rows.
    variance : float
        Variability of the predictions between training sets.
    noise : float or None
        Deviation of y from the expected target; None if the expected target is not known.
    bias_and_noise : float or None
        Sum of bias and noise if the expected target is not known, else None.
    noise_from : str
        Source of the expected target: "true_target", "repeats" or "unknown".
    n_repeats, n_rows : int
        Number of training sets and of test rows.
    standard_errors : dict
        Standard error of each component. Covers the finite number of training sets (by a
        jackknife) and of test rows, not the dependence between resampled training sets.
    per_row : dict
        Each component per test row, as an array of shape (n_rows,).
    predictions : array, shape (n_repeats, n_rows)
        Predictions of all models.
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
        """Format those of the (sign, field, label) entries that are not None."""
        present = [
            (sign, label, value, self.standard_errors[name])
            for sign, name, label in entries
            if (value := getattr(self, name)) is not None
        ]
        title = f"{self.loss}, {self.n_repeats} training sets, {self.n_rows} test rows"
        return lines(title, present, _UNKNOWN if self.noise_from == "unknown" else "")


@dataclass(frozen=True, eq=False)
class SquaredDecomposition(Decomposition):
    """error = variance + bias_squared + noise + remainder.

    Attributes
    ----------
    bias_squared : float or None
        Squared distance between the mean prediction and the expected target; None if the latter is
        not known. The estimator is unbiased, so that it may be negative.
    remainder : float
        With a `true_target`, the mean of 2(f̄ - ȳ)(ȳ - y): zero in expectation, but not on a finite
        sample. Zero otherwise.
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
        Share of rows whose main prediction is not the optimal class; None if the latter is not
        known.
    variance_unbiased : float
        Variance on unbiased rows, which increases the error.
    variance_biased : float
        Reduction of the error by variance on biased rows: the share of predictions that differ from
        the main prediction and are optimal.
    noise_effect : float
        Net increase of the error by noise.
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
    decompose: Decompose, predictions: NDArray[Any], target: NDArray[Any], expected: Expected
) -> dict[str, Any]:
    """Return the fields of a `Decomposition`: means, standard errors and per-row values."""
    parts = decompose(predictions, target, expected)
    whole = {name: float(rows.mean()) for name, rows in parts.items()}
    names = ("noise", "bias_and_noise")
    return {
        **{name: whole.get(name) for name in names},
        **whole,
        "noise_from": expected.source,
        "n_repeats": len(predictions),
        "n_rows": len(target),
        "standard_errors": _standard_errors(decompose, predictions, target, expected, parts),
        "per_row": {name: read_only(rows) for name, rows in parts.items()},
    }


def _standard_errors(
    decompose: Decompose,
    predictions: NDArray[Any],
    target: NDArray[Any],
    expected: Expected,
    parts: Parts,
) -> dict[str, float]:
    """Add jackknife variance over training sets and variance over (groups of equal) test rows."""
    n_blocks = min(len(predictions), _BLOCKS)
    without = []
    for block in np.array_split(np.arange(len(predictions)), n_blocks):
        rest = decompose(np.delete(predictions, block, axis=0), target, expected)
        without.append({name: rows.mean() for name, rows in rest.items()})
    spread = {}
    for name, rows in parts.items():
        means = np.array([one[name] for one in without])
        over_repeats = (n_blocks - 1) * means.var()
        spread[name] = float(np.sqrt(over_repeats + _squared_error_of_mean(rows, expected.groups)))
    return spread


def _squared_error_of_mean(rows: Floats, groups: NDArray[np.intp]) -> float:
    """Squared standard error of the mean, clustered by groups of equal rows."""
    sums = np.bincount(groups, weights=rows - rows.mean())
    if len(sums) < 2:
        return 0.0
    return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / len(rows) ** 2

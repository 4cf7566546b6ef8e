"""Columns that tell too much: one that predicts the target alone, and identifiers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import Kind, Values, read_columns

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

_MOST_BINS = 50
_ROWS_PER_BIN = 5
# Share of distinct values above which a column of text or whole numbers is an identifier.
_DISTINCT = 0.95


@dataclass(frozen=True)
class ColumnFacts:
    """How well one column alone predicts the target, and whether it is an identifier.

    Attributes
    ----------
    column : int
        Position.
    name : str
        Name.
    skill : float
        On rows that were not used to learn from it: the share of the errors of the most frequent
        class that it avoids, or R² of the ranks of the target.
    is_identifier : bool
        Whether nearly all values are different, though they are text or consecutive numbers.
    distinct : float
        Share of distinct values.
    """

    column: int
    name: str
    skill: float
    is_identifier: bool
    distinct: float


def column_facts(
    table: Any, names: list[str], target: NDArray[Any], of_classes: bool, seed: int
) -> list[ColumnFacts]:
    """Look at each column alone: learn from half of the rows, judge on the other half.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> X = np.column_stack([rng.normal(size=400), y + 0.1, np.arange(400)])
    >>> found = column_facts(X, ["noise", "leak", "id"], y, True, 0)
    >>> [round(one.skill, 1) + 0.0 for one in found], [one.is_identifier for one in found]
    ([-0.2, 1.0, -0.2], [False, False, True])
    """
    n = len(target)
    order = np.random.default_rng(seed).permutation(n)
    learn = np.zeros(n, dtype=bool)
    learn[order[: n // 2]] = True
    goal: Any = target if of_classes else _ranks(target)
    score: Any = _class_skill if of_classes else _rank_skill
    found = []
    for number, values in enumerate(read_columns(table)):
        codes, n_distinct, is_identifier = _coded(values, learn)
        skill = score(codes, goal, learn) if n >= 20 else float("nan")
        found.append(
            ColumnFacts(number, names[number], skill, is_identifier and n >= 20, n_distinct / n)
        )
    return found


def _coded(values: Values, learn: NDArray[np.bool_]) -> tuple[Codes, int, bool]:
    """Bin of each row, number of distinct values, and whether the column is an identifier."""
    if values.kind in (Kind.TEXT, Kind.CATEGORY, Kind.ORDERED):
        codes = np.asarray(values.coded()[0], dtype=np.intp) + 1  # missing values are 0
        distinct = len(np.unique(codes))
        is_identifier = values.kind is Kind.TEXT and distinct > _DISTINCT * len(codes)
        return codes, distinct, is_identifier
    numbers = _numbers(values)
    known = np.unique(numbers[np.isfinite(numbers)])
    return _bins(numbers, learn), len(known), _counts_up(values, numbers, known)


def _numbers(values: Values) -> Floats:
    if values.kind is Kind.MOMENT:
        instants = values.moments(None)[0]
        seconds = instants.astype("M8[s]").astype(np.float64)
        return np.where(np.isnat(instants), np.nan, seconds)
    if values.kind is Kind.SPAN:
        return np.asarray(values.seconds(), dtype=np.float64)
    return np.asarray(values.numbers(), dtype=np.float64)


def _counts_up(values: Values, numbers: Floats, known: Floats) -> bool:
    """Whether a column holds (nearly) consecutive, nearly distinct whole numbers."""
    if values.kind is not Kind.NUMBER or len(known) <= _DISTINCT * len(numbers):
        return False
    is_whole = bool((known == np.floor(known)).all())
    return is_whole and float(known[-1] - known[0]) < 1.5 * len(numbers)


def _bins(numbers: Floats, learn: NDArray[np.bool_]) -> Codes:
    """Bins of equally many learning rows; missing values are bin 0."""
    own = numbers[learn & np.isfinite(numbers)]
    if not own.size:
        return np.isfinite(numbers).astype(np.intp)
    n_bins = int(np.clip(len(own) // _ROWS_PER_BIN, 2, _MOST_BINS))
    levels = np.unique(own)
    if len(levels) <= n_bins:
        edges = (levels[1:] + levels[:-1]) / 2
    else:
        edges = np.unique(np.quantile(own, np.arange(1, n_bins) / n_bins))
    codes = np.searchsorted(edges, numbers) + 1
    return np.where(np.isnan(numbers), 0, codes).astype(np.intp)


def _class_skill(codes: Codes, target: Codes, learn: NDArray[np.bool_]) -> float:
    """Share of the majority class's errors that the most frequent class of each bin avoids."""
    n_classes, n_bins = int(target.max()) + 1, int(codes.max()) + 1
    counts = np.zeros((n_bins, n_classes))
    np.add.at(counts, (codes[learn], target[learn]), 1)
    majority = int(np.bincount(target[learn], minlength=n_classes).argmax())
    best = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), majority)
    wrong = float((best[codes[~learn]] != target[~learn]).mean())
    constant = float((target[~learn] != majority).mean())
    return 1.0 - wrong / constant if constant > 0 else 0.0


def _rank_skill(codes: Codes, ranks: Floats, learn: NDArray[np.bool_]) -> float:
    """R² of the ranks of the target, predicted by the mean of each bin."""
    counts = np.bincount(codes[learn], minlength=int(codes.max()) + 1)
    sums = np.bincount(codes[learn], weights=ranks[learn], minlength=len(counts))
    mean = float(ranks[learn].mean())
    predicted = np.where(counts > 0, sums / np.maximum(counts, 1), mean)[codes[~learn]]
    total = float(((ranks[~learn] - mean) ** 2).mean())
    return 1.0 - float(((ranks[~learn] - predicted) ** 2).mean()) / total if total > 0 else 0.0


def _ranks(target: Floats) -> Floats:
    """Mean rank of each target; heavy tails and transformations do not matter."""
    _, place, counts = np.unique(target, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    return np.asarray(middle[place.ravel()], dtype=np.float64)

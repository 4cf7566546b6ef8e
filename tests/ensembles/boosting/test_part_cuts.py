"""Bin thresholds from parts of a table: those of one table, bit for bit."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ensembles.boosting.local_parts import cut_points
from weald import _native
from weald.ensembles.boosted_trees.parts import row_cuts
from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.part_cuts import found_cuts
from weald.ensembles.boosted_trees.parts.row_cuts import RowCuts


class Asked:
    """Parts of columns, which count questions and bytes."""

    def __init__(self, columns: list[Any], points: list[int], mass: Any, n_threads: int) -> None:
        self.n_questions, self.n_bytes = 0, 0

        def part(begin: int, end: int) -> RowCuts:
            rows = slice(begin, end)
            own = None if mass is None else mass[rows]
            return RowCuts(lambda c: columns[c][rows], lambda: own, end - begin, n_threads)

        self._parts = [part(*ends) for ends in pairwise(points)]

    def __call__(self, verb: str, *arguments: Any) -> Answer:
        self.n_questions += 1
        answer = merged([getattr(part, verb)(*arguments) for part in self._parts][::-1])
        self.n_bytes += sum(one.nbytes for one in answer)
        return answer


def columns_of(n: int, rng: np.random.Generator) -> Iterator[Any]:
    """Columns with few and many values, at all sizes of numbers."""
    normal = rng.normal(size=n)
    yield normal
    yield normal.astype(np.float32)
    yield rng.standard_cauchy(n)
    yield np.exp(20 * normal)
    yield np.ldexp(1.0, rng.integers(-1000, 1000, n))
    yield np.round(normal, 2)
    yield np.where(rng.random(n) < 0.6, 0.0, normal)
    yield rng.integers(0, 1 + n // 50, n)
    yield rng.geometric(0.02, n).astype(np.int16)
    yield rng.zipf(1.3, n).astype(np.float64)
    yield rng.random(n) < 0.3
    yield np.full(n, 3.5)
    yield np.full(n, np.nan)
    special = np.where(rng.random(n) < 0.1, np.inf, normal)
    special[rng.random(n) < 0.1] = -np.inf
    special[rng.random(n) < 0.1] = np.nan
    yield special
    yield special.astype(np.float32)
    yield rng.choice([-0.0, 0.0, 5e-324, -5e-324, 1e-310], n)
    yield rng.integers(-n, n, n) * 5e-324
    yield rng.choice([1.7e308, -1.7e308, 1.0], n) * rng.random(n)
    yield 1 + np.arange(n) // 2 * 2.0**-52


def masses_of(n: int, rng: np.random.Generator) -> Iterator[Any]:
    """All once, some rows left out, and weights."""
    yield None
    yield rng.integers(0, 2, n)
    yield rng.integers(0, 2**30, n) * (rng.random(n) < 0.8)


def check(columns: list[Any], mass: Any, n_parts: int, max_bins: int, n_threads: int = 1) -> Asked:
    n = len(columns[0])
    asked = Asked(columns, cut_points(n, n_parts, seed=n_parts), mass, n_threads)
    found = found_cuts(asked, range(len(columns)), n, max_bins)
    for c, (cuts, column) in enumerate(zip(found, columns, strict=True)):
        kind = np.float32 if column.dtype == np.float32 else np.float64
        want, _ = _native.find_cuts(column.astype(kind)[:, np.newaxis], mass, max_bins, 1)
        assert cuts.tobytes() == want.tobytes(), c
    return asked


@pytest.mark.parametrize("n", [1, 2, 5, 300, 3_000, 20_000])
def test_thresholds(n: int) -> None:
    rng = np.random.default_rng(n)
    columns = list(columns_of(n, rng))
    for mass in masses_of(n, rng):
        for n_parts in (1, 7, 50):
            check(columns, mass, n_parts, int(rng.integers(2, 256)))
        check(columns, mass, 2, 2)
        check(columns, mass, 2, 255)


def test_questions_and_bytes_are_few() -> None:
    """Many columns together; each costs about as much whatever the number of rows."""
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=300_000) for _ in range(4)]
    asked = check(columns, None, 2, 255)
    assert asked.n_questions <= 7
    assert asked.n_bytes < 4 * 1e6
    small = [rng.normal(size=500) for _ in range(40)]
    assert check(small, None, 2, 255).n_questions <= 4


def test_copies_and_weights_need_few_questions_more() -> None:
    """Thresholds inside unknown intervals are guessed well, whatever the masses of their values."""
    rng = np.random.default_rng(4)
    n = 100_000
    values = rng.normal(size=n)
    some = values[: n // 2]
    for column, mass, n_questions, most_bytes in (
        (np.repeat(some, 2), None, 7, 1e6),
        (np.repeat(values[: n // 10], 10), None, 7, 1e6),
        (np.concatenate([some, rng.choice(some, n // 2)]), None, 8, 1e6),
        (rng.choice(values, n), None, 9, 1e6),
        (np.concatenate([some, rng.choice(some[: n // 100], n // 2)]), None, 16, 5e6),
        (values, rng.integers(1, 100, n), 9, 1e6),
        (values, 2 * rng.integers(1, 2**29, n), 9, 1e6),
    ):
        asked = check([column], mass, 2, 255)
        assert asked.n_questions <= n_questions
        assert asked.n_bytes < most_bytes


def test_columns_that_are_not_kept_and_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large columns are sorted again in pieces for each question."""
    rng = np.random.default_rng(2)
    columns = list(columns_of(5_000, rng))
    monkeypatch.setattr(row_cuts, "_PIECE", 700)
    for n_threads in (1, 3):
        for kept in (0, 3 * 8 * 5_000):
            monkeypatch.setattr(row_cuts, "_KEPT_BYTES", kept)
            check(columns, None, 2, 100, n_threads)


def test_parts_with_other_types() -> None:
    """A column may be float32 in one part and float64 in another."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(size=2_000).astype(np.float32), rng.normal(size=2_000)])
    parts = [
        RowCuts(lambda c: values[:2_000].astype(np.float32), lambda: None, 2_000, 1),
        RowCuts(lambda c: values[2_000:], lambda: None, 2_000, 1),
    ]

    def ask(verb: str, *arguments: Any) -> Answer:
        return merged([getattr(part, verb)(*arguments) for part in parts])

    (found,) = found_cuts(ask, [0], 4_000, 255)
    want, _ = _native.find_cuts(values[:, np.newaxis], None, 255, 1)
    assert found.tobytes() == want.tobytes()

"""Equal rows merged into one, in an order that depends on their content only."""

import math

import numpy as np
import pytest

from weald.data import Rows
from weald.resampling import DistinctRows, distinct_rows, seed_of


def merged(table, target, copies=None, weight=None) -> DistinctRows:
    rows = Rows(np.asarray(table, dtype=np.float64), np.asarray(target, np.float64), copies, weight)
    return distinct_rows(rows, n_threads=1)


def content(table, target, distinct: DistinctRows) -> list[tuple]:
    """What the merged rows hold and count, in their order."""
    n = len(distinct.index)
    copies = np.ones(n, int) if distinct.copies is None else distinct.copies
    weight = np.ones(n) if distinct.weight is None else distinct.weight
    return [
        (*table[i], target[i], int(c), float(w))
        for i, c, w in zip(distinct.index, copies, weight, strict=True)
    ]


def few_rows(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, 3)).astype(np.float64), rng.integers(0, 2, n).astype(np.float64)


def test_different_rows_stay_as_they_are() -> None:
    table = np.arange(10.0)[:, np.newaxis]
    distinct = merged(table, np.zeros(10))
    assert sorted(distinct.index) == list(range(10))
    assert distinct.copies is None and distinct.weight is None
    assert len(distinct.hashes) == 10


def test_equal_rows_are_counted() -> None:
    table, target = few_rows()
    distinct = merged(table, target)
    expected: dict[tuple, int] = {}
    for row in map(tuple, np.column_stack([table, target])):
        expected[row] = expected.get(row, 0) + 1
    assert {row[:4]: row[4] for row in content(table, target, distinct)} == expected
    assert distinct.copies.sum() == 200


def test_rows_that_differ_in_the_target_alone_are_different() -> None:
    assert len(merged(np.zeros((2, 3)), [0, 1]).index) == 2


def test_order_and_repetition_do_not_matter() -> None:
    table, target = few_rows()
    rng = np.random.default_rng(1)
    copies = rng.integers(1, 5, 200)
    order = rng.permutation(200)
    again = np.repeat(np.arange(200), copies)
    expected = content(table, target, merged(table, target, copies))
    for index, counts in [(order, copies[order]), (again, None), (rng.permutation(again), None)]:
        got = content(table[index], target[index], merged(table[index], target[index], counts))
        assert got == expected


def test_fractional_weights_are_added_without_rounding_on_the_way() -> None:
    table, target = few_rows()
    rng = np.random.default_rng(2)
    weight = rng.exponential(size=200) * 10.0 ** rng.integers(-8, 8, 200)
    first = content(table, target, merged(table, target, None, weight))
    order = rng.permutation(200)
    assert (
        content(
            table[order], target[order], merged(table[order], target[order], None, weight[order])
        )
        == first
    )
    rows = np.column_stack([table, target])
    for *row, copies, total in first:
        assert copies == 1
        assert total == math.fsum(weight[(rows == row).all(axis=1)])


def test_equal_means_equal_to_a_tree() -> None:
    table = np.array([[0.0, np.nan], [-0.0, -np.nan]])
    distinct = merged(table, [0.0, -0.0])
    assert distinct.copies.tolist() == [2]


def test_seed_is_taken_as_it_is() -> None:
    assert seed_of(0) == 0
    assert seed_of(np.int64(2**32 - 1)) == 2**32 - 1


def test_seed_from_a_state_is_drawn_from_it() -> None:
    state = np.random.RandomState(3)
    first, second = seed_of(state), seed_of(state)
    assert first != second
    assert seed_of(np.random.RandomState(3)) == first
    assert 0 <= seed_of(None) < 2**32


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_type_of_the_table_does_not_matter(kind: type) -> None:
    table, target = few_rows()
    plain = distinct_rows(Rows(table, target), n_threads=1)
    other = distinct_rows(Rows(table.astype(kind, order="F"), target), n_threads=3)
    assert np.array_equal(plain.hashes, other.hashes)
    assert np.array_equal(plain.index, other.index)

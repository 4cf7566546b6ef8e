"""Rows in the order of their content, copies numbered by their weights."""

import itertools

import numpy as np
import pytest

from weald.data import Rows
from weald.resampling import OrderedRows, ordered_rows, rows_as_they_lie, seed_of


def ordered(table, target, weight=None, groups=None) -> OrderedRows:
    rows = Rows(np.asarray(table, dtype=np.float64), np.asarray(target, np.float64))
    rows = rows.in_groups(groups, np.ones(rows.n, dtype=bool)).weighted(weight)
    return ordered_rows(rows, n_threads=1)


def content(table, target, found: OrderedRows, weight=None) -> list[tuple]:
    """What the rows hold, their weights and their keys, in their order."""
    weight = np.ones(len(table)) if weight is None else weight
    return [
        (*table[i], target[i], weight[i], *key)
        for i, key in zip(found.index.tolist(), found.keys.tolist(), strict=True)
    ]


def few_rows(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (n, 3)).astype(np.float64), rng.integers(0, 2, n).astype(np.float64)


def test_every_row_has_a_place_and_a_key_of_its_own() -> None:
    table, target = few_rows()
    found = ordered(table, target)
    assert sorted(found.index) == list(range(200)) and found.n == 200
    assert len(np.unique(found.keys, axis=0)) == 200
    assert np.array_equal(found.index[found.place], np.arange(200))


def test_copies_lie_side_by_side() -> None:
    """A row of weight 2 then takes the place of two rows in draws by weight."""
    table, target = few_rows()
    found = ordered(table, target)
    rows = [tuple(row) for row in np.column_stack([table, target])[found.index]]
    changes = sum(a != b for a, b in itertools.pairwise(rows))
    assert changes == len(set(rows)) - 1


def test_the_order_of_rows_does_not_matter() -> None:
    table, target = few_rows()
    rng = np.random.default_rng(1)
    for weight in (None, rng.integers(1, 4, 200).astype(np.float64), rng.exponential(size=200)):
        first = content(table, target, ordered(table, target, weight), weight)
        order = rng.permutation(200)
        other = None if weight is None else weight[order]
        found = ordered(table[order], target[order], other)
        assert content(table[order], target[order], found, other) == first


def test_copies_are_numbered_by_rising_weight() -> None:
    weight = np.array([3.0, 1.0, 2.0])
    assert ordered(np.zeros((3, 1)), np.zeros(3), weight).index.tolist() == [1, 2, 0]


def test_more_copies_leave_the_keys_of_the_others() -> None:
    table, target = few_rows(50)
    few = {tuple(key) for key in ordered(table, target).keys.tolist()}
    more = ordered(np.vstack([table, table]), np.append(target, target))
    assert few < {tuple(key) for key in more.keys.tolist()}


def test_equal_means_equal_to_a_tree() -> None:
    table = np.array([[0.0, np.nan], [-0.0, -np.nan], [0.0, 1.0]])
    found = ordered(table, [0.0, -0.0, 0.0])
    alone = ordered(table[:1], [0.0])
    assert alone.keys.tolist()[0] in found.keys.tolist()


def test_rows_of_a_group_have_its_key() -> None:
    table, target = few_rows(30)
    groups = np.array(list("abc"))[np.arange(30) % 3]
    found = ordered(table, target, groups=groups)
    assert found.groups.n == 3
    assert len(np.unique(found.keys, axis=0)) == 3
    assert np.array_equal(found.keys, found.groups.keys[found.groups.of_row])
    labels = groups[found.index]
    for group in range(3):
        assert len(set(labels[found.groups.of_row == group])) == 1


def test_some_rows_count_from_zero() -> None:
    table, target = few_rows(30)
    found = ordered(table, target, groups=np.arange(30) // 10)
    some = found.take(np.flatnonzero(found.groups.of_row != 1))
    assert some.index.tolist() == list(range(20)) and some.groups.n == 2


def test_rows_that_are_not_drawn_stay_where_they_are() -> None:
    assert rows_as_they_lie(4).index.tolist() == [0, 1, 2, 3]


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
    plain = ordered_rows(Rows(table, target), n_threads=1)
    other = ordered_rows(Rows(table.astype(kind, order="F"), target), n_threads=3)
    assert np.array_equal(plain.keys, other.keys)
    assert np.array_equal(plain.index, other.index)

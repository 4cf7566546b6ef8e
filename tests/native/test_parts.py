"""Trees on parts of random tables, compared with trees on the whole tables, and wrong questions."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from weald import _native
from weald.data import BinnedTable, Rows, bin_rows
from weald.data.sources import ColumnTable
from weald.ensembles.boosted_trees.parts.merging import merged
from weald.trees import TreeGrower, TreeLimits


def random_table(rng: np.random.Generator, n: int) -> BinnedTable:
    """Numbers of few and of many values, and categories, some of them too many for a byte."""
    columns, n_levels = [], []
    for _ in range(int(rng.integers(1, 12))):
        levels = int(rng.choice([0, 0, 0, 5, 40, 300]))
        if levels:
            column = rng.integers(0, levels, n).astype(np.float32)
        else:
            column = rng.normal(size=n).round(int(rng.integers(0, 4))).astype(np.float32)
        column[rng.random(n) < rng.choice([0.0, 0.1])] = np.nan
        columns.append(column)
        n_levels.append(levels)
    table = ColumnTable(tuple(columns), np.array(n_levels, dtype=np.int64))
    binned = bin_rows(Rows(table, np.zeros(n)), max_bins=int(rng.integers(3, 255)), n_threads=1)
    assert isinstance(binned, BinnedTable)
    return binned


def part_of(binned: BinnedTable, rows: slice, *, has_codes: bool = True) -> Any:
    """The part that holds these rows."""
    n_rows, n_columns = rows.stop - rows.start, len(binned.n_bins)
    codes = _native.empty_codes(n_rows, n_columns)
    for c, n_bins in enumerate(binned.n_bins):
        own = binned.codes_of(c)[rows].astype(np.float64)
        own[own == 0] = np.nan
        cuts = np.arange(1, n_bins) + 0.5
        first = np.array([0, len(cuts)])
        _native.apply_cuts_into(own[:, np.newaxis], cuts, first, codes, n_columns, c, 1)
    return _native.Part(
        codes=codes if has_codes else None,
        n_rows=n_rows,
        n_bins=binned.n_bins,
        is_category=binned.is_category,
        wide_columns=list(binned.wide),
        wide_codes=[own[rows].copy() for own in binned.wide.values()],
        n_levels=levels_of_wide(binned),
        n_threads=1,
        by_columns=n_rows % 2 == 0,
    )


def levels_of_wide(binned: BinnedTable) -> list[int]:
    return [int(own.max()) for own in binned.wide.values()]


def grown_on_parts(
    binned: BinnedTable,
    points: list[int],
    gradient: Any,
    hessian: Any,
    limits: TreeLimits,
    scales: Sequence[float] = (1.0,),
) -> tuple[dict[str, Any], Any]:
    """The arrays of a tree, and the leaf of each row.

    `scales`: one tree after another is grown on the gradient times these; that of the last is told.
    """
    rows = [slice(begin, end) for begin, end in pairwise(points)]
    parts = [part_of(binned, own) for own in rows]
    leaf = np.empty(points[-1], dtype=np.int32)

    def ask(scale: float, question: str, *arguments: Any) -> Any:
        answers = []
        for part, own in zip(parts, rows, strict=True):
            if question == "look":
                h = None if hessian is None else hessian[own]
                answer = part.look(gradient[own] * scale, h, limits.cells)
                answers.append(answer + part.expect(*arguments) if arguments else answer)
            elif question == "sums_of_leaves":
                answers.append(part.sums_of_leaves(*arguments, leaf[own]))
            else:
                answers.append(getattr(part, question)(*arguments))
        return merged(answers)

    grower = _native.PartsGrower(
        n_bins=binned.n_bins,
        params=limits.as_params("newton", 1),
        is_category=binned.is_category,
        wide_columns=list(binned.wide),
        n_levels=levels_of_wide(binned),
        saw_missing=np.maximum.reduce([part.saw_missing() for part in parts]),
        cuts=binned.cuts,
        first=binned.first,
    )
    for scale in scales:
        asks = [partial(ask, scale)]
        (arrays,) = grower.grow(asks, has_hessian=hessian is not None).arrays()
    return arrays, leaf


@pytest.mark.parametrize("seed", range(30))
def test_trees_of_random_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(50, 2_000))
    binned = random_table(rng, n)
    gradient = rng.normal(size=n) ** int(rng.integers(1, 4))
    hessian = None if seed % 3 == 0 else rng.random(n) ** int(rng.integers(1, 9)) + 1e-12
    limits = TreeLimits(
        growth=("best_first", "depth_wise", "symmetric")[int(rng.integers(0, 3))],
        max_leaf_nodes=None if seed % 4 == 0 else 31,
        max_depth=None if seed % 5 else 4,
        min_samples_leaf=int(rng.integers(1, 30)),
        min_child_weight=1e-3,
        min_gain=0.0,
        l2=float(seed % 2),
        cells=("automatic", "wide", "packed", "blocks")[int(rng.integers(0, 4))],
    )
    grower = TreeGrower(binned, "newton", limits, n_threads=1)
    of_rows = None if hessian is None else hessian[np.newaxis]
    (whole,) = grower.on_each(gradient[np.newaxis], of_rows, None)
    for n_parts in (1, 2, 7):
        inner = rng.choice(np.arange(1, n), n_parts - 1, replace=False)
        points = [0, *np.sort(inner).tolist(), n]
        for scales in ((1.0,), (1.0, 1.0), (0.9, 1.0), (2.0**-30, 1.0), (2.0**30, 1.0)):
            arrays, leaf = grown_on_parts(binned, points, gradient, hessian, limits, scales)
            for name, values in arrays.items():
                np.testing.assert_array_equal(values, getattr(whole, name), err_msg=name)
            np.testing.assert_array_equal(leaf, whole.leaf_of_row)


@pytest.mark.parametrize("cells", ["automatic", "wide"])
def test_expected_scales_give_the_answers_of_two_questions(cells: str) -> None:
    rng = np.random.default_rng(2)
    binned = bin_rows(Rows(rng.normal(size=(500, 3)), np.zeros(500)), max_bins=9, n_threads=1)
    assert isinstance(binned, BinnedTable)
    gradient, hessian = rng.normal(size=500), rng.random(500)
    rounding = np.array([2, 0, 12, 12, 0] if cells == "automatic" else [], dtype=np.int64)
    scales = np.array([0.99, 3.9, 0.0, 1.0]), 500, rounding, False
    asked, expected = (part_of(binned, slice(0, 500)) for _ in range(2))
    asked.look(gradient, hessian, "automatic")
    want = *asked.coarse_sums(*scales[:2]), *asked.write(*scales)
    with pytest.raises(ValueError, match="look comes before expect"):
        expected.expect(*scales)
    expected.look(gradient, hessian, "automatic")
    *got, n_useless = expected.expect(*scales)
    assert n_useless.tolist() == [0]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_expected_scales_that_are_too_small_are_harmless() -> None:
    """Sums of many rows that do not fit are not made; single values that do not fit are larger."""
    n = 50_000
    X = np.arange(float(n))[:, np.newaxis] % 7
    binned = bin_rows(Rows(X, np.zeros(n)), max_bins=9, n_threads=1)
    assert isinstance(binned, BinnedTable)
    part, hessian = part_of(binned, slice(0, n)), np.full(n, 0.9)
    scales = np.array([0.9, 0.9, 0.0, 1.0]), n, np.array([0, 0, 30, 31, 0]), False
    for gradient in (np.full(n, 0.9), np.full(n, -1e300), np.full(n, 1e-300)):
        part.look(gradient, hessian, "automatic")
        _, totals, root, n_useless = part.expect(*scales)
        assert n_useless.tolist() == [1] and not totals.any() and not root.any()
    part.look(np.full(n, 0.9), -hessian, "automatic")
    with pytest.raises(ValueError, match="must not be negative"):
        part.expect(*scales)
    part.look(np.full(n, np.nan), hessian, "automatic")
    with pytest.raises(ValueError, match="must be finite"):
        part.expect(*scales)
    # The next questions are answered as if nothing had been expected.
    other = part_of(binned, slice(0, n))
    answers = []
    for one in (part, other):
        most, copies = one.look(np.full(n, 0.9), hessian, "automatic")
        if one is part:
            one.expect(*scales)
        right = most, int(copies[0]), np.array([0, 0, 14, 15, 0]), False
        answers.append((*one.coarse_sums(*right[:2]), *one.write(*right)))
    for a, b in zip(*answers, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_part_is_restored_from_the_rows_of_its_nodes() -> None:
    rng = np.random.default_rng(1)
    binned = bin_rows(Rows(rng.normal(size=(900, 3)), np.zeros(900)), max_bins=9, n_threads=1)
    assert isinstance(binned, BinnedTable)
    gradient, rows = rng.normal(size=900), slice(0, 900)
    first = part_of(binned, rows)
    most, (copies,) = first.look(gradient, None, "wide")
    scales = most, int(copies), np.zeros(0, dtype=np.int64), False
    first.write(*scales)
    no_set = np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.uint64)
    first.divide(np.array([[0, 1, 2, 4, 0, 1, 1]]), *no_set)
    of_nodes, ranges = first.rows_of_nodes()
    leaves = np.empty((2, 900), dtype=np.int32)
    want = first.sums_of_leaves([-1, 0, 1], 2, leaves[0]), first.add_rows(1), first.add_rows(2)
    again, without_codes = part_of(binned, rows), part_of(binned, rows, has_codes=False)
    for part in (again, without_codes):
        part.look(gradient, None, "wide")
        part.restore(*scales, of_nodes, ranges)
    got = (
        without_codes.sums_of_leaves([-1, 0, 1], 2, leaves[1]),
        again.add_rows(1),
        again.add_rows(2),
    )
    for (a,), (b,) in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(leaves[0], leaves[1])
    with pytest.raises(ValueError, match="no codes"):
        without_codes.add_rows(1)
    beyond, shifted = of_nodes.copy(), ranges + 1
    beyond[3] = 900
    for state, message in [
        ((of_nodes[1:], ranges), "numbers of all rows"),
        ((beyond, ranges), "numbers of all rows"),
        ((of_nodes, ranges[1:]), "first node must hold all"),
        ((of_nodes, shifted), "node is out of range"),
        ((of_nodes, None), "given together"),
    ]:
        with pytest.raises(ValueError, match=message):
            again.restore(*scales, *state)
    with pytest.raises(ValueError, match="look comes before write"):
        part_of(binned, rows).restore(*scales, of_nodes, ranges)


def test_wrong_questions_are_refused() -> None:
    binned = bin_rows(Rows(np.arange(9.0)[:, np.newaxis], np.zeros(9)), max_bins=4, n_threads=1)
    part = part_of(binned, slice(0, 9))
    words, first_word = np.zeros(0, dtype=np.uint64), np.zeros(2, dtype=np.int64)

    def divide(*numbers: int) -> None:
        part.divide(np.array([numbers], dtype=np.int64), first_word, words)

    with pytest.raises(ValueError, match="write comes before"):
        part.add_rows(0)
    with pytest.raises(ValueError, match="one entry per row"):
        part.look(np.zeros(8), None, "automatic")
    most, copies = part.look(np.arange(9.0), None, "automatic")
    part.coarse_sums(most, int(copies[0]))
    with pytest.raises(ValueError, match="five numbers"):
        part.write(most, 9, np.zeros(3, dtype=np.int64), False)
    for wrong, message in [
        (most[:3], "four numbers"),
        (most * [1, 1, 1, 0], "copies are out of range"),
    ]:
        with pytest.raises(ValueError, match=message):
            part.coarse_sums(wrong, 9)
    with pytest.raises(ValueError, match="rounding is out of range"):
        part.write(most, 9, np.array([4, 0, 9, 0, -1]), False)
    part.write(most, 9, np.zeros(0, dtype=np.int64), False)
    with pytest.raises(ValueError, match="unknown node"):
        part.add_rows(1)
    for numbers, message in [
        ((3, 4, 0, 1, 0, 1, 1), "unknown node"),
        ((0, 0, 0, 1, 0, 1, 1), "numbered in the order"),
        ((0, 1, 1, 1, 0, 1, 1), "unknown column"),
        ((0, 1, 0, 9, 0, 1, 1), "bin is out of range"),
    ]:
        with pytest.raises(ValueError, match=message):
            divide(*numbers)
    divide(0, 1, 0, 2, 0, 1, 1)
    with pytest.raises(ValueError, match="leaf is out of range"):
        part.sums_of_leaves([-1, 0, 2], 2, np.zeros(9, dtype=np.int32))

"""Words added up in blocks of rows: when they are, sums that just fit, and many rows.

The plain twin are wide cells, which hold the same integers where nothing is rounded.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from native.instructions import assert_same_digest, digest_of
from native.test_parts import grown_on_parts, part_of, random_table
from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import BinnedTable, Rows, bin_rows
from weald.trees import TreeGrower, TreeLimits

# Below 2 ** 15 rows, so that the sums of 16 bits with a sign, and of 17 bits, fit 32.
BLOCK = 2**15 - 1


def binned_of(table: np.ndarray, bins: int = 255) -> BinnedTable:
    binned = bin_rows(Rows(table, np.zeros(len(table))), max_bins=bins, n_threads=1)
    assert isinstance(binned, BinnedTable)
    return binned


def sums_of_root(
    binned: BinnedTable, gradient: Any, hessian: Any, cells: str, copies: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """The rounding of a part of all rows, and the sums of h and of g of the codes of column 0."""
    part = part_of(binned, slice(0, len(gradient)))
    most, (n_copies,) = part.look(gradient, hessian, cells, copies)
    scales = most, int(n_copies)
    if cells == "automatic":
        rounding = rounding_of(part, *scales, hessian is not None)
    else:
        exponents = [int(np.frexp(most[i])[1]) for i in (1, 0)]
        rounding = np.array([*exponents, 16, 17, BLOCK])
    totals, root = part.write(*scales, rounding, False)
    assert len(totals) == 2
    by_code = root.reshape(-1, 8, 2)[: binned.n_bins[0] + 1, 0]  # of the first group of columns
    np.testing.assert_array_equal(by_code.sum(axis=0), totals)
    return rounding, by_code


def rounding_of(part: Any, most: np.ndarray, n_copies: int, has_hessian: bool) -> np.ndarray:
    """What a grower chooses."""
    written: list[np.ndarray] = []

    class Stopped(Exception):
        pass

    def ask(question: str, *arguments: Any) -> Any:
        if question == "look":
            return most, np.array([n_copies])
        if question == "write":
            written.append(arguments[2])
            raise Stopped
        return getattr(part, question)(*arguments)

    grower = _native.PartsGrower(
        n_bins=np.array([2], dtype=np.int32),
        params=TreeLimits(max_leaf_nodes=2, min_gain=0.0).as_params("newton", 1),
        is_category=None,
        wide_columns=[],
        n_levels=[],
        saw_missing=np.zeros(1, dtype=np.uint8),
        cuts=np.zeros(1),
        first=np.array([0, 1]),
    )
    with pytest.raises(Stopped):
        grower.grow([ask], has_hessian=has_hessian)
    return written[0]


@pytest.mark.parametrize("n", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_blocks_of_largest_rows_just_fit(n: int, sign: float) -> None:
    """Every row rounds to the largest integers, and all lie in one bin."""
    largest = 1.0 - 2.0**-30
    table = np.zeros((n, 9))
    table[-1] = 1.0
    gradient, hessian = np.full(n, sign * largest), np.full(n, largest)
    _, by_code = sums_of_root(binned_of(table), gradient, hessian, "blocks")
    each = np.array([2**17, int(sign) * 2**16])
    np.testing.assert_array_equal(by_code[1:3], [(n - 1) * each, each])


def test_sums_of_many_copies_need_blocks() -> None:
    """Copies make many rows of few. All sums are exact, those of h beyond 32 bits."""
    rng = np.random.default_rng(7)
    n, times = 50_000, 1_000
    column = rng.integers(0, 2, n)
    gradient, hessian = rng.normal(size=n), rng.random(n) + 0.5
    copies = rng.integers(0, times + 1, n)
    copies[7] = times
    given = binned_of(column[:, np.newaxis].astype(float)), gradient, hessian, "automatic", copies
    rounding, by_code = sums_of_root(*given)
    assert rounding.tolist() == [3, 1, 16, 17, BLOCK // times]
    steps = [np.rint(np.ldexp(x, e)).astype(np.int64) for x, e in ((hessian, 16), (gradient, 13))]
    for code in (0, 1):
        own = column == code
        want = [(copies * one)[own].sum() for one in steps]
        np.testing.assert_array_equal(by_code[1 + code], want)
        assert want[0] > 2**32


@pytest.mark.parametrize(("tail", "block_bits"), [(1, 15), (250, 14), (2_000, 12), (9_000, None)])
def test_steps_are_fine_enough_for_heavy_tails(tail: float, block_bits: int | None) -> None:
    """Of many rows. One is so many times larger than the others, which leaves these fewer bits."""
    n = 50_000
    gradient = np.where(np.arange(n) % 2, 0.9, -0.9)
    gradient[5] *= tail
    copies = np.full(n, 180, dtype=np.int64)
    copies[5] = 1
    part = part_of(binned_of((np.arange(n) % 2)[:, np.newaxis].astype(float)), slice(0, n))
    most, (n_copies,) = part.look(gradient, np.full(n, 0.4), "automatic", copies)
    rounding = rounding_of(part, most, int(n_copies), True)
    if block_bits is None:
        assert len(rounding) == 0
        return
    assert rounding[4] == (2**block_bits - 1) // 180
    step = 2.0 ** (rounding[0] - rounding[2])
    mean_square = (copies * gradient**2).sum() / n_copies
    assert step <= 2.0**-8 * np.sqrt(mean_square)


@pytest.mark.parametrize("growth", ["best_first", "symmetric"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_same_trees_as_wide_cells(growth: str, is_weighted: bool) -> None:
    """Whole numbers, which neither rounds; more rows than two blocks, also in parts."""
    rng = np.random.default_rng(3)
    n = 2 * BLOCK + 4_000
    binned = random_table(rng, n)
    seen = sum(binned.codes_of(c).astype(float) % 5 for c in range(min(3, len(binned.n_bins))))
    gradient = np.rint(seen - seen.mean() + rng.normal(size=n))
    hessian = rng.integers(1, 5, n).astype(float) if is_weighted else None

    def grown(cells: str, n_threads: int) -> Any:
        limits = TreeLimits(
            growth=growth, max_leaf_nodes=32, min_samples_leaf=30, min_gain=0.0, cells=cells
        )
        of_rows = None if hessian is None else hessian[np.newaxis]
        grower = TreeGrower(binned, "newton", limits, n_threads=n_threads)
        (tree,) = grower.on_each(gradient[np.newaxis], of_rows, None)
        return tree, limits

    expected, _ = grown("wide", 1)
    assert len(expected.value) > 10
    for n_threads in (1, 2, 8):
        tree, limits = grown("blocks", n_threads)
        assert_equal(tree, expected)
    arrays, leaf = grown_on_parts(binned, [0, n // 3, n // 2, n], gradient, hessian, limits)
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(leaf, expected.leaf_of_row)


def digest() -> str:
    """Of trees of rounded sums of several blocks: numbers, wide codes and categories."""

    def trees() -> Iterator[dict[str, np.ndarray]]:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            n = BLOCK + 2_000
            binned = random_table(rng, n)
            gradient, hessian = rng.normal(size=(1, n)) ** 3, rng.random(n) + 0.01
            limits = TreeLimits(
                max_leaf_nodes=12, min_samples_leaf=20, min_gain=0.0, cells="blocks"
            )
            tree = TreeGrower(binned, "newton", limits, n_threads=2).on_sums(
                gradient, hessian, None
            )
            yield {"feature": tree.feature, "threshold": tree.threshold, "value": tree.value}

    return digest_of(trees())


@pytest.mark.parametrize("instructions", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(instructions: str) -> None:
    assert_same_digest(instructions, "test_word_blocks", digest())

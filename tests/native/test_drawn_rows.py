"""Rows drawn by their keys, and histograms of several sums: the same by all instruction sets."""

import hashlib

import numpy as np
import pytest

from native.instructions import run_with
from native.tables import random_table
from weald import _native
from weald.data import Rows, bin_rows
from weald.resampling import Purpose, subsample
from weald.trees import TreeGrower, TreeLimits

SIZES = [1, 2, 7, 8, 9, 63, 64, 1_001]
SEED, MEMBER = 2**40 + 5, 2**33 + 3


def keys_of(n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 2**64, (n, 2), dtype=np.uint64)


def mixed(x: np.ndarray) -> np.ndarray:
    shift, factor = np.uint64(32), np.uint64(0xD6E8FEB86659FD93)
    for _ in range(2):
        x = (x ^ (x >> shift)) * factor
    return x ^ (x >> shift)


def numbers_of(keys: np.ndarray) -> np.ndarray:
    """Uniform random numbers of rows, by the formulas of cpp/base/draws.hpp."""
    low, high = keys[:, 0].copy(), keys[:, 1].copy()
    with np.errstate(over="ignore"):
        for word in map(np.uint64, (SEED, MEMBER, int(Purpose.SUBSAMPLE))):
            low = mixed(low ^ word) + np.uint64(0x9E3779B97F4A7C15)
            high = mixed(high + word * np.uint64(0xC2B2AE3D27D4EB4F)) ^ low
        words = mixed(high ^ mixed(low))
    return (words >> np.uint64(11)) * 2.0**-53


def drawn(n: int, fraction: float) -> list[int]:
    copies = np.arange(n) % 3 + 1
    return subsample(keys_of(n), copies, None, fraction, seed=SEED, member=MEMBER)[0].tolist()


@pytest.mark.parametrize("fraction", [0.3, 0.8, 1.0])
def test_rows_are_drawn_by_their_numbers(fraction: float) -> None:
    for n in SIZES:
        is_drawn = numbers_of(keys_of(n)) < fraction
        if is_drawn.any():
            assert drawn(n, fraction) == (is_drawn * (np.arange(n) % 3 + 1)).tolist()


def test_a_row_is_drawn_exactly_if_its_number_is_below_the_fraction() -> None:
    numbers = numbers_of(keys_of(1_001))
    row = int(np.argsort(numbers)[500])
    for fraction, is_in in [(numbers[row], False), (np.nextafter(numbers[row], 1.0), True)]:
        assert (drawn(1_001, float(fraction))[row] > 0) == is_in


def digest() -> str:
    """Of trees on several sums, of one column to more than a group of eight, and of some draws."""
    whole = hashlib.sha256(repr([drawn(n, 0.5) for n in SIZES]).encode())
    rng = np.random.default_rng(3)
    for n_sums, n_columns in [(1, 3), (2, 9), (3, 1), (7, 8), (12, 17)]:
        table = random_table(rng, 300, n_columns)
        limits = TreeLimits(max_leaf_nodes=20, min_samples_leaf=2, cells="wide", l2=0.5)
        binned = bin_rows(Rows(table, np.zeros(300)), max_bins=255, n_threads=1)
        grower = TreeGrower(binned, "newton", limits, n_threads=1)
        gradient, hessian = rng.normal(size=(n_sums, 300)), rng.random(300)
        tree = grower.on_sums(gradient, hessian, rng.integers(0, 3, 300))
        for array in (tree.feature, tree.threshold, tree.value, tree.gain, tree.leaf_of_row):
            whole.update(array.tobytes())
    return whole.hexdigest()


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_bits_by_all_instructions(instructions: str) -> None:
    run_with(
        instructions,
        f"from native.test_drawn_rows import digest\nassert digest() == {digest()!r}",
    )

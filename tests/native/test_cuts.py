"""Where columns are cut and which bin a value falls into: the core against the naive twin."""

import itertools

import numpy as np
import pytest

from native import naive
from native.tables import KINDS, random_column, random_table
from weald import _native
from weald.data import BinnedTable

N_BINS = [2, 3, 5, 16, 254, 255, 256, 65535]


def cuts_of(table, mass=None, max_bins=255, n_threads=1) -> list[list[float]]:
    cuts, first = _native.find_cuts(table, mass, max_bins, n_threads)
    return [cuts[a:b].tolist() for a, b in itertools.pairwise(first)]


def codes_of(table, cuts: list[list[float]], n_threads=1) -> np.ndarray:
    """Codes of the shape (rows, columns): 0 means missing, 1 the lowest bin."""
    first = np.cumsum([0, *map(len, cuts)], dtype=np.int64)
    flat = np.array(list(itertools.chain(*cuts)), dtype=np.float64)
    codes = _native.apply_cuts(table, flat, first, n_threads)
    binned = BinnedTable(codes, len(table), flat, first)
    return np.column_stack([binned.codes_of(column) for column in range(table.shape[1])])


def random_mass(rng, n: int) -> np.ndarray:
    """Rows that do not count, common ones, and a few that outweigh all others."""
    return rng.choice([0, 1, 1, 2, 50, 10**9], n, p=[0.1, 0.4, 0.3, 0.1, 0.09, 0.01])


@pytest.mark.parametrize("max_bins", N_BINS)
@pytest.mark.parametrize("n", [1, 2, 40, 300])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_equal_the_twins(max_bins: int, n: int, is_weighted: bool) -> None:
    rng = np.random.default_rng([max_bins, n, is_weighted])
    kinds = [kind for kind in KINDS if kind != "duplicate"]
    table = np.column_stack([random_column(rng, kind, n) for kind in kinds])
    mass = random_mass(rng, n) if is_weighted else None
    cuts = cuts_of(table, mass, max_bins)
    counts = np.ones(n, dtype=int) if mass is None else mass
    for column, kind in enumerate(kinds):
        values = table[:, column]
        assert cuts[column] == naive.cuts_of_column(values, counts, max_bins), kind
        assert len(cuts[column]) < max_bins
        assert np.all(np.diff(cuts[column]) > 0)
    if max_bins > 255:  # such codes would not fit a byte
        return
    codes = codes_of(table, cuts)
    for column, kind in enumerate(kinds):
        assert codes[:, column].tolist() == naive.codes_of_column(table[:, column], cuts[column]), (
            kind
        )


@pytest.mark.parametrize("seed", range(30))
def test_bins_by_mass_with_heavy_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, max_bins = int(rng.integers(5, 200)), int(rng.integers(2, 40))
    values = np.where(rng.random(n) < 0.5, rng.choice([-1.0, 0.0, 7.0], n), rng.normal(size=n))
    mass = random_mass(rng, n)
    mass[0] = 1
    cuts = cuts_of(values[:, np.newaxis], mass, max_bins)[0]
    assert cuts == naive.cuts_of_column(values, mass, max_bins)


def test_a_heavy_value_is_alone_in_its_bin() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=500), np.full(500, 0.125), np.full(300, -3.0)])
    cuts = cuts_of(values[:, np.newaxis], None, 8)[0]
    codes = codes_of(values[:, np.newaxis], [cuts])[:, 0]
    for heavy in (0.125, -3.0):
        bin_ = codes[values == heavy][0]
        assert set(values[codes == bin_]) == {heavy}


def test_bins_hold_about_equal_mass() -> None:
    values = np.random.default_rng(0).normal(size=10_000)[:, np.newaxis]
    sizes = np.bincount(codes_of(values, cuts_of(values, None, 100))[:, 0])[1:]
    assert len(sizes) == 100
    assert sizes.min() >= 90 and sizes.max() <= 110


def test_distinct_values_get_a_bin_each_up_to_max_bins() -> None:
    values = np.repeat(np.arange(255.0), 3)[:, np.newaxis]
    codes = codes_of(values, cuts_of(values))
    assert codes[:, 0].tolist() == (values[:, 0] + 1).tolist()


@pytest.mark.parametrize(
    ("a", "b", "cut"),
    [
        (1.0, 2.0, 1.5),
        (-np.inf, 1.0, -np.inf),
        (1.0, np.inf, 1.0),
        (-np.inf, np.inf, -np.inf),
        (-1.7e308, 1.7e308, 0.0),
        (1e308, 1.5e308, 1.25e308),
        (0.0, 5e-324, 0.0),
        (-5e-324, 0.0, -5e-324),
        (1.0, np.nextafter(1.0, 2.0), 1.0),
        (16777216.0, 16777217.0, 16777216.5),
        (2.0**53, 2.0**53 + 2, 2.0**53 + 1),
    ],
)
def test_cut_lies_between_its_neighbours(a: float, b: float, cut: float) -> None:
    table = np.array([[b], [a], [b]])
    assert cuts_of(table) == [[cut]]
    assert codes_of(table, [[cut]])[:, 0].tolist() == [2, 1, 2]


def test_zeros_of_both_signs_are_one_value() -> None:
    table = np.array([[0.0], [-0.0], [1.0], [-0.0]])
    assert cuts_of(table) == [[0.5]]
    assert codes_of(table, [[0.5]])[:, 0].tolist() == [1, 1, 2, 1]


def test_every_nan_is_missing() -> None:
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
    nans = np.array(bits, dtype=np.uint64).view(np.float64)
    table = np.append(nans, [1.0, 2.0])[:, np.newaxis]
    assert cuts_of(table) == [[1.5]]
    assert codes_of(table, [[1.5]])[:, 0].tolist() == [0, 0, 0, 0, 1, 2]


@pytest.mark.parametrize("n_columns", [1, 8, 9, 20, 64, 65, 130])
def test_same_for_any_layout_type_order_and_thread_count(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    with np.errstate(over="ignore"):
        table = random_table(rng, 300, n_columns).astype(np.float32).astype(np.float64)
    mass = random_mass(rng, 300)
    cuts = cuts_of(table, mass, 20)
    codes = codes_of(table, cuts)
    padded = np.full((600, 2 * n_columns), 7.0)
    padded[::2, ::-2] = table
    layouts = [
        np.asfortranarray(table),
        table.astype(np.float32),
        np.asfortranarray(table, dtype=np.float32),
        padded[::2, ::-2],
    ]
    for other in layouts:
        assert cuts_of(other, mass, 20) == cuts
        assert np.array_equal(codes_of(other, cuts), codes)
    order = rng.permutation(300)
    assert cuts_of(table[order], mass[order], 20) == cuts
    for n_threads in (2, 8):
        assert cuts_of(table, mass, 20, n_threads) == cuts
        assert np.array_equal(codes_of(table, cuts, n_threads), codes)


def test_mass_counts_as_repetition() -> None:
    rng = np.random.default_rng(4)
    table = random_table(rng, 200, 9)
    mass = rng.integers(0, 6, 200)
    assert cuts_of(table, mass, 10) == cuts_of(np.repeat(table, mass, axis=0), None, 10)


@pytest.mark.parametrize("max_bins", [1, 0, -1, 65536])
def test_number_of_bins_is_checked(max_bins: int) -> None:
    with pytest.raises(ValueError, match="max_bins"):
        _native.find_cuts(np.zeros((2, 1)), None, max_bins, 1)


def test_mass_must_have_one_entry_per_row() -> None:
    with pytest.raises(ValueError, match="mass must have one entry per row"):
        _native.find_cuts(np.zeros((2, 1)), np.ones(3, dtype=np.int64), 255, 1)


@pytest.mark.parametrize("first", [[0, 2], [0, 1, 0], [1, 1, 2], [0, 3, 2], [0, 1, 3]])
def test_damaged_cuts_are_refused(first: list[int]) -> None:
    with pytest.raises(ValueError, match="first must|number of cuts"):
        _native.apply_cuts(np.zeros((2, 2)), np.array([0.5, 1.5]), np.array(first), 1)


def large_columns(rng: np.random.Generator, n: int, dtype: type) -> dict[str, np.ndarray]:
    """Columns whose upper bits distinguish values, hardly do, or not; frequent values or none."""
    normal = rng.normal(size=n)
    columns = {
        "normal": normal,
        "wide": np.exp(20 * normal),
        "near each other": 1e6 + normal / 100,
        "nearly equal": 1 + rng.integers(0, n, size=n) * float(np.finfo(dtype).eps),
        "short decimals": np.round(normal, 2),
        "pairs": np.repeat(normal[: n // 2 + 1], 2)[:n],
        "just heavy": np.where(rng.random(n) < 1 / 255, 0.5, normal),
        "hardly heavy": np.where(np.arange(n) < n // 255, 0.5, normal),
        "heavy": np.where(rng.random(n) < 0.3, 0.0, normal),
        "missing": np.where(rng.random(n) < 0.3, np.nan, normal),
        "infinite": np.where(rng.random(n) < 0.01, np.inf, np.where(normal > 2, -np.inf, normal)),
        "few": rng.integers(0, 200, size=n).astype(float),
        "sorted": np.sort(normal),
    }
    return {kind: values.astype(dtype) for kind, values in columns.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [4096, 5000, 30011])
def test_keys_in_the_order_of_their_upper_bits_are_cut_as_sorted_ones(dtype: type, n: int) -> None:
    """Rows that count once each are not sorted to the last bit; rows with a mass of one are."""
    rng = np.random.default_rng([n, dtype().itemsize])
    columns = large_columns(rng, n, dtype)
    table = np.column_stack(list(columns.values()))
    ones = np.ones(n, dtype=np.int64)
    for max_bins in (2, 3, 16, 255, 256, 1000, 65535):
        found = cuts_of(table, None, max_bins, 2)
        expected = cuts_of(table, ones, max_bins)
        for kind, got, wanted in zip(columns, found, expected, strict=True):
            assert got == wanted, (kind, max_bins)
    for kind, values in columns.items():
        assert cuts_of(values[:, np.newaxis]) == [naive.cuts_of_column(values, ones, 255)], kind

"""Hashes of rows and the random numbers drawn from them: content in, even and independent out."""

import numpy as np
import pytest

from weald import _native

N = 4000


def hashes_of(table, target=None) -> np.ndarray:
    target = np.zeros(len(table)) if target is None else target
    return _native.hash_rows(table, target, 1)


def integers(n: int = N, columns: int = 3) -> np.ndarray:
    """Different rows that a weak hash would confuse: small whole numbers."""
    number = np.arange(n)
    return np.column_stack([number // 16**k % 16 for k in range(columns)]).astype(np.float64)


def test_different_rows_have_different_hashes() -> None:
    hashes = hashes_of(integers())
    assert hashes.dtype == np.uint64 and hashes.shape == (N, 2)
    assert len(np.unique(hashes, axis=0)) == N
    for word in range(2):
        assert len(np.unique(hashes[:, word])) == N


def test_hash_covers_target_and_order_of_columns() -> None:
    table = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    hashes = hashes_of(table, np.array([0.0, 0.0, 1.0]))
    assert len(np.unique(hashes, axis=0)) == 3


def test_equal_values_have_equal_hashes() -> None:
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001], dtype=np.uint64).view(np.float64)
    table = np.array([[0.0, nans[0]], [-0.0, nans[1]]])
    hashes = hashes_of(table, np.array([0.0, -0.0]))
    assert np.array_equal(hashes[0], hashes[1])


def test_hash_does_not_depend_on_type_layout_position_or_thread() -> None:
    table = integers()
    hashes = hashes_of(table)
    assert np.array_equal(hashes_of(np.asfortranarray(table)), hashes)
    assert np.array_equal(hashes_of(table.astype(np.float32)), hashes)
    assert np.array_equal(hashes_of(table[::-1])[::-1], hashes)
    assert np.array_equal(_native.hash_rows(table, np.zeros(N), 8), hashes)


def test_each_bit_of_a_hash_is_set_in_half_of_the_rows() -> None:
    words = hashes_of(integers()).ravel()
    bits = np.unpackbits(words.view(np.uint8)).reshape(N, 128)
    # Five standard deviations of a fair coin.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(N)


@pytest.mark.parametrize("key", [(0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2), (2**63, 5, 2)])
def test_draws_are_even(key: tuple[int, int, int]) -> None:
    uniform = _native.draw(hashes_of(integers()), *key) / 2.0**64
    counts = np.bincount((uniform * 20).astype(int), minlength=20)
    # Chi-square with 19 degrees of freedom: beyond 45 once in a thousand.
    assert ((counts - N / 20) ** 2 / (N / 20)).sum() < 45


def test_draws_of_different_keys_are_independent() -> None:
    hashes = hashes_of(integers())
    keys = [(0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 0, 2), (1, 1, 1), (0, 2, 1)]
    draws = np.array([_native.draw(hashes, *key) / 2.0**64 for key in keys])
    correlation = np.corrcoef(draws) - np.eye(len(keys))
    assert np.abs(correlation).max() < 5 / np.sqrt(N)


def test_draws_are_the_same_every_time_and_everywhere() -> None:
    hashes = hashes_of(np.array([[1.0, 2.0]]), np.array([3.0]))
    assert np.array_equal(_native.draw(hashes, 4, 5, 6), _native.draw(hashes, 4, 5, 6))
    # Found by running the definition of cpp/data/content.hpp in Python (below).
    assert int(_native.draw(hashes, 4, 5, 6)[0]) == draw_by_hand([3.0, 1.0, 2.0], (4, 5, 6))


WRAP = 2**64 - 1


def mix(x: int) -> int:
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 & WRAP
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 & WRAP
    return x ^ (x >> 32)


def absorb(low: int, high: int, word: int) -> tuple[int, int]:
    low = (mix(low ^ word) + 0x9E3779B97F4A7C15) & WRAP
    return low, mix((high + word * 0xC2B2AE3D27D4EB4F) & WRAP) ^ low


def draw_by_hand(values: list[float], key: tuple[int, int, int]) -> int:
    """The target first, then the columns, then the key."""
    low, high = 0x243F6A8885A308D3, 0x13198A2E03707344
    for word in [int(np.float64(value).view(np.uint64)) for value in values] + list(key):
        low, high = absorb(low, high, word)
    return mix(high ^ mix(low))


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="target must have one entry per row"):
        _native.hash_rows(np.zeros((2, 1)), np.zeros(3), 1)
    with pytest.raises(ValueError, match="two words per row"):
        _native.draw(np.zeros((2, 3), dtype=np.uint64), 0, 0, 0)


def naive_numbered(
    hashes: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Sorted by both words, equal rows by weight and then as they came; copies have other keys."""
    weights = np.zeros(len(hashes)) if weight is None else weight
    order = np.lexsort((np.arange(len(hashes)), weights, hashes[:, 0], hashes[:, 1]))
    keys, number = [], 0
    for i, row in enumerate(order):
        same = i > 0 and (hashes[row] == hashes[order[i - 1]]).all()
        number = number + 1 if same else 0
        low, high = (int(word) for word in hashes[row])
        keys.append(absorb(low, high, number) if number else (low, high))
    return order, keys


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17, 100, 300, 1023, 1024, 3000])
@pytest.mark.parametrize("most", [1, 7, 2**63], ids=["equal", "many ties", "different"])
@pytest.mark.parametrize("weighted", [False, True])
def test_numbered_rows_are_those_of_naive_code(n: int, most: int, weighted: bool) -> None:
    """Words that agree while the others do not are what no hash gives, so they are made here."""
    rng = np.random.default_rng(n)
    hashes = rng.integers(0, most, size=(n, 2), dtype=np.uint64)
    weight = rng.integers(1, 4, n).astype(np.float64) if weighted else None
    order, keys = _native.numbered_rows(hashes, weight)
    naive_order, naive_keys = naive_numbered(hashes, weight)
    assert np.array_equal(order, naive_order)
    assert [tuple(map(int, key)) for key in keys] == naive_keys


@pytest.mark.parametrize("n", [17, 100, 1023, 1024])
def test_words_of_all_sizes_are_sorted(n: int) -> None:
    """Most lie close to the least of them, and most of those again: how few rows are sorted."""
    rng = np.random.default_rng(n)
    hashes = rng.integers(0, 2**63, size=(n, 2), dtype=np.uint64) >> rng.integers(
        0, 64, size=(n, 2), dtype=np.uint64
    )
    assert np.array_equal(_native.numbered_rows(hashes)[0], naive_numbered(hashes, None)[0])


def test_keys_of_copies_differ() -> None:
    _, keys = _native.numbered_rows(np.zeros((5000, 2), dtype=np.uint64))
    assert len(np.unique(keys, axis=0)) == 5000


def test_hashes_of_three_words_and_weights_of_other_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="two words per row"):
        _native.numbered_rows(np.zeros((4, 3), dtype=np.uint64))
    with pytest.raises(ValueError, match="weight must have one entry per row"):
        _native.numbered_rows(np.zeros((4, 2), dtype=np.uint64), np.ones(3))
    with pytest.raises(ValueError, match="weight must not be NaN"):
        _native.numbered_rows(np.zeros((1, 2), dtype=np.uint64), np.array([np.nan]))

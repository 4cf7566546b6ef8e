"""Means and leaf sums in steps: merged over pieces of the rows, they are those of all rows."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from weald import _native

PIECES = [0, 3, 3, 50, 200]


def rows(seed: int) -> tuple[Any, Any, Any]:
    """Values, weights and copies, some of them zero."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=200) ** 5, rng.gamma(1.0, size=200), rng.integers(0, 3, 200)


def pieces(*arrays: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(None if one is None else one[begin:end] for one in arrays)
        for begin, end in pairwise(PIECES)
    ]


@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("has_copies", [False, True])
def test_means(has_weight: bool, has_copies: bool) -> None:
    values, weight, copies = rows(1)
    weight, copies = weight if has_weight else None, copies if has_copies else None
    scores = np.zeros((1, 200))
    losses = _native.losses_of_rows("squared_error", 0.0, values, scores, 1)
    each = pieces(losses, weight, copies)
    most = np.max([_native.mean_extremes(*one) for one in each], axis=0)
    sums = np.sum([_native.mean_sums(*one, most) for one in each], axis=0)
    want = _native.mean_loss("squared_error", 0.0, values, scores, weight, copies, 1)
    assert _native.mean_of_sums(most, sums) == want


def test_means_without_sums() -> None:
    """Equal values are their mean; one that is infinite makes it so; of no rows there is none."""
    for values, want in [([0.1] * 3, 0.1), ([1.0, np.inf], np.inf), ([], np.nan)]:
        most = _native.mean_extremes(np.array(values, dtype=float), None, None)
        sums = _native.mean_sums(np.array(values, dtype=float), None, None, most)
        np.testing.assert_equal(_native.mean_of_sums(most, sums), want)


@pytest.mark.parametrize("has_hessian", [False, True])
def test_leaves(has_hessian: bool) -> None:
    gradient, hessian, copies = rows(2)
    leaf = np.random.default_rng(3).integers(0, 7, 200).astype(np.int32)
    given = hessian if has_hessian else None
    each = pieces(gradient, given, copies, leaf)
    most = np.max([_native.leaf_extremes(*one[:3], 1) for one in each], axis=0)
    sums = np.sum([_native.sums_of_leaves(*one, 7, most, 1) for one in each], axis=0)
    steps, hessians = _native.steps_of_sums(most, sums, 0.5, 2.0)
    of_one = gradient[np.newaxis], None if given is None else given[np.newaxis]
    want_steps, want = _native.newton_steps(*of_one, copies, leaf, 7, 0.5, 2.0, 1)
    np.testing.assert_array_equal(steps, want_steps[:, 0])
    np.testing.assert_array_equal(hessians, want)


def test_base_scores_of_means() -> None:
    y = np.array([0.0, 1.0, 1.0, 2.0])
    shares = np.array([0.25, 0.5, 0.25])
    want = _native.base_scores("log_loss", 0.0, y, 3, None, None)
    np.testing.assert_array_equal(_native.base_scores_of_means("log_loss", shares), want)
    with pytest.raises(ValueError, match="no function of a mean"):
        _native.base_scores_of_means("absolute_error", np.array([0.5]))


def test_keys_of_copies_are_those_of_numbered_rows() -> None:
    hashes = np.array([[5, 9], [7, 9], [5, 9], [5, 9]], dtype=np.uint64)
    order, keys = _native.numbered_rows(hashes)
    numbers = np.array([0, 1, 2, 0])
    np.testing.assert_array_equal(_native.keys_of_copies(hashes[order], numbers), keys)


def test_draws_are_those_of_subsample() -> None:
    keys = np.random.default_rng(4).integers(0, 2**63, (500, 2)).astype(np.uint64)
    copies, drawn = _native.subsample(keys, None, None, 0.3, 1, 2, 3)
    np.testing.assert_array_equal(_native.draw_rows(keys, 0.3, 1, 2, 3), drawn)
    assert 100 < copies.sum() < 200


def test_bad_sizes() -> None:
    x, words = np.ones(3), np.zeros((3, 2), dtype=np.uint64)
    leaf, most = np.zeros(3, dtype=np.int32), np.ones(2)
    for call in (
        lambda: _native.mean_extremes(x, x[:2], None),
        lambda: _native.mean_extremes(x, None, np.array([1, -1, 1])),
        lambda: _native.mean_sums(x, None, None, np.ones(3)),
        lambda: _native.mean_of_sums(np.ones(4), np.ones(7, dtype=np.int64)),
        lambda: _native.leaf_extremes(x, x[:2], None, 1),
        lambda: _native.sums_of_leaves(x, None, None, leaf, 0, most, 1),
        lambda: _native.sums_of_leaves(x, None, None, leaf + 5, 2, most, 1),
        lambda: _native.sums_of_leaves(x, None, None, leaf, 1, np.array([np.nan, 1.0]), 1),
        lambda: _native.steps_of_sums(most, np.ones(9, dtype=np.int64), 0.0, 0.0),
        lambda: _native.losses_of_rows("log_loss", 0.0, x * 7, np.zeros((1, 3)), 1),
        lambda: _native.keys_of_copies(words, np.array([0, 1])),
        lambda: _native.keys_of_copies(words, np.array([0, -1, 0])),
        lambda: _native.draw_rows(words, 0.0, 0, 0, 0),
    ):
        with pytest.raises(
            ValueError, match="must|out of range|unknown|contain|extremes|four|finite"
        ):
            call()

"""Best constants and Newton steps of leaves, for every loss of the core."""

import math

import numpy as np
import pytest

from contract.losses import (
    FACTS,
    derivatives,
    every_case,
    every_refined,
    loss_of,
)
from weald import _native
from weald.losses import BuiltinLoss


def brute_force(loss: BuiltinLoss, residuals: np.ndarray, mass: np.ndarray) -> float:
    """Constant of smallest loss by grid search with refinement."""
    low, high = residuals.min(), residuals.max()
    for _ in range(12):
        grid = np.unique(np.concatenate([np.linspace(low, high, 41), residuals]))
        means = [loss.mean(residuals, np.full((1, len(residuals)), c), mass, None) for c in grid]
        best = int(np.argmin(means))
        low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    return means[best]


@every_refined
@pytest.mark.parametrize("weights", ["none", "copies", "weight"])
def test_leaves_have_the_best_constant_of_their_residuals(name: str, weights: str) -> None:
    rng = np.random.default_rng(10)
    n, n_leaves = 70, 4
    y, scores = rng.integers(-8, 9, n) / 4, rng.normal(size=(1, n))
    leaf = rng.integers(0, n_leaves, n).astype(np.int32)
    weight = rng.exponential(size=n) if weights == "weight" else None
    copies = rng.integers(0, 4, n) if weights == "copies" else None
    loss = loss_of(name, 1)
    values = loss.leaf_constants(y, scores, weight, copies, leaf, n_leaves)
    mass = (np.ones(n) if weight is None else weight) * (np.ones(n) if copies is None else copies)
    for i in range(n_leaves):
        rows = (leaf == i) & (mass > 0)
        residuals = y[rows] - scores[0, rows]
        ours = loss.mean(residuals, np.full((1, rows.sum()), values[i]), mass[rows], None)
        least = brute_force(loss, residuals, mass[rows])
        assert ours <= least + 1e-12 * abs(least)


@every_refined
def test_leaf_constants_do_not_depend_on_order_threads_or_repetition(name: str) -> None:
    rng = np.random.default_rng(11)
    n, n_leaves = 30_000, 5
    y, scores = rng.normal(size=n), rng.normal(size=(1, n))
    leaf = rng.integers(0, n_leaves, n).astype(np.int32)
    copies, weight = rng.integers(0, 3, n), rng.exponential(size=n)
    order = rng.permutation(n)
    repeated = np.repeat(np.arange(n), copies)

    def constants(n_threads: int, index, w, c) -> list[float]:
        return (
            loss_of(name, 1, n_threads)
            .leaf_constants(
                y[index], np.ascontiguousarray(scores[:, index]), w, c, leaf[index], n_leaves
            )
            .tolist()
        )

    everyone = np.arange(n)
    expected = constants(1, everyone, weight, None)
    assert constants(4, order, weight[order], None) == expected
    assert constants(2, everyone, weight * 2.0**90, None) == expected
    assert constants(1, everyone, None, copies) == constants(3, repeated, None, None)


@pytest.mark.parametrize("level", [0.0, 0.05, 0.3, 0.5, 0.9, 1.0])
def test_quantiles_are_those_of_the_inverted_distribution(level: float) -> None:
    rng = np.random.default_rng(12)
    for n in (1, 2, 3, 10, 101):
        values = rng.integers(-6, 7, n).astype(np.float64)
        expected = np.quantile(values, level, method="inverted_cdf")
        assert _native.quantile(values, level, None, None) == expected
        copies = rng.integers(0, 4, n)
        if copies.sum():
            expected = np.quantile(np.repeat(values, copies), level, method="inverted_cdf")
            assert _native.quantile(values, level, None, copies) == expected
            assert _native.quantile(values, level, copies / 8, None) == expected


@every_case
def test_steps_are_newton_s_or_shorter_and_never_explode(name: str, n_scores: int) -> None:
    loss = loss_of(name, n_scores)
    steps = np.array([-1e300, -50.0, -1.0, -0.1, 0.0, 1e-9, 0.5, 2.0, 1e6, 1e300])
    capped = loss.capped(steps, 1.0)
    assert (np.abs(capped) <= np.abs(steps)).all()
    assert np.array_equal(np.sign(capped), np.sign(steps))
    if FACTS[name]["caps_steps"]:
        assert np.abs(capped).max() <= 40
        assert capped[5] == pytest.approx(1e-9, rel=1e-6)
        # A small learning rate allows a longer step.
        assert (np.abs(loss.capped(steps, 0.1)) >= np.abs(capped)).all()
        assert np.abs(loss.capped(steps, 0.1)).max() <= 400
    else:
        assert np.array_equal(capped, steps)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
def test_a_capped_step_is_the_smaller_of_best_constant_and_newton_step(name: str) -> None:
    """Far from the best constant, an uncapped Newton step would explode."""
    for size in (1e-8, 0.01, 0.5, 1.0, 3.0, 1e4, 1e12):
        loss, y = loss_of(name, 1), np.array([1.0, 2.0, 3.0]) * size
        gradient, hessian = derivatives(loss, y, np.zeros((1, 3)))
        best = loss.base_scores(y, None, None)[0]
        newton = -gradient.sum() / hessian.sum()
        for rate in (1.0, 0.1):
            leaf = np.zeros(3, np.int32)
            (step,) = loss.leaf_steps(gradient[0], hessian[0], None, leaf, 1, rate)
            expected = min(best, rate * newton, key=abs)
            assert rate * step == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n_scores", [1, 4])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.9])
def test_a_step_of_log_loss_never_raises_the_loss_of_its_leaf(n_scores: int, rate: float) -> None:
    """For any class frequency and any wrong, confident scores. Each score is tested separately:
    a diagonal hessian ignores that the scores of several classes move together."""
    rng = np.random.default_rng(21)
    loss = loss_of("log_loss", n_scores)
    shortened = 0
    for spread in (0.1, 3.0, 12.0):
        for _ in range(60):
            n = int(rng.integers(1, 30))
            y = rng.integers(0, max(n_scores, 2), n).astype(np.float64)
            if rng.random() < 0.3:
                y[:] = y[0]
            scores = rng.normal(size=(n_scores, n)) * spread + rng.normal() * spread
            gradient, hessian = derivatives(loss, y, scores)
            before = loss.mean(y, scores, None, None)
            for k in range(n_scores):
                leaf = np.zeros(n, np.int32)
                (step,) = loss.leaf_steps(gradient[k], hessian[k], None, leaf, 1, rate)
                newton = -math.fsum(gradient[k]) / math.fsum(hessian[k])
                if step != pytest.approx(newton, rel=1e-12):
                    shortened += 1
                    expected = math.copysign(min(max(2.0, math.log1p(abs(newton))), 40), newton)
                    assert rate * step == pytest.approx(expected, rel=1e-12)
                moved = scores.copy()
                moved[k] += rate * step
                assert loss.mean(y, moved, None, None) <= before * (1 + 1e-12) + 1e-15
    assert shortened > 5


def test_leaf_steps_are_quotients_of_exact_sums() -> None:
    rng = np.random.default_rng(13)
    n = 20_000
    gradient, hessian = rng.normal(size=n) * 10.0 ** rng.integers(-9, 3, n), rng.random(n)
    leaf, copies = rng.integers(0, 6, n).astype(np.int32), rng.integers(0, 3, n)
    hessian[leaf == 5] = 0.0
    loss = loss_of("exponential", 1)  # without capped steps
    got = loss.leaf_steps(gradient, hessian, copies, leaf, 6, 1.0)
    for i in range(5):
        rows = leaf == i
        expected = -math.fsum(gradient[rows] * copies[rows]) / math.fsum(
            hessian[rows] * copies[rows]
        )
        assert got[i] == pytest.approx(expected, rel=1e-12)
    assert got[5] == 0.0
    order = rng.permutation(n)
    again = BuiltinLoss("exponential", 1, 4).leaf_steps(
        gradient[order], hessian[order], copies[order], leaf[order], 6, 1.0
    )
    assert np.array_equal(again, got)


def test_newton_steps_of_several_scores() -> None:
    rng = np.random.default_rng(14)
    n, n_scores, n_leaves = 3_000, 3, 5
    gradient, hessian = rng.normal(size=(n_scores, n)), rng.random((n_scores, n))
    leaf, copies = rng.integers(0, n_leaves - 1, n).astype(np.int32), rng.integers(0, 3, n)
    loss = loss_of("exponential", 1)  # without capped steps
    for l2 in (0.0, 2.0):
        given = gradient, hessian, copies, leaf, n_leaves
        steps, hessians = _native.newton_steps(*given, 0.0, l2, 2)
        for k in range(n_scores):
            one = loss.leaf_steps(gradient[k], hessian[k], copies, leaf, n_leaves, 1.0, l2)
            assert np.array_equal(steps[:, k], one)
        total = np.bincount(leaf, hessian.sum(axis=0) * copies, n_leaves)
        assert hessians == pytest.approx(total, rel=1e-12)
        # A penalty on the size of values makes the sums of gradients smaller by so much.
        sums = -steps * (
            np.stack([np.bincount(leaf, h * copies, n_leaves) for h in hessian], 1) + l2
        )
        shrunk = np.sign(sums) * np.maximum(np.abs(sums) - 3.0, 0.0)
        with np.errstate(invalid="ignore"):
            expected = np.where(sums == 0.0, 0.0, steps * shrunk / sums)
        assert _native.newton_steps(*given, 3.0, l2, 1)[0] == pytest.approx(expected, rel=1e-9)
    assert (steps[-1] == 0.0).all()  # a leaf without rows
    ones, counts = _native.newton_steps(gradient, None, copies, leaf, n_leaves, 0.0, 0.0, 1)
    assert np.array_equal(counts, n_scores * np.bincount(leaf, copies, n_leaves))
    assert ones[0, 0] == pytest.approx(-np.sum((gradient[0] * copies)[leaf == 0]) / (counts[0] / 3))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize(("has_copies", "has_drawn"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_a_refit_takes_newton_steps_from_the_rows_drawn(
    dtype: type, has_copies: bool, has_drawn: bool
) -> None:
    rng = np.random.default_rng(16)
    n, n_scores, n_leaves, rate = 2_000, 3, 5, 0.25
    gradient, hessian = rng.normal(size=(n_scores, n)), rng.random((n_scores, n))
    leaf = rng.integers(0, n_leaves, n)
    copies = rng.integers(0, 3, n) if has_copies else None
    drawn = (rng.random(n) < 0.8).astype(np.uint8) if has_drawn else None
    if drawn is not None:
        gradient[:, drawn == 0] = np.nan  # rows that are not drawn are not looked at
    times = (1 if copies is None else copies) * (np.ones(n, int) if drawn is None else drawn)
    start = rng.normal(size=(n_scores, n))
    scores = start.copy()

    def refit(hessian: np.ndarray | None, scores: np.ndarray, leaf: np.ndarray) -> tuple:
        sums = gradient, hessian, copies, drawn, leaf.astype(dtype), n_leaves
        return _native.refit_leaves("exponential", 0.0, rate, *sums, 0.5, 2.0, scores, 2)

    for h in (hessian, None):
        scores = start.copy()
        values, hessians, largest = refit(h, scores, leaf)
        steps, expected = _native.newton_steps(
            gradient, h, times.astype(np.int64), leaf.astype(np.int32), n_leaves, 0.5, 2.0, 1
        )
        assert np.array_equal(values, BuiltinLoss("exponential", 1, 1).capped(steps, rate) * rate)
        assert np.array_equal(hessians, expected)
        assert largest == np.abs(values).max()
        assert np.array_equal(scores, start + values[leaf].T)
    with pytest.raises(ValueError, match="invalid leaf index"):
        refit(hessian, scores, leaf + 1)
    with pytest.raises(ValueError, match="shape of gradient"):
        refit(hessian[:2].copy(), scores, leaf)
    with pytest.raises(ValueError, match="one entry per row"):
        refit(hessian, scores, leaf[1:])


def test_leaf_values_are_added_to_every_score() -> None:
    rng = np.random.default_rng(15)
    scores, values = rng.normal(size=(2, 50)), rng.normal(size=(4, 2))
    leaf = rng.integers(0, 4, 50).astype(np.int32)
    expected = scores + values[leaf].T
    _native.add_leaf_values(scores, leaf, values, 2)
    assert np.array_equal(scores, expected)
    with pytest.raises(ValueError, match="one column per score"):
        _native.add_leaf_values(scores, leaf, values[:, :1].copy(), 1)
    with pytest.raises(ValueError, match="one entry per row"):
        _native.add_leaf_values(scores, leaf[1:], values, 1)
    with pytest.raises(ValueError, match="invalid leaf index"):
        _native.add_leaf_values(scores, leaf + np.int32(1), values, 1)


def test_weights_of_nodes_are_sums_of_their_leaves() -> None:
    feature, right = np.array([2, -1, 0, -1, -1]), np.array([2, 0, 4, 1, 2])
    given = feature.astype(np.int32), right.astype(np.int32)
    leaves, ends = np.array([1.0, 2.0, 4.0]), (np.array([0, 5]), np.array([0, 3]))
    assert _native.node_weights(*given, leaves, *ends).tolist() == [7.0, 1.0, 6.0, 2.0, 4.0]
    twice = [np.concatenate([one, one]) for one in given]
    more = np.concatenate([leaves, 10 * leaves])
    of_both = _native.node_weights(*twice, more, np.array([0, 5, 10]), np.array([0, 3, 6]))
    assert of_both.tolist() == [7.0, 1.0, 6.0, 2.0, 4.0, 70.0, 10.0, 60.0, 20.0, 40.0]
    for wrong_ends in ([0, 4], [1, 5], [5], []):
        with pytest.raises(ValueError, match="first_node and first_leaf must"):
            _native.node_weights(*given, leaves, np.array(wrong_ends, dtype=np.int64), ends[1])
    for node, wrong in [(0, 1), (0, 5), (1, 3), (1, -1), (2, 2)]:
        other = given[1].copy()
        other[node] = wrong
        with pytest.raises(ValueError, match="right must"):
            _native.node_weights(given[0], other, leaves, *ends)

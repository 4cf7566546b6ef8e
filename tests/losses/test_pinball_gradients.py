"""Gradients of pinball losses for rows whose initial score equals the target."""

import numpy as np
import pytest

from weald.losses import BuiltinLoss, leaning, quantile_losses


def started(loss: BuiltinLoss, y: np.ndarray, weight=None, copies=None) -> BuiltinLoss:
    return leaning(loss, y, loss.base_scores(y, weight, copies), weight, copies)


def slope_by_hand(y: np.ndarray, level: float) -> float:
    """One side's slope if the other is ten times too rare, or there is none."""

    def odds(share: float) -> float:
        return share / (1 - share) if share < 1 else np.inf

    base = np.quantile(y, level, method="inverted_cdf")
    wanted = odds(1 - level)
    to_more = wanted / odds((y > base).mean()) if (y > base).any() else np.inf
    to_less = odds((y >= base).mean()) / wanted
    if max(to_more, to_less) < 10 or to_more == to_less:
        return 0.0
    return 1 - level if to_more < to_less else -level


@pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.8, 0.95])
def test_counts_lean_to_the_side_in_reach(level: float) -> None:
    found = set()
    for mean in (0.04, 0.052, 0.12, 0.5, 1.0, 4.0, 30.0):
        y = np.random.default_rng(7).poisson(mean, 1000).astype(float)
        loss = started(BuiltinLoss("quantile", 1, 1, level), y)
        assert loss.base_slope == pytest.approx(slope_by_hand(y, level))
        found.add(np.sign(loss.base_slope))
        base = loss.base_scores(y, None, None)[0]
        scores = np.full((1, 1000), base)
        gradient, hessian = np.empty((1, 1000)), np.empty((1, 1000))
        loss.gradients(y, scores, None, gradient, hessian)
        expected = np.where(y < base, 1 - level, np.where(y > base, -level, loss.base_slope))
        assert gradient[0] == pytest.approx(expected)
        if level == 0.5:
            median = started(BuiltinLoss("absolute_error", 1, 1), y)
            assert median.base_slope == 2 * loss.base_slope
    assert {0.0, 1.0} <= found  # otherwise the test would be weak


def test_the_largest_counts_can_only_be_left_downwards() -> None:
    y = np.array([0.0] * 90 + [1.0] * 10)
    assert started(BuiltinLoss("quantile", 1, 1, 0.95), y).base_slope == -0.95
    assert started(BuiltinLoss("quantile", 1, 1, 0.95), y - 1).base_slope == -0.95


def test_copies_and_weights_count() -> None:
    rng = np.random.default_rng(0)
    y, copies = rng.poisson(0.3, 500).astype(float), rng.integers(0, 5, 500)
    for level in (0.6, 0.9, 0.99):
        loss = BuiltinLoss("quantile", 1, 1, level)
        repeated = started(loss, np.repeat(y, copies))
        assert started(loss, y, None, copies) == repeated
        assert started(loss, y, copies / 8, (copies > 0).astype(np.int64)) == repeated


def test_each_of_several_levels_leans_by_itself() -> None:
    y = np.random.default_rng(0).poisson(0.2, 800).astype(float)
    levels = [0.1, 0.5, 0.9, 0.99]
    together = started(quantile_losses(levels, 1), y)
    alone = [started(BuiltinLoss("quantile", 1, 1, level), y) for level in levels]
    assert [together.of_score(k) for k in range(4)] == alone
    scores, hessian = np.zeros((4, 800)), np.empty((4, 800))
    gradient, one = np.empty((4, 800)), np.empty((1, 800))
    together.gradients(y, scores, None, gradient, hessian)
    for k, loss in enumerate(alone):
        loss.gradients(y, scores[k : k + 1], None, one, hessian[:1])
        assert np.array_equal(gradient[k], one[0])


def test_nothing_else_leans() -> None:
    y = np.array([0.0] * 8 + [1.0] * 2)
    loss = started(BuiltinLoss("quantile", 1, 1, 0.5), y)
    assert loss.base_slope == 0.5
    gradient, hessian = np.empty((1, 10)), np.empty((1, 10))
    loss.gradients(y, np.ones((1, 10)), None, gradient, hessian)
    assert gradient[0, 8:].tolist() == [0.0, 0.0]  # met, but not at the base
    alike = BuiltinLoss("quantile", 1, 1, 0.5)
    assert started(alike, np.ones(5)) == alike
    for name in ("poisson", "squared_error"):
        other = BuiltinLoss(name, 1, 1)
        assert started(other, y) is other
    numbers = np.random.default_rng(0).normal(size=300)
    assert started(alike, numbers) == alike

"""Initial scores: the constants that minimise the loss, given the offsets of the rows."""

import numpy as np
import pytest

from weald.losses import BuiltinLoss, base_scores_given

RNG = np.random.default_rng(0)
N = 400
NUMBERS = RNG.normal(size=N) * 3
COUNTS = RNG.poisson(np.exp(RNG.normal(size=N) / 2)).astype(float)
THREE = RNG.integers(0, 3, N)
TWO = (THREE > 0).astype(int)
WEIGHT = RNG.integers(0, 4, N).astype(float)

LOSSES = {
    "squared_error": (BuiltinLoss("squared_error", 1, 1), NUMBERS),
    "absolute_error": (BuiltinLoss("absolute_error", 1, 1), NUMBERS),
    "quantile": (BuiltinLoss("quantile", 1, 1, 0.8), NUMBERS),
    "poisson": (BuiltinLoss("poisson", 1, 1), COUNTS),
    "gamma": (BuiltinLoss("gamma", 1, 1), COUNTS + 0.5),
    "tweedie": (BuiltinLoss("tweedie", 1, 1, 1.5), COUNTS),
    "two classes": (BuiltinLoss("log_loss", 1, 1), TWO.astype(float)),
    "exponential": (BuiltinLoss("exponential", 1, 1), TWO.astype(float)),
    "three classes": (BuiltinLoss("log_loss", 3, 1), THREE.astype(float)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_base_scores_minimise_the_loss_given_the_offset(name: str, weighted: bool) -> None:
    loss, y = LOSSES[name]
    weight = WEIGHT + 0.5 if weighted else None
    offset = np.random.default_rng(1).normal(size=(loss.n_scores, N))
    base = base_scores_given(loss, y, weight, None, offset)

    def mean(scores: np.ndarray) -> float:
        return loss.mean(y, offset + scores[:, np.newaxis], weight, None)

    best = mean(base)
    for k in range(loss.n_scores):
        for step in (-0.03, 0.03):
            assert mean(base + step * np.eye(loss.n_scores)[k]) >= best - 1e-12


@pytest.mark.parametrize("name", LOSSES)
def test_an_offset_of_zeros_has_the_base_score_of_none(name: str) -> None:
    loss, y = LOSSES[name]
    base = base_scores_given(loss, y, None, None, np.zeros((loss.n_scores, N)))
    assert base == pytest.approx(loss.base_scores(y, None, None), rel=1e-9)


def test_base_scores_are_found_far_away() -> None:
    """Two classes whose offsets all lie 150 too high, counts whose offsets lie 150 too low."""
    loss, y = LOSSES["two classes"]
    base = base_scores_given(loss, y, None, None, np.full((1, N), 150.0))
    assert base[0] + 150 == pytest.approx(loss.base_scores(y, None, None)[0], abs=1e-9)
    loss, y = LOSSES["poisson"]
    base = base_scores_given(loss, y, None, None, np.full((1, N), -150.0))
    assert base[0] - 150 == pytest.approx(np.log(COUNTS.mean()), abs=1e-9)
    loss, y = LOSSES["three classes"]
    base = base_scores_given(loss, y, None, None, np.tile([[150.0], [-150.0], [0.0]], N))
    shares = np.exp(base + [150, -150, 0])
    assert shares / shares.sum() == pytest.approx(np.bincount(THREE) / N, rel=1e-6)


def test_a_class_without_rows_has_a_finite_base_score() -> None:
    loss = BuiltinLoss("log_loss", 3, 1)
    offset = np.random.default_rng(0).normal(size=(3, N))
    base = base_scores_given(loss, TWO.astype(float), None, None, offset)
    assert np.isfinite(base).all() and base[2] < -20

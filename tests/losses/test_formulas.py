"""The built-in losses beside their textbook formulas, written once more in mpmath."""

import mpmath as mp
import numpy as np
import pytest

from weald.losses import BuiltinLoss

LEVEL, WIDTH, POWER = 0.3, 1.25, 1.4


def tweedie(y, s):
    p = mp.mpf(POWER)
    own = y ** (2 - p) / ((1 - p) * (2 - p)) if y > 0 else 0
    return own - y * mp.e ** ((1 - p) * s) / (1 - p) + mp.e ** ((2 - p) * s) / (2 - p)


def y_log(y, x):
    return y * mp.log(x) if y > 0 else mp.mpf(0)


TWINS = {
    "squared_error": (0.0, lambda y, s: (y - s) ** 2 / 2),
    "absolute_error": (0.0, lambda y, s: abs(y - s)),
    "huber": (
        WIDTH,
        lambda y, s: (
            (y - s) ** 2 / 2 if abs(y - s) <= WIDTH else WIDTH * (abs(y - s) - mp.mpf(WIDTH) / 2)
        ),
    ),
    "quantile": (LEVEL, lambda y, s: max(LEVEL * (y - s), (mp.mpf(LEVEL) - 1) * (y - s))),
    "poisson": (0.0, lambda y, s: mp.e**s - y - y * s + y_log(y, y)),
    "gamma": (0.0, lambda y, s: s - mp.log(y) + y * mp.e**-s - 1),
    "tweedie": (POWER, tweedie),
    "log_loss": (0.0, lambda y, s: mp.log(1 + mp.e**s) - y * s),
    "exponential": (0.0, lambda y, s: mp.e ** (-s if y == 1 else s)),
    "kl": (
        0.0,
        lambda y, s: y_log(y, y) + y_log(1 - y, 1 - y) - y * s + mp.log(1 + mp.e**s),
    ),
}
TARGETS = {
    "gamma": [1e-9, 0.3, 1.0, 700.0],
    "poisson": [0.0, 1.0, 7.0, 1e6],
    "tweedie": [0.0, 0.2, 3.0, 1e6],
    "log_loss": [0.0, 1.0],
    "exponential": [0.0, 1.0],
    "kl": [0.0, 0.25, 0.9, 1.0],
}


def test_every_loss_has_a_twin() -> None:
    from weald import _native

    assert set(TWINS) == set(_native.losses())


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("score", [-40.0, -3.0, -0.7, 0.05, 1.9, 25.0])
def test_value_and_derivatives(name: str, score: float) -> None:
    parameter, formula = TWINS[name]
    loss = BuiltinLoss(name, 1, 1, parameter)
    y = np.array(TARGETS.get(name, [-2.5, 0.0, 4.0, 1e6]))
    scores = np.full((1, len(y)), score)
    gradient, hessian = np.ones_like(scores), np.ones_like(scores)
    has_hessian = loss.gradients(y, scores, None, gradient, hessian)
    with mp.workdps(60):
        for i, target in enumerate(y):

            def at(s, target=target):
                return formula(mp.mpf(target), s)

            value = loss.mean(y[i : i + 1], scores[:, i : i + 1], None, None)
            # The terms of a deviance are larger than what is left of them.
            terms = 1 + abs(target) * (1 + abs(score)) + float(mp.e ** abs(score))
            near = 1e-15 * terms if name not in ("squared_error", "huber") else 0.0
            assert value == pytest.approx(float(at(mp.mpf(score))), rel=1e-13, abs=near)
            assert gradient[0, i] == pytest.approx(
                float(mp.diff(at, score, h=mp.mpf(10) ** -20)), rel=1e-13, abs=1e-15
            )
            if has_hessian:
                assert hessian[0, i] == pytest.approx(
                    float(mp.diff(at, score, 2, h=mp.mpf(10) ** -15)), rel=1e-12, abs=1e-15
                )


@pytest.mark.parametrize("n_scores", [2, 3, 5])
@pytest.mark.parametrize("name", ["log_loss", "kl"])
def test_many_scores(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(n_scores)
    scores = rng.normal(size=(n_scores, 4)) * 5
    y = rng.dirichlet(np.ones(n_scores), 4) if name == "kl" else rng.integers(0, n_scores, 4)
    shares = y if name == "kl" else np.eye(n_scores)[y]
    loss = BuiltinLoss(name, n_scores, 1)
    target = np.ascontiguousarray(y.T).ravel() if name == "kl" else y.astype(float)
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    loss.gradients(target, scores, None, gradient, hessian)
    with mp.workdps(40):
        total = mp.mpf(0)
        for row in range(4):
            powers = [mp.e ** mp.mpf(s) for s in scores[:, row]]
            p = [power / mp.fsum(powers) for power in powers]
            for k in range(n_scores):
                share = mp.mpf(shares[row, k])
                assert gradient[k, row] == pytest.approx(float(p[k] - share), rel=1e-13, abs=1e-15)
                assert hessian[k, row] == pytest.approx(float(p[k] * (1 - p[k])), rel=1e-13)
                total += y_log(share, share) - y_log(share, p[k])
    assert loss.mean(target, scores, None, None) == pytest.approx(float(total / 4), rel=1e-13)

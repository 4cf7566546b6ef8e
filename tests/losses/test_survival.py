"""Losses of survival times beside plain formulas, finite differences and direct maximisation."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from weald import _native
from weald.losses.survival import AftLoss, CoxLoss, median_error

DISTRIBUTIONS = {
    "normal": stats.norm,
    "logistic": stats.logistic,
    "extreme": stats.gumbel_l,  # of minima: the logarithm of an exponential time
}
N = 60


def some_rows(seed=0, *, places=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 15, N).astype(float) if places else rng.exponential(2.0, N) + 0.01
    y *= np.where(rng.random(N) < 0.6, 1.0, -1.0)
    weight, copies = rng.random(N) + 0.1, rng.integers(0, 3, N)
    return y, rng.normal(size=(1, N)), weight, copies


TIES = pytest.mark.parametrize("ties", ["breslow", "efron"])


def risk_of_events(y, scores, weight, ties):
    """For each event: its time, its weight, and the sum of weight * e^score at risk.

    As in R's survival: Efron's tied events have their mean weight, and the one numbered k of d
    leaves k / d of what they add to the risk set out of it.
    """
    time, own = np.abs(y), weight * np.exp(scores)
    for when in np.unique(y[(y > 0) & (weight > 0)]):
        tied = np.flatnonzero((y == when) & (weight > 0))
        for k, i in enumerate(tied):
            at_risk = own[time >= when].sum()
            if ties == "efron":
                left = at_risk - k / len(tied) * own[tied].sum()
                yield when, weight[tied].mean(), left
            else:
                yield when, weight[i], at_risk


def cox_by_definition(y, scores, weight, ties="breslow"):
    """Negative log partial likelihood, with risk sets as shares of all rows."""
    terms = risk_of_events(y, scores, weight, ties)
    risks = sum(times * math.log(at_risk / weight.sum()) for _, times, at_risk in terms)
    return (risks - (weight * scores)[y > 0].sum()) / weight.sum()


def aft_by_definition(y, scores, weight, distribution, scale):
    law, time = DISTRIBUTIONS[distribution], np.abs(y)
    z = (np.log(time) - scores) / scale
    terms = np.where(y > 0, law.logpdf(z) - np.log(scale * time), law.logsf(z))
    return -np.sum(weight * terms) / weight.sum()


def slopes(function, scores, weight):
    """Central differences of a mean loss, as derivatives of the sum."""
    step = 1e-5
    steps = step * np.eye(N)
    differences = [function(scores + one) - function(scores - one) for one in steps]
    return np.array(differences) * weight.sum() / (2 * step)


def derivatives(loss, y, scores, weight):
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    assert loss.gradients(y, scores, weight, gradient, hessian)
    return gradient[0], hessian[0]


@TIES
def test_cox_loss_and_gradient(ties):
    y, scores, weight, copies = some_rows(places=True)
    if ties == "efron":  # whose ties are of rows, not of copies
        copies = np.minimum(copies, 1)
    own = weight * copies
    expected = cox_by_definition(y, scores[0], own, ties)
    loss = CoxLoss(1, ties)
    assert loss.mean(y, scores, weight, copies) == pytest.approx(expected, rel=1e-12)
    loss = loss.at(y, scores, weight, copies)
    gradient, _ = derivatives(loss, y, scores, weight)
    expected = slopes(lambda at: cox_by_definition(y, at, own, ties), scores[0], own)
    assert gradient * copies == pytest.approx(expected, abs=1e-8)
    assert (gradient[copies == 0] == 0).all()  # in no risk set


@TIES
def test_cox_hessian_bounds_the_curvature_of_every_set_of_rows(ties):
    y, scores, weight, _ = some_rows(places=True)
    _, hessian = derivatives(CoxLoss(1, ties), y, scores, weight)
    step = 1e-4
    for seed in range(20):
        move = step * (np.random.default_rng(seed).random(N) < 0.5)
        values = [cox_by_definition(y, scores[0] + k * move, weight, ties) for k in (-1, 0, 1)]
        curvature = (values[0] - 2 * values[1] + values[2]) * weight.sum() / step**2
        assert -1e-6 <= curvature <= hessian[move > 0].sum() + 1e-6


@TIES
def test_cox_is_free_of_shifts_and_never_overflows(ties):
    y, scores, weight, _ = some_rows(places=True)
    loss = CoxLoss(1, ties)
    plain = loss.mean(y, scores, weight, None)
    assert loss.mean(y, scores + 900.0, weight, None) == pytest.approx(plain, rel=1e-12)
    gradient, hessian = derivatives(loss, y, scores * 1e5, weight)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


@TIES
def test_baseline_hazard(ties):
    y, scores, weight, copies = some_rows(places=True)
    if ties == "efron":
        copies = np.minimum(copies, 1)
    hazard = CoxLoss(1, ties).baseline_hazard(y, scores, weight, copies)
    expected = np.zeros(int(np.abs(y).max()))
    for place, times, at_risk in risk_of_events(y, scores[0], weight * copies, ties):
        expected[int(place) - 1] += times / at_risk
    assert hazard == pytest.approx(np.cumsum(expected), rel=1e-12)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("scale", [0.3, 1.7])
def test_aft_loss_and_gradient(distribution, scale):
    y, scores, weight, copies = some_rows()
    loss = AftLoss(1, distribution, scale)
    expected = aft_by_definition(y, scores[0], weight * copies, distribution, scale)
    assert loss.mean(y, scores, weight, copies) == pytest.approx(expected, rel=1e-12)
    gradient, _ = derivatives(loss, y, scores, weight)
    expected = slopes(
        lambda at: aft_by_definition(y, at, weight, distribution, scale), scores[0], weight
    )
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("distribution", ["normal", "extreme"])
def test_aft_hessian(distribution):
    y, scores, weight, _ = some_rows()
    loss, step = AftLoss(1, distribution, 0.8), 1e-5
    _, hessian = derivatives(loss, y, scores, weight)
    up, _ = derivatives(loss, y, scores + step, weight)
    down, _ = derivatives(loss, y, scores - step, weight)
    assert hessian == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-7)


def test_aft_newton_steps_of_logistic_errors_decrease_the_loss():
    y = np.array([3.0, -0.5])
    for score in (-30.0, -2.0, 0.0, 1.0, 30.0):
        scores = np.full((1, 2), score)
        loss = AftLoss(1, "logistic", 0.5)
        gradient, hessian = derivatives(loss, y, scores, None)
        step = -gradient.sum() / hessian.sum()
        assert loss.mean(y, scores + step, None, None) <= loss.mean(y, scores, None, None)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_log_survival_far_into_both_tails(distribution):
    z = np.concatenate([np.linspace(-35, 35, 4001), [-200.0, 0.0]])
    ours, law = AftLoss(1, distribution).log_survival(z), DISTRIBUTIONS[distribution]
    expected = law.logsf(z)
    assert ours == pytest.approx(expected, rel=1e-13, abs=1e-16)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_best_scale_and_base_score(distribution):
    y, _, weight, copies = some_rows()
    own = weight * copies

    def loss_at(parameters):
        location, log_scale = parameters
        scores = np.full(N, location)
        return aft_by_definition(y, scores, own, distribution, math.exp(log_scale))

    best = optimize.minimize(loss_at, [0.0, 0.0], tol=1e-12)
    fitted = AftLoss(1, distribution).with_best_scale(y, None, weight, copies)
    assert fitted.scale == pytest.approx(math.exp(best.x[1]), rel=1e-4)
    assert fitted.base_scores(y, weight, copies)[0] == pytest.approx(best.x[0], abs=1e-4)


def test_median_error():
    for distribution, law in DISTRIBUTIONS.items():
        assert median_error(AftLoss(1, distribution)) == pytest.approx(law.median(), abs=1e-12)


def test_neither_order_nor_threads_change_a_bit():
    rng = np.random.default_rng(1)
    n = 30_000
    y = rng.integers(1, 500, n) * np.where(rng.random(n) < 0.5, 1.0, -1.0)
    scores, weight, order = rng.normal(size=(1, n)), rng.random(n) + 0.1, rng.permutation(n)
    for make in (CoxLoss, lambda n_threads: AftLoss(n_threads, "normal", 0.7)):
        one = derivatives(make(1), y, scores, weight)
        two = derivatives(make(2), y[order], scores[:, order], weight[order])
        for first, second in zip(one, two, strict=True):
            assert (first[order] == second).all()
        assert make(1).mean(y, scores, weight, None) == make(2).mean(
            y[order], scores[:, order], weight[order], None
        )


def test_the_border_refuses_what_the_core_cannot_take():
    out = np.empty(2)
    scores = np.zeros(2)
    for bad in ([0.0, 1.0], [1.5, 1.0], [np.nan, 1.0], [1.0, 2.0**40]):
        with pytest.raises(ValueError, match="places of times"):
            _native.cox_gradients("breslow", np.array(bad), scores, None, None, out, out.copy(), 1)
    for bad in ([0.0, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="positive times"):
            _native.aft_mean_loss("normal", 1.0, np.array(bad), scores, None, None, 1)
    for name, scale, message in (("cauchy", 1.0, "distribution"), ("normal", 0.0, "scale")):
        with pytest.raises(ValueError, match=message):
            _native.aft_mean_loss(name, scale, np.ones(2), scores, None, None, 1)

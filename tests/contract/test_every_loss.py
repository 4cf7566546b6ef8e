"""Every loss of the core: derivatives, best constant, predictions, extreme values."""

import math

import numpy as np
import pytest

from contract.losses import (
    CASES,
    EVERY_LOSS,
    FACTS,
    PARAMETERS,
    derivatives,
    every_case,
    loss_of,
    loss_of_row,
    some,
    targets_of,
)
from weald.losses import BuiltinLoss, units_of


def test_there_are_losses() -> None:
    assert {"squared_error", "log_loss"} <= set(EVERY_LOSS)


@every_case
def test_derivatives_are_finite_differences(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(1)
    loss, n = loss_of(name, n_scores), 25
    y, scores = targets_of(name, n_scores, n), rng.normal(size=(n_scores, n)) * 2
    if FACTS[name]["hessian"] == "none":
        # Keep away from the kinks.
        kinks = [0.0] if name != "huber" else [-1.25, 1.25]
        for kink in kinks:
            scores = np.where(np.abs(scores - y - kink) < 0.01, scores + 0.05, scores)
    gradient, hessian = derivatives(loss, y, scores)
    step = 2.0**-10
    for row in range(n):
        for k in range(n_scores):
            shift = np.zeros((n_scores, n))
            shift[k] = step
            below, here, above = (
                loss_of_row(loss, y, scores + times * shift, row) for times in (-1, 0, 1)
            )
            # Errors of central differences: step^2 / 6 and step^2 / 12 times higher derivatives,
            # which are below 2, or of the size of the derivatives themselves with a log link.
            near = step**2 * max(1.0, 2 * hessian[k, row])
            assert gradient[k, row] == pytest.approx((above - below) / (2 * step), abs=near)
            if FACTS[name]["hessian"] == "none":
                assert hessian[k, row] == 1.0
                continue
            second = (above - 2 * here + below) / step**2
            assert hessian[k, row] == pytest.approx(second, abs=2 * near)


@every_case
def test_hessians_are_never_negative(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(n_scores, 2000)) * 10.0 ** rng.integers(-300, 300, 2000)
    _, hessian = derivatives(loss_of(name, n_scores), targets_of(name, n_scores, 2000), scores)
    assert (hessian >= 0).all()


@every_case
@pytest.mark.parametrize("weights", ["none", "copies", "weight"])
def test_base_score_is_the_best_constant(name: str, n_scores: int, weights: str) -> None:
    rng = np.random.default_rng(3)
    loss, n = loss_of(name, n_scores), 60
    y = targets_of(name, n_scores, n)
    weight = rng.exponential(size=n) if weights == "weight" else None
    copies = rng.integers(0, 4, n) if weights == "copies" else None
    base = loss.base_scores(y, weight, copies)
    assert base.shape == (n_scores,)

    def mean(scores: np.ndarray) -> float:
        return loss.mean(y, np.repeat(scores[:, np.newaxis], n, axis=1), weight, copies)

    least = mean(base)
    for k in range(n_scores):
        for shift in (-1.0, -0.01, 0.01, 1.0):
            moved = base.copy()
            moved[k] += shift
            assert mean(moved) >= least
    if FACTS[name]["refines_leaves"] and name != "huber":
        return  # gradients jump at the best constant
    gradient, _ = derivatives(loss, y, np.repeat(base[:, np.newaxis], n, axis=1), weight)
    total = gradient @ (np.ones(n) if copies is None else copies)
    assert np.abs(total).max() < 1e-10 * n


@every_case
def test_weights_multiply_the_derivatives_and_copies_do_not_enter(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(4)
    loss, n = loss_of(name, n_scores), 40
    y, scores = targets_of(name, n_scores, n), rng.normal(size=(n_scores, n))
    weight = rng.integers(1, 9, n) / 8
    plain, weighted = derivatives(loss, y, scores), derivatives(loss, y, scores, weight)
    for ours, theirs in zip(weighted, plain, strict=True):
        assert ours == pytest.approx(theirs * weight, rel=1e-15)


@every_case
def test_mean_is_a_weighted_mean(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(5)
    loss, n = loss_of(name, n_scores), 40
    y, scores = targets_of(name, n_scores, n), rng.normal(size=(n_scores, n))
    rows = np.array([loss_of_row(loss, y, scores, i) for i in range(n)])
    weight, copies = rng.exponential(size=n), rng.integers(0, 4, n)
    assert loss.mean(y, scores, None, None) == pytest.approx(math.fsum(rows) / n, rel=1e-14)
    for w, c in [(weight, None), (None, copies), (weight, copies)]:
        mass = (1.0 if w is None else w) * (np.ones(n) if c is None else c)
        expected = math.fsum(rows * mass) / math.fsum(mass)
        assert loss.mean(y, scores, w, c) == pytest.approx(expected, rel=1e-13)


@every_case
def test_mean_and_base_score_do_not_depend_on_order_or_threads(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(6)
    n = 20_000
    y = targets_of(name, n_scores, n)
    scores, weight = rng.normal(size=(n_scores, n)) * 5, rng.exponential(size=n)
    order = rng.permutation(n)
    one, many = loss_of(name, n_scores), loss_of(name, n_scores, 4)
    shuffled, y_shuffled = np.ascontiguousarray(scores[:, order]), some(y, n_scores, name, order)
    assert one.mean(y, scores, weight, None) == many.mean(y_shuffled, shuffled, weight[order], None)
    assert np.array_equal(
        one.base_scores(y, weight, None), many.base_scores(y_shuffled, weight[order], None)
    )
    for ours, theirs in zip(
        derivatives(one, y, scores, weight), derivatives(many, y, scores, weight), strict=True
    ):
        assert np.array_equal(ours, theirs)


@every_case
def test_predictions_are_valid(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(500, n_scores)) * 10.0 ** rng.integers(-5, 5, (500, 1))
    predictions = loss_of(name, n_scores).predictions(scores)
    kind = FACTS[name]["targets"]
    if kind in ("classes", "shares"):
        assert predictions.shape == (500, max(2, n_scores))
        assert ((predictions >= 0) & (predictions <= 1)).all()
        assert np.abs(predictions.sum(axis=1) - 1).max() < 1e-14
    elif kind == "numbers":
        assert np.array_equal(predictions, scores)
    else:
        assert predictions == pytest.approx(np.exp(np.minimum(scores, 709.0)), rel=1e-15)
        assert np.isfinite(predictions).all()


@pytest.mark.parametrize("n_scores", [2, 3, 7])
def test_shares_do_not_change_when_all_scores_are_shifted(n_scores: int) -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(500, n_scores)) * 10.0 ** rng.integers(-5, 5, (500, 1))
    loss = loss_of("log_loss", n_scores)
    assert loss.predictions(scores + 3.0) == pytest.approx(loss.predictions(scores), abs=1e-11)


OF_MEANS = ("log_loss", "squared_error", "poisson", "kl")


@pytest.mark.parametrize(("name", "n_scores"), [case for case in CASES if case[0] in OF_MEANS])
def test_gradient_is_prediction_minus_target(name: str, n_scores: int) -> None:
    """Holds for all losses with their canonical link."""
    rng = np.random.default_rng(8)
    y, scores = targets_of(name, n_scores, 50), rng.normal(size=(n_scores, 50))
    gradient, _ = derivatives(loss_of(name, n_scores), y, scores)
    predictions = loss_of(name, n_scores).predictions(np.ascontiguousarray(scores.T))
    if name == "log_loss":
        one_hot = np.eye(predictions.shape[1])[y.astype(int)]
        expected = (predictions - one_hot)[:, -n_scores:]
    elif name == "kl":
        expected = predictions[:, -n_scores:] - y.reshape(n_scores, -1).T
    else:
        expected = predictions - y[:, np.newaxis]
    assert pytest.approx(expected, rel=1e-15, abs=1e-15) == gradient.T


@every_case
@pytest.mark.parametrize("size", [1.0, 40.0, 800.0, 1e10, 1e150, 1e300])
def test_huge_scores_are_finite(name: str, n_scores: int, size: float) -> None:
    loss = loss_of(name, n_scores)
    n_classes = max(2, n_scores)
    for label in range(n_classes):
        y = np.array([float(label)] * 3)
        if FACTS[name]["targets"] == "positive":
            y += 1e-3
        if FACTS[name]["targets"] == "shares" and n_scores > 1:
            y = np.repeat(np.eye(n_scores)[label], 3)
        scores = np.zeros((n_scores, 3))
        scores[0], scores[-1] = [-size, 0.0, size], [size, 0.0, -size]
        gradient, hessian = derivatives(loss, y, scores)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all() and (hessian >= 0).all()
        assert np.isfinite(loss.predictions(np.ascontiguousarray(scores.T))).all()
        # Half the square of 1e300 overflows.
        if name != "squared_error" or size < 1e154:
            assert np.isfinite(loss.mean(y, scores, None, None))


def test_a_class_without_rows_has_a_finite_base_score() -> None:
    for n_scores, y in [(1, np.zeros(4)), (1, np.ones(4)), (3, np.array([0.0, 2.0]))]:
        base = BuiltinLoss("log_loss", n_scores, 1).base_scores(y, None, None)
        assert np.isfinite(base).all()


@pytest.mark.parametrize("value", [0.1, -1e300, 1e-300, 7.0])
def test_constant_targets_give_an_exact_base_of_the_squared_error(value: float) -> None:
    weight = np.random.default_rng(9).random(33)
    base = loss_of("squared_error", 1).base_scores(np.full(33, value), weight, None)
    assert base.tolist() == [value]


# ---- extreme values ----


@pytest.mark.parametrize("name", ["poisson", "tweedie"])
def test_amounts_that_are_all_zero_have_a_finite_base_score(name: str) -> None:
    loss = loss_of(name, 1)
    base = loss.base_scores(np.zeros(5), None, None)
    assert np.isfinite(base).all()
    assert loss.predictions(base[:, np.newaxis])[0, 0] < 1e-100
    gradient, hessian = derivatives(loss, np.zeros(5), np.repeat(base[:, np.newaxis], 5, axis=1))
    assert np.isfinite(gradient).all() and (hessian >= 0).all()


def test_kl_of_hard_labels_is_log_loss() -> None:
    rng = np.random.default_rng(14)
    for n_scores in (1, 3):
        y = targets_of("log_loss", n_scores, 50)
        scores = rng.normal(size=(n_scores, 50)) * 3
        hard = y if n_scores == 1 else (y == np.arange(n_scores)[:, np.newaxis]).astype(float)
        ours, theirs = loss_of("kl", n_scores), loss_of("log_loss", n_scores)
        assert ours.mean(hard.ravel(), scores, None, None) == theirs.mean(y, scores, None, None)
        for a, b in zip(
            derivatives(ours, hard.ravel(), scores), derivatives(theirs, y, scores), strict=True
        ):
            assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("quantile", -0.1),
        ("quantile", math.nan),
        ("huber", 0.0),
        ("tweedie", 1.0),
        ("tweedie", 2.0),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, wrong: float) -> None:
    with pytest.raises(ValueError, match="parameter is out of range"):
        BuiltinLoss(name, 1, 1, wrong).mean(np.ones(3), np.zeros((1, 3)), None, None)


def test_leaves_and_copies_that_do_not_exist_are_refused() -> None:
    loss, y, scores = loss_of("absolute_error", 1), np.ones(3), np.zeros((1, 3))
    for leaf, n_leaves in ([0, 1, 2], 2), ([0, -1, 0], 2), ([0, 0], 2), ([0, 0, 0], 0):
        with pytest.raises(ValueError, match="leaf|leaves"):
            loss.leaf_constants(y, scores, None, None, np.array(leaf, np.int32), n_leaves)
    leaf = np.zeros(3, np.int32)
    with pytest.raises(ValueError, match="not refitted"):
        loss_of("squared_error", 1).leaf_constants(y, scores, None, None, leaf, 1)
    for copies in ([-1, 1, 1], [2**62, 2**62, 2**62]):
        with pytest.raises(ValueError, match="copies out of range"):
            loss.leaf_constants(y, scores, None, np.array(copies), leaf, 1)


def test_unknown_losses_and_wrong_shapes_are_refused() -> None:
    y, scores = np.zeros(3), np.zeros((1, 3))
    with pytest.raises(ValueError, match="unknown loss"):
        BuiltinLoss("no_such", 1, 1).mean(y, scores, None, None)
    loss = BuiltinLoss("log_loss", 2, 1)
    with pytest.raises(ValueError, match="y must have one entry per row"):
        loss.mean(np.zeros(4), scores, None, None)
    with pytest.raises(ValueError, match="class indices"):
        loss.mean(np.full(3, 2.0), np.zeros((2, 3)), None, None)
    with pytest.raises(ValueError, match="weight must have one entry per row"):
        loss.mean(y, np.zeros((2, 3)), np.ones(2), None)
    with pytest.raises(ValueError, match="shape of scores"):
        loss.gradients(y, np.zeros((2, 3)), None, np.zeros((1, 3)), np.zeros((2, 3)))


# Losses with a parameter in the unit of the target.
IN_UNITS = ("huber",)


@every_case
@pytest.mark.parametrize("unit", [0.25, 8.0])
def test_degrees_are_those_by_which_a_loss_scales(name: str, n_scores: int, unit: float) -> None:
    n, parameter = 40, PARAMETERS.get(name, 0.0)
    loss = loss_of(name, n_scores)
    y, scores = targets_of(name, n_scores, n), np.random.default_rng(2).normal(size=(n_scores, n))
    in_unit = BuiltinLoss(name, n_scores, 1, parameter * (unit if name in IN_UNITS else 1.0))
    if FACTS[name]["targets"] in ("classes", "shares"):
        assert loss.degrees == (0.0, 0.0, 0.0)
        return
    moved = scores + math.log(unit) if loss.has_log_link else scores * unit
    for ours, theirs, degree in zip(
        (*derivatives(loss, y, scores), loss.mean(y, scores, None, None)),
        (*derivatives(in_unit, y * unit, moved), in_unit.mean(y * unit, moved, None, None)),
        loss.degrees,
        strict=True,
    ):
        np.testing.assert_allclose(theirs, np.multiply(ours, unit**degree), rtol=1e-9, atol=1e-12)
    assert units_of(loss, 3)[1] == 3 * (2 * loss.degrees[0] - loss.degrees[1])


@every_case
def test_slopes_are_those_of_the_kink(name: str, n_scores: int) -> None:
    loss = loss_of(name, n_scores)
    if loss.slopes is None:
        return
    y, scores = np.zeros(2), np.array([[1.0, -1.0]])
    gradient, _ = derivatives(loss, y, scores)
    assert loss.slopes == (gradient[0, 0], -gradient[0, 1])

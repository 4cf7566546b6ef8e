"""Every loss of the core: its derivatives, its best constant, its predictions, its extremes."""

import math

import numpy as np
import pytest

from weald import _native
from weald.losses import BuiltinLoss

EVERY_LOSS = _native.losses()

# How many scores a loss can have; a new loss is tried with one.
NUMBERS_OF_SCORES = {"log_loss": [1, 2, 3, 7]}
CASES = [(name, n) for name in EVERY_LOSS for n in NUMBERS_OF_SCORES.get(name, [1])]
every_case = pytest.mark.parametrize(("name", "n_scores"), CASES)


def loss_of(name: str, n_scores: int) -> BuiltinLoss:
    return BuiltinLoss(name, n_scores, 1)


def targets_of(name: str, n_scores: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if name == "log_loss":
        return rng.integers(0, max(2, n_scores), n).astype(np.float64)
    return rng.normal(size=n) * 3


def derivatives(loss: BuiltinLoss, y, scores, weight=None) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = np.full_like(scores, np.nan), np.full_like(scores, np.nan)
    if not loss.gradients(y, scores, weight, gradient, hessian):
        hessian[:] = 1.0
    return gradient, hessian


def loss_of_row(loss: BuiltinLoss, y: float, scores: np.ndarray) -> float:
    return loss.mean(np.array([y]), np.ascontiguousarray(scores[:, np.newaxis]), None, None)


def test_there_are_losses() -> None:
    assert {"squared_error", "log_loss"} <= set(EVERY_LOSS)


@every_case
def test_derivatives_are_finite_differences(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(1)
    loss, n = loss_of(name, n_scores), 25
    y, scores = targets_of(name, n_scores, n), rng.normal(size=(n_scores, n)) * 2
    gradient, hessian = derivatives(loss, y, scores)
    step = 2.0**-10
    for row in range(n):
        for k in range(n_scores):
            shift = np.zeros(n_scores)
            shift[k] = step
            below, here, above = (
                loss_of_row(loss, y[row], scores[:, row] + times * shift) for times in (-1, 0, 1)
            )
            # Central differences err by step^2 / 6 and step^2 / 12 of higher derivatives, below 2.
            assert gradient[k, row] == pytest.approx((above - below) / (2 * step), abs=step**2)
            assert hessian[k, row] == pytest.approx(
                (above - 2 * here + below) / step**2, abs=step**2
            )


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
    rows = np.array([loss_of_row(loss, y[i], scores[:, i]) for i in range(n)])
    weight, copies = rng.exponential(size=n), rng.integers(0, 4, n)
    assert loss.mean(y, scores, None, None) == pytest.approx(math.fsum(rows) / n, rel=1e-14)
    for w, c in [(weight, None), (None, copies), (weight, copies)]:
        mass = (1.0 if w is None else w) * (np.ones(n) if c is None else c)
        expected = math.fsum(rows * mass) / math.fsum(mass)
        assert loss.mean(y, scores, w, c) == pytest.approx(expected, rel=1e-13)


@every_case
def test_mean_and_base_know_no_order_and_no_threads(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(6)
    n = 20_000
    y = targets_of(name, n_scores, n)
    scores, weight = rng.normal(size=(n_scores, n)) * 5, rng.exponential(size=n)
    order = rng.permutation(n)
    one, many = BuiltinLoss(name, n_scores, 1), BuiltinLoss(name, n_scores, 4)
    shuffled = np.ascontiguousarray(scores[:, order])
    assert one.mean(y, scores, weight, None) == many.mean(y[order], shuffled, weight[order], None)
    assert np.array_equal(
        one.base_scores(y, weight, None), many.base_scores(y[order], weight[order], None)
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
    if name == "log_loss":
        assert predictions.shape == (500, max(2, n_scores))
        assert ((predictions >= 0) & (predictions <= 1)).all()
        assert np.abs(predictions.sum(axis=1) - 1).max() < 1e-14
    else:
        assert np.array_equal(predictions, scores)


@pytest.mark.parametrize("n_scores", [n for n in NUMBERS_OF_SCORES["log_loss"] if n > 1])
def test_shares_do_not_change_when_all_scores_are_shifted(n_scores: int) -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(500, n_scores)) * 10.0 ** rng.integers(-5, 5, (500, 1))
    loss = loss_of("log_loss", n_scores)
    assert loss.predictions(scores + 3.0) == pytest.approx(loss.predictions(scores), abs=1e-11)


@pytest.mark.parametrize(
    ("name", "n_scores"), [case for case in CASES if case[0] in ("log_loss", "squared_error")]
)
def test_gradient_is_prediction_minus_target(name: str, n_scores: int) -> None:
    """True of both: they are the losses of a mean and of shares."""
    rng = np.random.default_rng(8)
    y, scores = targets_of(name, n_scores, 50), rng.normal(size=(n_scores, 50))
    gradient, _ = derivatives(loss_of(name, n_scores), y, scores)
    predictions = loss_of(name, n_scores).predictions(np.ascontiguousarray(scores.T))
    if name == "log_loss":
        one_hot = np.eye(predictions.shape[1])[y.astype(int)]
        expected = (predictions - one_hot)[:, -n_scores:]
    else:
        expected = predictions - y[:, np.newaxis]
    assert pytest.approx(expected, abs=1e-15) == gradient.T


@every_case
@pytest.mark.parametrize("size", [1.0, 40.0, 800.0, 1e10, 1e150, 1e300])
def test_huge_scores_are_finite(name: str, n_scores: int, size: float) -> None:
    loss = loss_of(name, n_scores)
    n_classes = max(2, n_scores)
    for label in range(n_classes):
        y = np.array([float(label)] * 3)
        scores = np.zeros((n_scores, 3))
        scores[0], scores[-1] = [-size, 0.0, size], [size, 0.0, -size]
        gradient, hessian = derivatives(loss, y, scores)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all() and (hessian >= 0).all()
        assert np.isfinite(loss.predictions(np.ascontiguousarray(scores.T))).all()
        # Half the square of 1e300 is no double.
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


def test_unknown_losses_and_wrong_shapes_are_refused() -> None:
    y, scores = np.zeros(3), np.zeros((1, 3))
    with pytest.raises(ValueError, match="unknown loss"):
        BuiltinLoss("no_such", 1, 1).mean(y, scores, None, None)
    loss = BuiltinLoss("log_loss", 2, 1)
    with pytest.raises(ValueError, match="y must have one entry per row"):
        loss.mean(np.zeros(4), scores, None, None)
    with pytest.raises(ValueError, match="class numbers"):
        loss.mean(np.full(3, 2.0), np.zeros((2, 3)), None, None)
    with pytest.raises(ValueError, match="weight must have one entry per row"):
        loss.mean(y, np.zeros((2, 3)), np.ones(2), None)
    with pytest.raises(ValueError, match="shape of scores"):
        loss.gradients(y, np.zeros((2, 3)), None, np.zeros((1, 3)), np.zeros((2, 3)))

"""Every loss of the core: its derivatives, its best constant, its predictions, its extremes."""

import math

import numpy as np
import pytest

from weald import _native
from weald.losses import BuiltinLoss, units_of

EVERY_LOSS = _native.losses()

FACTS = {name: _native.loss_facts(name) for name in EVERY_LOSS}
CASES = [
    (name, n)
    for name in EVERY_LOSS
    for n in ([1, 2, 3, 7] if FACTS[name]["has_many_scores"] else [1])
]
every_case = pytest.mark.parametrize(("name", "n_scores"), CASES)
REFINED = [name for name in EVERY_LOSS if FACTS[name]["refines_leaves"]]
every_refined = pytest.mark.parametrize("name", REFINED)

# A new loss with a parameter names one here.
PARAMETERS = {"quantile": 0.3, "huber": 1.25, "tweedie": 1.4}


def loss_of(name: str, n_scores: int, n_threads: int = 1) -> BuiltinLoss:
    return BuiltinLoss(name, n_scores, n_threads, PARAMETERS.get(name, 0.0))


def targets_of(name: str, n_scores: int, n: int, seed: int = 0) -> np.ndarray:
    """Some of what the loss is defined for; of shares, class after class."""
    rng = np.random.default_rng(seed)
    kind = FACTS[name]["targets"]
    if kind == "classes":
        return rng.integers(0, max(2, n_scores), n).astype(np.float64)
    if kind == "shares":
        shares = rng.dirichlet(np.ones(max(2, n_scores)), n)
        shares[::5] = np.eye(shares.shape[1])[rng.integers(0, shares.shape[1], len(shares[::5]))]
        return shares[:, 1] if n_scores == 1 else np.ascontiguousarray(shares.T).ravel()
    if kind == "numbers":
        return rng.normal(size=n) * 3
    amounts = rng.exponential(size=n) * 3
    return amounts if kind == "positive" else np.where(rng.random(n) < 0.3, 0.0, amounts)


def some(y: np.ndarray, n_scores: int, name: str, index) -> np.ndarray:
    """The targets of those rows."""
    if FACTS[name]["targets"] != "shares" or n_scores == 1:
        return y[index]
    return np.ascontiguousarray(y.reshape(n_scores, -1)[:, index]).ravel()


def derivatives(loss: BuiltinLoss, y, scores, weight=None) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = np.full_like(scores, np.nan), np.full_like(scores, np.nan)
    if not loss.gradients(y, scores, weight, gradient, hessian):
        hessian[:] = 1.0
    return gradient, hessian


def loss_of_row(loss: BuiltinLoss, y: np.ndarray, scores: np.ndarray, row: int) -> float:
    own = some(y, loss.n_scores, loss.name, [row])
    return loss.mean(own, np.ascontiguousarray(scores[:, row : row + 1]), None, None)


def test_there_are_losses() -> None:
    assert {"squared_error", "log_loss"} <= set(EVERY_LOSS)


@every_case
def test_derivatives_are_finite_differences(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(1)
    loss, n = loss_of(name, n_scores), 25
    y, scores = targets_of(name, n_scores, n), rng.normal(size=(n_scores, n)) * 2
    if FACTS[name]["hessian"] == "none":
        # Keep off the kinks.
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
            # Central differences err by step^2 / 6 and step^2 / 12 of higher derivatives: those are
            # below 2, or of the size of the derivatives themselves where scores are exponents.
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
        return  # their gradients jump at the best constant
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
def test_mean_and_base_know_no_order_and_no_threads(name: str, n_scores: int) -> None:
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
    """True of all that are losses of a mean or of shares with their natural link."""
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


# ---- best constants of leaves, and steps ----


def brute_force(loss: BuiltinLoss, residuals: np.ndarray, mass: np.ndarray) -> float:
    """The constant of least loss among many, refined around the best."""
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
def test_constants_of_leaves_know_no_order_no_threads_and_no_repetition(name: str) -> None:
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
        # With a small rate it takes a longer step to go too far.
        assert (np.abs(loss.capped(steps, 0.1)) >= np.abs(capped)).all()
        assert np.abs(loss.capped(steps, 0.1)).max() <= 400
    else:
        assert np.array_equal(capped, steps)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
def test_a_capped_step_goes_to_the_best_constant_or_not_so_far(name: str) -> None:
    """Where the amounts of a leaf lie far off, Newton's step alone would explode."""
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
    """However rare a class is, and however wrong and sure the scores are. Of each score by itself:
    those of many classes move together, which nobody's diagonal hessian knows."""
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
    loss = loss_of("exponential", 1)  # its steps are not capped
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


# ---- extremes ----


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


# Losses whose parameter is in the unit of the target.
IN_UNITS = ("huber",)


@every_case
@pytest.mark.parametrize("unit", [0.25, 8.0])
def test_degrees_say_how_a_loss_grows_with_the_unit(name: str, n_scores: int, unit: float) -> None:
    n, parameter = 40, PARAMETERS.get(name, 0.0)
    loss = loss_of(name, n_scores)
    y, scores = targets_of(name, n_scores, n), np.random.default_rng(2).normal(size=(n_scores, n))
    in_unit = BuiltinLoss(name, n_scores, 1, parameter * (unit if name in IN_UNITS else 1.0))
    if FACTS[name]["targets"] in ("classes", "shares"):
        assert loss.degrees == (0.0, 0.0, 0.0)
        return
    moved = scores + math.log(unit) if loss.is_of_logarithms else scores * unit
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

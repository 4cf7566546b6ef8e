"""The built-in losses behind their few verbs; the formulas are tested in contract/."""

import numpy as np
import pytest

from weald.losses import BuiltinLoss


def test_squared_error_by_hand() -> None:
    loss = BuiltinLoss("squared_error", 1, 1)
    y, scores = np.array([1.0, 4.0]), np.array([[3.0, 3.0]])
    gradient, hessian = np.empty((1, 2)), np.empty((1, 2))
    assert loss.gradients(y, scores, None, gradient, hessian) is False
    assert gradient.tolist() == [[2.0, -1.0]]
    assert loss.mean(y, scores, None, None) == (0.5 * 4 + 0.5 * 1) / 2
    assert loss.base_scores(y, np.array([3.0, 1.0]), None).tolist() == [1.75]
    assert loss.predictions(np.array([[2.0], [5.0]])).tolist() == [[2.0], [5.0]]


def test_weights_are_written_where_the_hessian_is_one() -> None:
    loss = BuiltinLoss("squared_error", 1, 1)
    gradient, hessian = np.empty((1, 2)), np.empty((1, 2))
    weight = np.array([2.0, 0.5])
    assert loss.gradients(np.zeros(2), np.ones((1, 2)), weight, gradient, hessian) is True
    assert hessian.tolist() == [[2.0, 0.5]]
    assert gradient.tolist() == [[2.0, 0.5]]


def test_log_loss_of_two_classes_by_hand() -> None:
    loss = BuiltinLoss("log_loss", 1, 1)
    y, scores = np.array([1.0, 0.0]), np.array([[np.log(3), np.log(3)]])
    gradient, hessian = np.empty((1, 2)), np.empty((1, 2))
    assert loss.gradients(y, scores, None, gradient, hessian) is True
    assert gradient[0] == pytest.approx([-0.25, 0.75], rel=1e-15)
    assert hessian[0] == pytest.approx([3 / 16, 3 / 16], rel=1e-15)
    assert loss.mean(y, scores, None, None) == pytest.approx(-np.log(0.75 * 0.25) / 2, rel=1e-15)
    base = loss.base_scores(np.array([1.0, 0.0, 0.0, 0.0]), None, None)
    assert base == pytest.approx([-np.log(3)], rel=1e-15)
    assert loss.predictions(np.array([[np.log(3)]])) == pytest.approx(np.array([[0.25, 0.75]]))


def test_log_loss_of_many_classes_by_hand() -> None:
    loss = BuiltinLoss("log_loss", 3, 1)
    scores = np.log([[1.0], [2.0], [5.0]])
    gradient, hessian = np.empty((3, 1)), np.empty((3, 1))
    loss.gradients(np.array([1.0]), scores, None, gradient, hessian)
    shares = np.array([1, 2, 5]) / 8
    assert gradient[:, 0] == pytest.approx(shares - [0, 1, 0], rel=1e-15)
    assert hessian[:, 0] == pytest.approx(shares * (1 - shares), rel=1e-15)
    assert loss.mean(np.array([1.0]), scores, None, None) == pytest.approx(np.log(4), rel=1e-15)
    base = loss.base_scores(np.array([0.0, 1.0, 1.0, 2.0]), None, np.array([1, 2, 2, 5]))
    assert base == pytest.approx(np.log([0.1, 0.4, 0.5]), rel=1e-15)


@pytest.mark.parametrize("shape", [(1, 20_000), (3, 2_800), (10, 1_347), (200, 600)])
def test_threads_share_the_rows_of_many_scores(shape: tuple[int, int]) -> None:
    """The same bits as one thread writes; and a label that is no class is found in any block."""
    rng = np.random.default_rng(8)
    n_scores, n = shape
    y = rng.integers(0, max(2, n_scores), n).astype(float)
    scores, weight = rng.normal(size=shape), rng.random(n)
    written = []
    for n_threads in (1, 2, 3):
        loss = BuiltinLoss("log_loss", n_scores, n_threads)
        pair = np.full(shape, np.nan), np.full(shape, np.nan)
        loss.gradients(y, scores, weight, *pair)
        written.append(np.array(pair))
    assert np.isfinite(written[0]).all()
    assert (written[0] == written[1]).all()
    assert (written[0] == written[2]).all()
    for row in (0, n // 2, n - 1):
        bad = np.where(np.arange(n) == row, float(n_scores + 1), y)
        with pytest.raises(ValueError, match="class indices"):
            loss.gradients(bad, scores, weight, *pair)


@pytest.mark.parametrize("n_rows", [3, 300_000])
@pytest.mark.parametrize("bad", [-1.0, 2.0, np.nan, np.inf, -np.inf, -5e-324])
def test_labels_that_are_no_classes_are_refused(n_rows: int, bad: float) -> None:
    """Wherever they stand, also where threads share the look at them."""
    loss = BuiltinLoss("log_loss", 1, 2)
    y, scores = np.zeros(n_rows), np.zeros((1, n_rows))
    room = np.empty((1, n_rows)), np.empty((1, n_rows))
    y[1] = -0.0
    assert loss.gradients(y, scores, None, *room)
    for row in (0, n_rows - 1):
        wrong = y.copy()
        wrong[row] = bad
        with pytest.raises(ValueError, match="class indices"):
            loss.gradients(wrong, scores, None, *room)

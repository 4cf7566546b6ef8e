"""Trees on a loss, whose derivatives are never written down, are trees on the written ones."""

import math

import numpy as np
import pytest

from native.test_sorted_engine import assert_equal
from weald import _native
from weald.data import Rows, SortedTable, bin_rows
from weald.losses import BuiltinLoss
from weald.trees import TreeGrower, TreeLimits

# More than two blocks of rows, so that threads share them.
N = 17_000

LIMITS = [
    TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0),
    TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="packed"),
    TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="blocks"),
    TreeLimits(max_leaf_nodes=15, min_samples_leaf=20, min_gain=0.0, cells="wide"),
    # So many leaves are added up one by one, and ends of pure nodes are looked for.
    TreeLimits(max_leaf_nodes=300, max_depth=12, min_gain=-math.inf, cells="packed"),
]


def loss_of(name: str) -> BuiltinLoss:
    parameter = {"quantile": 0.3, "tweedie": 1.5, "huber": 0.7}.get(name, 0.0)
    return BuiltinLoss(name, 1, 1, parameter)


def targets_of(loss: BuiltinLoss, rng: np.random.Generator, n: int) -> np.ndarray:
    kinds = {
        "classes": lambda: rng.integers(0, 2, n),
        "shares": lambda: rng.random(n),
        "positive": lambda: rng.exponential(size=n) + 0.01,
        "not_negative": lambda: rng.poisson(2.0, n),
    }
    return kinds.get(loss.targets, lambda: rng.normal(size=n))().astype(np.float64)


def check(table, binned, loss, y, weight, copies, limits) -> None:
    """Two trees after another, by one and by two threads."""
    n = len(y)
    written = TreeGrower(binned, "newton", limits, n_threads=1)
    growers = [TreeGrower(binned, "newton", limits, n_threads=threads) for threads in (1, 2)]
    gradient, hessian = np.empty((1, n)), np.empty((1, n))
    for slope in (0.0, 0.2):
        scores = slope * table[:, 0].astype(np.float64)
        has_hessian = loss.gradients(y, scores[np.newaxis], weight, gradient, hessian)
        twin = written.on_sums(gradient, hessian[0] if has_hessian else None, copies)
        for grower in growers:
            assert_equal(grower.on_loss(loss.for_core(), y, scores, weight, copies), twin)
            if loss.targets == "classes":
                bytes_ = y.astype(np.uint8)
                assert_equal(grower.on_loss(loss.for_core(), bytes_, scores, weight, copies), twin)


@pytest.mark.parametrize("name", _native.losses())
@pytest.mark.parametrize("weighted", [False, True])
def test_same_trees(name: str, weighted: bool) -> None:
    rng = np.random.default_rng(5)
    table = rng.normal(size=(N, 3)).astype(np.float32)
    loss = loss_of(name)
    y = targets_of(loss, rng, N)
    weight = rng.integers(1, 9, N) / 8 if weighted else None
    binned = bin_rows(Rows(table, y), max_bins=32, n_threads=1)
    for limits in LIMITS:
        for most in (None, 1, 3):  # copies of a row
            copies = None if most is None else rng.integers(0, most + 1, N)
            check(table, binned, loss, y, weight, copies, limits)


def test_one_row_beyond_all_others_needs_wide_cells() -> None:
    rng = np.random.default_rng(6)
    table = rng.normal(size=(2_000, 2))
    y = rng.normal(size=2_000)
    y[7] = 1e14
    binned = bin_rows(Rows(table, y), max_bins=32, n_threads=1)
    check(table, binned, loss_of("squared_error"), y, None, None, LIMITS[0])


def test_sorted_tables() -> None:
    rng = np.random.default_rng(7)
    table = rng.normal(size=(400, 2))
    y = targets_of(loss_of("log_loss"), rng, 400)
    check(table, SortedTable(table, None, None), loss_of("log_loss"), y, None, None, LIMITS[0])


def test_arguments_are_checked() -> None:
    y = np.zeros(10)
    binned = bin_rows(Rows(np.zeros((10, 2)), y), max_bins=32, n_threads=1)
    grower = TreeGrower(binned, "newton", LIMITS[0], n_threads=1)
    log_loss = loss_of("log_loss").for_core()
    with pytest.raises(ValueError, match="one entry per row"):
        grower.on_loss(log_loss, y, np.zeros(9), None, None)
    with pytest.raises(ValueError, match="one entry per row"):
        grower.on_loss(log_loss, np.zeros(9), y, None, None)
    with pytest.raises(ValueError, match="weight must have one entry per row"):
        grower.on_loss(log_loss, y, y, np.ones(9), None)
    with pytest.raises(ValueError, match="class indices"):
        grower.on_loss(log_loss, y + 2, y, None, None)
    labels = y.astype(np.uint8)
    with pytest.raises(ValueError, match="class indices"):
        grower.on_loss(log_loss, labels + np.uint8(2), y, None, None)
    with pytest.raises(ValueError, match="one entry per row"):
        grower.on_loss(log_loss, labels[:9], y, None, None)
    with pytest.raises(ValueError, match="unknown loss"):
        grower.on_loss({**log_loss, "loss": "none"}, y, y, None, None)
    with pytest.raises(ValueError, match="out of range"):
        grower.on_loss({**log_loss, "loss": "quantile", "parameter": 2.0}, y, y, None, None)
    variance = TreeGrower(binned, "squared_error", LIMITS[0], n_threads=1)
    with pytest.raises(ValueError, match="newton"):
        variance.on_loss(log_loss, y, y, None, None)


@pytest.mark.parametrize("name", ["log_loss", "exponential"])
def test_base_scores_of_bytes(name: str) -> None:
    rng = np.random.default_rng(8)
    y, loss = rng.integers(0, 2, 999).astype(np.uint8), loss_of(name)
    for weight in (None, rng.random(999)):
        for copies in (None, rng.integers(0, 3, 999)):
            expected = loss.base_scores(y.astype(np.float64), weight, copies)
            np.testing.assert_array_equal(loss.base_scores(y, weight, copies), expected)
    with pytest.raises(ValueError, match="class indices"):
        loss.base_scores(y + np.uint8(1), None, None)
    with pytest.raises(ValueError, match="one entry per row"):
        loss.base_scores(y, np.ones(9), None)
    with pytest.raises(ValueError, match="classification loss"):
        loss_of("squared_error").base_scores(y, None, None)
    with pytest.raises(ValueError, match="one score"):
        BuiltinLoss("log_loss", 3, 1).base_scores(y, None, None)

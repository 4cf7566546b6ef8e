"""Every split criterion of the core: gains, brute force, weights as repetitions, row order."""

import dataclasses
import math

import numpy as np
import pytest

from native import naive
from native.tables import random_table
from native.test_labels import params
from weald import _native
from weald.data import Rows, bin_rows
from weald.trees import GrownTree, TreeGrower, TreeLimits

EVERY_CRITERION = _native.criteria()
FACTS = {name: _native.criterion_facts(name) for name in EVERY_CRITERION}
OF_FORESTS = [name for name in EVERY_CRITERION if FACTS[name]["grows_forests"]]
every_criterion = pytest.mark.parametrize("criterion", EVERY_CRITERION)
LIMITS = TreeLimits(min_gain=0.0)


def target_of(criterion: str, n: int, seed: int) -> np.ndarray:
    """Integers: class indices, gradients or values."""
    rng = np.random.default_rng([seed, 99])
    if FACTS[criterion]["sums_of"] == "classes":
        return rng.integers(0, 4, n).astype(np.int32)
    if FACTS[criterion]["needs_positive_sums"]:
        return rng.integers(0, 21, n).astype(np.float64)
    return rng.integers(-20, 21, n).astype(np.float64)


def grow(criterion, table, target, *, weight=None, copies=None, limits=LIMITS) -> GrownTree:
    # Bin boundaries lie between all distinct values, so they serve every call.
    binned = bin_rows(Rows(table, np.zeros(len(table))), max_bins=255, n_threads=1)
    grower = TreeGrower(binned, criterion, limits, n_threads=1)
    if FACTS[criterion]["sums_of"] == "gradients":
        return grower.on_sums(target[np.newaxis], weight, copies)
    if FACTS[criterion]["sums_of"] == "classes":
        return grower.on_classes(target, 4, weight, copies)
    return grower.on_values(target[np.newaxis], weight, copies)


def assert_same_tree(a: GrownTree, b: GrownTree) -> None:
    for field in dataclasses.fields(GrownTree):
        if field.name != "leaf_of_row":
            assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


def small_table(seed: int, n: int = 80) -> np.ndarray:
    return random_table(np.random.default_rng(seed), n, 5)


def test_there_are_criteria() -> None:
    assert {"newton", "squared_error", "gini", "entropy", "poisson"} <= set(EVERY_CRITERION)


@every_criterion
@pytest.mark.parametrize("seed", range(6))
def test_gains_of_inner_nodes_are_positive(criterion: str, seed: int) -> None:
    tree = grow(criterion, small_table(seed), target_of(criterion, 80, seed))
    inner = tree.feature >= 0
    assert inner.any()
    assert (tree.gain[inner] > 0).all()
    assert not tree.gain[~inner].any()


@every_criterion
@pytest.mark.parametrize("seed", range(6))
def test_gains_are_never_negative(criterion: str, seed: int) -> None:
    limits = TreeLimits(min_gain=-math.inf)
    tree = grow(criterion, small_table(seed), target_of(criterion, 80, seed), limits=limits)
    assert (tree.gain >= 0).all()


@every_criterion
@pytest.mark.parametrize("seed", range(6))
def test_gains_add_up_to_the_drop_of_the_score(criterion: str, seed: int) -> None:
    """The total gain of all splits is the score of the leaves minus that of the root."""
    target = target_of(criterion, 80, seed)
    tree = grow(criterion, small_table(seed), target)
    lesson = lesson_of(criterion, target)
    scores = [
        float(naive.score(criterion, lesson.total(rows), naive.Penalty()))
        for rows in (
            np.flatnonzero(tree.leaf_of_row == leaf).tolist() for leaf in range(len(tree.value))
        )
    ]
    root = float(naive.score(criterion, lesson.total(range(80)), naive.Penalty()))
    drop = math.fsum(scores) - root
    assert math.fsum(tree.gain) == pytest.approx(drop, rel=1e-12, abs=1e-12 * abs(root))


def lesson_of(criterion: str, target, weight=None) -> naive.Lesson:
    if FACTS[criterion]["sums_of"] == "gradients":
        return naive.lesson_from_sums(target, weight, None)
    if FACTS[criterion]["sums_of"] == "classes":
        return naive.lesson_from_classes(target, 4, weight, None)
    return naive.lesson_from_values(target[np.newaxis], weight, None)


@every_criterion
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("is_weighted", [False, True])
def test_first_split_is_the_best_of_all(criterion: str, seed: int, is_weighted: bool) -> None:
    """Brute force over all splits of all columns."""
    table, n = small_table(seed, 30), 30
    target = target_of(criterion, n, seed)
    weight = np.random.default_rng(seed).integers(1, 9, n) / 8 if is_weighted else None
    lesson = lesson_of(criterion, target, weight)
    parent = naive.score(criterion, lesson.total(range(n)), naive.Penalty())
    best = 0.0
    for x in table.T:
        for cut in set(x[~np.isnan(x)].tolist()):
            for missing_left in (False, True):
                left = np.where(np.isnan(x), missing_left, x <= cut)
                if left.all() or not left.any():
                    continue
                cells = [lesson.total(np.flatnonzero(side).tolist()) for side in (left, ~left)]
                if (
                    FACTS[criterion]["needs_positive_sums"]
                    and min(min(cell.sums) for cell in cells) <= 0
                ):
                    continue  # the deviance is undefined for a mean of 0
                scores = [naive.score(criterion, cell, naive.Penalty()) for cell in cells]
                best = max(best, float(scores[0] + scores[1] - parent))
    limits = dataclasses.replace(LIMITS, max_leaf_nodes=2)
    tree = grow(criterion, table, target, weight=weight, limits=limits)
    assert tree.gain[0] == pytest.approx(best, rel=1e-11)


@every_criterion
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1, 4])
def test_copies_are_repeats(criterion: str, seed: int, least: int) -> None:
    table, target = small_table(seed), target_of(criterion, 80, seed)
    copies = np.random.default_rng(seed).integers(1, 4, 80)
    limits = TreeLimits(min_gain=0.0, min_samples_leaf=least, min_samples_split=2 * least)
    weighted = grow(criterion, table, target, copies=copies, limits=limits)
    again = np.repeat(np.arange(80), copies)
    assert_same_tree(weighted, grow(criterion, table[again], target[again], limits=limits))


@every_criterion
def test_rows_of_no_copies_are_not_there(criterion: str) -> None:
    table, target = small_table(1), target_of(criterion, 80, 1)
    copies = np.arange(80) % 2
    without = grow(criterion, table[1::2], target[1::2], limits=dataclasses.replace(LIMITS))
    # Thresholds between values of all rows differ; the children are the same.
    seen = grow(criterion, table, target, copies=copies)
    assert np.array_equal(seen.feature, without.feature)
    assert np.array_equal(seen.value, without.value)
    assert np.array_equal(seen.leaf_of_row[1::2], without.leaf_of_row)


@every_criterion
@pytest.mark.parametrize("is_weighted", [False, True])
def test_order_of_rows_does_not_matter(criterion: str, is_weighted: bool) -> None:
    table, target = small_table(2), target_of(criterion, 80, 2)
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=80) if is_weighted else None
    tree = grow(criterion, table, target, weight=weight)
    for _ in range(3):
        order = rng.permutation(80)
        other = grow(
            criterion,
            table[order],
            target[order],
            weight=None if weight is None else weight[order],
        )
        assert_same_tree(other, tree)
        assert np.array_equal(other.leaf_of_row, tree.leaf_of_row[order])


@every_criterion
def test_ties_go_to_the_lowest_column_then_the_lowest_cut(criterion: str) -> None:
    rng = np.random.default_rng(3)
    column = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    target = np.tile([0, 1, 1, 0], 10) + (criterion == "poisson")
    target = target.astype(np.int32 if criterion in ("gini", "entropy") else np.float64)
    noise = np.zeros((40, 7))
    for first in (0, 5, 7):
        table = np.column_stack([noise[:, :first], column, column, -column, noise, column])
        tree = grow(criterion, table, target, limits=TreeLimits(max_leaf_nodes=2))
        # Thresholds 0.5 and 2.5 have the same gain.
        assert tree.feature[0] == first
        assert tree.threshold[0] == 0.5
    table = rng.permuted(np.column_stack([column] * 20), axis=0)
    table[:, 13] = table[:, 4] = column
    assert grow(criterion, table, target, limits=TreeLimits(max_leaf_nodes=2)).feature[0] == 4


@every_criterion
def test_leaves_hold_means_shares_or_steps(criterion: str) -> None:
    target = target_of(criterion, 40, 4)
    tree = grow(criterion, np.zeros((40, 1)), target)
    if criterion == "newton":
        expected = [-target.mean()]
    elif criterion in ("gini", "entropy"):
        expected = np.bincount(target, minlength=4) / 40
    else:
        expected = [target.mean()]
    assert tree.value[0] == pytest.approx(expected, rel=1e-15)


def test_newton_with_a_penalty() -> None:
    """Worked example: G and H of the children are -6, 2 and 3, 3; l2 = 1."""
    table = np.repeat([0.0, 1.0], [2, 3])[:, np.newaxis]
    gradient, hessian = np.array([-2.0, -4.0, 1.0, 1.0, 1.0]), np.ones(5)
    limits = TreeLimits(min_gain=0.0, l2=1.0)
    tree = grow("newton", table, gradient, weight=hessian, limits=limits)
    assert tree.value[:, 0].tolist() == [6 / 3, -3 / 4]
    assert tree.gain[0] == pytest.approx(0.5 * (36 / 3 + 9 / 4 - 9 / 6), rel=1e-15)


@every_criterion
def test_min_gain_is_what_a_split_must_exceed(criterion: str) -> None:
    table, target = small_table(5), target_of(criterion, 80, 5)
    tree = grow(criterion, table, target)
    gains = np.sort(tree.gain[tree.feature >= 0])
    least = float(gains[len(gains) // 2])
    pruned = grow(criterion, table, target, limits=TreeLimits(min_gain=least * (1 + 1e-9)))
    assert (pruned.gain[pruned.feature >= 0] > least).all()
    assert len(pruned.value) < len(tree.value)


def test_unknown_criteria_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown criterion"):
        grow("no_such", np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="unknown growth"):
        grow("newton", np.zeros((3, 1)), np.zeros(3), limits=TreeLimits(growth="sideways"))


def grow_forest(criterion, table, target, weight=None, **limits) -> dict[str, np.ndarray]:
    """Grow a tree with the forest engine, on all rows and columns."""
    of_classes = FACTS[criterion]["sums_of"] == "classes"
    return _native.grow_forest(
        table=_native.RankedTable(table, np.arange(len(table)), None, 1),
        params=params(criterion=criterion, max_features=table.shape[1], **limits),
        bootstrap=None,
        weight=weight,
        values=None if of_classes else target,
        classes=target if of_classes else None,
        n_classes=4 if of_classes else 0,
        copies=None,
        first=0,
        n_trees=1,
        oob_sums=None,
        oob_counts=None,
    )


@pytest.mark.parametrize("criterion", OF_FORESTS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("max_depth", [0, 3])
def test_gains_and_leaves_of_a_forest_add_up(
    criterion: str, is_weighted: bool, max_depth: int
) -> None:
    """Total gain plus impurity of the leaves is the score of single rows minus that of the root."""
    n, rng = 60, np.random.default_rng(4)
    table, target = rng.normal(size=(n, 3)), target_of(criterion, n, 4)
    if FACTS[criterion]["sums_of"] == "classes":
        max_depth = 0  # impurities of class leaves follow from their shares: leaves must be pure
    weight = rng.integers(1, 9, n) / 8 if is_weighted else None
    tree = grow_forest(criterion, table, target, weight, max_depth=max_depth)
    assert (tree["feature"] >= 0).sum() >= 3
    lesson = lesson_of(criterion, target, weight)
    root = float(naive.score(criterion, lesson.total(range(n)), naive.Penalty()))
    rows = [float(naive.score(criterion, lesson.total([i]), naive.Penalty())) for i in range(n)]
    assert math.fsum(tree["gain"]) == pytest.approx(math.fsum(rows) - root, rel=1e-9)


@every_criterion
def test_targets_of_another_kind_are_refused(criterion: str) -> None:
    numbers, classes = np.arange(-10.0, 10.0), (np.arange(20) % 4).astype(np.int32)
    table = np.arange(20.0)[:, np.newaxis]
    if criterion not in OF_FORESTS:
        with pytest.raises(ValueError, match="not supported by forests"):
            params(criterion=criterion)
        return
    if FACTS[criterion]["sums_of"] == "classes":
        grow_forest(criterion, table, classes)
        with pytest.raises(ValueError, match="requires classes"):
            _native.grow_forest(
                table=_native.RankedTable(table, np.arange(20), None, 1),
                params=params(criterion=criterion, max_features=1),
                bootstrap=None,
                weight=None,
                values=numbers,
                classes=None,
                n_classes=0,
                copies=None,
                first=0,
                n_trees=1,
                oob_sums=None,
                oob_counts=None,
            )
    elif FACTS[criterion]["needs_positive_sums"]:
        with pytest.raises(ValueError, match="non-negative"):
            grow_forest(criterion, table, numbers)
    else:
        assert (grow_forest(criterion, table, numbers)["feature"] >= 0).any()


def test_no_criterion_has_no_facts() -> None:
    with pytest.raises(ValueError, match="unknown criterion"):
        _native.criterion_facts("unheard_of")

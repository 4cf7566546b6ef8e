"""Stumps of the core against all candidates tried in exact numbers, and against each other."""

import numpy as np
import pytest

from native.stump_twin import NEAR, best_stump, side_score, sums_of
from native.tables import random_table
from weald import _native

CRITERIA = ["error", "gini", "entropy"]
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


def find(table, classes, mass, criterion, *, max_bins=0, n_threads=1):
    """The stump and the rows it sends right."""
    n_classes = int(classes.max()) + 1
    stumps = _native.Stumps(table, classes, n_classes, max_bins, n_threads)
    goes_right = np.full(len(table), 9, dtype=np.uint8)
    return *stumps.find(mass, criterion, goes_right)[:6], goes_right


def masses(rng, n: int, kind: str) -> np.ndarray:
    if kind == "even":
        return np.ones(n)
    if kind == "few":
        return np.maximum(rng.integers(-2, 4, n), np.arange(n) < 2).astype(float)
    return np.rint(rng.exponential(size=n) ** 3 * 2.0**40 / n) + 1.0


def assert_twin(table, classes, mass, criterion: str, max_bins: int) -> None:
    n_classes = int(classes.max()) + 1
    twin = best_stump(table, classes, mass, n_classes, criterion)
    column, threshold, missing_left, gain, left, right, goes_right = find(
        table, classes, mass, criterion, max_bins=max_bins
    )
    if twin is None:
        assert (column, gain) == (-1, 0.0) and not goes_right.any() and not right.any()
        assert left.tolist() == sums_of(classes, mass, n_classes)
        return
    assert (column, threshold) == (twin.column, twin.threshold)
    seen = mass > 0
    assert left.tolist() == sums_of(
        classes[seen & ~twin.goes_right], mass[seen & ~twin.goes_right], n_classes
    )
    if twin.missing_left is None:
        assert missing_left == (left.sum() >= right.sum())
    else:
        assert missing_left == twin.missing_left
    x = table[:, column]
    expected = np.where(np.isnan(x), not missing_left, x > threshold)
    assert np.array_equal(goes_right, expected)
    assert np.array_equal(left + right, sums_of(classes, mass, n_classes))
    assert gain >= -1e-15


@every_criterion
@pytest.mark.parametrize("n_classes", [1, 2, 3, 6])
@pytest.mark.parametrize("kind", ["even", "few", "heavy"])
@pytest.mark.parametrize("max_bins", [0, 1, 2, 5, 300])
def test_stumps_are_the_best_of_all(
    criterion: str, n_classes: int, kind: str, max_bins: int
) -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, n_classes, max_bins])
        n = int(rng.integers(2, 45))
        table = random_table(rng, n, int(rng.integers(1, 5)))
        classes = rng.integers(0, n_classes, n).astype(np.int32)
        classes[0] = n_classes - 1
        assert_twin(table, classes, masses(rng, n, kind), criterion, max_bins)


@every_criterion
def test_floats_of_32_bits_are_their_values(criterion: str) -> None:
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(60, 3)), 1).astype(np.float32)
    classes = rng.integers(0, 2, 60).astype(np.int32)
    narrow = find(table, classes, np.ones(60), criterion)
    wide = find(np.asfortranarray(table.astype(np.float64)), classes, np.ones(60), criterion)
    assert all(np.array_equal(a, b) for a, b in zip(narrow, wide, strict=True))


def big_task(n: int, n_classes: int, seed: int = 0, missing: float = 0.02):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 4))
    table[:, 1] = np.round(table[:, 1] * 8)
    table[:, 2] = np.round(table[:, 2] * 400)
    number = table[:, 0] + table[:, 3] + rng.normal(size=n)
    classes = np.digitize(number, np.quantile(number, np.arange(1, n_classes) / n_classes))
    table[rng.random(table.shape) < missing] = np.nan
    return table, classes.astype(np.int32), np.rint(rng.exponential(size=n) * 2.0**30)


@every_criterion
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_bins_leave_nothing_out(criterion: str, n_classes: int, missing: float) -> None:
    """Reading value by value, or only bins that may hold the best: the same bits."""
    table, classes, mass = big_task(6000, n_classes, missing=missing)
    whole = find(table, classes, mass, criterion, max_bins=1)
    for max_bins in (0, 3, 200, 256, 3000, 65535):
        for n_threads in (1, 3):
            other = find(table, classes, mass, criterion, max_bins=max_bins, n_threads=n_threads)
            assert all(np.array_equal(a, b) for a, b in zip(whole, other, strict=True))
    order = np.random.default_rng(1).permutation(len(table))
    shuffled = find(table[order], classes[order], mass[order], criterion)
    assert all(np.array_equal(a, b) for a, b in zip(whole[:6], shuffled[:6], strict=True))


def test_more_distinct_values_than_16_bits() -> None:
    """Two classes, a column of 70,000 values, by running sums in NumPy."""
    rng = np.random.default_rng(2)
    n = 70_000
    x = rng.permutation(n) / 7
    classes = (rng.random(n) < 0.3 + 0.4 * (x > 6000)).astype(np.int32)
    mass = rng.integers(1, 1000, n).astype(float)
    order = np.argsort(x)
    left = np.cumsum(np.where(classes[order], [[0], [1]], [[1], [0]]) * mass[order], axis=1)[:, :-1]
    right = np.bincount(classes, mass)[:, np.newaxis] - left
    scores = {
        "error": left.max(axis=0) + right.max(axis=0),
        "gini": (left**2).sum(0) / left.sum(0) + (right**2).sum(0) / right.sum(0),
    }
    for criterion, score in scores.items():
        at = int(np.argmax(score >= score.max() - mass.sum() * 2.0**-40))
        for max_bins in (0, 1, 65535):
            found = find(x[:, np.newaxis], classes, mass, criterion, max_bins=max_bins)
            assert found[1] == x[order[at]] / 2 + x[order[at + 1]] / 2
            assert found[4].tolist() == left[:, at].tolist()


def test_ties_go_to_the_lowest_column_then_the_lowest_cut() -> None:
    column = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    classes = np.tile([0, 1, 1, 0], 10).astype(np.int32)
    table = np.column_stack([np.zeros(40), column, -column, column])
    for criterion in CRITERIA:
        assert find(table, classes, np.ones(40), criterion)[:2] == (1, 0.5)


def test_differences_of_rounding_are_ties() -> None:
    """A cut better by less than 2^-40 of all mass does not win over an earlier one."""
    # Each column misclassifies one row; that of the first has a little more weight.
    table = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    classes = np.array([0, 0, 1, 1], dtype=np.int32)
    for extra, column in ((2.0**8, 0), (2.0**14, 1)):
        mass = np.full(4, 2.0**50) + np.array([0, 0, extra, 0])
        assert find(table, classes, mass, "error")[0] == column


BAD = {
    "classes must have one entry": lambda: _native.Stumps(
        np.zeros((3, 1)), np.zeros(2, np.int32), 1, 0, 1
    ),
    "classes must be in": lambda: _native.Stumps(
        np.zeros((2, 1)), np.array([0, 2], np.int32), 2, 0, 1
    ),
    "a table must have rows": lambda: _native.Stumps(
        np.zeros((0, 1)), np.zeros(0, np.int32), 1, 0, 1
    ),
    "max_bins": lambda: _native.Stumps(np.zeros((2, 1)), np.zeros(2, np.int32), 1, 65536, 1),
    "n_threads": lambda: _native.Stumps(np.zeros((2, 1)), np.zeros(2, np.int32), 1, 0, 0),
    "unknown criterion": lambda: two().find(np.ones(2), "newton", np.zeros(2, np.uint8)),
    "one entry per row": lambda: two().find(np.ones(3), "gini", np.zeros(2, np.uint8)),
    "mass and goes_right": lambda: two().find(np.ones(2), "gini", np.zeros(1, np.uint8)),
}


def test_wrong_rows_are_marked() -> None:
    classes = np.array([0, 1, 2, 1], dtype=np.int32)
    stumps = _native.Stumps(np.zeros((4, 1)), classes, 3, 0, 1)
    wrong = np.empty(4, dtype=bool)
    stumps.mark_wrong(np.array([0, 0, 1, 1], dtype=np.uint8), 0, 1, wrong)
    assert wrong.tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match="one entry per row"):
        stumps.mark_wrong(np.zeros(3, dtype=np.uint8), 0, 1, wrong)


def two():
    return _native.Stumps(np.zeros((2, 1)), np.array([0, 1], np.int32), 2, 0, 1)


@pytest.mark.parametrize("fragment", BAD)
def test_the_border_refuses(fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        BAD[fragment]()


@pytest.mark.parametrize("wrong", [0.5, -1.0, np.nan, np.inf, 2.0**53])
def test_masses_are_whole_numbers(wrong: float) -> None:
    with pytest.raises(ValueError, match="mass must be integers"):
        two().find(np.array([1.0, wrong]), "gini", np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match="mass must be integers"):
        two().find(np.zeros(2), "gini", np.zeros(2, np.uint8))


# ---- sets of levels ----


def documented_pairs(levels, n_levels: int, classes, mass, n_classes: int, row_weight: float):
    """Every pair of sets that the search tries, in its order: codes on the left, known codes."""
    cells = np.zeros((n_levels + 1, n_classes))
    np.add.at(cells, (np.where(np.isnan(levels), 0, levels + 1).astype(int), classes), mass)
    least = min(1.0, n_levels / 64) * 10 * row_weight
    weight = cells.sum(axis=1)
    told = [c for c in range(1, n_levels + 1) if weight[c] > 0 and weight[c] >= least]
    rest = [c for c in range(n_levels + 1) if c not in told]
    has_others = weight[rest].sum() > 0
    few = len(told) <= 4
    smooth = 0.0 if few else 10 * row_weight
    totals = cells.sum(axis=0)
    lefts = [[c] for c in told] if few else []
    heaviest = sorted(range(n_classes), key=lambda k: -totals[k])
    for k in heaviest[: 1 if n_classes == 2 else 4]:
        mean = totals[k] / totals.sum()
        key = {c: (cells[c, k] + smooth * mean) / (weight[c] + smooth) for c in told}
        order = sorted(told, key=lambda c, key=key: (key[c], c))
        lefts += [order[: i + 1] for i in range(len(order))]
    for left in lefts:
        is_all = len(left) == len(told)
        if is_all and not has_others:
            continue
        yield set(left), set(told), False if has_others else None
        if has_others and not is_all:
            yield set(left) | set(rest), set(told), True


@every_criterion
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("n_levels", [1, 2, 3, 4, 7, 30, 70, 300])
def test_sets_are_the_best_of_those_documented(criterion: str, n_classes: int, n_levels: int):
    rng = np.random.default_rng([n_classes, n_levels, len(criterion)])
    for n in (12, 150, 700):
        levels = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, n_levels, n))
        classes = rng.integers(0, n_classes, n).astype(np.int32)
        classes[:n_classes] = range(n_classes)
        mass = masses(rng, n, str(rng.choice(["even", "few", "heavy"])))
        table = np.column_stack([levels])
        stumps = _native.Stumps(table, classes, n_classes, 0, 1, np.array([n_levels], np.int32))
        goes_right = np.empty(n, dtype=np.uint8)
        row_weight = mass.sum() / n
        column, _, missing_left, gain, left, right, words = stumps.find(
            mass, criterion, goes_right, row_weight
        )
        code = np.where(np.isnan(levels), 0, levels + 1).astype(int)
        best = None
        for codes, told, others_left in documented_pairs(
            levels, n_levels, classes, mass, n_classes, row_weight
        ):
            is_left = np.isin(code, list(codes))
            sides = [sums_of(classes[one], mass[one], n_classes) for one in (is_left, ~is_left)]
            if not all(map(sum, sides)):
                continue
            score = sum(side_score(criterion, side) for side in sides)
            if best is None or score > best[0] + NEAR * int(mass.sum()):
                best = score, codes, told, others_left, sides
        if best is None:
            assert column == -1 and len(words) == 0
            continue
        _, codes, told, others_left, sides = best
        assert column == 0 and gain >= -1e-15
        assert [left.tolist(), right.tolist()] == sides
        expected = sum(sides[0]) >= sum(sides[1]) if others_left is None else others_left
        assert missing_left == expected
        inside = {
            c
            for c in range(1, n_levels + 1)
            if words[(c - 1) // 64] >> np.uint64(c - 1 & 63) & np.uint64(1)
        }
        assert inside == {
            c for c in range(1, n_levels + 1) if (c in codes if c in told else missing_left)
        }
        is_right = np.where(code == 0, not missing_left, ~np.isin(code, list(inside)))
        assert np.array_equal(goes_right, is_right)


@every_criterion
def test_no_two_sets_are_better(criterion: str) -> None:
    """Of two classes the order by shares holds the best of all pairs of sets."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        levels = rng.integers(0, 4, 60)
        classes = rng.integers(0, 2, 60).astype(np.int32)
        mass = masses(rng, 60, "heavy")
        _, _, _, _, left, right, _ = _native.Stumps(
            levels[:, np.newaxis].astype(float), classes, 2, 0, 1, np.array([4], np.int32)
        ).find(mass, criterion, np.empty(60, dtype=np.uint8), 0.001)
        found = sum(side_score(criterion, [int(s) for s in side]) for side in (left, right))
        for chosen in range(1, 15):
            is_left = (chosen >> levels & 1).astype(bool)
            sides = [sums_of(classes[one], mass[one], 2) for one in (is_left, ~is_left)]
            if all(map(sum, sides)):
                score = sum(side_score(criterion, side) for side in sides)
                assert score <= found + NEAR * int(mass.sum())


def test_levels_are_checked_at_the_border() -> None:
    classes = np.array([0, 1], np.int32)
    for levels, words in (
        ([0.0, 2.0], "levels must be"),
        ([0.5, 1.0], "levels must be"),
        ([-1.0, 0.0], "levels must be"),
    ):
        with pytest.raises(ValueError, match=words):
            _native.Stumps(np.array([levels]).T, classes, 2, 0, 1, np.array([2], np.int32))
    with pytest.raises(ValueError, match="one entry per column"):
        _native.Stumps(np.zeros((2, 1)), classes, 2, 0, 1, np.array([2, 2], np.int32))
    with pytest.raises(ValueError, match="row_weight"):
        _native.Stumps(np.zeros((2, 1)), classes, 2, 0, 1).find(
            np.ones(2), "gini", np.empty(2, dtype=np.uint8), 0.0
        )

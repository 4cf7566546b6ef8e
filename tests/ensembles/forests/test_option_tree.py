"""Option trees: growth and averaging against naive code, limits, pruning, text, added splits."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as TheirTree

from weald import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    OptionTreeClassifier,
    OptionTreeRegressor,
)
from weald.trees import options_at, way_to


def numbers(n: int = 90, n_columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Integers, so that sums are exact, with some missing values."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, n_columns)).astype(float)
    X[rng.random((n, n_columns)) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * rng.integers(0, 3, n)) // 5
    return X, y


def walk(model, row: np.ndarray) -> list[tuple[int, float]]:
    """Leaves that a row reaches and their shares, by following every option."""
    tree, found = model.forest_, []

    def follow(head: int, share: float) -> None:
        options = options_at(tree, head)
        for node in options:
            if tree.feature[node] < 0:
                found.append((int(tree.right[node]), share / len(options)))
                continue
            x = row[tree.feature[node]]
            missing = np.isnan(x)
            left = tree.missing_left[node] if missing else x <= tree.threshold[node]
            follow(node + 1 if left else int(tree.right[node]), share / len(options))

    follow(0, 1.0)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_are_at_most_one(seed: int) -> None:
    """Rounded shares such as sixths may sum to more than 1."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    model = OptionTreeClassifier(max_options=7, option_depth=3).fit(X, y)
    alone, (beside, _) = model.predict_proba(X), model.predict_proba(X, return_std=True)
    assert np.array_equal(alone, beside)
    assert alone.min() >= 0.0 and alone.max() <= 1.0
    assert np.abs(alone.sum(axis=1) - 1.0).max() < 1e-15


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_merging_equals_traversal_of_all_options(voting: str) -> None:
    X, y = numbers(200)
    model = OptionTreeClassifier(voting=voting, option_depth=3, option_ratio=0.3).fit(X, y)
    assert model.get_n_option_nodes() > 3
    X_new = numbers(60, seed=1)[0]
    leaves = model.apply(X_new)
    shares, spread = model.predict_proba(X_new, return_std=True)
    for i, row in enumerate(X_new):
        reached = walk(model, row)
        assert leaves[i][leaves[i] >= 0].tolist() == [leaf for leaf, _ in reached]
        assert model.forest_.leaf_shares[leaves[i][leaves[i] >= 0]].tolist() == [
            share for _, share in reached
        ]
        merged = sum(share * model.forest_.value[leaf] for leaf, share in reached)
        assert shares[i].tolist() == np.minimum(merged, 1.0).tolist()
        off = sum(share * (model.forest_.value[leaf] - merged) ** 2 for leaf, share in reached)
        rest = 1 - sum(share * share for _, share in reached)
        wanted = np.sqrt(off / rest) if len(reached) > 1 else 0 * off
        np.testing.assert_allclose(spread[i], wanted, rtol=1e-12)
    if voting == "hard":
        assert set(np.unique(model.forest_.value)) == {0.0, 1.0}


def test_equal_options_have_the_sample_standard_deviation() -> None:
    X, y = numbers(200)
    model = OptionTreeRegressor(option_depth=1).fit(X, y)
    means, spread = model.predict(X, return_std=True)
    values = [[model.forest_.value[leaf, 0] for leaf, _ in walk(model, row)] for row in X]
    np.testing.assert_allclose(means, [np.mean(one) for one in values])
    np.testing.assert_allclose(spread, [np.std(one, ddof=1) for one in values], atol=1e-12)


# ---- growth ----


def naive_options(X: np.ndarray, y: np.ndarray, most: int, ratio: float) -> list[tuple]:
    """(column, threshold, missing left, gain) of the options of a node; Gini in integer counts."""

    def score(labels: np.ndarray) -> float:
        return float((np.bincount(labels).astype(float) ** 2).sum() / len(labels))

    best = []
    for column in range(X.shape[1]):
        x = X[:, column]
        missing, values = np.isnan(x), np.unique(x[~np.isnan(x)])
        found = None
        cuts = [(a + b) / 2 for a, b in pairwise(values)]
        for cut in cuts + ([np.inf] if missing.any() else []):
            for missing_left in (False, True) if missing.any() and cut < np.inf else (False,):
                left = (x <= cut) | (missing & missing_left)
                if left.all() or not left.any():
                    continue
                gain = score(y[left]) + score(y[~left]) - score(y)
                if found is None or gain > found[3] + 1e-12:
                    found = (column, cut, missing_left, gain, left)
        if found is not None:
            best.append(found)
    best.sort(key=lambda one: (-round(one[3], 9), one[0]))
    options: list[tuple] = []
    for one in best:
        if len(options) == most or (options and one[3] < ratio * best[0][3] - 1e-12):
            break
        twins = [(one[4] == other[4]).all() or (one[4] != other[4]).all() for other in options]
        if not any(twins):
            options.append(one)
    return options


@pytest.mark.parametrize("seed", range(4))
def test_options_are_the_best_splits_of_the_best_columns(seed: int) -> None:
    X, y = numbers(seed=seed)
    y = y.astype(int)
    model = OptionTreeClassifier(max_options=3, option_depth=2, option_ratio=0.4).fit(X, y)
    tree = model.forest_

    def check(head: int, rows: np.ndarray, depth: int) -> None:
        if tree.feature[head] < 0 or depth == 2:
            return
        wanted = naive_options(X[rows], y[rows], 3, 0.4)
        nodes = options_at(tree, head)
        assert [tree.feature[node] for node in nodes] == [one[0] for one in wanted]
        for node, (column, cut, _, gain, left) in zip(nodes, wanted, strict=True):
            assert tree.threshold[node] == cut
            assert tree.gain[node] == pytest.approx(gain)
            assert tree.weight[node] == len(rows)
            x = X[rows, column]
            sent = np.where(np.isnan(x), bool(tree.missing_left[node]), x <= tree.threshold[node])
            assert (sent == left).all()
            check(node + 1, rows[left], depth + 1)
            check(int(tree.right[node]), rows[~left], depth + 1)

    check(0, np.arange(len(X)), 0)


@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 9}, {"max_depth": 3}])
def test_one_option_is_a_decision_tree(limits) -> None:
    X, y = numbers(150)
    for ours, plain in (
        (OptionTreeClassifier, DecisionTreeClassifier),
        (OptionTreeRegressor, DecisionTreeRegressor),
    ):
        model, tree = ours(max_options=1, **limits).fit(X, y), plain(**limits).fit(X, y)
        for name in ("feature", "threshold", "right", "missing_left", "weight", "gain", "value"):
            assert (getattr(model.forest_, name) == getattr(tree.forest_, name)).all(), name
        assert not model.forest_.next_option.any()
        assert model.get_depth() == tree.get_depth()
        assert model.get_n_leaves() == tree.get_n_leaves()


def test_subtrees_below_the_options_are_decision_trees() -> None:
    X, y = numbers(150)
    model = OptionTreeClassifier(option_depth=1, max_options=2, option_ratio=0.1).fit(X, y)
    tree = model.forest_
    first, second = options_at(tree, 0)
    for node in (first, second):
        x = X[:, tree.feature[node]]
        left = np.where(np.isnan(x), bool(tree.missing_left[node]), x <= tree.threshold[node])
        alone = DecisionTreeClassifier().fit(X[left], y[left])
        classes = np.isin(model.classes_, alone.classes_)
        shares = [
            sum(tree.value[leaf] for leaf, _ in walk(model, row)[:1])
            if node == first
            else tree.value[walk(model, row)[-1][0]]
            for row in X[left]
        ]
        assert (np.array(shares)[:, classes] == alone.predict_proba(X[left])).all()


def test_copies_of_a_column_are_no_options() -> None:
    X, y = numbers(100)
    X = np.nan_to_num(X[:, :1])
    twice = np.hstack([X, X, -X])
    model = OptionTreeClassifier(option_ratio=0.01).fit(twice, y)
    assert model.get_n_option_nodes() == 0
    assert set(model.forest_.feature) == {-1, 0}


@pytest.mark.parametrize("most", [2, 3, 5, 8, 20, 64])
def test_leaves_are_limited(most: int) -> None:
    X, y = numbers(300)
    full = OptionTreeClassifier().fit(X, y)
    model = OptionTreeClassifier(max_leaf_nodes=most).fit(X, y)
    assert most - 1 <= model.get_n_leaves() <= most < full.get_n_leaves()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    # Means of the pruned subtrees.
    tree = model.forest_
    reached: dict[int, list[int]] = {}
    for i, row in enumerate(X):
        for leaf, _ in walk(model, row):
            reached.setdefault(leaf, []).append(i)
    for leaf, rows in reached.items():
        counts = np.bincount(np.searchsorted(model.classes_, y[rows]), minlength=tree.n_outputs)
        np.testing.assert_allclose(tree.value[leaf], counts / len(rows), rtol=1e-12)


def test_depth_and_samples_are_limited() -> None:
    X, y = numbers(300)
    for depth in (1, 2, 3, 5):
        assert OptionTreeClassifier(max_depth=depth).fit(X, y).get_depth() == depth
    model = OptionTreeClassifier(min_samples_leaf=20, option_ratio=0.1).fit(X, y)
    leaf = model.forest_.feature < 0
    assert model.forest_.weight[leaf].min() >= 20
    model = OptionTreeClassifier(min_samples_split=150).fit(X, y)
    assert model.forest_.weight[model.forest_.feature >= 0].min() >= 150


# ---- pruning ----


def cost(model, alpha: float) -> float:
    """Mean impurity of the leaves weighted by their shares, plus alpha per leaf."""
    tree, shares = model.forest_, model.forest_.leaf_shares
    leaf = np.flatnonzero(tree.feature < 0)
    value, share = tree.value[tree.right[leaf]], shares[tree.right[leaf]]
    impurity = 1 - (value**2).sum(axis=1)
    return float((share * tree.weight[leaf] * impurity).sum() / tree.weight[0] + alpha * len(leaf))


def test_pruning_without_options_is_scikit_learns() -> None:
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    X, y = np.round(X[:, [2, 3, 9]]), progression > 140  # at most 255 values each
    for alpha in (0.0031, 0.0101, 0.03):
        theirs = TheirTree(ccp_alpha=alpha, random_state=0).fit(X, y)
        ours = OptionTreeClassifier(max_options=1, ccp_alpha=alpha).fit(X, y)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_pruning_of_options_lowers_the_cost() -> None:
    X, y = numbers(200)
    sizes = []
    for alpha in (0.0, 0.002, 0.005, 0.02, 0.1, 10.0):
        model = OptionTreeClassifier(ccp_alpha=alpha).fit(X, y)
        sizes.append(model.get_n_leaves())
        for other in (0.0, 0.005, 0.1, 10.0):
            rival = OptionTreeClassifier(ccp_alpha=other).fit(X, y)
            assert cost(model, alpha) <= cost(rival, alpha) + 1e-12
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[2] and sizes[-1] == 1


def test_pruning_scales_with_the_target() -> None:
    X, y = numbers(200)
    plain = OptionTreeRegressor(ccp_alpha=0.01).fit(X, y)
    large = OptionTreeRegressor(ccp_alpha=0.01 * 2.0**500).fit(X, y * 2.0**250)
    assert (plain.forest_.right == large.forest_.right).all()
    assert 1 < plain.get_n_leaves() < OptionTreeRegressor().fit(X, y).get_n_leaves()


# ---- added splits ----


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    n = 240
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "city": pd.Categorical(rng.choice(["Bonn", "Köln", "Ulm"], n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    X.loc[::9, "age"] = np.nan
    X.loc[::7, "city"] = np.nan
    y = (X["age"].fillna(50) > 45).to_numpy() ^ (X["city"] == "Ulm").to_numpy()
    return X, np.where(y, "yes", "no")


def test_an_added_option_grows_a_tree_of_its_own() -> None:
    X, y = numbers(150)
    model = OptionTreeClassifier(max_options=1).fit(X, y)
    before = model.fingerprint()
    column = int(np.argmin(np.bincount(model.forest_.feature[model.forest_.feature >= 0])))
    more = model.add_option(0, column, 5.2, X, y)
    assert model.fingerprint() == before != more.fingerprint()
    assert options_at(more.forest_, 0)[0] == 0 and len(options_at(more.forest_, 0)) == 2
    second = options_at(more.forest_, 0)[1]
    assert more.forest_.threshold[second] == 5.2 and more.forest_.feature[second] == column
    x = X[:, column]
    left = np.where(np.isnan(x), bool(more.forest_.missing_left[second]), x <= 5.2)
    expected = np.zeros((len(X), len(model.classes_)))
    for side in (left, ~left):
        alone = DecisionTreeClassifier().fit(X[side], y[side])
        known = np.isin(model.classes_, alone.classes_)
        expected[np.ix_(side, known)] = alone.predict_proba(X[side])
    assert (more.predict_proba(X) == (0.5 * model.predict_proba(X) + 0.5 * expected)).all()
    for threshold in (4.5, 7.5):  # anywhere, again and again
        inner = np.flatnonzero((more.forest_.feature >= 0) & (more.forest_.weight > 20))
        more = more.add_option(int(inner[-1]), 2 if column == 3 else 3, threshold, X, y)
        assert more.predict_proba(X).sum(axis=1) == pytest.approx(1)
        assert pickle.loads(pickle.dumps(more)).fingerprint() == more.fingerprint()


def test_options_of_levels_and_dates() -> None:
    X, y = frame()
    model = OptionTreeClassifier(max_depth=2, max_options=1).fit(X, y)
    more = model.add_option(0, "city", ["Ulm"], X, y)
    assert "city in {Ulm}?" in more.text() or "city not in {Bonn, Köln}?" in more.text()
    assert "day (month) <= 6?" in model.add_option(0, "day (month)", 6, X, y).text()
    assert "age <= 40" in model.add_option(0, 0, 40, X, y).text()
    weights = np.arange(len(X)) % 3
    again = model.add_option(0, "age", 40, X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(X)), weights)
    assert again.fingerprint() == (
        model.add_option(0, "age", 40, X.iloc[repeated], y[repeated]).fingerprint()
    )
    shuffled = np.random.default_rng(0).permutation(len(X))
    assert model.add_option(0, "age", 40, X, y).fingerprint() == (
        model.add_option(0, "age", 40, X.iloc[shuffled], y[shuffled]).fingerprint()
    )


def test_a_regression_takes_options() -> None:
    X, y = numbers(150)
    model = OptionTreeRegressor(max_leaf_nodes=6, max_options=2).fit(X, y * 2.0**300)
    more = model.add_option(0, 3, 6, X, y * 2.0**300)
    assert more.get_n_leaves() <= model.get_n_leaves() + 6
    assert np.abs(more.predict(X)).max() <= y.max() * 2.0**300


@pytest.mark.parametrize(
    ("arguments", "error", "fragment"),
    [
        ((10**6, "age", 45), ValueError, "There is no node 1000000"),
        ((-1, "age", 45), ValueError, "There is no node -1"),
        (("a", "age", 45), TypeError, "node must be an int"),
        ((True, "age", 45), TypeError, "node must be an int"),
        ((0, "size", 45), ValueError, "There is no column 'size'; there are 'age', 'city'"),
        ((0, 3, 45), ValueError, "There is no column 3; they are numbered from 0 to 2"),
        ((0, None, 45), TypeError, "feature must be the name or the position"),
        ((0, 2, 45), ValueError, "Column 2 is a date; pass the name of one of its parts"),
        ((0, "age", "old"), TypeError, "threshold must be a number"),
        ((0, "age", np.nan), ValueError, "threshold must not be NaN"),
        ((0, "day (month)", 99), ValueError, "right; each side needs at least min_samples_leaf=1"),
        ((0, "city", 1), TypeError, "must be a list of the categories that go left"),
        (
            (0, "city", ["Rom"]),
            ValueError,
            "no category 'Rom'; its categories are 'Bonn', 'Köln', 'Ulm'",
        ),
        ((0, "city", []), ValueError, "pass the categories of column 'city' that go left"),
    ],
)
def test_options_that_cannot_be_added(arguments, error, fragment: str) -> None:
    X, y = frame()
    model = OptionTreeClassifier(max_depth=2, max_options=1).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(error, match=fragment):
        model.add_option(*arguments, X, y)
    assert model.fingerprint() == before


def test_leaves_and_strange_rows_take_no_option() -> None:
    X, y = frame()
    model = OptionTreeClassifier(max_depth=1, max_options=1).fit(X, y)
    with pytest.raises(ValueError, match="Node 1 is a leaf; options are added to inner nodes"):
        model.add_option(1, "age", 45, X, y)
    with pytest.raises(ValueError, match="unknown class 'perhaps' in row 0"):
        model.add_option(0, "age", 45, X, np.full(len(X), "perhaps"))
    with pytest.raises(ValueError, match="inconsistent"):
        model.add_option(0, "age", 45, X, y[:-1])
    with pytest.raises(ValueError, match="age"):
        model.add_option(0, "age", 45, X.drop(columns="age"), y)
    with pytest.raises(NotFittedError):
        OptionTreeClassifier().add_option(0, "age", 45, X, y)


# ---- inspection ----


def test_text_of_no_and_of_nested_options() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = X[:, 0] * 2 + X[:, 1]
    flat = OptionTreeRegressor(max_depth=2, max_options=1).fit(X, y)
    assert flat.text().startswith("[0] column 0 <= 0.5?\n├─ yes: [1] column 1 <= 0.5?")
    with pytest.raises(ValueError, match="Node 1 already splits the same rows"):
        flat.add_option(1, 1, 0.4, X, y)
    X[0] = [0.0, 0.7]
    nested = flat.add_option(1, 1, 0.8, X, y).text()
    assert "├─ yes: 2 options, merged by mean\n│       ├─ [1] column 1" in nested
    assert (
        "merged by vote"
        in OptionTreeClassifier(voting="hard", option_ratio=0.1, option_depth=1)
        .fit(*numbers())
        .text()
    )


def test_constant_and_missing_columns_are_never_split() -> None:
    X = np.column_stack([np.full(40, 3.0), np.full(40, np.nan)])
    model = OptionTreeClassifier().fit(X, np.arange(40) % 2)
    assert model.get_n_leaves() == 1 and model.get_n_option_nodes() == 0
    assert model.text() == "0 (0.5)  (weight 40)"
    with pytest.raises(ValueError, match="is a leaf"):
        model.add_option(0, 0, 2.0, X, np.arange(40) % 2)


def test_importances_count_by_share() -> None:
    X, y = numbers(200)
    importance = OptionTreeClassifier().fit(X, y).feature_importances_
    assert importance.sum() == pytest.approx(1) and importance[:2].min() > importance[2:].max()


def test_the_way_to_a_leaf_is_that_of_its_rows() -> None:
    X, y = numbers(200)
    tree = OptionTreeClassifier(max_depth=3, option_ratio=0.2).fit(X, y).forest_
    for leaf in range(len(tree.value)):
        node = int(np.flatnonzero((tree.feature < 0) & (tree.right == leaf))[0])
        fits = np.ones(len(X), dtype=bool)
        for above, is_left in way_to(tree, node):
            x = X[:, tree.feature[above]]
            left = np.where(np.isnan(x), bool(tree.missing_left[above]), x <= tree.threshold[above])
            fits &= left == is_left
        reached = (tree.apply(X, n_threads=1) == leaf).any(axis=1)
        assert (fits == reached).all() and fits.sum() == tree.weight[node]

"""Random forests: random draws, limits, out-of-bag estimates and importances."""

import pickle
import tracemalloc

import numpy as np
import pytest

from weald import (
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.data import Rows
from weald.ensembles.forests.forest import TreeSettings


def table(n: int = 300, n_columns: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


def two_classes(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X, y = table(n)
    return X, (y > 0.8).astype(int)


# ---- against naive code ----


def naive_best(X: np.ndarray, y: np.ndarray) -> float:
    """Largest decrease of the squared error over all splits of all columns."""

    def error(part: np.ndarray) -> float:
        return float(((part - part.mean()) ** 2).sum()) if len(part) else 0.0

    gains = [
        error(y) - error(y[X[:, c] <= cut]) - error(y[X[:, c] > cut])
        for c in range(X.shape[1])
        for cut in np.unique(X[:, c])[:-1]
    ]
    return max(gains)


@pytest.mark.parametrize("n", [7, 60, 500, 3000])
@pytest.mark.parametrize("kind", ["numbers", "few values"])
def test_a_node_that_considers_all_columns_finds_the_best_split(n: int, kind: str) -> None:
    """Small nodes are sorted, large ones use histograms of at most 255 bins."""
    X, y = table(n, 3)
    if kind == "few values":
        X = np.round(X)
    model = RandomForestRegressor(1, max_features=None, bootstrap=False, max_depth=1, n_jobs=1)
    found = float(model.fit(X, y).forest_.gain[0])
    best = naive_best(X, y)
    if n >= 1024 and kind == "numbers":
        assert 0.99 * best <= found <= best * (1 + 1e-9)
    else:
        assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_columns_and_no_draws_make_the_exact_tree(
    n_classes: int, criterion: str, weighted: bool
) -> None:
    X, y = table(200, 4)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    weight = np.random.default_rng(1).random(200) + 0.5 if weighted else None
    settings = {"criterion": criterion, "max_depth": 3, "n_jobs": 1}
    forest = RandomForestClassifier(1, max_features=None, bootstrap=False, **settings)
    tree = DecisionTreeClassifier(exact=True, **settings)
    forest.fit(X, labels, weight)
    tree.fit(X, labels, weight)
    assert np.allclose(forest.predict_proba(X), tree.predict_proba(X))
    assert forest.forest_.gain[0] == pytest.approx(tree.forest_.gain[0])


def test_missing_values_go_where_they_gain_most() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan], [3.0], [4.0]])
    y = np.array([0.0, 0.0, 5.0, 5.0, 5.0, 5.0])
    model = RandomForestRegressor(1, bootstrap=False, max_depth=1, n_jobs=1).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    alone = RandomForestRegressor(1, bootstrap=False, n_jobs=1).fit(X[[0, 2, 3]], [1.0, 2.0, 2.0])
    assert alone.predict([[7.0], [np.nan]]).tolist() == [1.0, 2.0]


def naive_importances(model: RandomForestClassifier, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """w_i I(i) - sum of w_j I(j) of the children, normalised per tree, then averaged."""

    def weighted_gini(node: np.ndarray, copies: np.ndarray) -> float:
        w = np.bincount(y[node], weights=copies[node], minlength=2)
        return float(w.sum() - (w**2).sum() / w.sum()) if w.sum() else 0.0

    all_shares = []
    for number, view in enumerate(model.estimators_):
        forest, copies = view.forest_, model.in_bag_counts(number)
        shares = np.zeros(X.shape[1])
        stack = [(0, np.flatnonzero(copies))]
        while stack:
            node, rows = stack.pop()
            column = forest.feature[node]
            if column < 0:
                continue
            is_left = X[rows, column] <= forest.threshold[node]
            left, right = rows[is_left], rows[~is_left]
            parts = weighted_gini(left, copies) + weighted_gini(right, copies)
            shares[column] += weighted_gini(rows, copies) - parts
            stack += [(node + 1, left), (int(forest.right[node]), right)]
        all_shares.append(shares / shares.sum())
    return np.mean(all_shares, axis=0)


def test_importances_are_those_of_naive_code() -> None:
    X, y = two_classes()
    model = RandomForestClassifier(5, criterion="gini", random_state=0, n_jobs=1).fit(X, y)
    assert model.feature_importances_ == pytest.approx(naive_importances(model, X, y), rel=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_out_of_bag_predictions_are_those_of_trees_that_did_not_draw_the_row() -> None:
    X, y = two_classes(120)
    model = RandomForestClassifier(30, oob_score=True, random_state=1).fit(X, y)
    sums, counts = np.zeros((120, 2)), np.zeros(120)
    for number, tree in enumerate(model.estimators_):
        out = model.in_bag_counts(number) == 0
        sums[out] += tree.predict_proba(X[out])
        counts[out] += 1
    expected = sums / counts[:, np.newaxis]
    assert model.oob_decision_function_ == pytest.approx(expected)
    assert model.oob_score_ == pytest.approx((expected.argmax(axis=1) == y).mean())


def test_out_of_bag_regression_and_a_callable_score() -> None:
    X, y = table(150)
    plain = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    residual = ((y - plain.oob_prediction_) ** 2).sum()
    assert plain.oob_score_ == pytest.approx(1 - residual / ((y - y.mean()) ** 2).sum())
    own = RandomForestRegressor(
        40, oob_score=lambda true, predicted: -np.abs(true - predicted).max(), random_state=0
    ).fit(X, y)
    assert own.oob_score_ == pytest.approx(-np.abs(y - plain.oob_prediction_).max())


def test_out_of_bag_rows_follow_weights_and_order() -> None:
    X, y = table(80)
    rng = np.random.default_rng(0)
    weight, order = rng.integers(0, 3, 80), rng.permutation(80)
    model = RandomForestRegressor(60, oob_score=True, random_state=0)
    expected, score = model.fit(X, y, weight).oob_prediction_, model.oob_score_
    assert np.array_equal(np.isnan(expected), weight == 0)
    shuffled = model.fit(X[order], y[order], weight[order])
    assert np.array_equal(shuffled.oob_prediction_, expected[order], equal_nan=True)
    scaled = model.fit(X, y, weight * 4)
    assert np.array_equal(scaled.oob_prediction_, expected, equal_nan=True)
    assert scaled.oob_score_ == score
    mean = np.average(y, weights=weight)
    left = np.where(weight > 0, y - expected, 0.0)
    r2 = 1 - (weight * left**2).sum() / (weight * (y - mean) ** 2).sum()
    assert score == pytest.approx(r2)


def test_copies_are_left_out_each_by_itself() -> None:
    """Rows with equal X and different y are drawn independently."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 2)).astype(float)
    y = np.where(rng.random(400) < 0.1, 1 - X[:, 0], X[:, 0])
    model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    bags = np.array([model.in_bag_counts(k) for k in range(50)])
    assert (bags == 0).mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert len(np.unique(bags, axis=1).T) > 390
    assert model.oob_score_ == pytest.approx((y == X[:, 0]).mean(), abs=0.01)


def test_few_trees_leave_rows_without_an_estimate() -> None:
    X, y = two_classes(50)
    with pytest.warns(UserWarning, match="do not have OOB scores"):
        model = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(model.oob_decision_function_).any()
    assert 0 <= model.oob_score_ <= 1


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_node_of_two_rows_is_split_alike_however_often_they_repeat(kind, bootstrap: bool) -> None:
    """All columns separate them equally well: rounding must not decide between the columns."""
    weight, rows = np.array([1, 3]), np.array([0, 1, 1, 1])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(2, 3)), 1.4 + 1e-3 * rng.normal(size=2)
        model = kind(1, min_samples_leaf=1, max_features=3, bootstrap=bootstrap, random_state=seed)
        if bootstrap:
            model.set_params(max_samples=6)
        weighted = model.fit(X, y, weight).fingerprint()
        assert model.fit(X[rows], y[rows]).fingerprint() == weighted, seed


# ---- random draws ----


def test_a_bootstrap_draws_as_many_rows_as_there_are() -> None:
    X, y = two_classes(400)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    bags = np.array([model.in_bag_counts(k) for k in range(20)])
    assert (bags.sum(axis=1) == 400).all()
    assert (bags == 0).mean() == pytest.approx(np.exp(-1), abs=0.02)
    assert len(np.unique(bags, axis=0)) == 20


@pytest.mark.parametrize(("max_samples", "n_drawn"), [(50, 50), (0.25, 100), (2.0, 800)])
def test_bootstraps_of_any_size(max_samples: float, n_drawn: int) -> None:
    X, y = two_classes(400)
    model = RandomForestClassifier(3, max_samples=max_samples, random_state=0).fit(X, y)
    assert model.in_bag_counts(2).sum() == n_drawn
    assert model.forest_.weight[0] == n_drawn


def test_heavier_rows_are_drawn_more_often() -> None:
    X, y = two_classes(200)
    weight = np.where(np.arange(200) < 100, 0.5, 1.75)
    model = RandomForestClassifier(100, random_state=0).fit(X, y, weight)
    drawn = sum(model.in_bag_counts(k) for k in range(100))
    assert drawn[100:].sum() / drawn.sum() == pytest.approx(1.75 / 2.25, abs=0.02)


def test_columns_of_a_tree() -> None:
    X, y = table(200, 9)
    model = RandomForestRegressor(
        10, feature_sampling="tree", max_features="third", random_state=0
    ).fit(X, y)
    used = [set(tree.forest_.feature) - {-1} for tree in model.estimators_]
    assert all(len(columns) <= 3 for columns in used)
    assert len(set.union(*used)) > 3


@pytest.mark.parametrize(
    ("max_features", "n"), [("sqrt", 4), ("log2", 4), ("third", 6), (0.5, 9), (7, 7), (None, 18)]
)
def test_columns_considered_by_a_node(max_features: object, n: int) -> None:
    X, y = table(60, 18)
    model = RandomForestRegressor(1, max_features=max_features, random_state=0).fit(X, y)
    settings = TreeSettings(1, max_features)
    assert model._tree_limits(60, Rows(X, y), settings).max_features == n


def test_constant_columns_do_not_end_a_tree() -> None:
    X, y = two_classes(100)
    wide = np.concatenate([np.zeros((100, 40)), X], axis=1)
    model = RandomForestClassifier(5, max_features=1, bootstrap=False, random_state=0).fit(wide, y)
    assert (model.predict(wide) == y).all()


# ---- limits, votes, class weights ----


def test_shares_and_counts_limit_alike() -> None:
    X, y = two_classes(200)
    for name, share, count in [("min_samples_leaf", 0.05, 10), ("min_samples_split", 0.1, 20)]:
        fits = [
            RandomForestClassifier(4, random_state=0, **{name: limit}).fit(X, y)
            for limit in (share, count)
        ]
        assert fits[0].fingerprint() == fits[1].fingerprint()
    leaves = fits[0].forest_.feature < 0
    small = RandomForestClassifier(4, min_samples_leaf=10, random_state=0).fit(X, y).forest_
    assert small.weight[small.feature < 0].min() >= 10 > fits[0].forest_.weight[leaves].min()


def test_least_weight_and_least_decrease() -> None:
    X, y = two_classes(200)
    heavy = RandomForestClassifier(4, min_weight_fraction_leaf=0.1, random_state=0).fit(X, y)
    assert heavy.forest_.weight[heavy.forest_.feature < 0].min() >= 20
    eager = RandomForestClassifier(4, min_impurity_decrease=0.01, random_state=0).fit(X, y)
    gains = eager.forest_.gain[eager.forest_.feature >= 0]
    assert gains.min() >= 0.01 * 200 * (1 - 1e-9)


def test_hard_votes_are_counts_of_trees() -> None:
    X, y = two_classes()
    model = RandomForestClassifier(7, voting="hard", max_depth=2, random_state=0).fit(X, y)
    votes = np.mean([tree.predict(X) == 1 for tree in model.estimators_], axis=0)
    assert model.predict_proba(X)[:, 1] == pytest.approx(votes)


def test_weights_of_classes() -> None:
    X, y = two_classes()
    y = np.where(np.arange(300) % 10 == 0, y, 0)
    fits = {
        repr(weight): RandomForestClassifier(
            20, class_weight=weight, max_depth=2, random_state=0
        ).fit(X, y)
        for weight in (None, "balanced", "balanced_subsample", {0: 1, 1: 15})
    }
    shares = {name: fit.predict_proba(X)[:, 1].mean() for name, fit in fits.items()}
    assert all(share > 2 * shares["None"] for name, share in shares.items() if name != "None")
    by_hand = {k: 300 / (2 * (y == k).sum()) for k in (0, 1)}
    named = RandomForestClassifier(20, class_weight=by_hand, max_depth=2, random_state=0).fit(X, y)
    assert named.fingerprint() == fits["'balanced'"].fingerprint()
    with pytest.raises(ValueError, match="are not in class_weight"):
        RandomForestClassifier(class_weight={"one": 2.0}).fit(X, y)


def test_conflicting_parameters_are_refused() -> None:
    X, y = two_classes(30)
    for settings, match in [
        ({"bootstrap": False, "oob_score": True}, "bootstrap=True"),
        ({"bootstrap": False, "max_samples": 31}, "max_samples"),
        ({"ccp_alpha": -0.1}, "ccp_alpha"),
        ({"monotonic_cst": [1] * 5}, "5 entries, but X has 6"),
    ]:
        with pytest.raises(ValueError, match=match):
            RandomForestClassifier(**settings).fit(X, y)


# ---- warm start, views, copies ----


def test_warm_start_ends_where_a_cold_one_does() -> None:
    X, y = two_classes()
    settings = {"min_samples_leaf": 1, "max_features": "sqrt", "random_state": 0}
    model = RandomForestClassifier(3, warm_start=True, **settings).fit(X, y)
    grown = model.set_params(n_estimators=8).fit(X, y)
    assert grown.fingerprint() == RandomForestClassifier(8, **settings).fit(X, y).fingerprint()
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="trees can only be added"):
        model.set_params(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="classes"):
        model.set_params(n_estimators=9).fit(X, y + 5)


def test_views_average_to_the_forest_and_are_not_saved() -> None:
    X, y = two_classes()
    model = RandomForestClassifier(6, random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    mean = np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)
    assert mean == pytest.approx(model.predict_proba(X))
    assert len(pickle.dumps(model)) < size + 50  # the number of repeated names may differ
    loaded = pickle.loads(pickle.dumps(model))
    assert np.array_equal(loaded.in_bag_counts(3), model.in_bag_counts(3))


def test_it_is_as_accurate_as_scikit_learn() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier as Theirs

    X, y = load_breast_cancer(return_X_y=True)
    ours = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y)
    theirs = Theirs(100, oob_score=True, random_state=0).fit(X, y)
    assert ours.oob_score_ > theirs.oob_score_ - 0.01


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    X, y = two_classes(50)
    RandomForestClassifier(20, verbose=1, random_state=0).fit(X, y)
    assert "20 of 20 trees" in caplog.text


# ---- scikit-learn's other attributes and methods ----


def test_rows_of_a_tree_and_nodes_of_a_row() -> None:
    X, y = two_classes(100)
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    for number, rows in enumerate(model.estimators_samples_):
        assert np.array_equal(np.bincount(rows, minlength=100), model.in_bag_counts(number))
    passed, begins = model.decision_path(X)
    assert passed.shape == (100, begins[-1])
    for number, tree in enumerate(model.estimators_):
        view = tree.tree_
        walked = np.zeros((100, view.node_count))
        for row in range(100):
            node = 0
            while True:
                walked[row, node] = 1
                if view.children_left[node] < 0:
                    break
                is_left = X[row, view.feature[node]] <= view.threshold[node]
                node = (view.children_left if is_left else view.children_right)[node]
        assert np.array_equal(passed[:, begins[number] : begins[number + 1]].toarray(), walked)
        assert np.array_equal(tree.decision_path(X).toarray(), walked)


def test_nodes_of_a_few_rows_of_a_deep_tree_take_little_memory() -> None:
    n = 3000
    X, y = np.arange(n)[:, np.newaxis].astype(float), np.arange(n) % 2
    tree = DecisionTreeClassifier(exact=True).fit(X, y)
    assert tree.get_depth() > 0.9 * n
    tracemalloc.start()
    try:
        passed = tree.decision_path(X[-5:])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert passed.nnz > 4 * n
    assert peak < 100 * passed.nnz  # the nodes of all leaves took 6000 bytes


def test_out_of_bag_predictions_of_pruned_trees() -> None:
    X, y = two_classes(120)
    model = RandomForestClassifier(30, oob_score=True, ccp_alpha=0.01, random_state=1).fit(X, y)
    sums, counts = np.zeros((120, 2)), np.zeros(120)
    for number, tree in enumerate(model.estimators_):
        out = model.in_bag_counts(number) == 0
        sums[out] += tree.predict_proba(X[out])
        counts[out] += 1
    assert model.oob_decision_function_ == pytest.approx(sums / counts[:, np.newaxis])


def test_pruned_trees_vote_by_the_rows_of_their_leaves() -> None:
    X, y = two_classes()
    settings = {"ccp_alpha": 0.01, "random_state": 0}
    soft = RandomForestClassifier(7, **settings).fit(X, y)
    hard = RandomForestClassifier(7, voting="hard", **settings).fit(X, y)
    votes = np.mean([tree.predict(X) == 1 for tree in soft.estimators_], axis=0)
    assert hard.predict_proba(X)[:, 1] == pytest.approx(votes)

"""One tree a round for many classes: what its splits gain, what its leaves hold."""

import pickle

import numpy as np
import pytest

from weald import BoostedTreesClassifier


def quick(**parameters) -> BoostedTreesClassifier:
    fast = {"n_estimators": 8, "min_samples_leaf": 3, "multi_class": "vector_leaves"}
    return BoostedTreesClassifier(quality="fast", **{**fast, **parameters})


def data(n: int = 240, n_classes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 2)
    y = np.floor(2 * (X[:, 0] + X[:, 1] ** 2)).astype(int) % n_classes
    return X, y


def first_stump(X: np.ndarray, y: np.ndarray, weight: np.ndarray, l2: float):
    """By brute force: the split that gains most, its gain, and the steps of both leaves."""
    hot = np.eye(y.max() + 1)[y]
    p = np.average(hot, axis=0, weights=weight)
    gradient, own = (p - hot) * weight[:, np.newaxis], np.outer(weight, p * (1 - p))
    shared = own.sum(axis=1)

    def score(rows: np.ndarray) -> float:
        return 0.5 * float((gradient[rows].sum(axis=0) ** 2).sum() / (shared[rows].sum() + l2))

    everyone = np.ones(len(y), dtype=bool)
    gain, column, cut = max(
        (score(left) + score(~left) - score(everyone), column, cut)
        for column in range(X.shape[1])
        for cut in np.unique(X[:, column])[:-1]
        if min((left := X[:, column] <= cut).sum(), (~left).sum()) >= 3
    )
    left = X[:, column] <= cut
    steps = [-gradient[rows].sum(axis=0) / (own[rows].sum(axis=0) + l2) for rows in (left, ~left)]
    return gain, column, left, np.array(steps)


@pytest.mark.parametrize("l2", [0.0, 2.5])
@pytest.mark.parametrize("exact", [False, True])
def test_the_first_stump_is_that_of_brute_force(l2: float, exact: bool) -> None:
    for seed in range(6):
        X, y = data(90, seed=seed)
        weight = np.random.default_rng(seed).random(90) + 0.5
        model = quick(
            n_estimators=1, max_leaf_nodes=2, l2_regularization=l2, exact=exact, learning_rate=0.1
        ).fit(X, y, weight)
        gain, column, left, steps = first_stump(X, y, weight, l2)
        forest = model.forest_
        assert forest.output.tolist() == [-1] and forest.feature.tolist() == [column, -1, -1]
        assert forest.gain[0] == pytest.approx(gain, rel=1e-9)
        assert np.array_equal(X[:, column] <= forest.threshold[0], left)
        assert forest.value == pytest.approx(0.1 * steps, rel=1e-9)


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"exact": True},
        {"growth": "symmetric", "max_leaf_nodes": 64},
        {"growth": "depth_wise"},
        {"subsample": 0.5, "random_state": 0},
        {"early_stopping": True, "random_state": 0},
        {"class_weight": "balanced"},
        {"max_bins": 1000},
    ],
)
def test_one_tree_per_round_for_all_classes(own) -> None:
    X, y = data(600)
    model = quick(n_estimators=30, **own).fit(X, y)
    forest = model.forest_
    assert forest.n_trees == model.n_estimators_ <= 30
    assert forest.value.shape[1] == 4
    assert model.score(X, y) > 0.85
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(model.predictor().predict_proba(X), model.predict_proba(X))
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()
    assert model.text(0).count(", ") == 3 * np.diff(forest.first_leaf)[0]
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_more_rounds_contain_fewer_and_lower_the_loss() -> None:
    X, y = data(400)
    losses = []
    for n in (1, 5, 25):
        p = quick(n_estimators=n).fit(X, y).predict_proba(X)
        losses.append(-np.log(p[np.arange(len(y)), y]).mean())
    assert losses[0] > losses[1] > losses[2]
    few, many = (quick(n_estimators=n).fit(X, y).forest_ for n in (3, 6))
    assert np.array_equal(many.value[: len(few.value)], few.value)


def test_weights_are_repetitions_where_no_row_is_counted() -> None:
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = quick(min_samples_leaf=1).fit(X, y, weight)
    repeated = quick(min_samples_leaf=1, n_jobs=3)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert repeated.fingerprint() == weighted.fingerprint()


@pytest.mark.parametrize("own", [{}, {"subsample": 0.5, "early_stopping": True, "random_state": 0}])
def test_threads_order_and_scale_of_weights_do_not_matter(own: dict) -> None:
    X, y = data()
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])
    rng = np.random.default_rng(1)
    weight, order = rng.integers(0, 4, len(y)), rng.permutation(len(y))
    own = {"min_child_weight": 0.0, **own}
    expected = quick(**own).fit(X, y, weight).fingerprint()
    shuffled = quick(n_jobs=2, **own).fit(X[order], y[order], weight[order])
    scaled = quick(n_jobs=3, **own).fit(X, y, weight * 4)
    assert scaled.fingerprint() == shuffled.fingerprint() == expected


def test_two_classes_and_one_are_as_ever() -> None:
    X, y = data()
    each = quick(multi_class="tree_per_class").fit(X, y > 1)
    assert quick().fit(X, y > 1).fingerprint() == each.fingerprint()
    assert quick().fit(X, np.zeros(len(X))).predict(X).tolist() == [0.0] * len(X)


def test_categories() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data(600)
    frame = pandas.DataFrame({"level": pandas.Categorical([f"l{v}" for v in y]), "x": X[:, 2]})
    model = quick(n_estimators=30).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert "level in {l" in model.text(0) or "level not in {l" in model.text(0)


def test_a_users_loss() -> None:
    class Softmax:
        def gradient_hessian(self, y, score):
            e = np.exp(score - score.max(axis=1, keepdims=True))
            p = e / e.sum(axis=1, keepdims=True)
            return p - np.eye(4)[y.astype(int)], p * (1 - p)

    X, y = data(400)
    model = quick(loss=Softmax(), n_estimators=30).fit(X, y)
    assert model.forest_.n_trees == 30
    assert model.score(X, y) > 0.9


def test_a_class_of_two_rows_spoils_no_other() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (4000, 6)).astype(np.float64)
    y = (X[:, 0] > 1).astype(int) + (X[:, 1] > 2)
    y[[17, 1801]] = 3
    model = quick(n_estimators=100, min_samples_leaf=20).fit(X, y)
    assert model.score(X, y) >= 0.9995
    assert np.abs(model.forest_.value).max() < 20

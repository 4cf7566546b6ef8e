"""Boosted trees: additive scores, stopping, parameters, accuracy."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.losses import BuiltinLoss


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * n_classes // len(y)


def quick(kind, **parameters):
    settings = {"quality": "fast", "n_estimators": 10, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


# ---- the model ----


def test_first_round_by_hand() -> None:
    """Two values, one split: the mean, and the learning rate times the means of what is left."""
    X, y = [[0.0]] * 3 + [[1.0]], [0.0, 0.0, 0.0, 4.0]
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=1, learning_rate=0.5, min_samples_leaf=1
    ).fit(X, y)
    assert model.forest_.base_score.tolist() == [1.0]
    assert model.predict([[0.0], [1.0]]).tolist() == [0.5, 2.5]


def test_penalty_by_hand() -> None:
    X, y = [[0.0]] * 3 + [[1.0]], [0.0, 0.0, 0.0, 4.0]
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=1, learning_rate=1.0, min_samples_leaf=1, l2_regularization=1.0
    ).fit(X, y)
    # Gradients 1, 1, 1 and -3: -3 / (3 + 1) and 3 / (1 + 1).
    assert model.predict([[0.0], [1.0]]).tolist() == [0.25, 2.5]


def test_two_classes_start_at_the_log_odds() -> None:
    X, y = [[0.0]] * 3 + [[1.0]], [0, 0, 0, 1]
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=1, learning_rate=0.5, min_samples_leaf=1
    ).fit(X, y)
    assert model.forest_.base_score == pytest.approx([-np.log(3)], rel=1e-15)
    # Gradients 1/4 and -3/4, hessians 3/16.
    steps = np.array([-(1 / 4) / (3 / 16), (3 / 4) / (3 / 16)])
    expected = 0.5 * steps - np.log(3)
    assert model.decision_function([[0.0], [1.0]]) == pytest.approx(expected, rel=1e-14)


def test_many_classes_have_a_tree_each_in_every_round() -> None:
    X, y = data()
    model = quick(BoostedTreesClassifier).fit(X, classes(y, 4))
    assert model.n_estimators_ == 10
    assert model.forest_.n_trees == 40
    assert model.forest_.output.tolist() == [0, 1, 2, 3] * 10
    assert model.decision_function(X).shape == (300, 4)


def test_more_rounds_contain_fewer() -> None:
    X, y = data()
    for drawn in ({}, {"subsample": 0.6}):
        few = quick(BoostedTreesRegressor, n_estimators=3, **drawn).fit(X, y).forest_
        many = quick(BoostedTreesRegressor, n_estimators=6, **drawn).fit(X, y).forest_
        n = len(few.feature)
        assert np.array_equal(many.feature[:n], few.feature)
        assert np.array_equal(many.value[: len(few.value)], few.value)


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_training_loss_falls_every_round(kind) -> None:
    X, y = data()
    if kind is BoostedTreesClassifier:
        y = classes(y, 3)
    name, n_scores = ("log_loss", 3) if kind is BoostedTreesClassifier else ("squared_error", 1)
    losses = []
    for rounds in (1, 2, 4, 8, 16):
        forest = quick(kind, n_estimators=rounds).fit(X, y).forest_
        scores = np.ascontiguousarray(forest.predict(X, n_threads=1).T)
        losses.append(BuiltinLoss(name, n_scores, 1).mean(y.astype(float), scores, None, None))
    assert np.all(np.diff(losses) < 0)


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, BoostedTreesClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_score_on_new_rows(kind, n_classes: int) -> None:
    X, y = data(600)
    if kind is BoostedTreesClassifier:
        y = classes(y, n_classes)
    model = quick(kind, n_estimators=60).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > (0.75 if kind is BoostedTreesRegressor else 0.7)


def test_exact_fit_where_there_is_no_noise() -> None:
    X = np.arange(50.0)[:, np.newaxis]
    y = (np.arange(50) % 7).astype(float)
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=50, learning_rate=1.0, min_samples_leaf=1, max_leaf_nodes=None
    ).fit(X, y)
    assert model.predict(X) == pytest.approx(y, abs=1e-12)


# ---- limits of trees ----


def test_limits_reach_the_trees() -> None:
    X, y = data()
    forest = quick(BoostedTreesRegressor, max_leaf_nodes=4, min_samples_leaf=20).fit(X, y).forest_
    assert np.diff(forest.first_leaf).max() == 4
    assert forest.weight.min() >= 20
    forest = quick(BoostedTreesRegressor, max_depth=2, max_leaf_nodes=None).fit(X, y).forest_
    assert np.diff(forest.first_leaf).max() == 4
    forest = quick(BoostedTreesRegressor, max_bins=2).fit(X, y).forest_
    assert len(set(zip(forest.feature, forest.threshold, strict=True))) <= 6
    heavy = quick(BoostedTreesClassifier, min_child_weight=5.0).fit(X, y > 0).forest_
    assert heavy.weight.min() >= 5.0 - 1e-9


def test_growth_by_depth_is_another_model() -> None:
    X, y = data()
    best = quick(BoostedTreesRegressor, max_leaf_nodes=8).fit(X, y)
    level = quick(BoostedTreesRegressor, max_leaf_nodes=8, growth="depth_wise").fit(X, y)
    assert best.fingerprint() != level.fingerprint()


# ---- draws ----


def test_a_round_samples_its_share_of_the_rows() -> None:
    X, y = data(2000)
    forest = quick(BoostedTreesRegressor, subsample=0.3).fit(X, y).forest_
    roots = forest.weight[forest.first_node[:-1]]
    assert len(set(roots)) > 1
    assert np.abs(roots - 600).max() < 5 * np.sqrt(2000 * 0.3 * 0.7)


def test_a_tiny_share_is_at_least_a_row() -> None:
    X, y = data(40)
    for early in (False, True):
        model = quick(BoostedTreesRegressor, subsample=1e-9, early_stopping=early).fit(X, y)
        assert np.isfinite(model.predict(X)).all()


# ---- early stopping ----


def test_the_model_is_cut_back_to_the_round_of_least_loss() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 3 * rng.normal(size=200)
    model = quick(
        BoostedTreesRegressor,
        n_estimators=200,
        learning_rate=0.3,
        early_stopping=True,
        n_iter_no_change=5,
        validation_fraction=0.3,
        tol=0.0,
    ).fit(X, y)
    losses = model.validation_loss_
    assert model.n_estimators_ == int(np.argmin(losses))
    assert len(losses) == 1 + model.n_estimators_ + 5
    assert model.forest_.n_trees == model.n_estimators_


def test_a_share_of_the_rows_is_held_out() -> None:
    X, y = data(400)
    model = quick(
        BoostedTreesRegressor, early_stopping=True, validation_fraction=0.5, n_iter_no_change=50
    ).fit(X, y)
    assert model._state.forest.weight[0] == 200
    assert len(model.validation_loss_) == 11
    first = model.validation_loss_[0]
    # Before the first round: half the mean square around the mean of the other half.
    assert first == pytest.approx(np.var(y) / 2, rel=0.25)


@pytest.mark.filterwarnings("ignore:.* no effect:weald.errors.WealdWarning")
def test_without_early_stopping_all_rounds_are_made() -> None:
    X, y = data(60)
    model = quick(BoostedTreesRegressor, n_iter_no_change=1).fit(X, y)
    assert model.n_estimators_ == 10
    assert not hasattr(model, "validation_loss_")


def test_a_refit_does_not_keep_the_loss_of_an_earlier_fit() -> None:
    X, y = data(60)
    model = quick(BoostedTreesRegressor, early_stopping=True).fit(X, y)
    assert hasattr(model, "validation_loss_")
    model.set_params(early_stopping=False).fit(X, y)
    assert not hasattr(model, "validation_loss_")


def test_patience_counts_rounds_without_progress() -> None:
    X = np.zeros((100, 1))
    y = np.random.default_rng(0).normal(size=100)
    for patience in (1, 4):
        model = quick(BoostedTreesRegressor, early_stopping=True, n_iter_no_change=patience).fit(
            X, y
        )
        assert len(model.validation_loss_) == 1 + patience
        assert model.n_estimators_ == 0
        assert len(set(model.predict(X))) == 1


# ---- classifiers ----


def test_decision_function_of_two_classes_is_the_log_odds() -> None:
    X, y = data()
    model = quick(BoostedTreesClassifier).fit(X, y > 0)
    shares = model.predict_proba(X)
    odds = model.decision_function(X)
    assert odds.shape == (300,)
    assert shares[:, 1] == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-14)
    assert np.array_equal(model.predict(X), odds > 0)


def test_ties_go_to_the_first_class() -> None:
    model = quick(BoostedTreesClassifier).fit(np.zeros((4, 1)), ["b", "a", "b", "a"])
    assert model.predict([[0.0]]).tolist() == ["a"]


def test_optdigits_within_reach() -> None:
    from weald.datasets import load_optdigits

    train, test = (load_optdigits(part=part, as_frame=False) for part in ("train", "test"))
    model = BoostedTreesClassifier(quality="fast", n_estimators=15).fit(train.data, train.target)
    assert model.score(test.data, test.target) > 0.93

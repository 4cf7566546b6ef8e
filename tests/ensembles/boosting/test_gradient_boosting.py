"""Gradient boosting: targets of base estimators, steps, initial scores, subsampling, warm start."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingClassifier as TheirClassifier
from sklearn.ensemble import GradientBoostingRegressor as TheirRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from contract import old_checks
from weald import GradientBoostingClassifier, GradientBoostingRegressor
from weald.losses import BuiltinLoss


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Few distinct values per column, so that each has its own bin."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 5)) / 8.0
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n) / 5
    return X, y


def classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * n_classes // len(y)


class Recording(RegressorMixin, BaseEstimator):
    """A tree that records its training data in a list shared by all clones."""

    recorded: list = []  # noqa: RUF012

    def __init__(self, max_depth: int = 2) -> None:
        self.max_depth = max_depth

    def fit(self, X, y, sample_weight=None):
        self.tree_ = DecisionTreeRegressor(max_depth=self.max_depth, random_state=0)
        self.tree_.fit(X, y, sample_weight)
        self.recorded.append((X, y.copy(), sample_weight))
        return self

    def predict(self, X):
        return self.tree_.predict(X)


@pytest.fixture
def recorded():
    Recording.recorded.clear()
    return Recording.recorded


class GradientOnly:
    def gradient(self, y, score):
        return np.tanh(score - y)


# ---- targets of base estimators ----


def test_from_zero_with_full_steps_the_targets_are_the_residuals(recorded) -> None:
    """Squared error, learning rate 1, initial score 0: the target of every round is y - g."""
    X, y = data()
    model = GradientBoostingRegressor(
        estimator=Recording(), init="zero", learning_rate=1.0, step="constant", n_estimators=6
    ).fit(X, y)
    so_far = np.zeros(len(y))
    for (_, target, _), estimator in zip(recorded, model.estimators_[:, 0], strict=True):
        assert target == pytest.approx(y - so_far, abs=1e-12)
        so_far += estimator.predict(X)
    assert model.predict(X) == pytest.approx(so_far, abs=1e-12)


def test_own_trees_fit_the_residuals_too() -> None:
    X, y = data()
    model = GradientBoostingRegressor(init="zero", learning_rate=1.0, n_estimators=5).fit(X, y)
    left = y.copy()
    for tree in model.estimators_[:, 0]:
        # Every leaf predicts the mean residual of its rows.
        leaves = tree.apply(X)
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            assert tree.predict(X[rows])[0] == pytest.approx(left[rows].mean(), abs=1e-12)
        left -= tree.predict(X)
    assert model.predict(X) == pytest.approx(y - left, abs=1e-12)


def test_targets_of_log_loss_are_label_minus_probability(recorded) -> None:
    X, y = data()
    labels = classes(y, 3)
    model = GradientBoostingClassifier(estimator=Recording(), n_estimators=2).fit(X, labels)
    shares = np.bincount(labels) / len(labels)
    for k in range(3):
        assert recorded[k][1] == pytest.approx((labels == k) - shares[k], abs=1e-12)
    after = next(model.staged_predict_proba(X))
    for k in range(3):
        assert recorded[3 + k][1] == pytest.approx((labels == k) - after[:, k], abs=1e-12)


# ---- comparison with scikit-learn ----

LOSSES = [("squared_error", {}), ("quantile", {"alpha": 0.7}), ("absolute_error", {})]


@pytest.mark.parametrize(("loss", "more"), LOSSES)
@pytest.mark.parametrize("limits", [{}, {"max_depth": None, "max_leaf_nodes": 6}])
def test_regression_beside_scikit_learn(loss: str, more: dict, limits: dict) -> None:
    """The same trees; scikit-learn's medians are midpoints of two rows, ours the lower one."""
    X, y = data(301)
    settings = {"loss": loss, "n_estimators": 8, "learning_rate": 0.3, **more, **limits}
    ours, theirs = GradientBoostingRegressor(**settings), TheirRegressor(random_state=0, **settings)
    ours.fit(X, y)
    theirs.fit(X, y)
    near = 1e-9 if loss == "squared_error" else 0.1
    assert np.abs(ours.predict(X) - theirs.predict(X)).mean() < near
    assert ours.train_score_ == pytest.approx(theirs.train_score_, rel=max(near, 1e-9))


@pytest.mark.parametrize(
    ("loss", "n_classes"), [("log_loss", 2), ("log_loss", 4), ("exponential", 2)]
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_classification_beside_scikit_learn(loss: str, n_classes: int, is_weighted: bool) -> None:
    X, y = data(400)
    labels = classes(y, n_classes)
    weight = np.random.default_rng(1).integers(1, 9, len(y)) / 8 if is_weighted else None
    settings = {"loss": loss, "n_estimators": 6, "learning_rate": 0.2}
    ours = GradientBoostingClassifier(**settings).fit(X, labels, weight)
    theirs = TheirClassifier(random_state=0, **settings).fit(X, labels, weight)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
    assert ours.train_score_ == pytest.approx(theirs.train_score_, rel=1e-6)
    assert ours.init_.predict_proba(X[:1]) == pytest.approx(theirs.init_.predict_proba(X[:1]))


@pytest.mark.parametrize(
    "limits",
    [
        {"min_samples_leaf": 0.1},
        {"min_samples_split": 0.3},
        {"min_samples_leaf": 12, "min_samples_split": 60},
        {"min_weight_fraction_leaf": 0.15},
        {"min_impurity_decrease": 0.03},
        {"ccp_alpha": 0.02},
        {"ccp_alpha": 0.02, "max_depth": None, "min_samples_leaf": 4},
        {"max_leaf_nodes": 5, "max_depth": None},
    ],
)
def test_limits_mean_what_they_mean_in_scikit_learn(limits: dict) -> None:
    X, y = data()
    settings = {"n_estimators": 5, "learning_rate": 0.5, **limits}
    if old_checks.ARE_OLD:
        settings["criterion"] = "squared_error"  # the only criterion in later versions
    ours = GradientBoostingRegressor(**settings).fit(X, y)
    theirs = TheirRegressor(random_state=0, **settings).fit(X, y)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-9)
    leaves = [tree.get_n_leaves() for tree in ours.estimators_[:, 0]]
    assert leaves == [tree.get_n_leaves() for tree in theirs.estimators_[:, 0]]


def test_a_tree_is_pruned_to_its_root_at_the_latest() -> None:
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=2, ccp_alpha=1e6).fit(X, y)
    assert model.forest_.first_leaf.tolist() == [0, 1, 2]
    assert model.predict(X) == pytest.approx(np.full(len(y), y.mean()), abs=1e-12)


def test_attributes_have_the_shapes_of_scikit_learn() -> None:
    X, y = data()
    for n_classes in (2, 3):
        labels = classes(y, n_classes)
        settings = {"n_estimators": 4, "subsample": 0.5, "random_state": 0}
        ours = GradientBoostingClassifier(**settings).fit(X, labels)
        theirs = TheirClassifier(**settings).fit(X, labels)
        for name in ("estimators_", "train_score_", "oob_improvement_", "oob_scores_", "classes_"):
            assert getattr(ours, name).shape == getattr(theirs, name).shape, name
        for name in ("n_estimators_", "n_classes_", "n_features_in_", "max_features_"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert ours.n_trees_per_iteration_ == theirs.n_trees_per_iteration_
        assert ours.apply(X).shape == theirs.apply(X).shape
        assert ours.oob_score_ == ours.oob_scores_[-1]
        assert ours.feature_importances_.shape == theirs.feature_importances_.shape
        assert ours.decision_function(X).shape == theirs.decision_function(X).shape


def test_raw_scores_are_the_steps_times_the_trees() -> None:
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=7).fit(X, y)
    sizes, trees = model.step_sizes_[:, 0], model.estimators_[:, 0]
    total = model.init_.predict(X) + sum(
        size * tree.predict(X) for size, tree in zip(sizes, trees, strict=True)
    )
    assert model.predict(X) == pytest.approx(total, abs=1e-12)
    assert set(sizes) == {0.1}


# ---- steps ----


def mean_loss(name: str, y: np.ndarray, scores: np.ndarray, parameter: float = 0.0) -> float:
    return BuiltinLoss(name, 1, 1, parameter).mean(
        y, np.ascontiguousarray(scores[np.newaxis]), None, None
    )


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson"]
)
@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_a_searched_step_is_the_best_one(loss: str, estimator) -> None:
    X, y = data()
    y = y - y.min() + 0.5
    model = GradientBoostingRegressor(
        loss=loss, estimator=estimator, step="line_search", learning_rate=1.0, n_estimators=1
    ).fit(X, y)
    base = model._start.base[0]
    direction = model.estimators_[0, 0].predict(X)
    parameter = {"quantile": 0.9, "huber": 1.0}.get(loss, 0.0)
    if loss == "huber":
        parameter = float(np.quantile(np.abs(y - base), 0.9, method="inverted_cdf"))
    best = mean_loss(loss, y, base + model.step_sizes_[0, 0] * direction, parameter)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        step = factor * model.step_sizes_[0, 0]
        assert mean_loss(loss, y, base + step * direction, parameter) >= best


def test_steps_differ() -> None:
    X, y = data()
    scores = {
        step: GradientBoostingRegressor(loss="huber", step=step, n_estimators=5).fit(X, y)
        for step in ("leaf", "line_search", "constant")
    }
    predictions = [model.predict(X) for model in scores.values()]
    assert not np.array_equal(predictions[0], predictions[1])
    assert not np.array_equal(predictions[1], predictions[2])
    default = GradientBoostingRegressor(loss="huber", n_estimators=5).fit(X, y)
    assert np.array_equal(default.predict(X), predictions[0])


def test_a_step_in_leaves_is_the_loss_s_best_constant() -> None:
    X, y = data()
    model = GradientBoostingRegressor(loss="quantile", alpha=0.8, n_estimators=1, learning_rate=1.0)
    predicted = model.fit(X, y).predict(X)
    leaves = model.apply(X)[:, 0]
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        expected = np.quantile(y[rows], 0.8, method="inverted_cdf")
        assert predicted[rows] == pytest.approx(expected, abs=1e-12)


def test_steps_in_leaves_are_refused_where_they_mean_nothing() -> None:
    X, y = data(40)
    with pytest.raises(ValueError, match="step='leaf' requires weald's own trees"):
        GradientBoostingRegressor(estimator=Ridge(), step="leaf").fit(X, y)
    with pytest.raises(ValueError, match="requires hessians"):
        GradientBoostingRegressor(loss=GradientOnly(), step="leaf").fit(X, y)


# ---- initial scores ----


def test_initial_scores() -> None:
    X, y = data()
    zero = GradientBoostingRegressor(init="zero", n_estimators=1).fit(X, y)
    assert zero.init_ == "zero" and zero.forest_.base_score.tolist() == [0.0]
    best = GradientBoostingRegressor(n_estimators=1).fit(X, y)
    assert best.init_.predict(X[:2]) == pytest.approx(np.full(2, y.mean()))
    linear = GradientBoostingRegressor(init=LinearRegression(), n_estimators=3).fit(X, y)
    assert linear.init_.predict(X) == pytest.approx(LinearRegression().fit(X, y).predict(X))
    first = next(linear.staged_predict(X))
    tree = linear.estimators_[0, 0].predict(X)
    assert first == pytest.approx(linear.init_.predict(X) + 0.1 * tree, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_as_init(n_classes: int) -> None:
    X, y = data()
    labels = np.array(["a", "b", "c"])[classes(y, n_classes)]
    model = GradientBoostingClassifier(
        init=LogisticRegression(), n_estimators=2, learning_rate=1e-9
    )
    model.fit(X, labels)
    theirs = LogisticRegression().fit(X, labels)
    assert model.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)


# ---- rounds, subsampling, early stopping, warm start ----


@pytest.mark.parametrize("kind", ["regressor", "two", "three", "foreign", "init"])
@pytest.mark.parametrize("drawn", [{}, {"subsample": 0.6}, {"n_iter_no_change": 3}])
def test_warm_start_equals_one_fit(kind: str, drawn: dict) -> None:
    X, y = data()
    settings = {"random_state": 5, **drawn}
    if kind == "foreign":
        model = GradientBoostingRegressor(estimator=Ridge(), step="constant", **settings)
    elif kind == "init":
        model = GradientBoostingRegressor(init=Ridge(), **settings)
    elif kind == "regressor":
        model = GradientBoostingRegressor(**settings)
    else:
        model = GradientBoostingClassifier(**settings)
        y = classes(y, 2 if kind == "two" else 3)
    whole = clone(model).set_params(n_estimators=12).fit(X, y)
    parts = model.set_params(n_estimators=5, warm_start=True).fit(X, y)
    first = parts.estimators_.copy()
    parts.set_params(n_estimators=12).fit(X, y)
    assert parts.n_estimators_ == whole.n_estimators_
    assert np.array_equal(parts.predict(X), whole.predict(X))
    for name in ("train_score_", "step_sizes_", "oob_improvement_", "oob_scores_"):
        assert hasattr(parts, name) == hasattr(whole, name)
        if hasattr(whole, name):
            assert np.array_equal(getattr(parts, name), getattr(whole, name)), name
    if kind != "foreign":
        assert parts.fingerprint() == whole.fingerprint()
        assert np.array_equal(first[0, 0].predict(X), parts.estimators_[0, 0].predict(X))


def test_warm_start_where_that_cannot_be() -> None:
    X, y = data()
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="must be larger or equal to the 5 rounds"):
        model.set_params(n_estimators=4).fit(X, y)
    model.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="a fit on 5 columns; got 4"):
        model.fit(X[:, :4], y)
    with pytest.raises(ValueError, match="other classes or base estimators"):
        model.set_params(estimator=Ridge()).fit(X, y)
    assert model.set_params(estimator=None).fingerprint() == before
    two = GradientBoostingClassifier(n_estimators=2, warm_start=True).fit(X, classes(y, 2))
    with pytest.raises(ValueError, match="other classes"):
        two.fit(X, classes(y, 3))
    assert model.set_params(n_estimators=5).fit(X, y).fingerprint() == before


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_staged_predictions_end_at_the_predictions(n_classes: int) -> None:
    X, y = data()
    if n_classes:
        model = GradientBoostingClassifier(n_estimators=6).fit(X, classes(y, n_classes))
        pairs = ["predict", "predict_proba", "decision_function"]
    else:
        model = GradientBoostingRegressor(n_estimators=6).fit(X, y)
        pairs = ["predict"]
    for name in pairs:
        stages = list(getattr(model, f"staged_{name}")(X))
        assert len(stages) == 6
        assert np.array_equal(stages[-1], getattr(model, name)(X))
        shorter = clone(model).set_params(n_estimators=3)
        shorter.fit(X, classes(y, n_classes) if n_classes else y)
        assert np.array_equal(stages[2], getattr(shorter, name)(X))


def test_out_of_bag_improvement_is_the_fall_of_the_loss_of_unseen_rows() -> None:
    X, y = data(400)
    model = GradientBoostingRegressor(n_estimators=30, subsample=0.5, random_state=0).fit(X, y)
    assert model.oob_improvement_.shape == (30,)
    assert model.oob_improvement_[:5].min() > 0
    assert model.oob_scores_[-1] < model.oob_scores_[0]
    roots = model.forest_.weight[model.forest_.first_node[:-1]]
    assert np.abs(roots - 200).max() < 60 and len(set(roots)) > 1
    assert not hasattr(GradientBoostingRegressor(n_estimators=2).fit(X, y), "oob_improvement_")


def test_stopping_early() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 2 * rng.normal(size=300)
    model = GradientBoostingRegressor(
        n_estimators=500, learning_rate=0.5, n_iter_no_change=4, random_state=0
    ).fit(X, y)
    assert 4 < model.n_estimators_ < 100
    assert len(model.train_score_) == model.n_estimators_ == len(model.estimators_)
    losses = model._descended.validation
    assert not losses[-1] + 1e-4 < max(losses[-5:-1])
    # Validation rows are not used for training.
    assert model.forest_.weight[0] == 270


def test_verbose_logs_rounds(caplog) -> None:
    X, y = data(60)
    GradientBoostingRegressor(n_estimators=25).fit(X, y)
    assert caplog.messages == []
    GradientBoostingRegressor(n_estimators=25, verbose=1).fit(X, y)
    lines = [*caplog.messages]
    assert lines[0].split() == ["Iter", "Train", "Loss", "Remaining", "Time"]
    assert [int(line.split()[0]) for line in lines[1:]] == [*range(1, 11), 20]
    caplog.clear()
    GradientBoostingRegressor(n_estimators=12, verbose=2, subsample=0.5).fit(X, y)
    lines = caplog.messages
    assert len(lines) == 13 and "OOB Improve" in lines[0]


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_out_of_bag_losses_of_rounds_with_all_rows_are_unknown(kind) -> None:
    X, y = data()
    y = y if kind is GradientBoostingRegressor else (y > np.median(y)).astype(int)
    model = kind(n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=6, subsample=0.5).fit(X, y)
    for losses in (model.oob_scores_, model.oob_improvement_):
        assert np.isnan(losses[:4]).all() and np.isfinite(losses[4:]).all() and len(losses) == 6
    assert model.oob_score_ == model.oob_scores_[-1]

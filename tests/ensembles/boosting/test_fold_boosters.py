"""Boosters on folds: what each is trained on, how they are combined, and their leaf values."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.losses import BuiltinLoss, QuantileLosses

SMALL: dict[str, Any] = {
    "quality": "fast",
    "n_estimators": 8,
    "min_samples_leaf": 3,
    "random_state": 0,
    "n_jobs": 1,
}

# Few values, which every fold holds: a booster alone on its rows has the bins of the shared ones.
RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(400, 3)).astype(np.float64)
Y = X[:, 0] + np.abs(X[:, 1] - 2) + RNG.integers(-2, 3, size=400) / 4 + 1
THREE = np.digitize(Y, [2.5, 4.0])
TWO = THREE > 0
WEIGHT = RNG.random(400) + 0.5

# Values of their own, for draws that are keyed by the content of rows.
WIDE = np.random.default_rng(1).normal(size=(203, 3))
WIDE_Y = WIDE[:, 0] + np.abs(WIDE[:, 1])

VECTOR = {"multi_class": "vector_leaves"}
QUANTILES = {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}
TASKS = [
    pytest.param(BoostedTreesRegressor, Y, {}, id="squared_error"),
    pytest.param(BoostedTreesRegressor, Y, {"loss": "huber"}, id="huber"),
    pytest.param(BoostedTreesRegressor, Y, {"loss": "poisson"}, id="poisson"),
    pytest.param(BoostedTreesRegressor, Y, QUANTILES, id="quantiles"),
    pytest.param(BoostedTreesClassifier, TWO, {}, id="two classes"),
    pytest.param(BoostedTreesClassifier, THREE, {}, id="three classes"),
    pytest.param(BoostedTreesClassifier, THREE, VECTOR, id="vector leaves"),
]


def left_out(model: Any) -> np.ndarray:
    """Which rows each booster leaves out, of shape (boosters, rows)."""
    return model.oob_.in_bag.toarray() == 0


def rows_of(model: Any, booster: int) -> np.ndarray:
    """Mask of the rows that a booster is trained on; also of a model without a ledger."""
    return model._folds.counts(booster) > 0


def fit_from(base: np.ndarray, model: Any, *given: Any) -> Any:
    """Fit a model whose base score is given."""
    with pytest.MonkeyPatch.context() as patch:
        for loss in (BuiltinLoss, QuantileLosses):
            patch.setattr(loss, "base_scores", lambda *_: base.copy())
        return model.fit(*given)


def assert_same_trees(one: Any, other: Any, *, rel: float = 1e-12) -> None:
    for name in ("feature", "threshold", "right", "output"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.value == pytest.approx(other.value, rel=rel, abs=1e-13)


# ---- what each booster is trained on ----


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("kind", "y", "more"), TASKS)
def test_each_booster_is_that_of_a_fit_on_the_rows_outside_its_fold(
    kind, y, more, weight: np.ndarray | None
) -> None:
    model = kind(n_bags=5, **more, **SMALL).fit(X, y, weight)
    forest = model._unrefitted
    boosters = model._boosters_of(forest)
    assert len(boosters) == 5
    for k, booster in enumerate(boosters):
        own = rows_of(model, k)
        given = (X[own], y[own]) if weight is None else (X[own], y[own], weight[own])
        alone = fit_from(forest.base_score, kind(**more, **SMALL), *given)
        assert_same_trees(booster, alone.forest_)


def test_all_boosters_start_from_the_base_score_of_all_rows() -> None:
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(X, Y, WEIGHT)
    for forest in (model._unrefitted, model.forest_, model._state.forest):
        assert forest.base_score == pytest.approx([np.average(Y, weights=WEIGHT)])


def test_class_weights_apply_to_every_booster() -> None:
    class_weight = {0: 5.0, 2: 0.25}
    model = BoostedTreesClassifier(n_bags=3, class_weight=class_weight, **SMALL).fit(X, THREE)
    plain = BoostedTreesClassifier(n_bags=3, **SMALL).fit(X, THREE)
    assert np.array_equal(left_out(model), left_out(plain))
    for k, booster in enumerate(model._boosters_of(model._unrefitted)):
        own = rows_of(model, k)
        alone = BoostedTreesClassifier(class_weight=class_weight, **SMALL)
        alone = fit_from(model._unrefitted.base_score, alone, X[own], THREE[own])
        assert_same_trees(booster, alone.forest_)
    assert model.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()


def test_row_subsampling_of_a_booster_by_its_own_seed() -> None:
    from weald.resampling import estimator_seed

    settings = {**SMALL, "subsample": 0.6}
    model = BoostedTreesRegressor(n_bags=5, **settings).fit(WIDE, WIDE_Y)
    for k, booster in enumerate(model._boosters_of(model._unrefitted)):
        own = rows_of(model, k)
        alone = BoostedTreesRegressor(**{**settings, "random_state": estimator_seed(0, k)})
        alone = fit_from(model._unrefitted.base_score, alone, WIDE[own], WIDE_Y[own])
        # Bins are those of all rows: thresholds may differ between the rows of the booster.
        mine = booster.predict(WIDE[own], n_threads=1)
        assert mine == pytest.approx(alone.forest_.predict(WIDE[own], n_threads=1))
        roots = booster.weight[booster.first_node[:-1]]
        assert len(set(roots)) > 1 and np.abs(roots - 0.6 * own.sum()).max() < 40


@pytest.mark.parametrize("sampling", ["tree", "level", "node"])
def test_each_booster_draws_columns_of_its_own(sampling: str) -> None:
    settings = {**SMALL, "max_features": 1, "feature_sampling": sampling, "n_bags": 3}
    model = BoostedTreesRegressor(**settings).fit(X, Y)
    boosters = model._boosters_of(model.forest_)
    roots = [tuple(booster.feature[booster.first_node[:-1]]) for booster in boosters]
    assert len(set(roots)) == 3


@pytest.mark.parametrize("more", [{}, {"subsample": 0.7, "max_features": 2}])
def test_more_boosters_contain_fewer(more) -> None:
    five = BoostedTreesRegressor(n_bags=5, **more, **SMALL).fit(X, Y)
    ten = BoostedTreesRegressor(n_bags=10, **more, **SMALL).fit(X, Y)
    assert np.array_equal(left_out(ten)[:5], left_out(five))
    few, many = (model._boosters_of(model.forest_) for model in (five, ten))
    for one, other in zip(few, many[:5], strict=True):
        assert_same_trees(one, other, rel=0)


def test_a_class_without_weight_is_in_no_fold() -> None:
    weight = np.where(np.arange(len(X)) < 50, 0.0, 1.0)
    model = BoostedTreesClassifier(n_bags=10, class_weight={1: 0.0}, **SMALL)
    model.fit(X, THREE, weight)
    gone = (THREE == 1) | (weight == 0)
    assert (model.oob_.in_bag.toarray()[:, gone] == 0).all()
    assert (left_out(model)[:, ~gone].sum(axis=0) == 2).all()
    assert np.isnan(model.oob_.predictions[gone]).all()
    assert model.oob_.unscored.size == 0
    assert model.oob_.in_bag[0].shape == (len(X),)


# ---- folds ----


@pytest.mark.parametrize("n_bags", [5, 10, 15])
@pytest.mark.parametrize("n", [400, 399, 37])
def test_a_row_is_left_out_once_by_every_five_boosters(n_bags: int, n: int) -> None:
    settings = {**SMALL, "n_estimators": 1}
    model = BoostedTreesRegressor(n_bags=n_bags, **settings).fit(X[:n], Y[:n])
    out = left_out(model)
    assert (out.sum(axis=0) == n_bags // 5).all()
    assert set(out.sum(axis=1)) <= {n // 5, -(-n // 5)}
    assert np.array_equal(model.oob_.n_out, out.sum(axis=0))
    # Rows are dealt out again for the next five.
    assert len({one.tobytes() for one in out}) == n_bags


@pytest.mark.parametrize(("n_bags", "counts"), [(2, {1}), (3, {1}), (7, {1, 2}), (12, {2, 3})])
def test_other_numbers_of_boosters(n_bags: int, counts: set[int]) -> None:
    model = BoostedTreesRegressor(n_bags=n_bags, **{**SMALL, "n_estimators": 1}).fit(X, Y)
    out = left_out(model)
    assert set(out.sum(axis=0)) == counts
    assert (np.abs(out.sum(axis=1) - 400 / min(5, n_bags)) < 1).all()


def test_fewer_rows_than_folds() -> None:
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(X[:3], Y[:3])
    assert left_out(model).sum(axis=1).tolist() == [1] * 5
    assert set(left_out(model).sum(axis=0)) == {1, 2}
    assert np.isfinite(model.predict(X)).all()


def test_folds_are_stratified_by_class() -> None:
    y = np.r_[np.zeros(330), np.ones(58), np.full(12, 2)].astype(int)
    model = BoostedTreesClassifier(n_bags=10, **{**SMALL, "n_estimators": 1}).fit(X, y)
    for one in left_out(model):
        assert (np.abs(np.bincount(y[one]) - np.bincount(y) / 5) < 1).all()


def test_whole_groups_stay_together() -> None:
    groups = np.random.default_rng(3).integers(0, 23, 400)
    settings = {**SMALL, "n_estimators": 1}
    model = BoostedTreesRegressor(n_bags=10, **settings).fit(X, Y, groups=groups)
    labels = np.unique(groups)
    for one in left_out(model):
        of_group = np.array([one[groups == label].mean() for label in labels])
        assert set(of_group) == {0.0, 1.0}
        assert of_group.sum() in (4, 5)
    assert (left_out(model).sum(axis=0) == 2).all()


@pytest.mark.parametrize(("kind", "y", "more"), TASKS)
def test_neither_order_of_rows_nor_threads_matter(kind, y, more) -> None:
    """Nor do rows of weight zero."""
    more = {"n_bags": 5, "subsample": 0.8, "max_features": 2, "early_stopping": True, **more}
    model = kind(**more, **SMALL).fit(X, y)
    order = np.random.default_rng(1).permutation(400)
    again = kind(**more, **{**SMALL, "n_jobs": 3}).fit(X[order], y[order])
    assert again.fingerprint() == model.fingerprint()
    assert np.array_equal(again.validation_loss_, model.validation_loss_)
    weight = np.r_[np.ones(400), np.zeros(7)]
    padded = kind(**more, **SMALL).fit(np.r_[X, X[:7] + 9], np.r_[y, y[:7]], weight)
    assert padded.fingerprint() == model.fingerprint()
    assert not rows_of(padded, 0)[400:].any()


def test_folds_of_rows_in_another_order() -> None:
    order = np.random.default_rng(1).permutation(len(WIDE))
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(WIDE, WIDE_Y)
    again = BoostedTreesRegressor(n_bags=5, **SMALL).fit(WIDE[order], WIDE_Y[order])
    assert np.array_equal(left_out(again), left_out(model)[:, order])


def test_the_seed_changes_the_folds() -> None:
    model = BoostedTreesRegressor(n_bags=5, **SMALL).fit(WIDE, WIDE_Y)
    other = BoostedTreesRegressor(n_bags=5, **{**SMALL, "random_state": 1}).fit(WIDE, WIDE_Y)
    assert not np.array_equal(left_out(other), left_out(model))
    none = BoostedTreesRegressor(n_bags=5, **{**SMALL, "random_state": None}).fit(WIDE, WIDE_Y)
    assert none.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("factor", [1.0, 4.0, 0.1, 3e5])
def test_uniform_weights_of_any_scale_give_one_model(factor: float) -> None:
    settings = {**SMALL, "n_bags": 5, "subsample": 0.8, "min_child_weight": 0.0}
    plain = BoostedTreesClassifier(**settings).fit(X, TWO)
    weighted = BoostedTreesClassifier(**settings).fit(X, TWO, np.full(400, factor))
    assert weighted.fingerprint() == plain.fingerprint()


# ---- how they are combined ----


def link(model: Any, scores: np.ndarray) -> np.ndarray:
    """Predictions from scores, written anew."""
    if hasattr(model, "classes_"):
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        return np.column_stack([expit(-scores), expit(scores)])
    if model.loss == "poisson":
        return np.exp(scores[:, 0])
    return np.sort(scores, axis=1) if model.loss == "quantile" else scores[:, 0]


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize(("kind", "y", "more"), TASKS)
def test_predictions_are_the_link_of_the_mean_score(kind, y, more, early_stopping) -> None:
    model = kind(n_bags=6, early_stopping=early_stopping, **more, **SMALL).fit(X, y)
    boosters = model._boosters_of(model.forest_)
    assert {booster.n_trees for booster in boosters} == {model.forest_.n_trees // 6}
    scores = np.mean([booster.predict(X, n_threads=1) for booster in boosters], axis=0)
    found = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    assert found == pytest.approx(link(model, scores), rel=1e-12)
    if hasattr(model, "classes_"):
        decided = model.decision_function(X).reshape(scores.shape)
        assert decided == pytest.approx(scores, rel=1e-9, abs=1e-12)
        assert np.array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    assert model.forest_.tree_weight == pytest.approx(1 / 6)


@pytest.mark.parametrize(("kind", "y", "more"), TASKS)
def test_stages_are_those_of_the_boosters(kind, y, more) -> None:
    model = kind(n_bags=3, **more, **SMALL).fit(X, y)
    is_classes = hasattr(model, "classes_")
    stages = list(model.staged_predict_proba(X) if is_classes else model.staged_predict(X))
    assert len(stages) == model.n_estimators_ == 8
    last = model.predict_proba(X) if is_classes else model.predict(X)
    assert stages[-1] == pytest.approx(last, rel=1e-12)
    if is_classes:
        *_, scores = model.staged_decision_function(X)
        assert scores == pytest.approx(model.decision_function(X), rel=1e-9, abs=1e-12)
    short = kind(n_bags=3, **more, **{**SMALL, "n_estimators": 5}).fit(X, y)
    fifth = short.predict_proba(X) if is_classes else short.predict(X)
    assert stages[4] == pytest.approx(fifth, rel=1e-9)


def test_a_model_of_one_booster_after_one_of_several() -> None:
    model = BoostedTreesRegressor(n_bags=2, early_stopping=True, **SMALL).fit(X, Y)
    model.set_params(n_bags=None, early_stopping=False).fit(X, Y)
    assert model.fingerprint() == BoostedTreesRegressor(**SMALL).fit(X, Y).fingerprint()
    assert not hasattr(model, "oob_") and not hasattr(model, "validation_loss_")
    assert model.predict(X).shape == (len(X),)


# ---- leaf values ----


def leaves_of_tree(forest: Any, t: int) -> tuple[np.ndarray, np.ndarray]:
    """The leaf of each row in a tree, and the values of its leaves."""
    leaf = forest.apply(X, n_threads=1)[:, t]
    return leaf, forest.value[forest.first_leaf[t] : forest.first_leaf[t + 1]]


def test_leaf_values_are_estimated_on_all_rows() -> None:
    settings = {**SMALL, "n_estimators": 1, "learning_rate": 0.5, "l2_regularization": 2.0}
    model = BoostedTreesRegressor(n_bags=5, **settings).fit(X, Y, WEIGHT)
    residual = Y - np.average(Y, weights=WEIGHT)
    for t in range(5):
        leaf, values = leaves_of_tree(model.forest_, t)
        total = np.bincount(leaf, WEIGHT)
        expected = 0.5 * np.bincount(leaf, WEIGHT * residual) / (total + 2.0)
        assert values[:, 0] == pytest.approx(expected, rel=1e-9)
        # Before, they were those of the rows outside the fold.
        own = WEIGHT * rows_of(model, t)
        _, before = leaves_of_tree(model._unrefitted, t)
        expected = 0.5 * np.bincount(leaf, own * residual) / (np.bincount(leaf, own) + 2.0)
        assert before[:, 0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("more", [{}, VECTOR], ids=["tree per class", "vector leaves"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_leaf_values_of_classes_are_estimated_on_all_rows(y, more) -> None:
    settings = {**SMALL, "n_estimators": 1, "learning_rate": 0.5}
    model = BoostedTreesClassifier(n_bags=5, **more, **settings).fit(X, y)
    share = np.bincount(y) / len(y)
    classes = [1] if len(share) == 2 else range(3)
    for t, output in enumerate(model.forest_.output):
        leaf, values = leaves_of_tree(model.forest_, t)
        outputs = classes if output < 0 or len(share) == 2 else [output]
        for column, k in enumerate(outputs):
            gradient = np.bincount(leaf, (y == k) - share[k])
            hessian = np.bincount(leaf) * share[k] * (1 - share[k])
            step = np.clip(gradient / hessian, -4, 4)  # as all Newton steps of log_loss
            assert values[:, column] == pytest.approx(0.5 * step, abs=1e-12)


def test_splits_are_kept_when_leaves_are_refitted() -> None:
    model = BoostedTreesClassifier(n_bags=5, **SMALL).fit(X, THREE)
    before, after = model._unrefitted, model.forest_
    for name in ("feature", "threshold", "right", "missing_left", "gain", "output"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert not np.array_equal(before.value, after.value)


# ---- errors ----


@pytest.mark.parametrize("n_bags", [2, 5])
def test_one_row_or_group_is_too_little(n_bags: int) -> None:
    model = BoostedTreesRegressor(n_bags=n_bags, **SMALL)
    with pytest.raises(
        ValueError, match=rf"n_bags={n_bags} needs at least two rows.*n_samples = 1"
    ):
        model.fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match=r"two rows.*n_samples = 1\. Set n_bags=None"):
        model.fit(X, Y, np.eye(1, 400)[0])
    with pytest.raises(ValueError, match=r"two groups.*n_samples = 1"):
        model.fit(X, Y, groups=np.zeros(400))
    assert not hasattr(model, "forest_")


def test_n_bags_is_at_least_two() -> None:
    with pytest.raises(ValueError, match="n_bags"):
        BoostedTreesRegressor(n_bags=1).fit(X, Y)

"""Boosting of several targets together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.multioutput import MultiOutputRegressor

import weald
from weald import BoostedTreesRegressor

QUICK = {"quality": "fast", "n_estimators": 20, "n_jobs": 1}
BOTH = pytest.mark.parametrize("trees", ["vector_leaves", "tree_per_target"])


def task(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Three targets of very different units that depend on shared and on own columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    shared = np.sin(2 * X[:, 0]) + X[:, 1]
    noise = rng.normal(size=(n, 3)) / 10
    Y = np.column_stack([shared, shared + X[:, 2], X[:, 3] * X[:, 0]]) + noise
    return X, Y * [1.0, 1e4, 1e-3]


X, Y = task()


@BOTH
def test_predictions_have_a_column_for_each_target(trees):
    model = BoostedTreesRegressor(multi_output=trees, **QUICK).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.shape == Y.shape and model.n_outputs_ == 3
    each = r2_score(Y, predicted, multioutput="raw_values")
    assert each.min() > 0.45
    assert model.score(X, Y) == pytest.approx(each.mean())
    n_trees = {"vector_leaves": 20, "tree_per_target": 60}[trees]
    assert model.forest_.n_trees == n_trees
    assert np.array_equal(list(model.staged_predict(X))[-1], predicted)
    assert np.array_equal(model.predictor().predict(X[0]), predicted[0])


def test_a_tree_per_target_is_what_a_model_per_target_grows():
    """Rows are not drawn with quality="fast", so that only the units of the targets differ."""
    together = BoostedTreesRegressor(multi_output="tree_per_target", **QUICK).fit(X, Y)
    apart = MultiOutputRegressor(BoostedTreesRegressor(**QUICK)).fit(X, Y)
    assert np.allclose(together.predict(X), apart.predict(X), rtol=1e-9, atol=1e-12)


def test_equal_targets_get_the_trees_of_one():
    same = np.column_stack([Y[:, 0], -3 * Y[:, 0]])
    model = BoostedTreesRegressor(multi_output="vector_leaves", **QUICK).fit(X, same)
    one = BoostedTreesRegressor(**QUICK).fit(X, Y[:, 0]).predict(X)
    assert np.allclose(model.predict(X), np.column_stack([one, -3 * one]))


def test_first_split_is_the_best_sum_of_gains():
    """Against all splits of a small table: gains in units of the targets' variances."""
    few, targets = X[:60].round(1), Y[:60]
    model = BoostedTreesRegressor(
        multi_output="vector_leaves", quality="fast", n_estimators=1, max_leaf_nodes=2,
        min_samples_leaf=5,
    ).fit(few, targets)  # fmt: skip
    z = (targets - targets.mean(axis=0)) / targets.std(axis=0)
    best = (-1.0, -1, 0.0)
    for column in range(5):
        for cut in np.unique(few[:, column])[:-1]:
            left = few[:, column] <= cut
            if 5 <= left.sum() <= 55:
                sums = [(z[side].sum(axis=0) ** 2).sum() / side.sum() for side in (left, ~left)]
                best = max(best, (sum(sums), column, cut))
    assert model.forest_.feature[0] == best[1]
    left = few[:, best[1]] <= best[2]
    assert (model.forest_.threshold[0] >= few[left, best[1]].max()) and (
        model.forest_.threshold[0] < few[~left, best[1]].min()
    )
    means = np.where(left[:, np.newaxis], targets[left].mean(axis=0), targets[~left].mean(axis=0))
    expected = targets.mean(axis=0) + 0.1 * (means - targets.mean(axis=0))
    assert np.allclose(model.predict(few), expected)


@BOTH
def test_units_and_order_of_targets_do_not_matter(trees):
    model = BoostedTreesRegressor(multi_output=trees, **QUICK)
    predicted = model.fit(X, Y).predict(X)
    units = np.array([1e6, 1e-5, 7.0])
    assert np.allclose(model.fit(X, Y * units).predict(X), predicted * units, rtol=1e-7)
    order = [2, 0, 1]
    assert np.allclose(model.fit(X, Y[:, order]).predict(X), predicted[:, order], rtol=1e-7)
    extreme = np.array([2.0**600, 2.0**600, 2.0**600])
    assert np.allclose(model.fit(X, Y * extreme).predict(X) / extreme, predicted, rtol=1e-7)


@BOTH
def test_threads_and_row_order_change_nothing(trees):
    weight = np.arange(300) % 5 + 0.5
    model = BoostedTreesRegressor(multi_output=trees, n_estimators=15, n_bags=2, random_state=0)
    before = model.set_params(n_jobs=1).fit(X, Y, weight).fingerprint()
    order = np.random.default_rng(1).permutation(300)
    model.set_params(n_jobs=3).fit(X[order], Y[order], weight[order])
    assert model.fingerprint() == before


def test_whole_weights_are_repetitions():
    weight = np.arange(300) % 3
    settings = {"quality": "fast", "n_estimators": 10, "min_samples_leaf": 1}
    weighted = BoostedTreesRegressor(**settings).fit(X, Y, weight)
    repeated = BoostedTreesRegressor(**settings).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    assert np.allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)


def test_out_of_bag_predictions_are_by_boosters_that_left_the_row_out():
    weight = np.where(np.arange(300) % 50 == 7, 0.0, 1.0)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 2))
    model = BoostedTreesRegressor(n_bags=3, n_estimators=150, random_state=0).fit(X, noise, weight)
    assert model.oob_prediction_.shape == (300, 2)
    assert np.isnan(model.oob_prediction_[weight == 0]).all()
    known = weight > 0
    unseen = r2_score(noise[known], model.oob_prediction_[known])
    assert unseen < 0.1 < 0.3 < model.score(X[known], noise[known])
    with pytest.raises(AttributeError, match="oob_prediction_"):
        model.oob_  # noqa: B018
    model.fit(X, noise[:, 0], weight)
    assert not hasattr(model, "oob_prediction_")


def test_early_stopping_follows_the_mean_loss_of_all_targets():
    settings = {"quality": "fast", "early_stopping": True, "n_estimators": 400}
    model = BoostedTreesRegressor(**settings, random_state=0)
    model.fit(X[:200], Y[:200], X_val=X[200:], y_val=Y[200:])
    assert model.validation_loss_.argmin() == model.n_estimators_ < 400
    z = (Y[200:] - model.predict(X[200:])) / Y[:200].std(axis=0)
    assert model.validation_loss_[model.n_estimators_] == pytest.approx((z**2).mean() / 2)
    by_score = BoostedTreesRegressor(**settings, scoring="r2", random_state=0)
    by_score.fit(X[:200], Y[:200], X_val=X[200:], y_val=pd.DataFrame(Y[200:]))
    best = by_score.validation_score_[by_score.n_estimators_]
    assert best == pytest.approx(by_score.score(X[200:], Y[200:]))
    held_out = BoostedTreesRegressor(**settings, scoring="r2", random_state=0).fit(X, Y)
    assert held_out.validation_score_.max() > 0.7


def test_frames_categories_and_missing_values():
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["town"] = pd.Categorical(np.where(X[:, 2] > 0, "Ulm", "Bonn"))
    frame.loc[::7, "a"] = np.nan
    model = BoostedTreesRegressor(n_estimators=60, random_state=0).fit(frame, pd.DataFrame(Y))
    assert model.score(frame, Y) > 0.8
    assert not model.auto_settings_.get("target_statistics", False)


@BOTH
def test_copies_files_and_shapley_values(trees, tmp_path):
    model = BoostedTreesRegressor(multi_output=trees, n_estimators=10, n_bags=2).fit(X, Y)
    model.save(tmp_path / "model.weald")
    loaded = weald.load(tmp_path / "model.weald")
    assert loaded.fingerprint() == model.fingerprint()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    explained = weald.explain.shap(model, X[:5])
    assert explained.values.shape == (5, 5, 3)
    total = explained.values.sum(axis=1) + explained.base_values
    assert np.allclose(total, model.predict(X[:5]))
    module = {}
    exec(weald.export.to_python(model), module)
    assert np.array_equal(module["predict"](X[0].tolist()), model.predict(X)[0])
    mean, std = model.predict(X, return_std=True)
    assert np.array_equal(mean, model.predict(X)) and std.shape == Y.shape


@BOTH
def test_warm_start_continues(trees):
    whole = BoostedTreesRegressor(multi_output=trees, **QUICK).fit(X, Y)
    model = BoostedTreesRegressor(multi_output=trees, warm_start=True, **QUICK)
    model.set_params(n_estimators=8).fit(X, Y).set_params(n_estimators=20).fit(X, Y)
    assert model.fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="fit of 3 targets; y has 2"):
        model.fit(X, Y[:, :2])
    with pytest.raises(ValueError, match="fit of 3 targets; y has one"):
        model.fit(X, Y[:, 0])
    one = BoostedTreesRegressor(warm_start=True, **QUICK).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="fit of 1 targets; y has 3"):
        one.fit(X, Y)


def test_monotonic_constraints_hold_for_every_target():
    rising = np.column_stack([X[:, 0] + np.sin(3 * X[:, 1]), 1e3 * (X[:, 0] - X[:, 2])])
    model = BoostedTreesRegressor(monotonic_cst=[1, 0, 0, 0, 0], **QUICK).fit(X, rising)
    grid = np.repeat(X[:1], 50, axis=0)
    grid[:, 0] = np.linspace(-2, 2, 50)
    assert (np.diff(model.predict(grid), axis=0) >= 0).all()


def test_constant_targets():
    constant = np.column_stack([Y[:, 0], np.full(300, 7.5), np.zeros(300)])
    model = BoostedTreesRegressor(**QUICK).fit(X, constant)
    assert (model.predict(X)[:, 1] == 7.5).all() and (model.predict(X)[:, 2] == 0.0).all()


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"loss": "absolute_error"}, "loss='absolute_error' supports one target; y has 3"),
        ({"loss": "quantile", "quantile": 0.5}, "loss='quantile' supports one target"),
        ({"loss": "poisson"}, "MultiOutputRegressor"),
        (
            {"monotonic_cst": [1, 0, 0, 0, 0], "multi_output": "vector_leaves"},
            "monotonic_cst with multi_output='vector_leaves' supports one target",
        ),
        ({"l1_regularization": 1.0}, "l1_regularization=1.0 supports one target"),
        ({"target_statistics": True}, "target_statistics=True supports one target"),
        ({"multi_output": "both"}, "'tree_per_target', 'vector_leaves'"),
    ],
)
def test_what_supports_one_target(parameters, what):
    with pytest.raises(ValueError, match=what):
        BoostedTreesRegressor(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"y": np.where(Y > 1e4, np.nan, Y)}, "contains NaN"),
        ({"y": np.zeros((300, 0))}, "0 feature"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"y": Y[:, :, np.newaxis]}, "dim 3"),
        ({"y": Y, "offset": np.zeros(300)}, "offset is not supported with several targets"),
        ({"y": Y, "X_val": X, "y_val": Y[:, :2]}, r"y_val: expected the shape \(rows, 3\)"),
        ({"y": Y, "X_val": X, "y_val": Y[:-1]}, "must have the same number of rows"),
    ],
)
def test_bad_targets(arguments, what):
    model = BoostedTreesRegressor(**QUICK).fit(X, Y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match=what):
        model.fit(X, **arguments)
    assert model.fingerprint() == before

"""Trees and forests whose target has several columns."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from weald import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    OptionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    distill,
)

CLASSIFIERS = [DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor]
FORESTS = [
    RandomForestClassifier,
    ExtraTreesClassifier,
    RandomForestRegressor,
    ExtraTreesRegressor,
]


def table(n: int = 120) -> np.ndarray:
    """Integers, some of them missing."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 40, (n, 4)).astype(float)
    X[::11, 2] = np.nan
    return X


def numbers(X: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(6)
    clean = np.nan_to_num(X, nan=-3.0)
    return np.column_stack(
        [clean[:, 0] + clean[:, 2], clean[:, 1] * 2 - clean[:, 0], rng.integers(0, 9, len(X))]
    )


def labels(X: np.ndarray) -> np.ndarray:
    """Outputs with three classes, two classes and one class."""
    y = numbers(X)
    return np.column_stack([np.digitize(y[:, 0], [15, 45]), y[:, 1] > 30, np.full(len(X), 7)])


def small(kind: type, **settings: Any) -> Any:
    if kind in FORESTS:
        settings = {"n_estimators": 6, "random_state": 0, **settings}
    return kind(**settings)


def target_for(kind: type, X: np.ndarray) -> np.ndarray:
    return labels(X) if kind in CLASSIFIERS else numbers(X)


# ---- the criterion, by its formula ----


def impurity(y: np.ndarray, weight: np.ndarray, criterion: str) -> float:
    """Mean over the outputs."""
    each = []
    for column in y.T:
        if criterion == "squared_error":
            mean = np.average(column, weights=weight)
            each.append(np.average((column - mean) ** 2, weights=weight))
            continue
        shares = np.array([weight[column == k].sum() for k in np.unique(column)]) / weight.sum()
        gini = 1 - (shares**2).sum()
        each.append(gini if criterion == "gini" else -(shares * np.log2(shares)).sum())
    return float(np.mean(each))


def decrease(y: np.ndarray, weight: np.ndarray, is_left: np.ndarray, criterion: str) -> float:
    after = sum(
        weight[side].sum() * impurity(y[side], weight[side], criterion)
        for side in (is_left, ~is_left)
    )
    return impurity(y, weight, criterion) - after / weight.sum()


def best_decrease(X: np.ndarray, y: np.ndarray, weight: np.ndarray, criterion: str) -> float:
    """Best decrease over all splits of all columns, missing values on either side."""
    best = 0.0
    for column in X.T:
        is_missing = np.isnan(column)
        for cut in [*np.unique(column[~is_missing]), np.inf]:
            for missing_left in (False, True):
                is_left = np.where(is_missing, missing_left, column <= cut).astype(bool)
                if 0 < is_left.sum() < len(is_left):
                    best = max(best, decrease(y, weight, is_left, criterion))
    return best


@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("engine", ["bins", "exact", "forest", "leaf limit"])
def test_the_first_split_is_the_best_by_the_formula(
    criterion: str, engine: str, weights: str
) -> None:
    X = table(40)
    is_class = criterion != "squared_error"
    y = labels(X) if is_class else numbers(X)
    weight = {
        "none": np.ones(40),
        "whole": 1.0 + np.arange(40) % 3,
        "fractions": 0.3 + np.arange(40) % 3,
    }[weights]
    settings: dict[str, Any] = {"criterion": criterion, "max_depth": 1}
    if engine in ("bins", "exact"):
        kind: type = DecisionTreeClassifier if is_class else DecisionTreeRegressor
        settings["exact"] = engine == "exact"
    else:
        kind = RandomForestClassifier if is_class else RandomForestRegressor
        settings |= {"n_estimators": 1, "bootstrap": False, "max_features": None}
        settings["max_leaf_nodes"] = 2 if engine == "leaf limit" else None
    tree = kind(**settings).fit(X, y, None if weights == "none" else weight).forest_
    column, right = X[:, tree.feature[0]], ~np.isnan(X[:, tree.feature[0]])
    is_left = np.where(right, column <= tree.threshold[0], tree.missing_left[0] == 1)
    made = decrease(y, weight, is_left.astype(bool), criterion)
    assert made == pytest.approx(best_decrease(X, y, weight, criterion), rel=1e-9)
    assert tree.gain[0] / tree.weight[0] == pytest.approx(made, rel=1e-9)
    assert tree.weight[0] == pytest.approx(weight.sum())


@pytest.mark.parametrize("settings", [{}, {"max_features": 4}, {"splitter": "random"}])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_the_same_output_twice_is_that_output(kind: type, settings: dict[str, Any]) -> None:
    """Including limits in units of the impurity, which is the mean over the outputs."""
    X = table()
    y = target_for(kind, X)[:, 0]
    limits = {"min_impurity_decrease": 0.01, "ccp_alpha": 0.004, "min_samples_leaf": 3}
    settings = {**settings, **limits, "random_state": 3}
    one = kind(**settings).fit(X, y)
    two = kind(**settings).fit(X, np.column_stack([y, y]))
    assert one.get_n_leaves() > 2
    assert np.array_equal(one.forest_.feature, two.forest_.feature)
    assert np.array_equal(one.forest_.threshold, two.forest_.threshold)
    assert two.forest_.gain == pytest.approx(one.forest_.gain)
    assert np.array_equal(two.predict(X), np.column_stack([one.predict(X)] * 2))
    path, paths = (m.cost_complexity_pruning_path(X, m.predict(X)) for m in (one, two))
    assert paths.impurities == pytest.approx(path.impurities)
    assert paths.ccp_alphas == pytest.approx(path.ccp_alphas)


def test_an_output_of_tiny_numbers_beside_one_of_huge_ones_keeps_its_digits() -> None:
    X = np.arange(30.0)[:, np.newaxis]
    y = np.column_stack([np.arange(30) % 7, np.sqrt(np.arange(30) + 1)])
    for scales in ([1e12, 1e-9], [1e200, 1e-60], [0.0, 1e-250]):
        for kind in (DecisionTreeRegressor, ExtraTreesRegressor):
            predicted = small(kind).fit(X, y * scales).predict(X)
            assert predicted == pytest.approx(y * scales, rel=1e-14, abs=0)


# ---- shapes ----


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_of_several_outputs(kind: type) -> None:
    X = table()
    y = labels(X)
    model = small(kind).fit(X, y)
    assert model.n_outputs_ == 3 and model.n_classes_ == [3, 2, 1]
    assert [own.tolist() for own in model.classes_] == [[0, 1, 2], [0, 1], [7]]
    shares = model.predict_proba(X)
    assert [part.shape for part in shares] == [(120, 3), (120, 2), (120, 1)]
    for part, logs in zip(shares, model.predict_log_proba(X), strict=True):
        assert part.sum(axis=1) == pytest.approx(1)
        assert np.exp(logs) == pytest.approx(part)
    best = [np.argmax(part, axis=1) for part in shares]
    predicted = model.predict(X)
    assert predicted.shape == y.shape and predicted.dtype == y.dtype
    for k in range(3):
        assert np.array_equal(predicted[:, k], model.classes_[k][best[k]])
    assert (predicted == y).mean() > 0.9
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_numbers_of_several_outputs(kind: type) -> None:
    X = table()
    y = numbers(X)
    model = small(kind).fit(X, y)
    assert model.n_outputs_ == 3 and model.predict(X).shape == (120, 3)
    assert model.score(X, y) > 0.7
    assert model.apply(X).shape[0] == 120
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_views_of_trees_have_the_shapes_of_scikit_learn() -> None:
    X = table()
    tree = DecisionTreeClassifier(max_depth=2).fit(X, labels(X)).tree_
    assert tree.n_outputs == 3 and tree.value.shape == (tree.node_count, 3, 3)
    assert tree.value[:, 1].sum(axis=1) == pytest.approx(1) and (tree.value[:, 2, 1:] == 0).all()
    tree = DecisionTreeRegressor(max_depth=2).fit(X, numbers(X)).tree_
    assert tree.value.shape == (tree.node_count, 3, 1)
    assert tree.value[0, :, 0] == pytest.approx(numbers(X).mean(axis=0))
    forest = small(RandomForestClassifier).fit(X, labels(X))
    shares = [view.predict_proba(X)[0] for view in forest.estimators_]
    assert np.mean(shares, axis=0) == pytest.approx(forest.predict_proba(X)[0])
    assert forest.estimators_[0].n_outputs_ == 3
    assert "7 (1)" in forest.text()


def test_text_labels_and_frames() -> None:
    X = table()
    y = pd.DataFrame(
        {"size": np.array(["big", "mid", "small"])[labels(X)[:, 0]], "n": labels(X)[:, 1]}
    )
    for kind in CLASSIFIERS:
        model = small(kind).fit(X, y)
        assert [own.tolist() for own in model.classes_] == [["big", "mid", "small"], [0, 1]]
        assert model.classes_[1].dtype.kind in "iu"
        predicted = model.predict(X)
        assert predicted.dtype == object and (predicted == y.to_numpy()).mean() > 0.9
    words = np.array([["a", "longer"], ["b", "x"]] * 20)
    assert DecisionTreeClassifier().fit(X[:40], words).predict(X[:40]).dtype.kind == "U"


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_column_is_one_output(kind: type) -> None:
    X = table()
    y = target_for(kind, X)[:, 0]
    plain = small(kind).fit(X, y)
    if kind in FORESTS:
        with pytest.warns(DataConversionWarning, match="column-vector"):
            column = small(kind).fit(X, y[:, np.newaxis])
    else:
        column = small(kind).fit(X, y[:, np.newaxis])
    assert column.fingerprint() == plain.fingerprint()
    assert column.n_outputs_ == 1 and column.predict(X).shape == (120,)
    if kind in CLASSIFIERS:
        assert isinstance(column.classes_, np.ndarray) and column.predict_proba(X).shape == (120, 3)


# ---- invariances ----


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_outputs_in_another_order_give_predictions_in_that_order(kind: type) -> None:
    X = table()
    y = target_for(kind, X)
    settings = {"bootstrap": False} if kind in FORESTS else {}
    one = small(kind, **settings).fit(X, y).predict(X)
    other = small(kind, **settings).fit(X, y[:, [2, 0, 1]]).predict(X)
    assert other == pytest.approx(one[:, [2, 0, 1]])


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_whole_weights_are_repetitions(kind: type, bootstrap: bool) -> None:
    X = table()
    y = target_for(kind, X)
    settings = {"bootstrap": False, "min_samples_leaf": 1} if kind in FORESTS else {}
    if bootstrap and kind in FORESTS:  # drawn rows count as often as they were drawn
        settings = {"bootstrap": True, "max_samples": 100, "max_features": 2, "min_samples_leaf": 2}
    copies = np.arange(len(X)) % 3
    weighted = small(kind, n_jobs=1, **settings).fit(X, y, copies)
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(X)), copies))
    repeated = small(kind, n_jobs=2, **settings).fit(X[order], y[order])
    assert weighted.fingerprint() == repeated.fingerprint()


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_order_scale_of_weights_and_threads_do_not_matter(kind: type, bootstrap: bool) -> None:
    X = np.concatenate([table(), table()[:40]])
    y = target_for(kind, X)
    y[120:] = y[:40]
    settings = {"bootstrap": bootstrap} if kind in FORESTS else {"min_samples_leaf": 3}
    rng = np.random.default_rng(0)
    weight, order = rng.integers(0, 3, len(X)), rng.permutation(len(X))
    one = small(kind, n_jobs=1, **settings).fit(X, y, weight)
    other = small(kind, n_jobs=2, **settings).fit(X[order], y[order], weight[order] * 4)
    assert other.fingerprint() == one.fingerprint()


@pytest.mark.parametrize("kind", FORESTS)
def test_a_limit_on_leaves_that_never_binds_changes_nothing(kind: type) -> None:
    X = table()
    y = target_for(kind, X)
    free, bound = (small(kind, max_leaf_nodes=most).fit(X, y) for most in (None, 500))
    for one, other in zip(free.predict(X), bound.predict(X), strict=True):
        assert one == pytest.approx(other)


# ---- class weights, votes, out-of-bag ----


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_weights_of_classes_multiply(kind: type) -> None:
    X = table()
    y = labels(X)[:, :2]
    settings = {"bootstrap": False} if kind in FORESTS else {}
    wanted = [{0: 1.0, 1: 2.0, 2: 0.5}, {0: 3.0, 1: 1.0}]
    by_hand = np.array([1.0, 2.0, 0.5])[y[:, 0]] * np.array([3.0, 1.0])[y[:, 1]]
    named = small(kind, class_weight=wanted, **settings).fit(X, y)
    weighed = small(kind, **settings).fit(X, y, by_hand)
    for one, other in zip(named.predict_proba(X), weighed.predict_proba(X), strict=True):
        assert one == pytest.approx(other)
    counts = [np.bincount(column) for column in y.T]
    balanced = [dict(enumerate(len(y) / (len(own) * own))) for own in counts]
    one = small(kind, class_weight="balanced", max_depth=3, **settings).fit(X, y)
    other = small(kind, class_weight=balanced, max_depth=3, **settings).fit(X, y)
    for shares, again in zip(one.predict_proba(X), other.predict_proba(X), strict=True):
        assert shares == pytest.approx(again)


def test_a_class_of_weight_zero_is_ignored() -> None:
    X = table()
    y = labels(X)[:, :2]
    wanted = [{0: 0.0, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 1.0}]
    model = small(RandomForestClassifier, class_weight=wanted, oob_score=True, n_estimators=30)
    model.fit(X, y)
    assert model.predict_proba(X)[0][:, 0].max() == 0.0
    is_nan = np.isnan(model.oob_decision_function_).any(axis=(1, 2))
    assert np.array_equal(is_nan, y[:, 0] == 0)


def test_balanced_bags_and_hard_votes() -> None:
    X = table()
    y = labels(X)
    for alpha in (0.0, 0.001):
        model = small(
            RandomForestClassifier,
            voting="hard",
            class_weight="balanced_subsample",
            max_depth=3,
            ccp_alpha=alpha,
        ).fit(X, y)
        for shares in model.predict_proba(X):
            assert shares * 6 == pytest.approx(np.rint(shares * 6))
            assert shares.sum(axis=1) == pytest.approx(1)
    rare = np.column_stack([np.arange(120) < 12, np.arange(120) % 2]).astype(int)
    heavy = small(RandomForestClassifier, class_weight="balanced_subsample", max_depth=1)
    root = heavy.fit(X, rare).estimators_[0].tree_.value[0]
    weight = drawn = heavy.in_bag_counts(0).astype(float)
    for column in rare.T:
        weight = weight / np.bincount(column, drawn)[column]
    for k, column in enumerate(rare.T):
        assert root[k] == pytest.approx(np.bincount(column, weight) / weight.sum())


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("alpha", [0.0, 0.001])
def test_out_of_bag_shares(kind: type, alpha: float) -> None:
    X = table()
    y = labels(X)
    model = small(kind, n_estimators=40, bootstrap=True, oob_score=True, ccp_alpha=alpha).fit(X, y)
    shares = model.oob_decision_function_
    assert shares.shape == (120, 3, 3) and (shares[:, 2:, 1] == 0).all()
    outside = np.stack([model.in_bag_counts(k) == 0 for k in range(40)])
    each = np.stack([view.predict_proba(X)[0] for view in model.estimators_])
    means = (each * outside[:, :, np.newaxis]).sum(axis=0) / outside.sum(axis=0)[:, np.newaxis]
    assert shares[:, :, 0] == pytest.approx(means)
    predicted = np.column_stack(
        [model.classes_[k][shares[:, :, k].argmax(axis=1)] for k in range(3)]
    )
    assert model.oob_score_ == pytest.approx((predicted == y).all(axis=1).mean())
    by_hand = small(kind, n_estimators=40, bootstrap=True, ccp_alpha=alpha)
    by_hand.set_params(oob_score=lambda true, pred: float((true == pred).mean())).fit(X, y)
    assert by_hand.oob_score_ == pytest.approx((predicted == y).mean())


def test_out_of_bag_numbers() -> None:
    X = table()
    y = numbers(X)
    model = small(RandomForestRegressor, n_estimators=40, oob_score=True).fit(X, y)
    assert model.oob_prediction_.shape == (120, 3)
    left = ((y - model.oob_prediction_) ** 2).sum(axis=0)
    r2 = 1 - left / ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    assert model.oob_score_ == pytest.approx(r2.mean())
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (120, 3) and (std > 0).any(axis=0).all()


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_as_many_trees_as_are_enough(kind: type) -> None:
    X = table()
    model = kind("auto", random_state=0).fit(X, target_for(kind, X))
    assert 50 <= model.forest_.n_trees <= 1000


@pytest.mark.parametrize("kind", FORESTS)
def test_a_warm_start_adds_trees(kind: type) -> None:
    X = table()
    y = target_for(kind, X)
    plain = {"min_samples_leaf": 1, "max_features": "sqrt"}
    model = small(kind, n_estimators=3, warm_start=True, **plain).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    assert model.fingerprint() == small(kind, **plain).fit(X, y).fingerprint()
    model.set_params(n_estimators=8)
    for other in (y[:, 0], y[:, :2]):
        with pytest.raises(ValueError, match="warm_start=True"):
            model.fit(X, other)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_predictor_gives_the_same_bits(kind: type) -> None:
    X = table()
    model = small(kind).fit(X, target_for(kind, X))
    fast = pickle.loads(pickle.dumps(model.predictor()))
    assert np.array_equal(fast.predict(X), model.predict(X))
    assert np.array_equal(fast.predict(X[5]), model.predict(X[5:6])[0])
    if kind in CLASSIFIERS:
        for one, other in zip(fast.predict_proba(X), model.predict_proba(X), strict=True):
            assert np.array_equal(one, other)


# ---- errors ----


def test_methods_for_one_output_refuse_several() -> None:
    X = table()
    numeric = small(RandomForestRegressor, n_estimators=20, oob_score=True).fit(X, numbers(X))
    classes = small(RandomForestClassifier, n_estimators=20, oob_score=True).fit(X, labels(X))
    for unsupported in (
        lambda: numeric.predict_interval(X),
        lambda: numeric.predict_quantiles(X),
        lambda: numeric.oob_,
        lambda: numeric.oob_permutation_importance(X, numbers(X)),
        lambda: classes.predict_set(X),
        lambda: classes.prune_oob(X, labels(X)),
        lambda: classes.member_error_632(X, labels(X)),
    ):
        with pytest.raises(AttributeError, match="support one output; this RandomForest"):
            unsupported()
    for model in (numeric, classes):
        with pytest.raises(ValueError, match="one output"):
            distill(model, np.nan_to_num(X))
    for other in (OptionTreeRegressor(), RotationForestClassifier(n_estimators=2)):
        with pytest.raises(ValueError, match="1d array"):
            other.fit(X, labels(X))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({0: 1.0}, "list of dicts, or the string .balanced.*Got a dict for 2 outputs"),
        ([{0: 1.0}], "Got a list of 1 for 2 outputs"),
        ([{0: 1.0}, 3], "class_weight"),
        ([{"a": 1.0}, None], "no class of y"),
    ],
)
def test_wrong_weights_of_classes(wanted: Any, message: str) -> None:
    X = table()
    for kind in CLASSIFIERS:
        with pytest.raises(ValueError, match=message):
            small(kind, class_weight=wanted).fit(X, labels(X)[:, :2])


def test_wrong_targets() -> None:
    from scipy.sparse import csr_matrix

    X = table()
    y = labels(X)
    holes = y.astype(object)
    holes[3, 1] = None
    for kind in CLASSIFIERS:
        with pytest.raises(ValueError, match="sparse multilabel-indicator"):
            small(kind).fit(X, csr_matrix(y))
        with pytest.raises(ValueError, match="label of row 3 is missing"):
            small(kind).fit(X, holes)
        with pytest.raises(ValueError, match="Unknown label type"):
            small(kind).fit(X, numbers(X) + 0.5)
        with pytest.raises(ValueError, match="2 entries, one for each output; y has one"):
            small(kind, class_weight=[None, None]).fit(X, y[:, 0])
    for kind in REGRESSORS:
        with pytest.raises(ValueError, match="NaN"):
            small(kind).fit(X, np.where(numbers(X) == 5, np.nan, numbers(X)))
        with pytest.raises(ValueError, match="differ in size by more than 2"):
            small(kind).fit(X, numbers(X) * [1e200, 1e-200, 1.0])
        with pytest.raises(ValueError, match="too large"):
            small(kind).fit(X, np.where(numbers(X) == 5, 1e302, numbers(X)))


@pytest.mark.parametrize("model", [DecisionTreeRegressor(), RandomForestRegressor(3)])
@pytest.mark.parametrize(
    "setting",
    [{"criterion": "poisson"}, {"criterion": "absolute_error"}, {"monotonic_cst": [1, 0]}],
)
def test_settings_for_one_output_refuse_several(model, setting) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.ones((10, 2))
    with pytest.raises(ValueError, match="one output|multiple outputs"):
        clone(model).set_params(**setting).fit(X, y)

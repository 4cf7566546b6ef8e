"""AdaBoost.R2: against the formula, stopping rules, base estimators of all kinds."""

import math
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

from weald import AdaBoostRegressor, DecisionTreeRegressor

LOSSES = ["linear", "square", "exponential"]


def task(seed: int = 0, n: int = 150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 2 + 2 * X[:, 1] + 0.3 * rng.normal(size=n)


def loss_of(name: str, share: np.ndarray) -> np.ndarray:
    return {"linear": share, "square": share**2, "exponential": 1 - np.exp(-share)}[name]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_rounds_follow_the_formula(loss: str, rate: float) -> None:
    X, y = task()
    model = AdaBoostRegressor(
        n_estimators=6, loss=loss, learning_rate=rate, store_weights=True, random_state=0
    ).fit(X, y)
    weights = np.full(len(X), 1 / len(X))
    for i, estimator in enumerate(model.estimators_):
        assert model.round_weights_[i] == pytest.approx(weights, rel=1e-9)
        distance = np.abs(estimator.predict(X) - y)
        losses = loss_of(loss, distance / distance.max())
        error = weights @ losses
        beta = error / (1 - error)
        assert model.estimator_errors_[i] == pytest.approx(error, rel=1e-9)
        assert model.estimator_weights_[i] == pytest.approx(rate * math.log(1 / beta), rel=1e-9)
        weights = weights * beta ** ((1 - losses) * rate)
        weights /= weights.sum()
    assert model.row_weights_ == pytest.approx(weights, rel=1e-9)


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    running = np.cumsum(weights[order])
    return float(values[order][np.argmax(running >= 0.5 * running[-1])])


@pytest.mark.parametrize("reweight", ["weighting", "resampling"])
def test_predictions_are_weighted_medians_at_every_stage(reweight: str) -> None:
    X, y = task(1)
    model = AdaBoostRegressor(n_estimators=9, reweight=reweight, random_state=1).fit(X, y)
    each = np.stack([estimator.predict(X) for estimator in model.estimators_], axis=1)
    stages = list(model.staged_predict(X))
    assert len(stages) == 9
    for n, stage in enumerate(stages, 1):
        expected = [weighted_median(row, model.estimator_weights_[:n]) for row in each[:, :n]]
        assert stage.tolist() == expected
    assert np.array_equal(stages[-1], model.predict(X))
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)
    assert np.array_equal(
        model.predict(X.astype(np.float32)[:1]), model.predict(X[:1].astype(np.float32))
    )


def test_many_rows_are_predicted_as_few() -> None:
    X, y = task(2)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    many = np.tile(X, (230, 1))  # more than one block
    assert np.array_equal(model.predict(many)[-150:], model.predict(X))


def test_base_estimators_are_trees_of_depth_three_on_drawn_rows() -> None:
    X, y = task(3)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    assert all(isinstance(m, DecisionTreeRegressor) for m in model.estimators_)
    assert {m.get_depth() for m in model.estimators_} == {3}
    assert model.forest_.weight[model.forest_.first_node[:-1]].tolist() == [150.0] * 5
    assert np.array_equal(model.apply(X)[:, 3], model.estimators_[3].apply(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[2] < 0.2


def test_resampling_draws_by_content() -> None:
    X, y = task(4)
    model = AdaBoostRegressor(n_estimators=5, random_state=7)
    expected = clone(model).fit(X, y).fingerprint()
    order = np.random.default_rng(0).permutation(len(X))
    assert clone(model).fit(X[order], y[order]).fingerprint() == expected
    assert clone(model).set_params(random_state=8).fit(X, y).fingerprint() != expected


def test_a_perfect_base_estimator_ends_the_fit() -> None:
    X = np.repeat([[0.0], [1.0], [2.0]], 30, axis=0)
    model = AdaBoostRegressor(reweight="weighting", store_weights=True).fit(X, X[:, 0] * 3)
    assert model.estimator_weights_.tolist() == [1.0] and model.estimator_errors_.tolist() == [0.0]
    assert model.predict(X) == pytest.approx(X[:, 0] * 3, rel=1e-15)
    assert model.round_weights_.shape == (2, 90)


class _Constant(RegressorMixin, BaseEstimator):
    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.value(len(X)) if callable(self.value) else np.full(len(X), self.value)


def test_a_first_base_estimator_no_better_than_chance_is_kept_alone() -> None:
    """All errors but one are the largest: the mean loss exceeds one half."""
    X, y = np.arange(10.0)[:, np.newaxis], np.where(np.arange(10) == 0, 0.0, 1.0)
    model = AdaBoostRegressor(_Constant(0.0)).fit(X, y)
    assert len(model.estimators_) == 1 and model.estimator_errors_[0] == pytest.approx(0.9)
    assert model.predict(X).tolist() == [0.0] * 10


def test_a_later_base_estimator_no_better_than_chance_is_dropped() -> None:
    X, y = task(5)
    model = AdaBoostRegressor(LinearRegression(), n_estimators=200, random_state=0).fit(X, y)
    assert 1 <= len(model.estimators_) < 200
    assert (model.estimator_errors_ < 0.5).all()


@pytest.mark.parametrize("reweight", ["weighting", "resampling"])
def test_other_learners(reweight: str) -> None:
    X, y = task(6)
    model = AdaBoostRegressor(LinearRegression(), n_estimators=4, reweight=reweight, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.3
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="text is available with weald's own trees"):
        model.text()


def test_learners_without_weights_are_drawn_for() -> None:
    X, y = task(7)
    with pytest.raises(ValueError, match='support sample_weight.*reweight="resampling"'):
        AdaBoostRegressor(KNeighborsRegressor(), reweight="weighting").fit(X, y)
    assert AdaBoostRegressor(KNeighborsRegressor(), random_state=0).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize(
    ("value", "fragment"),
    [(np.nan, "predicted nan for row 0"), (lambda n: np.zeros((n, 2)), "shape")],
)
def test_broken_base_estimators_are_named(value, fragment: str) -> None:
    X, y = task(8)
    model = AdaBoostRegressor(_Constant(value))
    with pytest.raises(ValueError, match=rf"Base estimator 1 \(_Constant\) .*{fragment}"):
        model.fit(X, y)
    assert not hasattr(model, "estimator_weights_")


def test_all_weight_on_one_row() -> None:
    X, y = task(9)
    weight = np.full(len(X), 1e-300)
    weight[5] = 1.0
    for reweight in ("weighting", "resampling"):
        model = AdaBoostRegressor(reweight=reweight, random_state=0).fit(X, y, weight)
        assert model.predict(X[5:6])[0] == pytest.approx(y[5], abs=0.01)


def test_check_estimator_with_other_learners() -> None:
    tree = DecisionTreeRegressor(max_depth=3)
    drawn = {
        f"check_sample_weight_equivalence_on_{kind}_data": "draws as many rows as there are"
        for kind in ("dense", "sparse")
    }
    check_estimator(AdaBoostRegressor(tree, n_estimators=5), expected_failed_checks=drawn)
    check_estimator(AdaBoostRegressor(tree, n_estimators=5, reweight="weighting"))

"""Bagging of several outputs, rows of its base estimators, and metadata of its predictions."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.utils import get_tags

from weald import BaggingClassifier, BaggingRegressor, DecisionTreeRegressor, RandomForestRegressor
from weald.ensembles.bagging.diversifiers import Noise

X, Y = make_regression(120, 4, n_targets=2, noise=5.0, random_state=0)
KINDS = [None, KNeighborsRegressor(), DecisionTreeRegressor(max_depth=3)]
every_kind = pytest.mark.parametrize("estimator", KINDS, ids=["default", "neighbours", "tree"])


@every_kind
def test_several_outputs_are_means_of_the_base_estimators(estimator: Any) -> None:
    model = BaggingRegressor(estimator, 15, random_state=0).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (120, 2) and (std >= 0).all()
    each = np.stack([part.predict(X) for part in model])
    np.testing.assert_allclose(mean, each.mean(axis=0))
    np.testing.assert_allclose(std, each.std(axis=0, ddof=1), atol=1e-9)
    assert model.score(X, Y) > 0.7
    assert get_tags(model).target_tags.multi_output


@every_kind
def test_the_order_of_rows_changes_nothing(estimator: Any) -> None:
    order = np.random.default_rng(0).permutation(len(X))
    model = BaggingRegressor(estimator, 5, max_samples=0.5, bootstrap=False, random_state=0)
    whole = sklearn.clone(model).fit(X, Y).predict(X)
    np.testing.assert_allclose(sklearn.clone(model).fit(X[order], Y[order]).predict(X), whole)


def test_draws_depend_on_every_output() -> None:
    model = BaggingRegressor(KNeighborsRegressor(), 5, random_state=0)
    other = Y.copy()
    other[:, 1] = -other[:, 1]
    rows = [sklearn.clone(model).fit(X, y).estimators_samples_[0] for y in (Y, other)]
    assert not np.array_equal(*map(np.sort, rows))


def test_out_of_bag_score_of_the_default_trees() -> None:
    model = BaggingRegressor(n_estimators=60, oob_score=True, random_state=0).fit(X, Y)
    assert model.oob_prediction_.shape == (120, 2)
    assert 0.5 < model.oob_score_ < model.score(X, Y)
    forest = RandomForestRegressor(
        60, max_features=None, min_samples_leaf=1, oob_score=True, random_state=0
    ).fit(X, Y)
    np.testing.assert_array_equal(model.oob_prediction_, forest.oob_prediction_)
    with pytest.raises(AttributeError, match="support one output"):
        _ = model.oob_


@pytest.mark.parametrize("setting", [{"oob_score": True}, {"weights": "oob"}])
def test_out_of_bag_estimates_of_others_are_refused(setting: dict) -> None:
    model = BaggingRegressor(KNeighborsRegressor(), 30, **setting)
    assert not get_tags(model).target_tags.multi_output
    with pytest.raises(ValueError, match="support one output .* y has 2 columns"):
        model.fit(X, Y)


def test_noise_of_several_targets() -> None:
    noisy = BaggingRegressor(Ridge(), 20, diversifiers=[Noise(target=0.5)], random_state=0).fit(
        X, Y
    )
    std = noisy.predict(X, return_std=True)[1]
    plain = BaggingRegressor(Ridge(), 20, random_state=0).fit(X, Y).predict(X, return_std=True)[1]
    assert (std.mean(axis=0) > 1.2 * plain.mean(axis=0)).all()


def test_a_base_estimator_of_one_output_is_named() -> None:
    assert not get_tags(BaggingRegressor(SVR())).target_tags.multi_output
    with pytest.raises(ValueError, match=r"estimators_\[0\].*1d array"):
        BaggingRegressor(SVR(), 2).fit(X, Y)


@pytest.mark.parametrize("setting", [{}, {"max_samples": 0.5, "bootstrap": False}])
def test_a_fit_on_the_rows_of_a_base_estimator_repeats_it(setting: dict) -> None:
    labels = (Y[:, 0] > 0).astype(int)
    model = BaggingClassifier(LogisticRegression(), 4, random_state=0, **setting)
    weight = np.where(np.arange(120) % 7 == 0, 0.0, 1.0)
    model.fit(X, labels, weight)
    for part, rows in zip(model, model.estimators_samples_, strict=True):
        assert (weight[rows] > 0).all()
        again = LogisticRegression().fit(X[rows], labels[rows])
        assert np.array_equal(again.coef_, part.coef_)


class Noting(GaussianNB):
    """Notes the metadata of its predictions."""

    def predict_proba(self, X: Any, colour: Any = None) -> Any:
        self.noted_ = colour
        return super().predict_proba(X)


def test_metadata_of_predictions_are_routed_to_the_base_estimators() -> None:
    labels = (Y[:, 0] > 0).astype(int)
    model = BaggingClassifier(Noting(), 3, random_state=0).fit(X, labels)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        with pytest.raises(TypeError, match=rf"{method}\(\) got 'colour', which requires metadata"):
            getattr(model, method)(X, colour="red")
    with sklearn.config_context(enable_metadata_routing=True):
        asking = Noting().set_predict_proba_request(colour=True)
        model = BaggingClassifier(asking, 3, random_state=0).fit(X, labels)
        for method in ("predict", "predict_proba", "predict_log_proba"):
            expected = getattr(model, method)(X)
            assert [part.noted_ for part in model] == [None] * 3
            assert np.array_equal(getattr(model, method)(X, colour=method), expected)
            assert [part.noted_ for part in model] == [method] * 3


def test_an_argument_that_is_nearly_right_is_named() -> None:
    model = BaggingRegressor(n_estimators=2).fit(X, Y[:, 0])
    with pytest.raises(TypeError, match="Did you mean 'return_std'"):
        model.predict(X, return_sdt=True)

"""Error messages of models without out-of-bag predictions and of invalid scorers."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import weald
from weald.ensembles.bagging.diversifiers import BayesianBootstrap, Seeds

X = np.arange(80.0).reshape(40, 2)
Y = np.arange(40.0) % 7
OF_NUMBERS = ["predict_interval", "predict_quantiles", "oob_permutation_importance"]
OF_CLASSES = ["predict_set", "member_error_632"]


@pytest.mark.parametrize(
    ("model", "methods", "advice"),
    [
        (
            weald.BoostedTreesRegressor(quality="fast", n_estimators=2),
            OF_NUMBERS,
            r"^Use .*Regressor\(n_bags=5\)",
        ),
        (
            weald.BoostedTreesClassifier(quality="fast", n_estimators=2),
            OF_CLASSES,
            r"^Use .*Classifier\(n_bags=5",
        ),
        (weald.RandomForestRegressor(3, bootstrap=False), OF_NUMBERS, "Fit with bootstrap=True"),
        (weald.BaggingClassifier(n_estimators=2, bootstrap=False), OF_CLASSES, "bootstrap=True"),
    ],
)
def test_methods_that_cannot_work_are_not_there(model, methods, advice) -> None:
    fitted = model.fit(X, Y if methods is OF_NUMBERS else Y > 3)
    for method in methods:
        assert not hasattr(fitted, method)
        with pytest.raises(AttributeError, match=advice):
            getattr(fitted, method)


def test_methods_that_can_work_are_there() -> None:
    assert hasattr(weald.BoostedTreesRegressor(quality="fast", n_bags=2), "predict_interval")
    bags = weald.BoostedTreesRegressor(
        quality="fast", n_estimators=2, n_bags=5, random_state=0
    ).fit(X, Y)
    assert bags.predict_interval(X).shape == (40, 2)
    with pytest.raises(NotFittedError):
        weald.RandomForestRegressor().predict_interval(X)


def test_the_error_without_out_of_bag_predictions_begins_with_advice() -> None:
    forest = weald.RandomForestRegressor(3).fit(X, Y)
    for method in (forest.predict_interval, forest.predict_quantiles):
        with pytest.raises(ValueError, match="^Fit with oob_score=True: .* during fit only.$"):
            method(X)


def test_the_error_without_out_of_bag_predictions_names_the_cause() -> None:
    forest = weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="by prune_oob.* use those of the other model"):
        _ = forest.prune_oob(X, Y).model.oob_.predictions
    boosters = weald.BoostedTreesRegressor(n_bags=2, n_estimators=5, quality="fast").fit(X, Y)
    assert len(boosters.oob_.predictions) == 40
    with pytest.raises(ValueError, match="by truncate .* or fit one with n_estimators=3"):
        _ = boosters.truncate(3).oob_.predictions


@pytest.mark.parametrize("way", [BayesianBootstrap(), Seeds()])
def test_a_diversifier_that_shows_all_rows_is_named(way) -> None:
    name = f"diversifiers contains {type(way).__name__}, with which every base estimator"
    bag = weald.BaggingRegressor(n_estimators=2, diversifiers=[way], bootstrap=True)
    with pytest.raises(ValueError, match=name):
        bag.set_params(oob_score=True).fit(X, Y)
    with pytest.raises(AttributeError, match=name):
        _ = bag.set_params(oob_score=False).fit(X, Y).oob_


def test_a_metric_is_no_scorer() -> None:
    def feval(y_true, y_pred):
        return 0.0

    model = weald.BoostedTreesRegressor(quality="fast", early_stopping=True, scoring=feval)
    text = "callable(estimator, X, y) that returns a number to maximise; got feval(y_true, "
    with pytest.raises(TypeError, match=re.escape(text)) as raised:
        model.fit(X, Y)
    assert "sklearn.metrics.make_scorer(feval)" in str(raised.value)

"""Base estimators whose predictions are no numbers, no probabilities or too large."""

from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import weald
from weald import theory

X = np.random.default_rng(0).normal(size=(60, 3))
NUMBERS, LABELS = X[:, 0] + 1.0, (X[:, 0] > 0).astype(int)

PROBABILITIES: dict[str, tuple[Any, str]] = {
    "negative": (lambda p: np.column_stack([-p[:, 0], 1 + p[:, 0]]), "not between 0 and 1"),
    "above one": (lambda p: 3 * p, "not between 0 and 1 in"),
    "of a larger sum": (lambda p: 1.5 * p, "do not sum to 1 in"),
    "of a smaller sum": (lambda p: 0 * p, "do not sum to 1 in"),
    "huge": (lambda p: 1.7e308 * p, r"that are too large|not between 0 and 1"),
    "complex": (lambda p: p + 0j, "returned complex numbers"),
    "masked": (lambda p: np.ma.masked_array(p, p > 0.4), "returned a masked array"),
    "text": (lambda p: p.astype(str), "; expected numbers"),
    "dates": (lambda p: np.full(p.shape, np.datetime64("2024")), "; expected numbers"),
    "one column": (lambda p: p[:, :1], r"1 columns? for 2 classes|must return shape"),
    "one dimension": (lambda p: p[:, 1], r"1 columns? for 2 classes|must return one prediction"),
}

PREDICTIONS: dict[str, tuple[Any, str]] = {
    "huge": (lambda p: np.full(len(p), 1.7e308), "that are too large|predicted 1.7e"),
    "complex": (lambda p: p + 0j, "returned complex numbers"),
    "masked": (lambda p: np.ma.masked_array(p, p > 0), "returned a masked array"),
    "text": (lambda p: np.full(len(p), "x"), "; expected numbers"),
    "bytes": (lambda p: np.full(len(p), b"x"), "; expected numbers"),
    "dates": (lambda p: np.full(len(p), np.datetime64("2024-01-01")), "; expected numbers"),
    "durations": (lambda p: np.full(len(p), np.timedelta64(1, "D")), "; expected numbers"),
    "records": (lambda p: np.zeros(len(p), dtype=[("a", "f8")]), "; expected numbers"),
    "objects": (lambda p: np.full(len(p), object()), "; expected numbers"),
    "whole numbers beyond floats": (lambda p: np.full(len(p), 10**400), "; expected numbers"),
    "None": (lambda p: None, "shape|no numbers"),
    "two columns": (lambda p: np.column_stack([p, p]), r"2 columns instead of 1|shape \(60, 2\)"),
}


class OddClassifier(ClassifierMixin, BaseEstimator):
    def __init__(self, way: str = "", labels: Any = None) -> None:
        self.way, self.labels = way, labels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        honest = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        return PROBABILITIES[self.way][0](honest) if self.way else honest

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0] if self.labels is None else self.labels)


class OddRegressor(RegressorMixin, BaseEstimator):
    def __init__(self, way: str = "") -> None:
        self.way = way

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        honest = np.asarray(X)[:, 0]
        return PREDICTIONS[self.way][0](honest) if self.way else honest


def classifiers(odd: Any) -> dict[str, Any]:
    pair = [("good", weald.DecisionTreeClassifier()), ("odd", odd)]
    return {
        "Estimator 'odd' of VotingClassifier": weald.VotingClassifier(pair, voting="soft"),
        "Estimator 'odd' of StackingClassifier": weald.StackingClassifier(pair, cv=2),
        "Estimator 'odd' of BlendingClassifier": weald.BlendingClassifier(pair, random_state=0),
        "Estimator 'estimators_": weald.BaggingClassifier(odd, n_estimators=2, random_state=0),
        "predict_proba of": weald.GradientBoostingClassifier(init=odd, n_estimators=2),
        "Estimator 'final_estimator'": weald.StackingClassifier(pair[:1], odd, cv=2),
    }


def regressors(odd: Any) -> dict[str, Any]:
    pair = [("good", weald.DecisionTreeRegressor()), ("odd", odd)]
    return {
        "Estimator 'odd' of VotingRegressor": weald.VotingRegressor(pair),
        "Estimator 'odd' of StackingRegressor": weald.StackingRegressor(pair, cv=2),
        "Estimator 'odd' of BlendingRegressor": weald.BlendingRegressor(pair, random_state=0),
        "Estimator 'estimators_": weald.BaggingRegressor(odd, n_estimators=2, random_state=0),
        "Base estimator 1": weald.AdaBoostRegressor(odd, n_estimators=2, random_state=0),
        "predict of OddRegressor": weald.GradientBoostingRegressor(estimator=odd, n_estimators=2),
        "predict of Odd": weald.GradientBoostingRegressor(init=odd, n_estimators=2),
        "Estimator 'final_estimator'": weald.StackingRegressor(pair[:1], odd, cv=2),
    }


@pytest.mark.parametrize("way", PROBABILITIES)
@pytest.mark.parametrize("name", classifiers(None))
def test_odd_probabilities_name_the_base_estimator(name: str, way: str) -> None:
    model = classifiers(OddClassifier(way))[name]
    with pytest.raises(ValueError, match=PROBABILITIES[way][1]) as raised:
        model.fit(X, LABELS).predict_proba(X)
    assert name in str(raised.value)


@pytest.mark.parametrize("way", PREDICTIONS)
@pytest.mark.parametrize("name", regressors(None))
def test_odd_predictions_name_the_base_estimator(name: str, way: str) -> None:
    if way == "huge" and name == "Base estimator 1":
        return  # a median takes them
    if way == "two columns" and name in (
        "Estimator 'odd' of StackingRegressor",
        "Estimator 'odd' of BlendingRegressor",
        "Estimator 'final_estimator'",
    ):
        return  # a final estimator may be fitted on all columns, and predict several
    model = regressors(OddRegressor(way))[name]
    with pytest.raises(ValueError, match=PREDICTIONS[way][1]) as raised:
        model.fit(X, NUMBERS).predict(X)
    assert name in str(raised.value)


@pytest.mark.parametrize("labels", ["x", 0.5, 1j, np.datetime64("2024"), b"x", -5, object()])
def test_odd_labels_name_the_base_estimator(labels: Any) -> None:
    odd = OddClassifier(labels=labels)
    pair = [("good", weald.DecisionTreeClassifier()), ("odd", odd)]
    models = {
        "Estimator 'odd' of Voting": weald.VotingClassifier(pair, voting="hard"),
        "Estimator 'odd' of Stacking": weald.StackingClassifier(pair, cv=2, stack_method="predict"),
        "Estimator 'final_estimator'": weald.StackingClassifier(pair[:1], odd, cv=2),
        "Base estimator 1": weald.AdaBoostClassifier(odd, n_estimators=2, random_state=0),
    }
    for name, model in models.items():
        with pytest.raises(ValueError, match="none of the") as raised:
            model.fit(X, LABELS).predict(X)
        assert name in str(raised.value)


def test_labels_of_a_final_estimator_may_be_of_any_type() -> None:
    """Class indices may be floats or booleans."""
    for label in (1.0, True, np.float32(1)):
        final = OddClassifier(labels=label)
        model = weald.StackingClassifier([("tree", weald.DecisionTreeClassifier())], final, cv=2)
        assert (model.fit(X, LABELS).predict(X) == 1).all()


def test_what_rounding_does_to_probabilities_is_no_error() -> None:
    class Rounding(OddClassifier):
        def predict_proba(self, X: Any) -> Any:
            return np.tile(np.array([1.0 + 2e-16, -1e-17]), (len(X), 1)) * self.scale

    for scale in (1.0, np.float32(0.9999), np.float16(1)):
        Rounding.scale = scale
        pair = [("a", Rounding()), ("b", Rounding())]
        shares = weald.VotingClassifier(pair, voting="soft").fit(X, LABELS).predict_proba(X)
        assert shares.min() >= 0.0 and shares.max() <= 1.0


def test_theory_refuses_odd_predictions() -> None:
    for way in ("complex", "text", "masked"):
        with pytest.raises(ValueError, match=PREDICTIONS[way][1]):
            theory.error_632(OddRegressor(way), X, NUMBERS, n_repeats=3, random_state=0)
    for way in ("negative", "of a larger sum", "complex"):
        with pytest.raises(ValueError, match=PROBABILITIES[way][1]):
            theory.error_632(
                OddClassifier(way), X, LABELS, loss="log_loss", n_repeats=3, random_state=0
            )


@pytest.mark.parametrize("score", [None, "good", np.ones(2), 1j])
def test_an_out_of_bag_score_that_is_no_number(score: Any) -> None:
    for model, y in (
        (weald.RandomForestClassifier(20, oob_score=lambda *_: score, random_state=0), LABELS),
        (weald.RandomForestRegressor(20, oob_score=lambda *_: score, random_state=0), NUMBERS),
    ):
        with pytest.raises(ValueError, match="oob_score=.* returned "):
            model.fit(X, y)

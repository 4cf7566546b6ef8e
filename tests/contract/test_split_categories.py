"""Every split search partitions categories into sets, with the same invariances."""

from typing import Any

import numpy as np
import pytest

import weald
from contract.frames import container, labels
from contract.subjects import EVERY_CLASSIFIER, EVERY_ESTIMATOR, admits, answers, has, quick

FRAMED = [e for e in EVERY_ESTIMATOR if has(e, "categorical_features")]
ADABOOST = [weald.AdaBoostClassifier, weald.AdaBoostRegressor]
SEARCHES = [
    (estimator, parameters)
    for estimator in FRAMED
    for parameters in ({"exact": True}, {"max_bins": 1000}, {"growth": "symmetric"})
    if admits(estimator, *next(iter(parameters.items())))
]


def assert_laws(model: Any, frame: Any, y: np.ndarray) -> None:
    """Row order, threads, scale of weights, names of categories, unseen categories."""

    def fitted(X: Any, y: Any, weight: Any = None, **parameters: Any) -> Any:
        from sklearn.base import clone

        return clone(model).set_params(**parameters).fit(X, y, sample_weight=weight)

    whole = fitted(frame, y)
    assert (whole.forest_.category_set >= 0).any()
    again = fitted(frame[::-1], y[::-1], n_jobs=2)
    assert again.fingerprint() == whole.fingerprint()
    weight = 1 + np.arange(len(y)) % 3
    weighted = fitted(frame, y, weight)
    order = np.argsort(np.cos(np.arange(len(y))))
    moved = fitted(frame.iloc[order], y[order], weight[order] * 4, n_jobs=2)
    assert answers(moved, frame).tolist() == answers(weighted, frame).tolist()
    some = weight > 1
    absent = fitted(frame, y, some.astype(float))
    assert absent.fingerprint() == fitted(frame[some], y[some]).fingerprint()
    unseen, gap = frame.assign(city="Atlantis"), frame.assign(city=None)
    assert answers(whole, unseen).tolist() == answers(whole, gap).tolist()
    # Categories have no order: names that sort differently change no prediction.
    names = dict(zip(sorted(set(frame["city"].dropna())), "zyxwvu", strict=False))
    renamed = frame.assign(city=frame["city"].map(names))
    assert answers(fitted(renamed, y), renamed).tolist() == answers(whole, frame).tolist()


@pytest.mark.parametrize(("estimator", "parameters"), SEARCHES)
def test_every_search(estimator, parameters: dict[str, Any]) -> None:
    frame, y = container("pandas"), labels()
    assert_laws(quick(estimator, **parameters), frame, y)


@pytest.mark.parametrize("estimator", ADABOOST)
def test_adaboost_by_weights(estimator) -> None:
    assert_laws(quick(estimator), container("pandas"), labels())


@pytest.mark.parametrize("estimator", ADABOOST)
@pytest.mark.parametrize("reweight", ["weighting", "resampling"])
@pytest.mark.parametrize("member", [None, "tree"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "objects"])
def test_adaboost(estimator, reweight: str, member: str | None, kind: str) -> None:
    frame, y = container(kind), labels()
    own = weald.DecisionTreeClassifier if estimator in EVERY_CLASSIFIER else None
    part = None if member is None else (own or weald.DecisionTreeRegressor)(max_depth=2)
    model = quick(estimator, reweight=reweight).set_params(estimator=part).fit(frame, y)
    assert answers(model, frame).shape[0] == len(y)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_[1] > 0
    assert model.feature_importances_.sum() == pytest.approx(1)
    *_, last = model.staged_predict(frame)
    assert last.tolist() == model.predict(frame).tolist()
    if member is None:
        assert (model.forest_.category_set >= 0).any()
        alone = [one.predict(frame) for one in model.estimators_]
        assert all(len(one) == len(y) for one in alone)
    else:
        # A user's base estimator gets categories as codes.
        assert model.estimator_.categorical_features == [1]
        assert any((one.forest_.category_set >= 0).any() for one in model.estimators_)

"""The monitor callback of gradient boosting."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from weald import GradientBoostingClassifier, GradientBoostingRegressor


def task() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, X[:, 0] * 3 + X[:, 1] ** 2


def test_is_called_after_every_round_and_may_stop() -> None:
    X, y = task()
    rounds: list[int] = []

    def monitor(i: int, model, held: dict) -> bool:
        rounds.append(i)
        assert held["self"] is model and held["i"] == i
        assert model.n_estimators_ == i + 1 and len(model.train_score_) == i + 1
        assert held["raw_predictions"][:, 0] == pytest.approx(model.predict(X), rel=1e-12)
        return i == 4

    model = GradientBoostingRegressor(n_estimators=20).fit(X, y, monitor=monitor)
    assert rounds == [0, 1, 2, 3, 4]
    assert model.n_estimators_ == 5
    plain = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    assert model.fingerprint() == plain.fingerprint()


@pytest.mark.parametrize("more", [{"subsample": 0.5}, {"estimator": Ridge()}, {"verbose": 0}])
def test_a_monitor_that_never_stops_changes_nothing(more) -> None:
    X, y = task()
    model = GradientBoostingRegressor(n_estimators=6, random_state=0, **more)
    expected = model.fit(X, y).predict(X)
    assert np.array_equal(model.fit(X, y, monitor=lambda *_: None).predict(X), expected)


def test_of_classes_and_with_warm_start() -> None:
    X, y = task()
    labels = np.array(["a", "b", "c"])[np.argsort(np.argsort(y)) * 3 // len(y)]
    numbers: list[int] = []

    def monitor(i: int, model, held: dict) -> None:
        numbers.append(i)
        assert set(model.predict(X)) <= set("abc")
        assert held["raw_predictions"].shape == (len(X), 3)

    model = GradientBoostingClassifier(n_estimators=2, warm_start=True)
    model.fit(X, labels, monitor=monitor).set_params(n_estimators=4).fit(X, labels, monitor=monitor)
    assert numbers == [0, 1, 2, 3]
    assert model.n_estimators_ == 4


def test_an_error_in_it_leaves_the_model_as_it_was() -> None:
    X, y = task()
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    before = model.fingerprint()

    def monitor(i: int, model, held: dict) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(n_estimators=9).fit(X, y, monitor=monitor)
    assert model.fingerprint() == before
    with pytest.raises(TypeError, match=r"monitor must be a callable.*got int"):
        model.fit(X, y, monitor=3)

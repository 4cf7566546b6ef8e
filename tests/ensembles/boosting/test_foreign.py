"""Foreign regressors as base estimators of gradient boosting."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator

from weald import GradientBoostingClassifier, GradientBoostingRegressor


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 5)) / 8.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n) / 5


def classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * n_classes // len(y)


ESTIMATORS = {
    "linear": Ridge(),
    "neighbours": KNeighborsRegressor(),
    "svr": SVR(),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
    "tree": DecisionTreeRegressor(max_depth=2),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_regressor_can_be_a_base_estimator(name: str) -> None:
    X, y = data()
    model = GradientBoostingRegressor(estimator=ESTIMATORS[name], n_estimators=10).fit(X, y)
    assert np.all(np.diff(model.train_score_) <= 1e-12)
    assert model.estimators_.shape == (10, 1)
    assert type(model.estimators_[0, 0]) is type(ESTIMATORS[name])
    labels = classes(y, 3)
    model = GradientBoostingClassifier(estimator=ESTIMATORS[name], n_estimators=5).fit(X, labels)
    assert model.score(X, labels) > 0.45
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    for method in ("apply", "fingerprint", "text"):
        assert not hasattr(model, method)
    with pytest.raises(AttributeError) as raised:
        _ = model.apply
    assert "not weald's own trees" in str(raised.value)


@pytest.mark.parametrize("name", ["linear", "neighbours", "pipeline", "tree"])
def test_integer_weights_are_repetitions_for_any_base_estimator(name: str) -> None:
    X, y = data(80)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = GradientBoostingRegressor(estimator=ESTIMATORS[name], n_estimators=4)
    weighted = clone(model).fit(X, y, weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), abs=1e-8)


def test_weights_that_a_base_estimator_does_not_support() -> None:
    X, y = data(60)
    model = GradientBoostingRegressor(estimator=KNeighborsRegressor(), n_estimators=2)
    with pytest.raises(ValueError, match="KNeighborsRegressor does not support sample weights"):
        model.fit(X, y, np.linspace(0.1, 1, 60))
    model.set_params(subsample=0.5, random_state=0).fit(X, y, np.resize([1, 2], 60))
    pipeline = GradientBoostingRegressor(estimator=ESTIMATORS["pipeline"], n_estimators=2)
    pipeline.fit(X, y, np.linspace(0.1, 1, 60))


def test_tree_parameters_are_refused_with_foreign_base_estimators() -> None:
    X, y = data(60)
    with pytest.raises(ValueError, match="max_depth=4 is a parameter of weald's own trees"):
        GradientBoostingRegressor(estimator=Ridge(), max_depth=4).fit(X, y)


class Broken(Ridge):
    """Predicts NaN, or too many values."""

    def __init__(self, how: str = "nan", alpha: float = 1.0) -> None:
        super().__init__(alpha=alpha)
        self.how = how

    def predict(self, X):
        values = super().predict(X)
        return np.where(values > 0, np.nan, values) if self.how == "nan" else np.tile(values, 2)


def test_invalid_predictions_of_base_estimators() -> None:
    X, y = data(60)
    with pytest.raises(ValueError, match="predict of Broken returned NaN or infinity"):
        GradientBoostingRegressor(estimator=Broken()).fit(X, y)
    with pytest.raises(ValueError, match="must return one prediction per row for 60 rows"):
        GradientBoostingRegressor(estimator=Broken(how="long")).fit(X, y)


def test_base_estimators_with_a_random_state_are_seeded() -> None:
    X, y = data()
    base = DecisionTreeRegressor(max_features=1, max_depth=3)
    fits = [
        GradientBoostingRegressor(estimator=base, n_estimators=3, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(fits[0].predict(X), fits[1].predict(X))
    assert not np.array_equal(fits[0].predict(X), fits[2].predict(X))
    states = {tree.random_state for tree in fits[0].estimators_[:, 0]}
    assert len(states) == 3


def sklearn_checks():
    for model in (
        GradientBoostingRegressor(estimator=Ridge(), n_estimators=10),
        GradientBoostingClassifier(estimator=Ridge(), n_estimators=5),
        GradientBoostingRegressor(init=Ridge(), n_estimators=20),
    ):
        for checked, check in estimator_checks_generator(model):
            name = getattr(check, "func", check).__name__
            yield pytest.param(checked, check, id=f"{type(model).__name__}-{name}")


@pytest.mark.parametrize(("model", "check"), list(sklearn_checks()))
def test_scikit_learn_check_with_foreign_base_estimators(model, check) -> None:
    check(model)

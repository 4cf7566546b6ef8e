"""Our boosted trees beside scikit-learn's histogram boosting at equal settings."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from weald import BoostedTreesClassifier, BoostedTreesRegressor

SHARED = {
    "learning_rate": 0.2,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 20,
    "l2_regularization": 0.5,
    "max_bins": 255,
    "early_stopping": False,
}


@pytest.fixture(autouse=True)
def one_thread():
    """Theirs spin while they wait for each other, which is slow on a busy machine."""
    with threadpool_limits(1):
        yield


def table(seed: int, n: int = 600) -> np.ndarray:
    """Few values a column, so that both cut in the same places."""
    return np.random.default_rng(seed).integers(0, 30, (n, 4)).astype(np.float64)


def signal(X: np.ndarray, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed + 50).normal(size=len(X))
    return np.sin(X[:, 0] / 5) * 3 + X[:, 1] / 10 + (X[:, 2] > 12) * X[:, 3] / 9 + noise


def settings(**more):
    return {**SHARED, **more}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_regression(seed: int, missing: float) -> None:
    X = table(seed)
    y = signal(X, seed)
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    ours = BoostedTreesRegressor(quality="fast", **settings(n_estimators=20)).fit(X, y)
    theirs = HistGradientBoostingRegressor(**settings(max_iter=20)).fit(X, y)
    # They keep gradients in single precision.
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_regression_with_weights(seed: int) -> None:
    X = table(seed)
    y = signal(X, seed)
    weight = np.random.default_rng(seed).integers(1, 9, len(y)) / 8 + 1 / 64
    ours = BoostedTreesRegressor(quality="fast", **settings(n_estimators=10, min_child_weight=0.0))
    theirs = HistGradientBoostingRegressor(**settings(max_iter=10))
    ours.fit(X, y, weight)
    theirs.fit(X, y, weight)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classification(seed: int, n_classes: int) -> None:
    X = table(seed)
    y = np.argsort(np.argsort(signal(X, seed))) * n_classes // len(X)
    ours = BoostedTreesClassifier(quality="fast", **settings(n_estimators=10)).fit(X, y)
    theirs = HistGradientBoostingClassifier(**settings(max_iter=10)).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-3)


def test_quality_at_default_settings() -> None:
    """Default settings, other people's data: no worse than theirs by more than chance."""
    from sklearn.model_selection import KFold, cross_val_score

    X, progression = load_diabetes(return_X_y=True)
    y = progression > 140
    folds = KFold(4, shuffle=True, random_state=0)
    scores = [
        cross_val_score(model, X, y, cv=folds, scoring="roc_auc").mean()
        for model in (
            BoostedTreesClassifier(quality="fast", n_estimators=50),
            HistGradientBoostingClassifier(max_iter=50, early_stopping=False),
        )
    ]
    assert scores[0] > scores[1] - 0.02

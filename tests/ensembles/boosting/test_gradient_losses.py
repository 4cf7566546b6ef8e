"""Gradient boosting with user-defined losses and with soft targets."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from weald import GradientBoostingClassifier, GradientBoostingRegressor


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 5)) / 8.0
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n) / 5


def classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * n_classes // len(y)


# ---- user-defined losses ----


class GradientOnly:
    def gradient(self, y, score):
        return np.tanh(score - y)


class Whole(GradientOnly):
    def gradient_hessian(self, y, score):
        p = 1 / (1 + np.exp(-score))
        return p - y, p * (1 - p)

    def loss(self, y, score):
        return np.logaddexp(0, score) - y * score


class Squared:
    def gradient(self, y, score):
        return score - y

    def loss(self, y, score):
        return (score - y) ** 2 / 2


def test_a_loss_of_a_gradient_alone() -> None:
    X, y = data()
    model = GradientBoostingRegressor(loss=GradientOnly(), n_estimators=40).fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.isnan(model.train_score_).all()
    with pytest.raises(ValueError, match=r"has no method loss\(y, score\)"):
        GradientBoostingRegressor(loss=GradientOnly(), n_iter_no_change=2).fit(X, y)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_a_user_defined_squared_error_equals_the_builtin(weights: str) -> None:
    X, y = data()
    rng = np.random.default_rng(0)
    weight = {"none": None, "whole": rng.integers(0, 3, 300), "fractional": rng.random(300)}[
        weights
    ]
    settings = {"n_estimators": 10, "step": "line_search"}
    ours = GradientBoostingRegressor(**settings).fit(X, y, weight)
    theirs = GradientBoostingRegressor(loss=Squared(), **settings).fit(X, y, weight)
    assert theirs.predict(X) == pytest.approx(ours.predict(X), abs=1e-8)
    stopped = GradientBoostingRegressor(loss=Squared(), n_iter_no_change=2, random_state=0)
    assert stopped.fit(X, y, weight).n_estimators_ > 2


def test_a_user_defined_log_loss_equals_the_builtin() -> None:
    X, y = data()
    labels = np.array(["no", "yes"])[classes(y, 2)]
    ours = GradientBoostingClassifier(n_estimators=10).fit(X, labels)
    theirs = GradientBoostingClassifier(loss=Whole(), n_estimators=10).fit(X, labels)
    assert theirs.predict_proba(X) == pytest.approx(ours.predict_proba(X), abs=1e-9)
    assert np.array_equal(theirs.predict(X), ours.predict(X))


# ---- soft targets ----


def test_kl_of_labels_is_log_loss() -> None:
    X, y = data()
    for n_classes in (2, 3):
        labels = classes(y, n_classes)
        kl = GradientBoostingClassifier(loss="kl", n_estimators=5).fit(X, labels)
        log = GradientBoostingClassifier(n_estimators=5).fit(X, labels)
        assert kl.fingerprint() == log.fingerprint()
        hard = np.eye(n_classes)[labels]
        assert (
            GradientBoostingClassifier(loss="kl", n_estimators=5).fit(X, hard).fingerprint()
            == kl.fingerprint()
        )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("more", [{}, {"subsample": 0.5}, {"estimator": Ridge()}])
def test_probabilities_are_fitted(n_classes: int, more: dict) -> None:
    X, _ = data(500)
    scores = np.stack([np.sin(X[:, 0] + k) * 2 for k in range(n_classes)], axis=1)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    model = GradientBoostingClassifier(loss="kl", n_estimators=60, random_state=0, **more)
    predicted = model.fit(X, shares).predict_proba(X)
    assert model.classes_.tolist() == list(range(n_classes))
    start = np.abs(shares - shares.mean(axis=0)).mean()
    assert np.abs(predicted - shares).mean() < (0.25 if "estimator" not in more else 0.99) * start
    order = np.random.default_rng(0).permutation(len(X))
    again = clone(model).fit(X[order], shares[order])
    assert again.predict_proba(X) == pytest.approx(predicted, abs=1e-9)


def test_invalid_probabilities() -> None:
    X, _ = data(30)
    shares = np.full((30, 3), 1 / 3)
    shares[7] = [0.5, 0.6, -0.1]
    with pytest.raises(ValueError, match="row 7 is"):
        GradientBoostingClassifier(loss="kl").fit(X, shares)
    shares[7] = [0.5, 0.6, 0.1]
    with pytest.raises(ValueError, match="adding up to 1"):
        GradientBoostingClassifier(loss="kl").fit(X, shares)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        GradientBoostingClassifier().fit(X, np.full((30, 3), 1 / 3))
    with pytest.raises(ValueError, match="is fitted to class labels"):
        GradientBoostingClassifier(loss="kl", init=LogisticRegression()).fit(
            X, np.full((30, 3), 1 / 3)
        )


# ---- tables of a few rows ----


@pytest.mark.parametrize("step", ["auto", "leaf", "line_search", "constant"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma"]
)
def test_tables_of_a_few_rows(loss: str, step: str) -> None:
    """Predictions are finite for every loss and step."""
    for n in (1, 2, 3, 4):
        for y in (np.zeros(n), np.ones(n), np.arange(n) + 0.0, 1e-300 * np.arange(n)):
            y = y + 1e-300 if loss == "gamma" else y
            for more in ({}, {"subsample": 0.5}, {"n_iter_no_change": 1}, {"init": Ridge()}):
                if n == 1 and "n_iter_no_change" in more:
                    continue
                model = GradientBoostingRegressor(
                    loss=loss, step=step, n_estimators=3, random_state=1, **more
                )
                predictions = model.fit(np.arange(n)[:, np.newaxis], y).predict([[0.0], [9.0]])
                assert np.isfinite(predictions).all(), (n, y, more)

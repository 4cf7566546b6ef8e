"""Boosted trees of one score and many rows learn from derivatives that are never written down."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosting import tree_learners
from weald.ensembles.boosting.loop import Slopes

MODELS = {
    "log_loss": lambda **more: BoostedTreesClassifier(**more),
    "exponential": lambda **more: BoostedTreesClassifier(loss="exponential", **more),
    "balanced": lambda **more: BoostedTreesClassifier(class_weight="balanced", **more),
    "squared_error": lambda **more: BoostedTreesRegressor(**more),
    "absolute_error": lambda **more: BoostedTreesRegressor(loss="absolute_error", **more),
    "huber": lambda **more: BoostedTreesRegressor(loss="huber", **more),
    "quantile": lambda **more: BoostedTreesRegressor(loss="quantile", quantile=0.2, **more),
    "one_level": lambda **more: BoostedTreesRegressor(loss="quantile", quantile=[0.2], **more),
    "poisson": lambda **more: BoostedTreesRegressor(loss="poisson", **more),
    "subsample": lambda **more: BoostedTreesRegressor(subsample=0.5, **more),
    "exact": lambda **more: BoostedTreesRegressor(exact=True, **more),
    "stopping": lambda **more: BoostedTreesClassifier(
        early_stopping=True, n_iter_no_change=2, **more
    ),
}


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    of_classes = name in ("log_loss", "exponential", "balanced", "stopping")
    y = (X[:, 0] + rng.normal(size=600) > 0) if of_classes else np.abs(X[:, 1]) + rng.random(600)
    return X, y


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_same_model_as_from_written_derivatives(name, weights, monkeypatch) -> None:
    X, y = rows(name)
    rng = np.random.default_rng(2)
    weight = {None: None, "whole": rng.integers(0, 3, 600), "fractions": rng.random(600)}[weights]
    model = MODELS[name](n_estimators=6, random_state=0)
    found = model.fit(X, y, sample_weight=weight).fingerprint()
    monkeypatch.setattr(tree_learners, "_MANY_ROWS", 0)
    assert model.fit(X, y, sample_weight=weight).fingerprint() == found


def test_no_room_is_taken_for_them(monkeypatch) -> None:
    def refuse(self: Slopes) -> None:
        raise AssertionError("derivatives of all rows")

    monkeypatch.setattr(Slopes, "pair", property(refuse))
    X, y = rows("log_loss")
    with pytest.raises(AssertionError):
        BoostedTreesClassifier(n_estimators=2).fit(X, y)
    monkeypatch.setattr(tree_learners, "_MANY_ROWS", 0)
    assert BoostedTreesClassifier(n_estimators=2).fit(X, y).n_estimators_ == 2
    with pytest.raises(AssertionError):
        BoostedTreesClassifier(n_estimators=2).fit(X, y * 1 + (X[:, 2] > 0))

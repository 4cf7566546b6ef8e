"""Boosted trees of one score and many rows: derivatives are computed on the fly."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.data import targets
from weald.ensembles.rounds import tree_learners
from weald.ensembles.rounds.loop import DerivativeBuffers

MODELS = {
    "log_loss": lambda **more: BoostedTreesClassifier(quality="fast", **more),
    "exponential": lambda **more: BoostedTreesClassifier(
        quality="fast", loss="exponential", **more
    ),
    "balanced": lambda **more: BoostedTreesClassifier(
        quality="fast", class_weight="balanced", **more
    ),
    "squared_error": lambda **more: BoostedTreesRegressor(quality="fast", **more),
    "absolute_error": lambda **more: BoostedTreesRegressor(
        quality="fast", loss="absolute_error", **more
    ),
    "huber": lambda **more: BoostedTreesRegressor(quality="fast", loss="huber", **more),
    "quantile": lambda **more: BoostedTreesRegressor(
        quality="fast", loss="quantile", quantile=0.2, **more
    ),
    "one_level": lambda **more: BoostedTreesRegressor(
        quality="fast", loss="quantile", quantile=[0.2], **more
    ),
    "poisson": lambda **more: BoostedTreesRegressor(quality="fast", loss="poisson", **more),
    "subsample": lambda **more: BoostedTreesRegressor(quality="fast", subsample=0.5, **more),
    "exact": lambda **more: BoostedTreesRegressor(quality="fast", exact=True, **more),
    "stopping": lambda **more: BoostedTreesClassifier(
        quality="fast", early_stopping=True, n_iter_no_change=2, **more
    ),
}

# Of two classes: in what else a target is read.
CLASSIFIERS = {
    **{name: MODELS[name] for name in ("log_loss", "exponential", "balanced", "stopping")},
    "without_a_class": lambda **more: BoostedTreesClassifier(
        quality="fast", class_weight={False: 0}, **more
    ),
    "drawn": lambda **more: BoostedTreesClassifier(quality="fast", subsample=0.5, **more),
    "bags": lambda **more: BoostedTreesClassifier(quality="fast", n_bags=2, **more),
    "scored": lambda **more: BoostedTreesClassifier(
        quality="fast", early_stopping=True, scoring="accuracy", **more
    ),
    "vectors": lambda **more: BoostedTreesClassifier(
        quality="fast", multi_class="vector_leaves", **more
    ),
    "one_by_one": lambda **more: BoostedTreesClassifier(quality="fast", loss=OwnLogLoss(), **more),
}


class OwnLogLoss:
    """Log loss as a user may write it, for a y of floats."""

    def gradient_hessian(self, y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert y.dtype == np.float64
        share = 1 / (1 + np.exp(-score))
        return share - y, share * (1 - share)


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
    def refuse(self: DerivativeBuffers) -> None:
        raise AssertionError("derivatives of all rows")

    monkeypatch.setattr(DerivativeBuffers, "arrays", property(refuse))
    X, y = rows("log_loss")
    with pytest.raises(AssertionError):
        BoostedTreesClassifier(quality="fast", n_estimators=2).fit(X, y)
    monkeypatch.setattr(tree_learners, "_MANY_ROWS", 0)
    assert BoostedTreesClassifier(quality="fast", n_estimators=2).fit(X, y).n_estimators_ == 2
    with pytest.raises(AssertionError):
        BoostedTreesClassifier(quality="fast", n_estimators=2).fit(X, y * 1 + (X[:, 2] > 0))


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_two_classes_may_be_bytes(name, weights, monkeypatch) -> None:
    X, y = rows("log_loss")
    rng = np.random.default_rng(2)
    weight = {None: None, "whole": rng.integers(0, 3, 600), "fractions": rng.random(600)}[weights]
    model = CLASSIFIERS[name](n_estimators=6, random_state=0)
    found = model.fit(X, y, sample_weight=weight).fingerprint()
    monkeypatch.setattr(targets, "_MANY_ROWS", 0)
    assert model.fit(X, y, sample_weight=weight).fingerprint() == found


@pytest.mark.parametrize("labels", [(3, 7), ("a", "b"), (0.0, 1.0), (np.int8(-128), np.int8(127))])
def test_bytes_of_any_labels(labels, monkeypatch) -> None:
    X, y = rows("log_loss")
    y = np.array(labels)[y.astype(int)]
    found = BoostedTreesClassifier(quality="fast", n_estimators=3).fit(X, y)
    monkeypatch.setattr(targets, "_MANY_ROWS", 0)
    model = BoostedTreesClassifier(quality="fast", n_estimators=3).fit(X, y)
    assert model.fingerprint() == found.fingerprint()
    assert model.classes_.tolist() == list(labels)
    assert (model.predict(X) == y).mean() > 0.6


def test_byte_targets_with_a_validation_set_and_a_resumed_fit(tmp_path, monkeypatch) -> None:
    X, y = rows("log_loss")

    def fits() -> list[str]:
        model = BoostedTreesClassifier(quality="fast", n_estimators=3, warm_start=True)
        judged = model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:]).fingerprint()
        model = BoostedTreesClassifier(quality="fast", n_estimators=3, warm_start=True).fit(X, y)
        on = model.set_params(n_estimators=6).fit(X, y).fingerprint()
        return [judged, on]

    found = fits()
    kept = BoostedTreesClassifier(
        quality="fast", n_estimators=4, checkpoint=str(tmp_path / "fit.npz")
    ).fit(X, y)
    monkeypatch.setattr(targets, "_MANY_ROWS", 0)
    assert fits() == found
    # What was begun on floats goes on with bytes: the rows are the same.
    on = BoostedTreesClassifier(
        quality="fast", n_estimators=6, checkpoint=str(tmp_path / "fit.npz")
    ).fit(X, y)
    assert (
        on.fingerprint()
        == BoostedTreesClassifier(quality="fast", n_estimators=6).fit(X, y).fingerprint()
    )
    assert kept.n_estimators_ == 4

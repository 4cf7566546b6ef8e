"""Classes of a few rows: scores that jumped too far would not come back."""

import numpy as np
import pytest

from originals import original
from weald import BoostedTreesClassifier, GradientBoostingClassifier

BOTH = pytest.mark.parametrize("estimator", [BoostedTreesClassifier, GradientBoostingClassifier])


def rules(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Three large classes that two columns separate, and a fourth of two rows among noise."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (n, 6)).astype(np.float64)
    y = (X[:, 0] > 1).astype(int) + (X[:, 1] > 2)
    y[[17, 1801]] = 3
    return X, y


def longest_move(model) -> float:
    forest = model.forest_
    weight = np.repeat(forest.tree_weight, np.diff(forest.first_leaf))
    return float(np.abs(forest.value[:, 0] * weight).max())


def fast(estimator, **parameters):
    more = {"quality": "fast"} if estimator is BoostedTreesClassifier else {}
    return estimator(random_state=0, **more, **parameters)


@BOTH
def test_a_class_of_two_rows_spoils_no_other(estimator) -> None:
    X, y = rules()
    model = fast(estimator).fit(X, y)
    assert model.score(X, y) >= 0.9995
    assert longest_move(model) < 20
    assert np.abs(model.decision_function(X)).max() < 60


@BOTH
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_few_positives_among_very_many(estimator, rate: float) -> None:
    """Ten of twenty thousand rows, hard to separate from noise."""
    rng = np.random.default_rng(2)
    X, other = rng.normal(size=(2, 20_000, 4))
    odds, y, expected = X[:, 0] + X[:, 1], np.zeros(20_000), np.zeros(20_000)
    y[np.argsort(odds)[-10:]] = 1
    expected[np.argsort(other[:, 0] + other[:, 1])[-10:]] = 1
    model = fast(estimator, learning_rate=rate, n_estimators=50).fit(X, y)
    p = model.predict_proba(other)[:, 1]
    rank = (np.argsort(np.argsort(p)) + 1.0)[expected == 1]
    assert rank.mean() > 0.95 * len(p)
    assert longest_move(model) < 20


def test_steps_that_are_moderate_stay_newton_s(monkeypatch) -> None:
    """On balanced classes the guard does not act: the same bits as without it."""
    from weald.losses.builtin import BuiltinLoss

    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int) + (X[:, 1] > 1)
    guarded = BoostedTreesClassifier(quality="fast", n_estimators=60).fit(X, y)
    monkeypatch.setattr(BuiltinLoss, "capped", lambda self, steps, rate: steps)
    assert (
        BoostedTreesClassifier(quality="fast", n_estimators=60).fit(X, y).fingerprint()
        == guarded.fingerprint()
    )


@pytest.mark.parametrize("categories", [True, False])
def test_nursery(categories: bool) -> None:
    """Of its five classes one has two rows."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(original("nursery.parquet"))
    y = frame.pop("target").astype(str).to_numpy()
    if not categories:
        frame = frame.apply(lambda column: column.cat.codes)
    train = np.random.default_rng(0).random(len(y)) < 0.7
    model = BoostedTreesClassifier(quality="fast").fit(frame[train], y[train])
    assert model.score(frame[~train], y[~train]) > 0.998

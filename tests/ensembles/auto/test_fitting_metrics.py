"""Metrics of automatic ensembles that do not fit the target, and those that constants lack."""

import math
import statistics
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score

from weald import AutoEnsembleClassifier, AutoEnsembleRegressor
from weald.ensembles.auto.metric import area_under_curve
from weald.ensembles.auto.portfolio import NAMES

DIABETES = load_diabetes(return_X_y=True)
WINE = load_wine(return_X_y=True)


def _forests(metric: Any) -> Any:
    """A random forest and extra trees."""
    dropped = [(name, "drop") for name in NAMES if name not in ("random forest", "extra trees")]
    return AutoEnsembleRegressor(time_limit=None, metric=metric, portfolio=dropped, n_jobs=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_under_the_curve_is_that_of_scikit_learn(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    y, score = rng.random(300) < 0.3, rng.integers(0, 20, 300) / 20  # many ties
    weight = rng.random(300) if weighted else None
    expected = roc_auc_score(y, score, sample_weight=weight)
    assert area_under_curve(y, score, weight) == pytest.approx(expected, abs=1e-14)
    assert math.isnan(area_under_curve(np.ones(300, dtype=bool), score, weight))


def _two_arguments(y: Any, predicted: Any) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("kind", "data", "metric", "reason"),
    [
        (AutoEnsembleClassifier, WINE, "f1", "Target is multiclass"),
        (AutoEnsembleRegressor, DIABETES, "roc_auc", "predict_proba"),
        (AutoEnsembleRegressor, DIABETES, _two_arguments, "takes 2 positional"),
    ],
)
def test_a_metric_that_does_not_fit_is_named_before_any_fit(kind, data, metric, reason) -> None:
    fits = []

    class Watching(DummyClassifier):
        def fit(self, X: Any, y: Any, **given: Any) -> Any:
            fits.append(1)
            return super().fit(X, y, **given)

    mine = [(name, Watching()) for name in NAMES]
    with pytest.raises(ValueError, match=f"metric='.*' cannot score .*{reason}"):
        kind(metric=metric, portfolio=mine).fit(*data)
    assert not fits


def test_metrics_that_constant_predictions_lack_are_admitted() -> None:
    """Deviances take counts of zero, but no prediction of zero; correlations need a spread."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    counts = rng.poisson(np.exp(X[:, 0]))
    deviance = _forests("neg_mean_poisson_deviance").fit(X, counts)
    assert deviance.score(X, counts) > 0.3

    def correlation(estimator: Any, X: Any, y: Any) -> float:
        return statistics.correlation(list(y), list(estimator.predict(X)))

    assert _forests(correlation).fit(X, counts).best_score_ > 0.3

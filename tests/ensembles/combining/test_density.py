"""Classification by densities: scikit-learn's checks, Bayes' rule, invalid estimators."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import estimator_checks_generator

from weald.ensembles import DensityClassifier

CHECKS = list(estimator_checks_generator(DensityClassifier(KernelDensity())))


@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=[getattr(c, "func", c).__name__ for _, c in CHECKS]
)
def test_scikit_learn_check(model, check) -> None:
    check(model)


def test_bayes_rule() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(3, 1, size=(20, 2))])
    y = np.repeat(["many", "few"], [60, 20])
    model = DensityClassifier(GaussianMixture(1)).fit(X, y)
    few, many = (np.exp(density.score_samples(X)) for density in model.estimators_)
    expected = 0.25 * few / (0.25 * few + 0.75 * many)
    assert model.predict_proba(X)[:, 0] == pytest.approx(expected, rel=1e-9)
    assert model.classes_.tolist() == ["few", "many"] and model.priors_.tolist() == [0.25, 0.75]
    # Far from all training rows probabilities still sum to 1.
    assert np.isfinite(model.predict_proba([[1e150, 0.0]])).all()


def test_estimator_without_score_samples() -> None:
    with pytest.raises(ValueError, match="must be a density estimator with a score_samples method"):
        DensityClassifier(LinearRegression()).fit([[0.0], [1.0]], [0, 1])

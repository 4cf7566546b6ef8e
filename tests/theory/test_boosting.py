"""Edges and the bound of the training error, against AdaBoost itself."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from weald.theory import edges, training_error_bound

# Of the three stumps on the ten points.
TEN_POINTS = [3 / 10, 3 / 14, 3 / 22]


def test_edges() -> None:
    np.testing.assert_allclose(edges(TEN_POINTS), [0.2, 2 / 7, 4 / 11], rtol=1e-15)
    np.testing.assert_array_equal(edges(0.75), [-0.25])


def test_bound_of_the_ten_points() -> None:
    assert training_error_bound(TEN_POINTS) == pytest.approx(0.516230, abs=5e-7)
    stages = training_error_bound(TEN_POINTS, cumulative=True)
    expected = [2 * np.sqrt(0.21), 2 * np.sqrt(0.21) * 2 * np.sqrt(33) / 14]
    np.testing.assert_allclose(stages[:2], expected, rtol=1e-14)
    assert stages[2] == training_error_bound(TEN_POINTS)


def test_bound_is_at_most_that_of_the_edges(rng: np.random.Generator) -> None:
    errors = rng.uniform(size=50)
    bounds = training_error_bound(errors, cumulative=True)
    assert (bounds <= np.exp(-2 * np.cumsum(edges(errors) ** 2)) * (1 + 1e-12)).all()


def test_no_vote_of_adaboost_errs_more() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=40).fit(X, y)
    wrong = [(answers != y).mean() for answers in model.staged_predict(X)]
    bounds = training_error_bound(model.estimator_errors_, cumulative=True)
    assert len(bounds) == len(wrong) == 40
    assert (np.array(wrong) <= bounds).all()
    assert bounds[-1] < 0.05


def test_ends() -> None:
    assert training_error_bound([0.5, 0.5]) == 1.0
    assert training_error_bound([0.3, 0.0]) == 0.0
    # An inverted classifier is as good as its mirror image.
    assert training_error_bound([0.8]) == pytest.approx(training_error_bound([0.2]))


@pytest.mark.parametrize("function", [edges, training_error_bound])
@pytest.mark.parametrize("errors", [[-0.1], [1.2], [float("nan")], [], "e", None, [[0.1], [0.2]]])
def test_bad_errors(function: object, errors: object) -> None:
    with pytest.raises(ValueError, match="'errors' parameter of"):
        function(errors)

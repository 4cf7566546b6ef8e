"""Diversifiers of bagging: each alone, and together."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from weald import BaggingClassifier, BaggingRegressor, DecisionTreeClassifier
from weald.ensembles.bagging.bag_noise import ContentNoise
from weald.ensembles.bagging.diversifiers import (
    AlgorithmRandomness,
    Algorithms,
    BayesianBootstrap,
    Classes,
    Features,
    HyperParameters,
    Noise,
    Representation,
    Rows,
    Seeds,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
Y = X[:, 0] + np.abs(X[:, 1]) + 0.2 * RNG.normal(size=200)
LABELS = np.digitize(Y, [0.0, 0.8, 1.6])
TREE = DecisionTreeClassifier(max_depth=4)


def bag(*ways, estimator=TREE, n: int = 12, **more):
    model = BaggingClassifier(estimator, n, diversifiers=list(ways), random_state=0, **more)
    return model.fit(X, LABELS)


def test_rows() -> None:
    model = bag(Rows(max_samples=0.3, bootstrap=False))
    assert all(len(np.unique(rows)) == 60 == len(rows) for rows in model.estimators_samples_)


def test_features() -> None:
    model = bag(Features(0.5))
    drawn = {tuple(columns) for columns in model.estimators_features_}
    assert {len(columns) for columns in drawn} == {3} and len(drawn) > 4


def test_seeds_alone_draw_no_rows() -> None:
    model = bag(Seeds(), estimator=DecisionTreeClassifier())
    assert len({member.fingerprint() for member in model.estimators_}) == 1
    with pytest.raises(
        AttributeError, match="diversifiers contains Seeds, with which every base estimator"
    ):
        _ = model.oob_


def test_algorithm_randomness_and_hyper_parameters() -> None:
    model = bag(
        AlgorithmRandomness(max_depth=(1, 5)), HyperParameters(criterion=["gini", "entropy"])
    )
    depths = {member.max_depth for member in model.estimators_}
    assert depths <= {1, 2, 3, 4, 5} and len(depths) > 2
    assert {member.criterion for member in model.estimators_} == {"gini", "entropy"}
    linear = BaggingClassifier(
        LogisticRegression(),
        5,
        diversifiers=[AlgorithmRandomness(C=(0.5, 2.0))],
        random_state=0,
    ).fit(X, LABELS)
    assert all(0.5 <= member.C < 2.0 for member in linear.estimators_)


def test_algorithms_in_turn() -> None:
    model = bag(Algorithms([GaussianNB(), KNeighborsClassifier(), TREE]), estimator=None)
    kinds = [type(member).__name__ for member in model.estimators_[:4]]
    assert kinds == [
        "GaussianNB", "KNeighborsClassifier", "DecisionTreeClassifier", "GaussianNB",
    ]  # fmt: skip
    assert model.score(X, LABELS) > 0.7
    with pytest.raises(ValueError, match="estimator must be None"):
        bag(Algorithms([GaussianNB()]))


def test_representations() -> None:
    model = bag(Representation([PCA(2), StandardScaler(), None]))
    members = model.estimators_
    assert isinstance(members[0], Pipeline) and isinstance(members[0][0], PCA)
    assert isinstance(members[2], DecisionTreeClassifier)
    assert members[0][0].mean_.tolist() != members[3][0].mean_.tolist()


def test_noise() -> None:
    plain, noisy = bag(Seeds()), bag(Seeds(), Noise(0.5))
    assert len({member.fingerprint() for member in plain.estimators_}) == 1
    assert len({member.fingerprint() for member in noisy.estimators_}) == 12
    table, y = ContentNoise(0, 0, 0.5, 0.25).added(X, Y)
    added = (table - X) / X.std(axis=0)
    assert np.abs(added.std(axis=0) - 0.5).max() < 0.1
    assert np.abs(added.mean(axis=0)).max() < 0.12
    assert abs((y - Y).std() / Y.std() - 0.25) < 0.05
    order = RNG.permutation(200)
    again, _ = ContentNoise(0, 0, 0.5, 0.25).added(X[order], Y[order])
    assert again == pytest.approx(table[order])
    with pytest.raises(ValueError, match="target noise requires a regression"):
        bag(Noise(0.1, target=0.1))


def test_classes() -> None:
    model = bag(Classes(), n=60)
    groups = {tuple(member.groups) for member in model.estimators_}
    assert len(groups) > 3 and all(sum(group) == 2 for group in groups)
    shares = model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(np.ones(200))
    assert model.score(X, LABELS) > 0.75
    with pytest.raises(ValueError, match="at least two classes"):
        BaggingRegressor(LinearRegression(), 3, diversifiers=[Classes()]).fit(X, Y)


def test_bayesian_bootstrap_is_the_posterior_of_a_mean() -> None:
    """The mean of n rows has the posterior variance s² / (n + 1) (Rubin)."""
    ones = np.column_stack([np.arange(200.0)])

    class Mean(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            self.mean_ = np.average(y, weights=sample_weight)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    model = BaggingRegressor(Mean(), 1500, diversifiers=[BayesianBootstrap()], random_state=0)
    mean, std = model.fit(ones, Y).predict(ones[:1], return_std=True)
    assert mean[0] == pytest.approx(Y.mean(), abs=0.01)
    assert std[0] == pytest.approx(np.sqrt(Y.var() / 201), rel=0.06)
    with pytest.raises(TypeError, match="KNeighborsClassifier does not support sample_weight"):
        bag(BayesianBootstrap(), estimator=KNeighborsClassifier())


def test_diversifiers_combine_and_do_not_depend_on_row_order() -> None:
    ways = [Rows(0.8), Features(4), HyperParameters(max_depth=[2, 3]), Noise(0.05)]
    model = bag(*ways, oob_score=False)
    order = RNG.permutation(200)
    other = BaggingClassifier(TREE, 12, diversifiers=ways, random_state=0)
    assert other.fit(X[order], LABELS[order]).fingerprint() == model.fingerprint()
    assert bag(*ways, n=40, oob_score=True).oob_score_ > 0.5


class Stump:
    """A diversifier of one's own."""

    def vary(self, variation):
        return replace(variation, estimator=clone(variation.estimator).set_params(max_depth=1))


def test_custom_diversifier_and_no_diversifier() -> None:
    assert {member.max_depth for member in bag(Stump()).estimators_} == {1}
    with pytest.raises(ValueError, match="must be a non-empty list of diversifiers"):
        bag(Stump)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_noise_in_a_frame_leaves_a_frame(library: str) -> None:
    """A base estimator fitted on an array would warn of column names when it predicts a frame."""
    module = pytest.importorskip(library)
    columns = {name: X[:, i] for i, name in enumerate("abcdef")}
    frame = (module.table if library == "pyarrow" else module.DataFrame)(columns)
    for estimator in (TREE, LogisticRegression(), None):
        for more in ({}, {"max_features": 0.5, "bootstrap_features": True}):
            model = BaggingClassifier(estimator, 5, diversifiers=[Noise(0.1)], random_state=0)
            model = model.set_params(**more).fit(frame, LABELS)  # a warning is an error here
            assert all(len(one.feature_names_in_) for one in model.estimators_)
            plain = clone(model).fit(X, LABELS)
            assert np.array_equal(model.predict_proba(frame), plain.predict_proba(X))

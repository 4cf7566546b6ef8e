"""Bagging of any estimator: row samples, base estimators, votes, weights and failures."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as TheirTree

from ensembles.members.foreign import Awkward, Counting, Odd
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    MemberError,
    RandomForestClassifier,
)
from weald.ensembles.bagging.bag_fitting import take_columns


def task(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


def labels(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    X, y = task(n)
    return X, np.array(["low", "mid", "top"])[np.digitize(y, [0.2, 1.2])]


# ---- base estimators can be reproduced ----


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_samples": 0.5},
        {"max_samples": 30, "bootstrap": False},
        {"max_features": 3},
        {"max_features": 0.6, "bootstrap_features": True},
        {"bootstrap": False, "max_features": 2},
    ],
)
@pytest.mark.parametrize(
    "member", [LinearRegression(), KNeighborsRegressor(), DecisionTreeRegressor(), None]
)
def test_samples_and_features_reproduce_each_base_estimator(settings: dict, member) -> None:
    X, y = task()
    bag = BaggingRegressor(member, 5, random_state=0, **settings).fit(X, y)
    parts = zip(bag.estimators_, bag.estimators_samples_, bag.estimators_features_, strict=True)
    for fitted, rows, columns in parts:
        again = clone(bag.estimator_).fit(X[rows][:, columns], y[rows])
        told = again.predict(X[:, columns])
        if member is None and len(columns) == X.shape[1] and bag.bootstrap:
            # Thresholds of the core's trees may lie elsewhere between two values.
            assert fitted.predict(X[rows]) == pytest.approx(again.predict(X[rows]), abs=1e-9)
        else:
            assert fitted.predict(X[:, columns]) == pytest.approx(told, abs=1e-9)


def test_prediction_is_the_mean_over_base_estimators() -> None:
    X, y = task()
    for member in (None, LinearRegression(), BoostedTreesRegressor(quality="fast", n_estimators=3)):
        bag = BaggingRegressor(member, 7, random_state=0, max_features=0.9).fit(X, y)
        said = [
            m.predict(X[:, f])
            for m, f in zip(bag.estimators_, bag.estimators_features_, strict=True)
        ]
        assert bag.predict(X) == pytest.approx(np.mean(said, axis=0), abs=1e-12)
        mean, std = bag.predict(X, return_std=True)
        assert mean == pytest.approx(bag.predict(X), abs=1e-12)
        assert std == pytest.approx(np.std(said, axis=0, ddof=1), abs=1e-12)


def test_probabilities_are_averaged_and_labels_are_votes() -> None:
    X, y = labels()
    bag = BaggingClassifier(GaussianNB(), 7, random_state=0).fit(X, y)
    shares = np.mean([m.predict_proba(X) for m in bag.estimators_], axis=0)
    assert bag.predict_proba(X) == pytest.approx(shares, abs=1e-12)
    assert (bag.predict(X) == bag.classes_[shares.argmax(axis=1)]).all()
    votes = BaggingClassifier(LinearSVC(), 7, random_state=0).fit(X, y)
    counts = np.mean([np.eye(3)[m.predict(X)] for m in votes.estimators_], axis=0)
    assert votes.predict_proba(X) == pytest.approx(counts, abs=1e-12)
    decisions = np.mean([m.decision_function(X) for m in votes.estimators_], axis=0)
    assert votes.decision_function(X) == pytest.approx(decisions, abs=1e-12)
    assert not hasattr(bag, "decision_function")


def test_base_estimator_fitted_on_some_classes_only() -> None:
    X, y = labels(60)
    y[y == "top"] = "mid"
    y[0] = "top"
    bag = BaggingClassifier(GaussianNB(var_smoothing=1e-3), 20, random_state=0).fit(X, y)
    assert min(len(m.classes_) for m in bag.estimators_) < 3
    assert bag.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(60))


# ---- like scikit-learn's ----


def test_as_good_as_scikit_learn_s() -> None:
    X, y = labels(900)
    train, test = slice(0, 600), slice(600, None)
    ours = BaggingClassifier(n_estimators=60, random_state=0).fit(X[train], y[train])
    theirs = sklearn.ensemble.BaggingClassifier(n_estimators=60, random_state=0)
    theirs.fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > theirs.score(X[test], y[test]) - 0.03


def test_parameters_and_attributes_are_scikit_learn_s_and_more() -> None:
    X, y = labels()
    ours = BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    theirs = sklearn.ensemble.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0)
    theirs.fit(X, y)
    assert set(theirs.get_params()) < set(ours.get_params())
    public = [name for name in dir(theirs) if name[0] != "_" and hasattr(theirs, name)]
    missing = [name for name in public if not hasattr(ours, name)]
    # What scikit-learn's own machinery keeps for itself.
    missing = [name for name in missing if not name.startswith("set_")]
    assert [name for name in missing if name != "estimator_params"] == []
    assert len(ours) == 30 and ours[3] is ours.estimators_[3]


@pytest.mark.parametrize("member", [None, TheirTree(), DecisionTreeClassifier()])
def test_warm_start_adds_base_estimators(member) -> None:
    X, y = labels()
    at_once = BaggingClassifier(member, 8, random_state=3).fit(X, y)
    later = BaggingClassifier(member, 3, random_state=3, warm_start=True).fit(X, y)
    later.set_params(n_estimators=8).fit(X, y)
    assert np.array_equal(later.predict_proba(X), at_once.predict_proba(X))
    pairs = zip(later.estimators_samples_, at_once.estimators_samples_, strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        later.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=2 must be larger or equal"):
        later.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("member", [None, LogisticRegression()])
def test_out_of_bag_requires_row_sampling(member) -> None:
    X, y = labels()
    whole = BaggingClassifier(member, 3, bootstrap=False)
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        whole.set_params(oob_score=True).fit(X, y)
    with pytest.raises(ValueError, match="only available if warm_start=False"):
        whole.set_params(bootstrap=True, warm_start=True).fit(X, y)
    with pytest.raises(AttributeError, match="every (tree|base estimator) is fitted on all rows"):
        _ = whole.set_params(bootstrap=False, warm_start=False, oob_score=False).fit(X, y).oob_


# ---- draws ----


@pytest.mark.parametrize("member", [GaussianNB(), KNeighborsClassifier()])
def test_row_order_does_not_matter_for_other_estimators(member) -> None:
    X, y = labels()
    X, y = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])
    order = np.random.default_rng(0).permutation(len(X))
    bag = BaggingClassifier(member, 5, random_state=0, oob_score=False)
    first = clone(bag).fit(X, y).predict_proba(X)
    assert np.array_equal(clone(bag).fit(X[order], y[order]).predict_proba(X), first)


@pytest.mark.parametrize("max_samples", [0.8, 50])
@pytest.mark.parametrize("member", [GaussianNB(), KNeighborsClassifier()])
def test_integer_weights_equal_repetitions_for_any_estimator(member, max_samples: float) -> None:
    X, y = labels(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    bag = BaggingClassifier(member, 5, random_state=0, max_samples=max_samples)
    weighted = clone(bag).fit(X, y, weight)
    repeated = clone(bag).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_number_of_draws_does_not_depend_on_weight_scale() -> None:
    X, y = labels(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    bag = BaggingClassifier(KNeighborsClassifier(), 5, random_state=0).fit(X, y, weight)
    assert {len(rows) for rows in bag.estimators_samples_} == {int((weight > 0).sum())}
    scaled = clone(bag).fit(X, y, weight * 0.25)
    assert np.array_equal(scaled.predict_proba(X), bag.predict_proba(X))


def test_rows_are_drawn_in_proportion_to_their_weights_with_replacement() -> None:
    X, y = task(40)
    weight = np.r_[np.full(20, 0.1), np.full(20, 0.9)]
    bag = BaggingRegressor(LinearRegression(), 200, random_state=0).fit(X, y, weight)
    share = (np.concatenate(bag.estimators_samples_) >= 20).mean()
    # Five standard deviations of 8000 draws.
    assert abs(share - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 8000)


def test_weights_do_not_enter_a_draw_without_replacement() -> None:
    X, y = labels(80)
    weight = np.random.default_rng(1).exponential(size=80)
    settings = {"bootstrap": False, "max_samples": 50, "random_state": 0}
    bag = BaggingClassifier(GaussianNB(), 5, **settings).fit(X, y, weight)
    plain = BaggingClassifier(GaussianNB(), 5, **settings).fit(X, y)
    parts = zip(bag.estimators_, bag.estimators_samples_, plain.estimators_samples_, strict=True)
    for member, rows, expected in parts:
        assert np.array_equal(rows, expected)
        alone = GaussianNB().fit(X[rows], y[rows], weight[rows])
        assert member.predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-12)
    with pytest.raises(TypeError, match="KNeighborsClassifier does not support sample_weight"):
        BaggingClassifier(KNeighborsClassifier(), 5, **settings).fit(X, y, weight)


def test_without_replacement_no_row_comes_twice() -> None:
    X, y = task(50)
    bag = BaggingRegressor(LinearRegression(), 20, bootstrap=False, max_samples=0.3)
    for rows in bag.fit(X, y).estimators_samples_:
        assert len(rows) == 15 == len(set(rows.tolist()))
    with pytest.raises(ValueError, match=r"max_samples=51 must be <= n_samples=50"):
        bag.set_params(max_samples=51).fit(X, y)


def test_base_estimators_have_different_seeds() -> None:
    X, y = labels()
    bag = BaggingClassifier(TheirTree(random_state=7), 4, bootstrap=False, random_state=0)
    seeds = {m.random_state for m in bag.fit(X, y).estimators_}
    assert len(seeds) == 4
    pipe = make_pipeline(StandardScaler(), TheirTree(max_features=1))
    bag = BaggingClassifier(pipe, 4, random_state=0).fit(X, y)
    assert len({m[-1].random_state for m in bag.estimators_}) == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_for_any_number_of_jobs(n_jobs: int) -> None:
    X, y = labels()
    for member in (GaussianNB(), DecisionTreeClassifier(max_depth=3)):
        bag = BaggingClassifier(member, 6, random_state=0, oob_score=False)
        expected = bag.fit(X, y).predict_proba(X)
        other = clone(bag).set_params(n_jobs=n_jobs).fit(X, y)
        assert np.array_equal(other.predict_proba(X), expected)


def test_frames_texts_and_columns_twice() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    columns = np.array([1, 1, 0])
    assert take_columns(frame, columns).columns.tolist() == ["b", "b (2)", "a"]
    cut = take_columns(polars.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), columns)
    assert cut.columns == ["b", "b (2)", "a"] and cut["b (2)"].to_list() == ["x", "y"]
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["good day", "bad night", "good night", "bad day"] * 10
    y = np.array([1, 0, 1, 0] * 10)
    pipe = make_pipeline(CountVectorizer(), LogisticRegression())
    bag = BaggingClassifier(pipe, 5, random_state=0).fit(texts, y)
    assert bag.predict(["good", "bad"]).tolist() == [1, 0]


# ---- weights of base estimators ----


def test_weights_given() -> None:
    X, y = task()
    weights = [1.0, 0.0, 3.0]
    bag = BaggingRegressor(LinearRegression(), 3, weights=weights, random_state=0).fit(X, y)
    said = [m.predict(X) for m in bag.estimators_]
    assert bag.predict(X) == pytest.approx((said[0] + 3 * said[2]) / 4, abs=1e-12)
    mean, std = bag.predict(X, return_std=True)
    assert std == pytest.approx(np.sqrt(sum((s - mean) ** 2 for s in said) / 2), abs=1e-12)
    with pytest.raises(ValueError, match="one number for each of the 4 base estimators; got 3"):
        bag.set_params(n_estimators=4).fit(X, y)


def test_weights_from_out_of_bag_errors() -> None:
    X, y = labels()
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 20, weights="oob", random_state=0)
    bag.fit(X, y)
    for weight, member, rows in zip(
        bag.weights_, bag.estimators_, bag.estimators_samples_, strict=True
    ):
        out = np.setdiff1d(np.arange(len(X)), rows)
        error = (bag.classes_[member.predict(X[out])] != y[out]).mean()
        assert weight == pytest.approx(np.log((1 - error) * 2 / error))
    X, y = task()
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=2), 20, weights="oob", random_state=0)
    bag.fit(X, y)
    errors = [
        ((m.predict(np.delete(X, rows, axis=0)) - np.delete(y, rows)) ** 2).mean()
        for m, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True)
    ]
    assert bag.weights_ == pytest.approx(min(errors) / np.array(errors))


# ---- failures ----


class FailsOnce(Counting):
    """Fails in the clones with an odd seed."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        if self.random_state % 2:
            raise ValueError("odd")
        return super().fit(X, y)


def test_error_names_the_failed_estimator_and_keeps_the_others() -> None:
    X, y = labels()
    model = BaggingClassifier(GaussianNB(), 12, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(estimator=FailsOnce())
    with pytest.raises(MemberError, match=r"Estimator 'estimators_\[\d+\]' of Bagging") as caught:
        model.fit(X, y)
    assert isinstance(caught.value, ValueError)
    failed, kept = caught.value.failed, caught.value.fitted
    assert failed and kept and len(failed) + len(kept) == 12
    assert all(hasattr(member, "shares_") for member in kept.values())
    assert np.array_equal(model.predict_proba(X), before)


def test_error_names_the_estimator_that_predicts_nan() -> None:
    X, y = labels()
    bag = BaggingClassifier(Odd("nan"), 3, random_state=0)
    with pytest.raises(MemberError, match=r"estimators_\[0\].*NaN or infinity in 1 of"):
        bag.set_params(oob_score=True).fit(X, y)
    bag.set_params(oob_score=False).fit(X, y)
    with pytest.raises(MemberError, match=r"estimators_\[0\].*failed to predict.*NaN"):
        bag.predict(X)


class AwkwardEstimator(Counting):
    """Raises what cannot be pickled."""

    def fit(self, X, y, sample_weight=None):
        raise Awkward("out ", "of luck")


def test_errors_come_back_from_other_processes() -> None:
    X, y = labels(40)
    with pytest.raises(MemberError, match="out of luck"):
        BaggingClassifier(AwkwardEstimator(), 2, n_jobs=2).fit(X, y)


# ---- the native way ----


def test_bag_of_default_trees_is_a_forest_on_all_columns() -> None:
    X, y = labels()
    bag = BaggingClassifier(n_estimators=9, random_state=5).fit(X, y)
    whole = {"criterion": "gini", "min_samples_leaf": 1, "max_features": None}
    forest = RandomForestClassifier(9, random_state=5, **whole).fit(X, y)
    assert np.array_equal(bag.predict_proba(X), forest.predict_proba(X))
    assert [len(rows) for rows in bag.estimators_samples_] == [150] * 9
    counts = np.bincount(bag.estimators_samples_[4], minlength=150)
    assert np.array_equal(counts, forest.in_bag_counts(4))

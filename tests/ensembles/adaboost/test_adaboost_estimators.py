"""AdaBoost by resampling and with base estimators of all kinds."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.utils.estimator_checks import check_estimator

from contract import old_checks
from ensembles.adaboost.ten_points import X10, Y10, noisy_task
from weald import AdaBoostClassifier, DecisionTreeClassifier
from weald.ensembles.adaboost.adaboost_forms import FORMS

every_form = pytest.mark.parametrize("form", FORMS)


# ---- weighting and resampling ----


def test_resampling_draws_in_proportion_to_the_weights() -> None:
    X, y = noisy_task(4, n=200)
    models = [
        AdaBoostClassifier(n_estimators=30, reweight="resampling", random_state=seed).fit(X, y)
        for seed in range(3)
    ]
    assert len({model.fingerprint() for model in models}) == 3
    weighted = AdaBoostClassifier(n_estimators=30).fit(X, y).score(X, y)
    assert np.mean([model.score(X, y) for model in models]) > weighted - 0.1


def twice_task() -> tuple[np.ndarray, np.ndarray]:
    """80 rows, of which the first 20 are repeated at the end."""
    X, y = noisy_task(5)
    return np.concatenate([X, X[:20]]), np.concatenate([y, y[:20]])


def test_resampling_is_the_same_for_any_order_of_rows_and_scale_of_weights() -> None:
    X, y = twice_task()
    model = AdaBoostClassifier(n_estimators=8, reweight="resampling", random_state=1)
    rng = np.random.default_rng(0)
    order = rng.permutation(100)
    for weight in (np.ones(100), rng.integers(1, 4, 100), rng.exponential(size=100)):
        expected = clone(model).fit(X, y, weight)
        shuffled = clone(model).fit(X[order], y[order], weight[order])
        assert shuffled.fingerprint() == expected.fingerprint()
        assert shuffled.row_weights_ == pytest.approx(expected.row_weights_[order], rel=1e-12)
        scaled = clone(model).fit(X, y, weight * 4)
        assert scaled.fingerprint() == expected.fingerprint()
        assert np.array_equal(scaled.row_weights_, expected.row_weights_)


@every_form
def test_weighting_counts_a_row_of_weight_two_as_two_rows(form: str) -> None:
    X, y = twice_task()
    model = AdaBoostClassifier(n_estimators=8, form=form, reweight="weighting")
    repeated = clone(model).fit(X, y)
    weighted = clone(model).fit(X[:80], y[:80], np.where(np.arange(80) < 20, 2, 1))
    assert weighted.fingerprint() == repeated.fingerprint()
    once, again = repeated.row_weights_[:20], repeated.row_weights_[80:]
    assert weighted.row_weights_[:20] == pytest.approx(once + again, rel=1e-12)


def test_resampling_with_millions_of_copies_ends() -> None:
    X, y = noisy_task(6, n=30)
    model = AdaBoostClassifier(n_estimators=2, reweight="resampling", random_state=0)
    assert model.fit(X, y, np.full(30, 10**9)).score(X, y) > 0.6


@every_form
def test_learners_without_weights_are_drawn_for(form: str) -> None:
    X, y = noisy_task(7)
    learner = KNeighborsClassifier(5)
    with pytest.raises(
        ValueError,
        match='KNeighborsClassifier doesn.t support sample_weight.*Use reweight="resampling"',
    ):
        AdaBoostClassifier(learner, form=form).fit(X, y)
    model = AdaBoostClassifier(
        learner, form=form, n_estimators=5, reweight="resampling", random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    again = clone(model).fit(X, y)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


# ---- foreign base estimators ----


@pytest.mark.parametrize("reweight", ["weighting", "resampling"])
@pytest.mark.parametrize(
    "learner", [GaussianNB(), LogisticRegression(), SklearnTree(max_depth=2, splitter="random")]
)
def test_any_learner_is_a_base_estimator(learner, reweight: str) -> None:
    X, y = noisy_task(8, n=150, n_classes=3)
    labels = np.array(["x", "y", "z"])[y]
    model = AdaBoostClassifier(learner, n_estimators=6, reweight=reweight, random_state=3)
    model.fit(X, labels)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert all(type(fitted) is type(learner) for fitted in model.estimators_)
    assert model.score(X, labels) > 0.4
    assert clone(model).fit(X, labels).score(X, labels) == model.score(X, labels)
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    for unavailable in (lambda: model.apply(X), model.text, lambda: model.forest_):
        with pytest.raises(AttributeError):
            unavailable()


def test_pipelines_are_drawn_for() -> None:
    X, y = noisy_task(9)
    model = AdaBoostClassifier(
        make_pipeline(StandardScaler(), SklearnTree(max_depth=1)),
        reweight="resampling",
        n_estimators=5,
        random_state=0,
    ).fit(X, y)
    assert model.score(X, y) > 0.6
    assert len({m[-1].random_state for m in model.estimators_}) == len(model.estimators_)


def test_a_tree_of_ours_as_a_base_estimator_is_the_stump() -> None:
    """80 rows have a bin for every value, so a tree of depth 1 splits as the stump does."""
    X, y = noisy_task(10)
    tree = DecisionTreeClassifier(max_depth=1)
    by_tree = AdaBoostClassifier(tree, n_estimators=10).fit(X, y)
    by_stump = AdaBoostClassifier(n_estimators=10).fit(X, y)
    assert by_tree.estimator_weights_ == pytest.approx(by_stump.estimator_weights_, rel=1e-9)
    assert by_tree.feature_importances_ == pytest.approx(by_stump.feature_importances_)
    assert by_tree.fingerprint() == clone(by_tree).fit(X, y).fingerprint()
    with pytest.raises(AttributeError, match="GaussianNB has no feature_importances_"):
        _ = AdaBoostClassifier(GaussianNB()).fit(X, y).feature_importances_
    with pytest.raises(AttributeError, match="fingerprint .* GaussianNB has none"):
        AdaBoostClassifier(GaussianNB()).fit(X, y).fingerprint()


class _Broken(ClassifierMixin, BaseEstimator):
    """Returns invalid predictions."""

    def __init__(self, label=0):
        self.label = label

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.label(len(X)) if callable(self.label) else np.full(len(X), self.label)


@pytest.mark.parametrize(
    ("label", "fragment"),
    [
        (np.nan, r"Base estimator 1 \(_Broken\) predicted nan for row 0"),
        (7, "Base estimator 1 predicted .*7.* for row 0, which is none of the 2 classes"),
        ("a", "none of the 2 classes"),
        (lambda n: np.zeros((n, 2)), r"shape \(80, 2\) for 80 rows"),
        (lambda n: np.zeros(n - 1), r"shape \(79,\)"),
    ],
)
def test_broken_base_estimators_are_named(label, fragment: str) -> None:
    X, y = noisy_task(11)
    model = AdaBoostClassifier(_Broken(label))
    with pytest.raises(ValueError, match=fragment):
        model.fit(X, y)
    assert not hasattr(model, "estimator_weights_")


def test_parameters_that_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="criterion='gini' is a parameter of the default stumps"):
        AdaBoostClassifier(GaussianNB(), criterion="gini").fit(X10, Y10)


def test_a_guessing_learner_is_refused() -> None:
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier(DummyClassifier()).fit(X10, Y10)


# ---- scikit-learn's checks for the other settings ----


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(form="half-log", n_estimators=10),
        AdaBoostClassifier(form="log", n_estimators=10),
        # Stumps are too weak for M1 with many classes, and so is any tree on the integer codes
        # that a base estimator with categorical support gets.
        AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=9, categorical_features=None),
            form="m1",
            n_estimators=5,
        ),
        AdaBoostClassifier(form="half-log", reweight="resampling", n_estimators=10),
        AdaBoostClassifier(SklearnTree(max_depth=1), n_estimators=5),
    ],
    ids=["half-log", "log", "m1", "resampling", "foreign"],
)
def test_check_estimator(model) -> None:
    if "sklearn" in type(model.estimator).__module__:
        # As in scikit-learn's AdaBoost: its trees break ties by the order of rows.
        expected = {
            f"check_sample_weight_equivalence_on_{kind}_data": "foreign base estimators"
            for kind in ("dense", "sparse")
        }
        check_estimator(model, expected_failed_checks=expected, on_fail="raise")
        return
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    faulty = {name: "faulty there" for name in names if old_checks.is_faulty(model, name)}
    check_estimator(model, expected_failed_checks=faulty, on_skip=None)

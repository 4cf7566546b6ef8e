"""Stacking: out-of-fold predictions, layers, folds, refit_final, final estimators."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB

from ensembles.members.foreign import Counting, Memory, MemoryRegressor
from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    StackingClassifier,
    StackingRegressor,
)
from weald.ensembles import GreedySelection
from weald.resampling import ContentKFold


def classes(n: int = 300, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    ranks = np.argsort(np.argsort(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) / 2))
    return X, ranks * n_classes // n


def numbers(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + 2 * (X[:, 1] > 0) + rng.normal(size=n) / 4


CLASSIFIERS = [
    ("tree", DecisionTreeClassifier(max_depth=3)),
    ("boosted", BoostedTreesClassifier(quality="fast", n_estimators=8)),
    ("bayes", GaussianNB()),
]
REGRESSORS = [
    ("tree", DecisionTreeRegressor(max_depth=3)),
    ("boosted", BoostedTreesRegressor(quality="fast", n_estimators=8)),
    ("line", LinearRegression()),
]
OURS = CLASSIFIERS[:2]


# ---- nothing in-sample ----


@pytest.mark.parametrize("layers", [None, [[("second", Memory()), ("third", Memory())]]])
@pytest.mark.parametrize("final", [None, "nonnegative", "greedy"])
def test_noise_is_not_fitted(layers, final) -> None:
    """Random labels and base estimators that memorise: AUC is one half on test rows, and out of
    fold, which is where a leak would show first."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    members = [("memory", Memory()), ("deep", DecisionTreeClassifier()), ("bayes", GaussianNB())]
    stack = StackingClassifier(members, final, layers=layers).fit(X, y)
    fresh, truth = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    # Three standard deviations of an AUC of 2000 rows, and of 600.
    assert abs(roc_auc_score(truth, stack.predict_proba(fresh)[:, 1]) - 0.5) < 0.04
    for column in stack.out_of_fold_.T:
        assert abs(roc_auc_score(y, column) - 0.5) < 0.08
    # In-sample the same base estimators are perfect.
    assert stack.named_estimators_["memory"].score(X, y) == 1


@pytest.mark.parametrize("final", [None, "nonnegative", "greedy"])
def test_base_estimator_that_memorises_gets_little_weight(final) -> None:
    X, y = classes()
    fresh, truth = classes(seed=1)
    members = [("memory", Memory()), ("tree", DecisionTreeClassifier(max_depth=3))]
    stack = StackingClassifier(members, final).fit(X, y)
    alone = members[1][1].fit(X, y)
    assert stack.score(fresh, truth) >= alone.score(fresh, truth) - 0.02
    if final is not None:
        assert stack.final_estimator_.weights_[0] < 0.6 * stack.final_estimator_.weights_[1]


def test_regressor_that_memorises_gets_little_weight() -> None:
    X, y = numbers()
    stack = StackingRegressor([("memory", MemoryRegressor()), *REGRESSORS], "nonnegative").fit(X, y)
    assert stack.final_estimator_.weights_[0] < 0.1


@pytest.mark.parametrize("cv", [3, KFold(4), ContentKFold(3), None])
def test_out_of_fold_predictions_are_those_of_cross_validation(cv) -> None:
    X, y = classes()
    stack = StackingClassifier(CLASSIFIERS, cv=cv).fit(X, y)
    expected = np.column_stack(
        [
            cross_val_predict(member, X, y, cv=cv, method="predict_proba")[:, 1]
            for _, member in CLASSIFIERS
        ]
    )
    assert np.array_equal(stack.out_of_fold_, expected)


def test_layers_by_hand() -> None:
    """Two layers on the same folds, written out with cross_val_predict."""
    X, y = classes()
    folds = list(KFold(4).split(X))
    second = [("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=2))]
    stack = StackingClassifier(CLASSIFIERS, cv=folds, layers=[second], passthrough=True).fit(X, y)

    def answers(members, table):
        kept = [
            cross_val_predict(member, table, y, cv=folds, method="predict_proba")[:, 1]
            for _, member in members
        ]
        return np.column_stack(kept)

    middle = np.hstack([answers(CLASSIFIERS, X), X])
    last = answers(second, middle)
    assert np.array_equal(stack.out_of_fold_, last)
    final = LogisticRegression().fit(np.hstack([last, X]), y)
    # New rows are predicted by base estimators fitted on all rows.
    whole = np.column_stack([m.fit(X, y).predict_proba(X)[:, 1] for _, m in CLASSIFIERS])
    whole = np.hstack([whole, X])
    top = np.column_stack([m.fit(middle, y).predict_proba(whole)[:, 1] for _, m in second])
    expected = final.predict_proba(np.hstack([top, X]))
    assert stack.predict_proba(X) == pytest.approx(expected, abs=1e-9)
    assert stack.transform(X) == pytest.approx(np.hstack([top, X]), abs=1e-12)


# ---- folds of every kind ----


def test_splits_by_time_leave_the_first_rows_out() -> None:
    X, y = numbers()
    stack = StackingRegressor(REGRESSORS, cv=TimeSeriesSplit(5)).fit(X, y)
    known = ~np.isnan(stack.out_of_fold_).any(axis=1)
    assert np.array_equal(np.flatnonzero(known), np.arange(50, 300))
    # Models of each fold are fitted on earlier rows only.
    for train, test in TimeSeriesSplit(5).split(X):
        earlier = REGRESSORS[2][1].fit(X[train], y[train]).predict(X[test])
        assert np.array_equal(stack.out_of_fold_[test, 2], earlier)
    assert stack.score(*numbers(seed=1)) > 0.8


def test_splits_by_time_and_layers() -> None:
    X, y = numbers()
    more = {"layers": [[("second", LinearRegression())]], "final_estimator": "nonnegative"}
    stack = StackingRegressor(REGRESSORS, cv=TimeSeriesSplit(5), **more).fit(X, y)
    known = ~np.isnan(stack.out_of_fold_).any(axis=1)
    # The second layer is fitted on out-of-fold predictions of the first.
    assert np.array_equal(np.flatnonzero(known), np.arange(100, 300))
    assert stack.score(*numbers(seed=1)) > 0.8


def test_rows_that_several_folds_test_get_the_mean() -> None:
    X, y = numbers(60)
    folds = list(RepeatedKFold(n_splits=3, n_repeats=2, random_state=0).split(X))
    stack = StackingRegressor([("tree", DecisionTreeRegressor(max_depth=2))], cv=folds).fit(X, y)
    total = np.zeros(60)
    for train, test in folds:
        total[test] += DecisionTreeRegressor(max_depth=2).fit(X[train], y[train]).predict(X[test])
    assert stack.out_of_fold_[:, 0] == pytest.approx(total / 2)


def test_groups_are_never_split() -> None:
    X, y = classes()
    groups = np.arange(len(y)) // 10
    X, y = X[groups * 10], y[groups * 10]
    stack = StackingClassifier([("memory", Memory())], cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert np.unique(stack.out_of_fold_).tolist() == [0.5]
    with pytest.raises(ValueError, match="groups"):
        StackingClassifier([("memory", Memory())], cv=GroupKFold(5)).fit(X, y)


def test_folds_larger_than_a_class() -> None:
    X, y = classes(60)
    y[:] = 0
    y[:3] = 1
    with pytest.warns(UserWarning, match="least populated class"):
        StackingClassifier(CLASSIFIERS, cv=5).fit(X, y)
    with pytest.raises(ValueError, match="n_splits=40 cannot be greater"):
        StackingClassifier(CLASSIFIERS, cv=40).fit(X, np.arange(60) % 2)


def test_a_class_missing_in_a_fold() -> None:
    X, y = classes(90, n_classes=3)
    order = np.argsort(y)
    stack = StackingClassifier(OURS, "nonnegative", cv=KFold(3)).fit(X[order], y[order])
    first = stack.out_of_fold_[:30].reshape(30, 2, 3)
    assert not first[:, :, 0].any()
    assert stack.predict_proba(X).shape == (90, 3)


@pytest.mark.parametrize(
    ("cv", "fragment"),
    [
        ([], "'cv' parameter"),
        ([([0, 1], [999])], "contain the row 999; X has 300 rows"),
        ([([0, 1], [-1])], "contain the row -1"),
        ([([], [0, 1])], "no fold with both training and test rows"),
    ],
)
def test_bad_splits(cv, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        StackingRegressor(REGRESSORS, cv=cv).fit(*numbers())


def test_masks_are_splits_too() -> None:
    X, y = numbers()
    test = np.arange(300) % 3 == 0
    stack = StackingRegressor(REGRESSORS, cv=[(~test, test)]).fit(X, y)
    assert np.array_equal(~np.isnan(stack.out_of_fold_[:, 0]), test)


# ---- prefit estimators and fold models ----


def test_prefit_estimators() -> None:
    X, y = classes()
    labels = np.array(["no", "yes"])[y]
    fitted = [(name, member.fit(X[:150], labels[:150])) for name, member in CLASSIFIERS]
    stack = StackingClassifier(fitted, cv="prefit").fit(X[150:], labels[150:])
    assert stack.estimators_ == [member for _, member in fitted]
    assert stack.score(X[:150], labels[:150]) > 0.75
    expected = np.column_stack([member.predict_proba(X[150:])[:, 1] for _, member in fitted])
    assert np.array_equal(stack.out_of_fold_, expected)


def test_fold_models_are_averaged() -> None:
    X, y = classes()
    Counting.fits = 0
    members = [*CLASSIFIERS, ("counting", Counting())]
    stack = StackingClassifier(members, cv=4, refit=False).fit(X, y)
    assert Counting.fits == 4
    models = stack.named_estimators_["bayes"].estimators_
    expected = np.mean([model.predict_proba(X)[:, 1] for model in models], axis=0)
    assert stack.transform(X)[:, 2] == pytest.approx(expected, abs=1e-12)


def test_fold_models_that_predict_labels_vote() -> None:
    X, y = classes(n_classes=3)
    member = [("tree", DecisionTreeClassifier(max_depth=3))]
    stack = StackingClassifier(member, cv=3, refit=False, stack_method="predict").fit(X, y)
    said = np.stack([model.predict(X) for model in stack.estimators_[0].estimators_])
    expected = [np.bincount(column, minlength=3).argmax() for column in said.T]
    assert np.array_equal(stack.transform(X)[:, 0], expected)


# ---- refit_final ----


@pytest.mark.parametrize("passthrough", [False, True])
def test_refit_final_fits_no_base_estimator(passthrough: bool) -> None:
    X, y = classes()
    members = [*CLASSIFIERS, ("counting", Counting())]
    stack = StackingClassifier(members, cv=3, passthrough=passthrough).fit(X, y)
    Counting.fits = 0
    for final in (DecisionTreeClassifier(max_depth=3), LogisticRegression(C=0.1), GaussianNB()):
        again = StackingClassifier(members, final, cv=3, passthrough=passthrough).fit(X, y)
        Counting.fits = 0
        assert np.array_equal(stack.refit_final(final).predict_proba(X), again.predict_proba(X))
        assert stack.final_estimator is final
        assert Counting.fits == 0


def test_refit_final_refuses_outdated_predictions() -> None:
    X, y = classes()
    stack = StackingClassifier(OURS, cv=3).fit(X, y)
    before = stack.predict_proba(X)
    stack.set_params(tree__max_depth=1)
    with pytest.raises(ValueError, match="changed since the last fit"):
        stack.refit_final("greedy")
    assert stack.final_estimator is None
    assert np.array_equal(stack.predict_proba(X), before)
    stack.set_params(tree__max_depth=3)
    stack.refit_final("greedy")
    for change in ({"cv": 4}, {"passthrough": True}, {"tree": "drop"}, {"refit": False}):
        other = StackingClassifier(OURS, cv=3).fit(X, y).set_params(**change)
        with pytest.raises(ValueError, match="changed since the last fit"):
            other.refit_final("greedy")
    # Parameters that do not affect predictions may change.
    stack.set_params(n_jobs=1, verbose=1).refit_final("nonnegative")


def test_failed_refit_final_changes_nothing() -> None:
    X, y = classes()
    stack = StackingClassifier(OURS, cv=3).fit(X, y)
    before = stack.predict_proba(X)
    for wrong in ("best", LinearRegression(), 3):
        with pytest.raises(ValueError, match="final_estimator"):
            stack.refit_final(wrong)
    assert stack.final_estimator is None
    assert np.array_equal(stack.predict_proba(X), before)


def test_refit_final_after_pickling() -> None:
    X, y = classes()
    copy = pickle.loads(pickle.dumps(StackingClassifier(OURS, cv=3).fit(X, y)))
    assert copy.refit_final("greedy").score(X, y) > 0.75
    wide = StackingClassifier(OURS, cv=3, passthrough=True).fit(X, y)
    copy = pickle.loads(pickle.dumps(wide))
    assert np.array_equal(copy.predict_proba(X), wide.predict_proba(X))
    with pytest.raises(ValueError, match="not stored in a pickled ensemble"):
        copy.refit_final(GaussianNB())


# ---- final models ----


def test_combiners_weight_base_estimators() -> None:
    X, y = classes(n_classes=3)
    stack = StackingClassifier(CLASSIFIERS, GreedySelection("log_loss", n_steps=5), cv=3).fit(X, y)
    said = np.stack([member.predict_proba(X) for member in stack.estimators_])
    expected = np.tensordot(stack.final_estimator_.weights_, said, axes=1)
    assert stack.predict_proba(X) == pytest.approx(expected, abs=1e-12)
    assert not hasattr(stack, "decision_function")
    with pytest.raises(ValueError, match="Set passthrough=False"):
        StackingClassifier(CLASSIFIERS, "greedy", passthrough=True).fit(X, y)
    with pytest.raises(ValueError, match="a base estimator uses predict"):
        StackingClassifier(CLASSIFIERS, "greedy", stack_method="predict").fit(X, y)


def test_disagreement_of_base_estimators() -> None:
    X, y = numbers()
    stack = StackingRegressor(REGRESSORS, "nonnegative").fit(X, y)
    said = np.stack([member.predict(X) for member in stack.estimators_])
    expected = np.sqrt(((said - stack.predict(X)) ** 2).sum(axis=0) / 2)
    assert stack.disagreement(X) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(TypeError, match="see the method disagreement"):
        stack.predict(X, return_std=True)
    X, y = classes(n_classes=3)
    assert StackingClassifier(CLASSIFIERS).fit(X, y).disagreement(X).shape == (300, 3)


def test_rows_of_weight_zero_have_no_out_of_fold_predictions() -> None:
    X, y = classes()
    w = np.ones(300)
    w[::7] = 0
    stack = StackingClassifier(OURS, cv=3).fit(X, y, w)
    assert np.array_equal(np.isnan(stack.out_of_fold_[:, 0]), w == 0)
    left = StackingClassifier(OURS, cv=3).fit(X[w > 0], y[w > 0])
    assert np.array_equal(stack.predict_proba(X), left.predict_proba(X))


def test_fingerprints() -> None:
    X, y = classes()
    found = [
        StackingClassifier(OURS, "nonnegative", cv=3, **more).fit(X, y).fingerprint()
        for more in ({}, {"refit": False}, {"layers": [[("c", DecisionTreeClassifier())]]}, {})
    ]
    assert len(set(found)) == 3 and found[0] == found[3]
    found.append(StackingClassifier(OURS, "greedy", cv=3).fit(X, y).fingerprint())
    tree = StackingClassifier(OURS, DecisionTreeClassifier(), cv=3).fit(X, y)
    assert len({*found, tree.fingerprint()}) == 5
    with pytest.raises(TypeError, match="final estimator is a LogisticRegression"):
        StackingClassifier(OURS).fit(X, y).fingerprint()

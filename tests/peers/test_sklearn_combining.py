"""Same base estimators, folds and parameters: the predictions of scikit-learn's classes."""

import inspect

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import weald

CLASSIFIERS = [
    ("trees", weald.BoostedTreesClassifier(quality="fast", n_estimators=8)),
    ("tree", weald.DecisionTreeClassifier(max_depth=4)),
    ("bayes", GaussianNB()),
]
REGRESSORS = [
    ("trees", weald.BoostedTreesRegressor(quality="fast", n_estimators=8)),
    ("line", LinearRegression()),
]


def classes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    ranks = np.argsort(np.argsort(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=240)))
    return X, np.array(["a", "b", "c"])[ranks * n_classes // 240]


def numbers() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + rng.normal(size=240) / 4


NAMES = ["VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_constructors(name: str) -> None:
    ours = inspect.signature(getattr(weald, name)).parameters
    for parameter in inspect.signature(getattr(theirs, name)).parameters.values():
        assert ours[parameter.name].default == parameter.default
        assert ours[parameter.name].kind == parameter.kind


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 3, 2]])
def test_votes_of_classifiers(n_classes: int, voting: str, weights) -> None:
    X, y = classes(n_classes)
    w = np.random.default_rng(1).random(240)
    for given in ({}, {"sample_weight": w}):
        pair = [
            room.VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X, y, **given)
            for room in (weald, theirs)
        ]
        compare(*pair, X, ["predict", "transform"] + ["predict_proba"] * (voting == "soft"))
        assert np.array_equal(pair[0].le_.classes_, pair[1].le_.classes_)
        if voting == "soft":
            shapes = [m.set_params(flatten_transform=False).transform(X).shape for m in pair]
            assert shapes[0] == shapes[1]


@pytest.mark.parametrize("weights", [None, [1, 3]])
def test_votes_of_regressors(weights) -> None:
    X, y = numbers()
    pair = [room.VotingRegressor(REGRESSORS, weights=weights).fit(X, y) for room in (weald, theirs)]
    compare(*pair, X, ["predict", "transform"])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cv": 3},
        {"cv": StratifiedKFold(4, shuffle=True, random_state=1)},
        {"cv": KFold(3), "passthrough": True},
        {"stack_method": "predict"},
        {"final_estimator": GaussianNB(), "cv": 4},
    ],
    ids=str,
)
def test_stacked_classifiers(n_classes: int, more: dict) -> None:
    X, y = classes(n_classes)
    if more.get("passthrough"):
        more = {**more, "final_estimator": LogisticRegression(max_iter=500)}
    pair = [room.StackingClassifier(CLASSIFIERS, **more).fit(X, y) for room in (weald, theirs)]
    compare(*pair, X, ["predict", "predict_proba", "transform"])
    assert pair[0].stack_method_ == pair[1].stack_method_


def test_stacked_decisions() -> None:
    for n_classes in (2, 3):
        X, y = classes(n_classes)
        members = [*CLASSIFIERS, ("svm", LinearSVC())]
        pair = [room.StackingClassifier(members, cv=3).fit(X, y) for room in (weald, theirs)]
        compare(*pair, X, ["predict", "predict_proba", "decision_function", "transform"])


@pytest.mark.parametrize("passthrough", [False, True])
def test_stacked_regressors(passthrough: bool) -> None:
    X, y = numbers()
    for final in (None, RidgeCV(), weald.DecisionTreeRegressor(max_depth=3)):
        pair = [
            room.StackingRegressor(REGRESSORS, final, passthrough=passthrough).fit(X, y)
            for room in (weald, theirs)
        ]
        compare(*pair, X, ["predict", "transform"])


def test_parameters_of_predict_reach_the_final_model() -> None:
    X, y = numbers()
    pair = [
        room.StackingRegressor(REGRESSORS, BayesianRidge()).fit(X, y) for room in (weald, theirs)
    ]
    ours, their = (model.predict(X, return_std=True) for model in pair)
    assert np.shape(ours) == np.shape(their) == (2, 240)
    assert ours == pytest.approx(np.array(their), rel=1e-6)


def test_out_of_fold_predictions_are_the_same() -> None:
    """What scikit-learn's stacking fits its final model on, obtained through a final model
    that keeps its table."""
    X, y = classes(3)
    stack = weald.StackingClassifier(CLASSIFIERS).fit(X, y)

    class Keeper(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            Keeper.table = X
            return super().fit(X, y, sample_weight)

    theirs.StackingClassifier(CLASSIFIERS, Keeper()).fit(X, y)
    assert np.array_equal(stack.out_of_fold_, Keeper.table)
    columns = [cross_val_predict(m, X, y, method="predict_proba") for _, m in CLASSIFIERS]
    assert np.array_equal(stack.out_of_fold_, np.hstack(columns))


def compare(ours, their, X: np.ndarray, methods: list[str]) -> None:
    assert list(ours.named_estimators_) == list(their.named_estimators_)
    assert [type(e) for e in ours.estimators_] == [type(e) for e in their.estimators_]
    assert ours.n_features_in_ == their.n_features_in_
    names = [model.get_feature_names_out().tolist() for model in (ours, their)]
    assert names[0] == names[1]
    if hasattr(their, "classes_"):
        assert ours.classes_.tolist() == their.classes_.tolist()
    for method in methods:
        got, expected = getattr(ours, method)(X), getattr(their, method)(X)
        if expected.dtype.kind in "UO":
            assert np.array_equal(got, expected)
        else:
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)

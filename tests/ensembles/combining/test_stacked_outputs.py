"""StackingClassifier on targets of several columns, and metadata for its final estimator."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import get_tags

from weald import (
    BlendingClassifier,
    DecisionTreeClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)

X, Y = make_multilabel_classification(150, n_features=6, n_classes=3, random_state=0)
WORDS = np.array([["a", "x"], ["b", "y"], ["c", "x"]], dtype=object)[Y.sum(axis=1) % 3]
FOREST = RandomForestClassifier(10, max_features="sqrt", min_samples_leaf=1, random_state=0)
MEMBERS = [("forest", FOREST), ("near", KNeighborsClassifier())]


def stack(members: list = MEMBERS, final: Any = FOREST, **more: Any) -> StackingClassifier:
    return StackingClassifier(members, final, **{"cv": KFold(3), **more})


def test_the_final_estimator_sees_out_of_fold_probabilities() -> None:
    model = stack().fit(X, Y)
    table = np.zeros((len(X), 6))
    for train, test in KFold(3).split(X):
        for number, (_, member) in enumerate(MEMBERS):
            parts = sklearn.clone(member).fit(X[train], Y[train]).predict_proba(X[test])
            table[test, 3 * number : 3 * number + 3] = np.stack([p[:, 1] for p in parts], axis=1)
    np.testing.assert_allclose(model.out_of_fold_, table)
    expected = sklearn.clone(FOREST).fit(table, Y)
    assert np.array_equal(model.predict(X), expected.predict(model.transform(X)))
    assert [part.shape for part in model.predict_proba(X)] == [(150, 2)] * 3
    assert model.score(X, Y) > 0.5
    names = model.get_feature_names_out()
    assert len(names) == 6 and names[0] == "stackingclassifier_forest0"
    assert len(stack([("forest", FOREST)]).fit(X, Y).fingerprint()) == 64


def test_labels_of_any_type() -> None:
    for method in ("predict", "predict_proba"):
        trees = [("forest", FOREST), ("tree", DecisionTreeClassifier(max_depth=3))]
        model = stack(trees, stack_method=method).fit(X, WORDS)
        assert [own.tolist() for own in model.classes_] == [["a", "b", "c"], ["x", "y"]]
        assert model.predict(X).shape == (150, 2)
        assert set(map(tuple, model.predict(X))) <= {(a, b) for a in "abc" for b in "xy"}
        # Three classes: three columns; two classes: one.
        assert model.transform(X).shape == (150, 4 if method == "predict" else 8)


def test_predicted_labels_of_repeated_test_folds_are_majorities() -> None:
    splits = list(ShuffleSplit(5, test_size=0.5, random_state=0).split(X))
    model = stack([("tree", DecisionTreeClassifier())], cv=splits, stack_method="predict")
    found = model.fit(X, Y).out_of_fold_
    votes = np.zeros((150, 3, 2))
    for train, test in splits:
        labels = DecisionTreeClassifier().fit(X[train], Y[train]).predict(X[test])
        for output in range(3):
            votes[test, output, labels[:, output]] += 1
    known = votes.any(axis=(1, 2))
    assert np.array_equal(found[known], votes[known].argmax(axis=2))
    assert np.isnan(found[~known]).all()


def test_classes_that_a_fold_does_not_see() -> None:
    rare = Y.copy()
    rare[:, 2] = 0
    rare[:2, 2] = 1  # both in the first fold
    model = stack().fit(X, rare)
    assert np.array_equal(model.classes_[2], [0, 1])
    assert model.out_of_fold_.shape == (150, 6)
    assert not model.out_of_fold_[:50, 2].any()  # trained without the class


def test_other_methods_and_kinds_of_base_estimators() -> None:
    members = [("ridge", RidgeClassifier()), ("line", Ridge())]
    model = stack(members, KNeighborsClassifier()).fit(X, Y)
    assert model.stack_method_ == ["decision_function", "predict"]
    assert model.predict(X).shape == (150, 3)


def test_prefit() -> None:
    fitted = [("forest", sklearn.clone(FOREST).fit(X[:75], WORDS[:75]))]
    model = stack(fitted, cv="prefit").fit(X[75:], WORDS[75:])
    assert (model.predict(X) == WORDS).mean() > 0.5


def test_tags_say_whether_several_outputs_are_supported() -> None:
    def takes(model: StackingClassifier) -> bool:
        return bool(get_tags(model).classifier_tags.multi_label)

    assert takes(stack()) and takes(stack([*MEMBERS, ("none", "drop")]))
    assert not takes(stack(final=None)) and not takes(stack(final="greedy"))
    assert not takes(stack([("line", LogisticRegression())]))
    assert get_tags(FOREST).classifier_tags.multi_label


@pytest.mark.parametrize("final", [None, "nonnegative", "greedy"])
def test_final_estimators_of_one_output_are_refused(final: Any) -> None:
    with pytest.raises(ValueError, match="supports one output; y has 3 columns. Set final_est"):
        stack(final=final).fit(X, Y)


def test_what_supports_one_output_only() -> None:
    with pytest.raises(ValueError, match="disagreement supports one output"):
        stack().fit(X, Y).disagreement(X)
    for model in (VotingClassifier(MEMBERS), BlendingClassifier(MEMBERS, FOREST)):
        with pytest.raises(ValueError, match="supports one output"):
            model.fit(X, Y)


class Odd(ClassifierMixin, BaseEstimator):
    """Predicts probabilities of the wrong shape."""

    def fit(self, X: Any, y: Any) -> "Odd":
        self.classes_ = [np.array([0, 1])] * 3
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


def test_wrong_shapes_name_the_base_estimator() -> None:
    with pytest.raises(ValueError, match=r"'odd'.*shape \(50, 2\) for 3 outputs"):
        stack([("odd", Odd())]).fit(X, Y)


class Noting(KNeighborsClassifier):
    """Notes the metadata of predict, and forgets to return itself from fit."""

    def fit(self, X: Any, y: Any) -> None:
        super().fit(X, y)

    def predict(self, X: Any, colour: Any = None, size: Any = None) -> Any:
        self.noted_ = (colour, size)
        return super().predict(X)


def test_metadata_of_predict_are_routed_to_the_final_estimator() -> None:
    plain = stack(final=Noting()).fit(X, Y)
    plain.predict(X, colour="red")
    assert plain.final_estimator_.noted_ == ("red", None)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = Noting().set_predict_request(colour=True, size=False)
        model = stack(final=asking).fit(X, Y)
        model.predict(X, colour="red")
        assert model.final_estimator_.noted_ == ("red", None)
        with pytest.raises(TypeError, match="size"):
            model.predict(X, size=3)

"""Labels of every kind, and of no kind: one class, text, truth values, mixtures, objects."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import weald
from contract.subjects import EVERY_CLASSIFIER, answers, has, quick, table, target
from reliability.families import every_family_of_classes, every_family_of_numbers

X0 = table(60)


def labels(estimator: type, n_classes: int = 2) -> np.ndarray:
    return target(estimator, X0, n_classes)


@every_family_of_classes
def test_boolean_labels_give_boolean_predictions(estimator) -> None:
    y = labels(estimator) == 1
    model = quick(estimator).fit(X0, y)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X0).dtype == bool


@every_family_of_classes
def test_objects_that_are_numbers_are_numbers(estimator) -> None:
    y = labels(estimator, 3)
    expected = quick(estimator).fit(X0, y)
    for kind in (int, np.int8):
        objects = np.array([kind(one) for one in y], dtype=object)
        model = quick(estimator).fit(X0, objects)
        assert model.classes_.dtype.kind == "i"
        assert np.array_equal(model.predict_proba(X0), expected.predict_proba(X0))
    truth = quick(estimator).fit(X0, (y > 0).astype(object))
    assert truth.predict(X0).dtype == bool


@every_family_of_classes
@pytest.mark.parametrize("other", [1, 2.5, True], ids=str)
def test_text_and_other_labels_do_not_mix(estimator, other: object) -> None:
    y = np.array(["a", other] * 30, dtype=object)
    with pytest.raises(
        ValueError, match=r"mix of label input types: row 0 .* 'a', row 1 has .*text"
    ):
        quick(estimator).fit(X0, y)


@every_family_of_classes
@pytest.mark.parametrize(
    ("y", "error", "fragment"),
    [
        (np.linspace(0, 1, 60), ValueError, "Unknown label type: continuous"),
        (np.array([b"a", b"b"] * 30), TypeError, "bytes is not supported. Convert .*astype"),
        (np.array([b"a", b"b"] * 30, dtype=object), TypeError, "bytes is not supported. Convert"),
        (scipy.sparse.csr_array([[1], [0]] * 30), TypeError, r"pass y.toarray\(\)"),
        (np.array([[[0]], [[1]]] * 30), ValueError, "dim 3"),
        (np.array([0, 1] * 30) + 1j, ValueError, "Complex data not supported"),
        (["a", None] * 30, ValueError, "contains NaN: the label of row 1 is missing"),
        ("no labels", ValueError, "y should be a 1d array"),
        (3, ValueError, "y should be a 1d array"),
    ],
    ids=["numbers", "bytes", "objects", "sparse", "cube", "complex", "gaps", "text", "number"],
)
def test_what_are_no_labels(estimator, y, error: type, fragment: str) -> None:
    with pytest.raises(error, match=fragment):
        quick(estimator).fit(X0, y)


@every_family_of_numbers
@pytest.mark.parametrize(
    ("y", "error", "fragment"),
    [
        (
            ["cheap", "dear"] * 30,
            ValueError,
            "y holds text.* row 0 has '?cheap.*use a classifier for",
        ),
        (np.arange(60).astype("M8[D]"), TypeError, "days since a fixed date"),
        (scipy.sparse.csr_array([[1], [0]] * 30), TypeError, r"pass y.toarray\(\)"),
        (np.arange(60) + 1j, ValueError, "Complex data not supported"),
        ([1.0, None] * 30, ValueError, "contains NaN"),
    ],
    ids=["text", "dates", "sparse", "complex", "gaps"],
)
def test_non_numeric_regression_targets_are_rejected(
    estimator, y, error: type, fragment: str
) -> None:
    with pytest.raises(error, match=fragment):
        quick(estimator).fit(X0, y)


@every_family_of_classes
def test_one_hot_labels_get_advice(estimator) -> None:
    one_hot = np.eye(3, dtype=int)[labels(estimator, 3)]
    if estimator.__name__ == "StackingClassifier":  # if its final estimator does
        with pytest.raises(ValueError, match="supports one output; y has 3 columns"):
            quick(estimator).fit(X0, one_hot)
        return
    if getattr(estimator, "_takes_several", False):
        assert quick(estimator).fit(X0, one_hot).predict(X0).shape == (60, 3)
        return
    with pytest.raises(ValueError, match=r"shape \(60, 3\) .*MultiOutputClassifier"):
        quick(estimator).fit(X0, one_hot)


WEIGHED = [one for one in EVERY_CLASSIFIER if has(one, "class_weight")]


@pytest.mark.parametrize("estimator", WEIGHED)
def test_weights_of_classes_that_are_not_there(estimator) -> None:
    y = labels(estimator)
    with pytest.raises(ValueError, match="class_weight|[Cc]lass"):
        quick(estimator, class_weight={0: 1.0, 7: 2.0}).fit(X0, y)
    balanced = quick(estimator, class_weight="balanced").fit(X0, y)
    assert np.isfinite(answers(balanced, X0)).all()
    if estimator in (weald.BoostedTreesClassifier, weald.DecisionTreeClassifier):
        # A class that is not named has weight 1.
        some = quick(estimator, class_weight={0: 1.0}).fit(X0, y)
        assert some.fingerprint() == quick(estimator).fit(X0, y).fingerprint()


@every_family_of_classes
def test_lone_surrogates_in_labels_and_levels(estimator) -> None:
    """Names of files that are no UTF-8 become such text in Python."""
    number = labels(estimator)
    y = np.array(["a\udc80", "b"])[number]
    X = X0.astype(object)
    if estimator is not weald.RotationForestClassifier:  # takes no categories
        X[:, 0] = np.where(number == 1, "u\udcff", "v")
    model = quick(estimator).fit(X, y)
    assert set(model.predict(X)) <= set(y) and len(model.fingerprint()) == 64
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()

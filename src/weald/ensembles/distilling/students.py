"""Readable models that learn from answers: a tree, an option tree, a list of rules."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import number_rows
from weald.ensembles.distilling.rule_list import RuleListClassifier, RuleListRegressor
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.forests.option_tree import OptionTreeClassifier, OptionTreeRegressor
from weald.trees import OptionTarget

Floats = NDArray[np.float64]

KINDS = ("tree", "option_tree", "rules")


def student_of(kind: str, size: int, *, is_class: bool, min_samples_leaf: int, **own: Any) -> Any:
    """An unfitted student with at most `size` answers; `own` are parameters that all have."""
    if kind == "tree":
        made: type = DecisionTreeClassifier if is_class else DecisionTreeRegressor
        return made(max_leaf_nodes=size, min_samples_leaf=min_samples_leaf, **own)
    if kind == "option_tree":
        made = OptionTreeClassifier if is_class else OptionTreeRegressor
        # Two tests side by side, so that a few leaves are enough for more than the root.
        limits = {"max_options": 2, "max_leaf_nodes": size, **own}
        return made(min_samples_leaf=min_samples_leaf, **limits)
    made = RuleListClassifier if is_class else RuleListRegressor
    # Few conditions cannot tell many rules apart: a tree of 64 leaves needs six questions.
    conditions = max(3, (size - 1).bit_length() - 1)
    limits = {"max_rules": size, "max_conditions": conditions, **own}
    return made(min_samples_leaf=min_samples_leaf, **limits)


def taught(student: Any, X: Any, predictions: Floats, classes: NDArray[Any] | None) -> Any:
    """Fit a student to answers: numbers, or probabilities of the classes, not only labels."""
    if classes is None:
        return student.fit(X, predictions[:, 0])
    with student._fitting():
        rows = number_rows(student, X, np.zeros(len(predictions)), None)
        student.classes_ = classes
        # Of shares as of labels, Gini's impurity falls by as much as the variance does.
        values = np.ascontiguousarray(predictions.T)
        if isinstance(student, DecisionTreeClassifier):
            tree = student._grower(student._bin(rows), rows, None).on_values(values, None, None)
            student._keep(tree, rows)
        elif isinstance(student, OptionTreeClassifier):
            student._grow(rows, OptionTarget(student.criterion, None, None, values=values))
        else:
            student._learn(rows, values)
    return student


def size_of(student: Any) -> int:
    """How many answers a student has."""
    if isinstance(student, (RuleListClassifier, RuleListRegressor)):
        return student.get_n_rules()
    return int(student.get_n_leaves())

"""Students of a distillation: a decision tree, an option tree or a rule list."""

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
    """An unfitted student with at most `size` leaves or rules; `own` are further parameters."""
    if kind == "tree":
        made: type = DecisionTreeClassifier if is_class else DecisionTreeRegressor
        return made(max_leaf_nodes=size, min_samples_leaf=min_samples_leaf, **own)
    if kind == "option_tree":
        made = OptionTreeClassifier if is_class else OptionTreeRegressor
        # At most two options per node, so that a few leaves suffice for more than the root.
        limits = {"max_options": 2, "max_leaf_nodes": size, **own}
        return made(min_samples_leaf=min_samples_leaf, **limits)
    made = RuleListClassifier if is_class else RuleListRegressor
    # Many rules require more conditions: a tree of 64 leaves has a depth of at least six.
    conditions = max(3, (size - 1).bit_length() - 1)
    limits = {"max_rules": size, "max_conditions": conditions, **own}
    return made(min_samples_leaf=min_samples_leaf, **limits)


def fit_student(student: Any, X: Any, predictions: Floats, classes: NDArray[Any] | None) -> Any:
    """Fit a student to predictions of the teacher: numbers, or class probabilities."""
    if classes is None:
        return student.fit(X, predictions[:, 0])
    with student._fitting():
        rows = number_rows(student, X, np.zeros(len(predictions)), None)
        student.classes_ = classes
        # The decrease of the Gini impurity is that of the variance, for probabilities too.
        values = np.ascontiguousarray(predictions.T)
        if isinstance(student, DecisionTreeClassifier):
            tree = student._grower(student._bin(rows), rows, None).on_values(values, None, None)
            student._keep(tree, rows)
        elif isinstance(student, OptionTreeClassifier):
            student._grow(rows, OptionTarget(student.criterion, None, None, values=values))
        else:
            student._fit_rules(rows, values)
    return student


def size_of(student: Any) -> int:
    """Number of leaves or rules of a student."""
    if isinstance(student, (RuleListClassifier, RuleListRegressor)):
        return student.get_n_rules()
    return int(student.get_n_leaves())

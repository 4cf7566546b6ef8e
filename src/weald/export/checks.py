"""Which models can be exported, and why others cannot."""

from typing import Any

from weald.ensembles.base import TreeModel

_EXPORTED = (
    "boosted trees, gradient boosting of trees, random forests, extra trees, decision trees, "
    "AdaBoostClassifier of stumps and models imported from other libraries"
)


def check_is_tree_model(model: Any) -> None:
    """Raise TypeError unless the model is a tree model of weald."""
    if isinstance(model, TreeModel):
        return
    if isinstance(model, type):
        got = f"the class {model.__name__}; pass a fitted instance"
    else:
        got = type(model).__name__
    raise TypeError(f"Exported are {_EXPORTED} of weald; got {got}.")


def not_exported(model: Any, why: str) -> ValueError:
    """The error for a tree model whose prediction is not a sum of trees."""
    return ValueError(
        f"This {type(model).__name__} cannot be exported: {why}. Exported are {_EXPORTED}."
    )

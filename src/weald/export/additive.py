"""The common form of exported models: a sum of trees, then a scale and a link."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import plan_of
from weald.ensembles.adaboost.adaboost import AdaBoostClassifier
from weald.ensembles.adaboost.adaboost_r2 import AdaBoostRegressor
from weald.ensembles.forests.forest import ForestModel
from weald.ensembles.scored import ScoredModel
from weald.export.checks import check_is_tree_model, not_exported
from weald.export.codes import levels_of, refuse_derived_columns
from weald.losses import BuiltinLoss
from weald.trees import Forest

Floats = NDArray[np.float64]

# Link of each loss, and the factor of its scores; all other losses predict their scores.
_LINKS = {
    "log_loss": ("softmax", 1.0),
    "kl": ("softmax", 1.0),
    "exponential": ("softmax", 2.0),
    "poisson": ("exp", 1.0),
    "gamma": ("exp", 1.0),
    "tweedie": ("exp", 1.0),
    "quantile": ("sorted", 1.0),
}
_IDENTITY = {"", "squared_error", "absolute_error", "huber"}


@dataclass(frozen=True, eq=False)
class Additive:
    """A model whose scores are a base score plus the values of the trees, added in order.

    Attributes
    ----------
    forest : Forest
        The trees; all tree weights are 1.
    n_averaged : int
        The scores are divided by it.
    bounds : tuple of float or None
        Then they are clipped to these bounds.
    factor : float
        Then they are multiplied by it.
    link : {"identity", "sigmoid", "softmax", "exp", "sorted"}
        Then predictions are made of them.
    classes : tuple of arrays
        Labels of each output; empty: regression.
    ties_to_last : bool
        Whether the last of several equally probable classes is predicted.
    names : list of str
        Names of the columns.
    levels : list of tuple or None
        Categories of each column in the order of their codes; None: it has none.
    kind, fingerprint : str
        Class and fingerprint of the model.
    """

    forest: Forest
    n_averaged: int
    bounds: tuple[float, float] | None
    factor: float
    link: str
    classes: tuple[NDArray[Any], ...]
    ties_to_last: bool
    names: list[str]
    levels: list[tuple[Any, ...] | None]
    kind: str
    fingerprint: str

    @property
    def n_outputs(self) -> int:
        """Number of predictions per row: probabilities of all classes, or values."""
        return 2 if self.link == "sigmoid" else self.forest.n_outputs


@dataclass(frozen=True)
class _Steps:
    """What is done with the sums of the trees' values."""

    loss: str = ""
    factor: float = 1.0
    is_mean: bool = False
    ties_to_last: bool = False


def additive_of(model: Any) -> Additive:
    """The common form of a fitted model, or an error that says why it has none."""
    check_is_tree_model(model)
    check_is_fitted(model)
    steps = _steps_of(model)
    refuse_derived_columns(model)
    classes = getattr(model, "classes_", None)
    outputs = () if classes is None else tuple(classes) if isinstance(classes, list) else (classes,)
    forest = _with_weighted_values(model.forest_)
    link, factor = _link_of(steps.loss, forest.n_outputs)
    bounds = model.forest_.value_range if steps.is_mean else None
    n_averaged = forest.n_trees if steps.is_mean else 1
    if len(outputs) == 1 and len(outputs[0]) == 1:
        forest, link, bounds, n_averaged = _certain(forest), "identity", None, 1
    return Additive(
        forest=forest,
        n_averaged=n_averaged,
        bounds=bounds,
        factor=factor * steps.factor,
        link=link,
        classes=outputs,
        ties_to_last=steps.ties_to_last,
        names=model._column_names(),
        levels=[levels_of(column) for column in plan_of(model).columns],
        kind=type(model).__name__,
        fingerprint=model.fingerprint(),
    )


def _steps_of(model: Any) -> _Steps:
    if isinstance(model, AdaBoostRegressor):
        raise not_exported(model, "it predicts a weighted median of its trees, not a sum")
    if getattr(model, "_estimators", None) is not None:
        raise not_exported(model, "its base estimators are those of another class than its own")
    if isinstance(model, AdaBoostClassifier):
        return _votes(model)
    if not model._predicts_by_forest:
        raise not_exported(model, "it does not predict a sum of trees")
    if model._input_forest is not model.forest_:
        raise not_exported(model, "its trees split rotated columns")
    if getattr(getattr(model, "_start", None), "estimator", None) is not None:
        raise not_exported(model, "its boosting began with the predictions of another estimator")
    if hasattr(model, "predict_survival_function"):
        raise not_exported(model, "its survival functions are no sum of trees")
    if isinstance(model, ScoredModel) and not isinstance(model._fitted_loss, BuiltinLoss):
        raise not_exported(model, f"the link of loss={model.loss!r} is Python code")
    return _Steps(model._link, is_mean=isinstance(model, ForestModel))


def _votes(model: AdaBoostClassifier) -> _Steps:
    """AdaBoost: probabilities by the link of log loss from the scaled sum of the votes."""
    name, n_classes = model._form.name, model.n_classes_
    factor = 2.0 if name == "half-log" else 1.0
    if name == "samme":
        factor = (2.0 if n_classes == 2 else 1.0 / (n_classes - 1)) if n_classes > 1 else 1.0
        factor /= float(np.abs(model.estimator_weights_).sum())
    ties_to_last = n_classes == 2 and name in {"half-log", "log"}
    return _Steps("log_loss", factor, ties_to_last=ties_to_last)


def _link_of(loss: str, n_scores: int) -> tuple[str, float]:
    if loss in _IDENTITY or (loss == "quantile" and n_scores == 1):
        return "identity", 1.0
    link, factor = _LINKS[loss]
    return ("sigmoid" if link == "softmax" and n_scores == 1 else link), factor


def _with_weighted_values(forest: Forest) -> Forest:
    """The forest with its tree weights multiplied into the leaf values, as predictions do."""
    weight = np.repeat(forest.tree_weight, np.diff(forest.first_leaf))
    return replace(
        forest,
        value=weight[:, np.newaxis] * forest.value,
        tree_weight=np.ones_like(forest.tree_weight),
    )


def _certain(forest: Forest) -> Forest:
    """No trees and the score 1: the probability of the only class."""
    return replace(forest.part(0, 0), base_score=np.ones(1))

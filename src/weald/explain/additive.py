"""Models as sums of trees: the form in which Shapley values are exact."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan
from weald.ensembles.adaboost.adaboost import AdaBoostClassifier, ballots_of
from weald.ensembles.adaboost.adaboost_r2 import AdaBoostRegressor
from weald.ensembles.adaboost.stumps import Stump
from weald.ensembles.base import TreeModel
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier
from weald.ensembles.forests.forest import ForestModel
from weald.ensembles.forests.option_tree import OptionTree
from weald.ensembles.forests.outputs import OutputsModel
from weald.ensembles.forests.rotated import RotationModel
from weald.ensembles.gradient_boosting.descent import GradientBoosting
from weald.ensembles.imported.imported import Imported
from weald.ensembles.isolation.isolation_forest import IsolationForest
from weald.ensembles.scored import ScoredModel
from weald.ensembles.survival.survival_forest import RandomSurvivalForest
from weald.explain.option_trees import without_options
from weald.losses import BuiltinLoss, QuantileLosses, UserLoss
from weald.trees import Forest

Floats = NDArray[np.float64]

PREDICTION, PROBABILITY, RAW = "prediction", "probability", "raw score"
PATH_LENGTH = "mean path length"
LOG_SCORE = f"{RAW} (log of the prediction)"


class NotAdditive(Exception):
    """The predictions are no sum of trees; the message says why, and why values are sampled."""


@dataclass(frozen=True, eq=False)
class Term:
    """Trees whose scores are added.

    Attributes
    ----------
    forest : Forest
        The trees.
    reader : estimator
        Fitted estimator that converts tables to the columns that the trees split on.
    weights : array, shape (outputs of the forest, outputs)
        Factors of the scores of the forest.
    columns : array of int or None
        Columns of the table that the reader was fitted on; None: all.
    """

    forest: Forest
    reader: Any
    weights: Floats
    columns: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class AdditiveForm:
    """Predictions as a constant plus a weighted sum of the scores of trees.

    Attributes
    ----------
    terms : tuple of Term
        The trees.
    constant : array, shape (outputs,)
        Added to the terms.
    scale : str
        What the sum is.
    outputs : tuple of str
        Names of the outputs.
    """

    terms: tuple[Term, ...]
    constant: Floats
    scale: str
    outputs: tuple[str, ...]

    def times(self, weights: Floats) -> "AdditiveForm":
        """Outputs that are linear combinations of these: `weights` of shape (old, new)."""
        terms = tuple(replace(term, weights=term.weights @ weights) for term in self.terms)
        return replace(self, terms=terms, constant=self.constant @ weights)


def added(
    forms: Sequence[AdditiveForm], constant: Floats, scale: str, outputs: Sequence[str]
) -> AdditiveForm:
    """The sum of forms with the same outputs."""
    terms = tuple(term for form in forms for term in form.terms)
    total = constant + sum((form.constant for form in forms), np.zeros(len(constant)))
    return AdditiveForm(terms, np.asarray(total), scale, tuple(outputs))


def form_of_trees(model: Any, response: str) -> AdditiveForm:
    """The form of a model whose trees are in one forest, or of boosting of other estimators.

    Parameters
    ----------
    model : TreeModel
        The fitted model.
    response : {"auto", "predict", "predict_proba", "decision_function"}
        The predictions; "auto": those on whose scale the model is a sum.

    Raises
    ------
    NotAdditive
        If the predictions are no sum of trees.
    """
    for kind, form in _FORMS:
        if isinstance(model, kind):
            return form(model, response)
    raise NotAdditive(f"{type(model).__name__} is no sum of trees")


# ---- boosting: sums of trees on the scale of the raw scores ----


def _scored(model: ScoredModel, response: str) -> AdditiveForm:
    """Boosted trees, and gradient boosting with weald's own trees or any other regressor."""
    loss, outputs = model._fitted_loss, _score_names(model)
    is_classifier = hasattr(model, "classes_")
    if is_classifier and response == "predict_proba":
        raise NotAdditive("probabilities of boosted trees are no sums: they are links of scores")
    scale = _scale_of_scores(model)
    if not is_classifier and response == "predict" and scale != PREDICTION:
        raise NotAdditive("predictions with a link function are no sums of trees")
    if isinstance(model, GradientBoosting):
        if model._start.estimator is not None:
            raise NotAdditive("the predictions of init are no sum of trees")
        if model._estimators is not None:
            return _descended(model, scale, outputs)
    return _single(model, np.eye(loss.n_scores), scale, outputs)


def _single(model: Any, weights: Floats, scale: str, outputs: Sequence[str]) -> AdditiveForm:
    """A model whose scores are those of one forest, times weights."""
    term = Term(model.forest_, model, weights)
    return AdditiveForm((term,), np.zeros(weights.shape[1]), scale, tuple(outputs))


def _descended(model: GradientBoosting, scale: str, outputs: Sequence[str]) -> AdditiveForm:
    """Gradient boosting whose base estimators are regressors of weald."""
    n_scores, forms = model.n_trees_per_iteration_, []
    assert model._estimators is not None
    for i, estimator in enumerate(model._estimators):
        form = _form_of_part(estimator, model, "predict")
        weights = np.zeros((1, n_scores))
        weights[0, i % n_scores] = model.step_sizes_.ravel()[i]
        forms.append(form.times(weights))
    return added(forms, model._start.base, scale, outputs)


def _form_of_part(estimator: Any, owner: Any, response: str) -> AdditiveForm:
    """The form of a base estimator fitted on the numeric columns of `owner`."""
    if not isinstance(estimator, TreeModel):
        raise NotAdditive(f"{type(estimator).__name__} is no tree model of weald")
    form = form_of_trees(estimator, response)
    if not _has_codes_of(estimator._plan, owner._plan):
        raise NotAdditive("the base estimators have categories of their own")
    return replace(form, terms=tuple(replace(term, reader=owner) for term in form.terms))


def _has_codes_of(plan: ColumnPlan, owner: ColumnPlan) -> bool:
    """Whether the categories of a base estimator are the codes of those of its ensemble."""
    if plan.is_plain:
        return True
    codes = [None if levels is None else tuple(range(len(levels))) for levels in owner.levels]
    return list(plan.levels) == codes


def _scale_of_scores(model: Any) -> str:
    loss = model._fitted_loss
    if hasattr(model, "classes_"):
        if not isinstance(loss, BuiltinLoss):
            return RAW
        if loss.n_scores > 1:
            return f"{RAW} (before softmax)"
        return f"{RAW} (half of the log odds)" if loss.name == "exponential" else "log odds"
    if isinstance(loss, QuantileLosses):
        return f"{RAW} (quantiles before they are sorted)"
    if loss.has_log_link:
        return LOG_SCORE
    return RAW if isinstance(loss, UserLoss) and hasattr(loss.loss, "link") else PREDICTION


def _score_names(model: Any) -> list[str]:
    loss, classes = model._fitted_loss, getattr(model, "classes_", None)
    if isinstance(loss, QuantileLosses):
        return [f"quantile {level:g}" for level in loss.levels]
    if classes is None:
        return [""] if loss.n_scores == 1 else [f"output {j}" for j in range(loss.n_scores)]
    return [str(classes[-1])] if loss.n_scores == 1 else [str(label) for label in classes]


# ---- means of trees ----


def _tree_outputs(model: Any, response: str) -> AdditiveForm:
    """Decision trees, option trees and forests: probabilities or means."""
    _refuse_labels(model, response)
    n_outputs = model.forest_.n_outputs
    weights = np.eye(n_outputs)
    if isinstance(model, ForestModel):
        weights /= model.forest_.n_trees
    return _single(model, weights, _scale_of_trees(model), _output_names(model))


def _option_tree(model: Any, response: str) -> AdditiveForm:
    form = _tree_outputs(model, response)
    plain = tuple(replace(term, forest=without_options(model.forest_)) for term in form.terms)
    return replace(form, terms=plain)


def _rotated(model: Any, response: str) -> AdditiveForm:
    raise NotAdditive("rotated trees split on combinations of columns")


def _medians(model: Any, response: str) -> AdditiveForm:
    raise NotAdditive("weighted medians of base estimators are no sums")


def _refuse_labels(model: Any, response: str) -> None:
    wanted = "predict_proba" if hasattr(model, "classes_") else "predict"
    if response not in ("auto", wanted):
        raise NotAdditive(f"its trees are averaged on the scale of {wanted}, not of {response}")


def _scale_of_trees(model: Any) -> str:
    return PROBABILITY if hasattr(model, "classes_") else PREDICTION


def _output_names(model: Any) -> list[str]:
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        return [f"output {j}: {label}" for j, own in enumerate(classes) for label in own]
    if classes is not None:
        return [str(label) for label in classes]
    n_outputs = model.forest_.n_outputs
    return [""] if n_outputs == 1 else [f"output {j}" for j in range(n_outputs)]


# ---- isolation forests: means of path lengths ----


def _path_lengths(model: IsolationForest, response: str) -> AdditiveForm:
    if response != "auto":
        raise NotAdditive(
            "scores of an isolation forest are no sums: they are powers of the mean path length"
        )
    return _single(model, np.eye(1) / model.forest_.n_trees, PATH_LENGTH, [""])


# ---- trees of other libraries ----


def _imported(model: Imported, response: str) -> AdditiveForm:
    """Raw scores before a link, or means of trees."""
    classes, n_scores = getattr(model, "classes_", None), model.forest_.n_outputs
    if not model.link_:
        _refuse_labels(model, response)
        return _single(model, np.eye(n_scores), _scale_of_trees(model), _output_names(model))
    if response == ("predict" if classes is None else "predict_proba"):
        raise NotAdditive("predictions with a link function are no sums of trees")
    if classes is None:
        return _single(model, np.eye(n_scores), LOG_SCORE, _output_names(model))
    names = [str(label) for label in (classes[-1:] if n_scores == 1 else classes)]
    scale = "log odds" if n_scores == 1 else f"{RAW} (before softmax)"
    return _single(model, np.eye(n_scores), scale, names)


# ---- AdaBoost: a weighted vote ----


def _adaboost(model: AdaBoostClassifier, response: str) -> AdditiveForm:
    if response not in ("auto", "decision_function"):
        raise NotAdditive("probabilities of AdaBoost are no sums: they are links of votes")
    n_classes, is_samme = model.n_classes_, model._form.name == "samme"
    outputs = [str(label) for label in model.classes_[-1 if n_classes <= 2 else 0 :]]
    factor = 1.0 / float(np.abs(model.estimator_weights_).sum()) if is_samme else 1.0
    if n_classes == 1:
        factor = 0.0
    elif n_classes == 2 and is_samme:
        factor *= 2.0
    scale = "vote (decision_function)"
    if hasattr(model, "forest_"):
        return _single(model, np.eye(model.forest_.n_outputs) * factor, scale, outputs)
    forms = [
        _voting(estimator, model).times(np.eye(len(outputs)) * weight * factor)
        for estimator, weight in zip(model.estimators_, model.estimator_weights_, strict=True)
    ]
    return added(forms, np.zeros(len(outputs)), scale, outputs)


def _voting(estimator: Any, owner: AdaBoostClassifier) -> AdditiveForm:
    """Votes of a base estimator: each leaf of a tree votes for its most probable class."""
    if not isinstance(estimator, (DecisionTreeClassifier, Stump)):
        raise NotAdditive(f"the votes of {type(estimator).__name__} are no sum of trees")
    form = _form_of_part(estimator, owner, "predict_proba")
    position = np.searchsorted(owner.classes_, estimator.classes_)
    ballots = ballots_of(owner._form)[position]
    if isinstance(estimator, Stump):
        best = estimator._leaf_classes
    else:
        best = np.argmax(estimator.forest_.value, axis=1)
    n_outputs = ballots.shape[1]
    forest = replace(
        estimator.forest_,
        value=np.ascontiguousarray(ballots[best]),
        output=np.full(1, -1 if n_outputs > 1 else 0, dtype=np.int32),
        base_score=np.zeros(n_outputs),
    )
    term = replace(form.terms[0], forest=forest, weights=np.eye(n_outputs))
    return AdditiveForm((term,), np.zeros(n_outputs), form.scale, form.outputs)


_FORMS: tuple[tuple[type, Callable[[Any, str], AdditiveForm]], ...] = (
    (RotationModel, _rotated),
    (BoostedTrees, _scored),
    (GradientBoosting, _scored),
    (AdaBoostClassifier, _adaboost),
    (AdaBoostRegressor, _medians),
    (Imported, _imported),
    (OptionTree, _option_tree),
    (IsolationForest, _path_lengths),
    (OutputsModel, _tree_outputs),
    (RandomSurvivalForest, _tree_outputs),
    (Stump, _tree_outputs),
)

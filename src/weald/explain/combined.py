"""Ensembles of any base estimators as sums of trees, where their combination is linear."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import plan_of
from weald.ensembles.auto.auto_base import AutoEnsemble
from weald.ensembles.bagging.bagging_base import Bagging
from weald.ensembles.base import TreeModel, keep_columns
from weald.ensembles.combining.greedy import GreedySelection
from weald.ensembles.combining.nonnegative import NonNegativeSum
from weald.ensembles.combining.out_of_fold import FoldModels
from weald.ensembles.combining.stacked import Stacked
from weald.ensembles.combining.voting_base import Voting
from weald.ensembles.members.response_methods import ResponseMethod
from weald.explain.additive import (
    PREDICTION,
    PROBABILITY,
    RAW,
    AdditiveForm,
    NotAdditive,
    added,
    form_of_trees,
)

Floats = NDArray[np.float64]

# Linear models of scikit-learn, whose predictions or decision functions are coef_ and intercept_.
_LINEAR = {
    *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars"),
    *("LarsCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "LinearRegression"),
    *("LinearSVC", "LinearSVR", "LogisticRegression", "LogisticRegressionCV", "Perceptron"),
    *("QuantileRegressor", "Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"),
    *("SGDClassifier", "SGDRegressor", "TheilSenRegressor"),
}


def additive_form(model: Any, response: str = "auto") -> AdditiveForm:
    """Find the form of a fitted model as a weighted sum of trees.

    Parameters
    ----------
    model : estimator
        The fitted model.
    response : {"auto", "predict", "predict_proba", "decision_function"}, default="auto"
        The predictions; "auto": those on whose scale the model is a sum.

    Returns
    -------
    AdditiveForm
        Trees and their weights.

    Raises
    ------
    NotAdditive
        If the predictions are no sum of trees.

    Examples
    --------
    >>> from weald import BoostedTreesClassifier
    >>> model = BoostedTreesClassifier(n_estimators=2, n_bags=None)
    >>> form = additive_form(model.fit([[1.0], [2.0]] * 50, ["a", "b"] * 50))
    >>> form.scale, form.outputs, len(form.terms)
    ('log odds', ('b',), 1)
    """
    if isinstance(model, TreeModel):
        return form_of_trees(model, response)
    for kind, form in _FORMS:
        if isinstance(model, kind):
            return form(model, response)
    raise NotAdditive(f"{type(model).__name__} is no model of weald's trees")


def _form_of_member(model: Any, response: ResponseMethod) -> AdditiveForm:
    """The form of a base estimator, its outputs in the order of the classes of `response`."""
    if isinstance(model, FoldModels):
        forms = [_form_of_member(fold, response) for fold in model.estimators_]
        share = np.eye(len(forms[0].outputs)) / len(forms)
        constant = np.zeros(len(forms[0].outputs))
        return added([f.times(share) for f in forms], constant, forms[0].scale, forms[0].outputs)
    form = additive_form(model, response.method)
    classes = response.classes
    if classes is None or not hasattr(model, "classes_"):
        return form
    known = np.asarray(model.classes_)
    if response.method == "predict_proba":
        position = np.searchsorted(classes, known)
        return replace(form.times(np.eye(len(classes))[position]), outputs=_names(classes))
    if len(known) != len(classes):
        raise NotAdditive("a base estimator was not fitted on all classes")
    return form


def _names(classes: NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(label) for label in classes)


def _mean(
    forms: Sequence[AdditiveForm], weights: Floats, scale: str, outputs: Sequence[str]
) -> AdditiveForm:
    """Weighted sum of forms, a weight each."""
    parts = [
        form.times(np.eye(len(outputs)) * weight)
        for form, weight in zip(forms, weights, strict=True)
    ]
    return added(parts, np.zeros(len(outputs)), scale, outputs)


# ---- bagging and voting ----


def _bagging(model: Any, response: str) -> AdditiveForm:
    if hasattr(model, "_forest_model"):
        return form_of_trees(model._forest_model, response)
    is_classifier = hasattr(model, "classes_")
    own = "predict_proba" if is_classifier else "predict"
    if response not in ("auto", own):
        raise NotAdditive(f"bagging averages {own}, not {response}")
    method = model._response_method
    if is_classifier and method.method == "predict":
        raise NotAdditive("labels of base estimators without predict_proba are no sums of trees")
    forms = []
    for estimator, columns in zip(model._estimators, model._columns_seen, strict=True):
        form = _form_of_member(estimator, method)
        if columns is not None:
            form = replace(form, terms=tuple(replace(t, columns=columns) for t in form.terms))
        forms.append(form)
    outputs = _names(model.classes_) if is_classifier else ("",)
    shares = model.weights_ / float(model.weights_.sum())
    return _mean(forms, shares, PROBABILITY if is_classifier else PREDICTION, outputs)


def _voting(model: Any, response: str) -> AdditiveForm:
    is_classifier = hasattr(model, "classes_")
    own = "predict_proba" if is_classifier else "predict"
    if is_classifier and model.voting == "hard":
        raise NotAdditive("majority votes over predicted classes are no sums of trees")
    if response not in ("auto", own):
        raise NotAdditive(f"voting combines {own}, not {response}")
    rule = model.rule or "mean"
    if rule != "mean":
        raise NotAdditive(f"the rule {rule!r} is not linear")
    forms = [
        _form_of_member(one, method)
        for one, method in zip(model.estimators_, model._responses, strict=True)
    ]
    weights = np.ones(len(forms)) if model.weights_ is None else model.weights_
    outputs = _names(model.classes_) if is_classifier else ("",)
    shares = weights / float(weights.sum())
    return _mean(forms, shares, PROBABILITY if is_classifier else PREDICTION, outputs)


# ---- stacking and blending ----


def _stacked(model: Any, response: str) -> AdditiveForm:
    if len(model._layers) > 1:
        raise NotAdditive("later layers are functions of the predictions of the first")
    if model.passthrough:
        raise NotAdditive("the final estimator is also a function of the columns (passthrough)")
    is_classifier = hasattr(model, "classes_")
    final, layer = model.final_estimator_, model._layers[-1]
    members = list(zip(layer.models.values(), layer.responses, strict=True))
    if isinstance(final, (NonNegativeSum, GreedySelection)):
        own = "predict_proba" if is_classifier else "predict"
        if response not in ("auto", own):
            raise NotAdditive(f"the final estimator combines {own}, not {response}")
        outputs = _names(model.classes_) if is_classifier else ("",)
        forms = [_form_of_member(one, method) for one, method in members]
        return _mean(forms, final.weights_, PROBABILITY if is_classifier else PREDICTION, outputs)
    _check_linear(final, response)
    forms = [_in_table(_form_of_member(one, method), method) for one, method in members]
    coefficients = np.atleast_2d(np.asarray(final.coef_, dtype=np.float64))  # (outputs, columns)
    ends = np.cumsum([len(form.constant) for form in forms])
    parts = np.split(coefficients.T, ends[:-1])
    scale, outputs = PREDICTION, ("",)
    if is_classifier:
        known = model.classes_[np.asarray(final.classes_).astype(np.intp)]
        scale = "log odds" if "Logistic" in type(final).__name__ else RAW
        outputs = _names(known[-1:] if len(coefficients) == 1 else known)
        if len(coefficients) > 1:
            scale = f"{RAW} (decision_function)"
    intercept = np.broadcast_to(np.asarray(final.intercept_, dtype=np.float64), len(outputs))
    weighted = [form.times(part) for form, part in zip(forms, parts, strict=True)]
    return added(weighted, np.array(intercept), scale, outputs)


def _check_linear(final: Any, response: str) -> None:
    kind = type(final)
    is_linear = kind.__module__.startswith("sklearn.") and kind.__name__ in _LINEAR
    if not is_linear or not hasattr(final, "coef_"):
        raise NotAdditive(f"the final estimator {kind.__name__} is not linear")
    own = "decision_function" if hasattr(final, "classes_") else "predict"
    if response not in ("auto", own):
        raise NotAdditive(f"the final estimator is linear on the scale of {own}")


def _in_table(form: AdditiveForm, method: ResponseMethod) -> AdditiveForm:
    """The columns that a final estimator sees: of two probabilities, the second."""
    if method.method == "predict_proba" and len(form.constant) == 2:
        return form.times(np.array([[0.0], [1.0]]))
    return form


# ---- automatic ensembles ----


def _auto(model: Any, response: str) -> AdditiveForm:
    is_classifier = hasattr(model, "classes_")
    own = "predict_proba" if is_classifier else "predict"
    if response not in ("auto", own):
        raise NotAdditive(f"an automatic ensemble averages {own}, not {response}")
    if is_classifier and model.temperature_ != 1.0:
        raise NotAdditive("calibrated probabilities are no sums of trees")
    used = [model._members[k] for k in np.flatnonzero(model.weights_)]
    has_levels = any(levels is not None for levels in plan_of(model).levels)
    if has_levels or model._exponent or any(one.is_foreign for one in used):
        raise NotAdditive("its models were fitted on other columns than those passed")
    forms = [_form_of_member(_with_columns(model, one.model), one.response) for one in used]
    outputs = _names(model.classes_) if is_classifier else ("",)
    scale = PROBABILITY if is_classifier else PREDICTION
    return _mean(forms, model.weights_[model.weights_ > 0], scale, outputs)


def _with_columns(owner: Any, model: Any) -> Any:
    """A copy of a model fitted on the numeric columns of an ensemble that reads its tables."""
    if isinstance(model, FoldModels):
        return FoldModels([_with_columns(owner, fold) for fold in model.estimators_])
    reading = copy(model)
    if isinstance(model, TreeModel):
        keep_columns(owner, reading)
    return reading


_FORMS: tuple[tuple[type, Callable[[Any, str], AdditiveForm]], ...] = (
    (Bagging, _bagging),
    (Voting, _voting),
    (Stacked, _stacked),
    (AutoEnsemble, _auto),
)

"""Import of XGBoost's models."""

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from weald.data import ColumnPlan
from weald.data.columns import Category, Column, Number, level_of
from weald.ensembles.imported.foreign_trees import ForeignTree, below_float32, forest_of
from weald.ensembles.imported.imported import (
    ImportedClassifier,
    ImportedRegressor,
    imported_model,
)

# Inverse link of each objective, and whether it is a classification.
_OBJECTIVES = {
    "reg:squarederror": "",
    "reg:linear": "",
    "reg:absoluteerror": "",
    "reg:quantileerror": "",
    "reg:pseudohubererror": "",
    "reg:squaredlogerror": "",
    "reg:logistic": "log_loss",
    "binary:logistic": "log_loss",
    "binary:logitraw": "",
    "binary:hinge": "",
    "multi:softprob": "log_loss",
    "multi:softmax": "log_loss",
    "count:poisson": "poisson",
    "reg:gamma": "poisson",
    "reg:tweedie": "poisson",
    "rank:pairwise": "",
    "rank:ndcg": "",
    "rank:map": "",
}
_CLASSES = ("binary:logistic", "multi:softprob", "multi:softmax")
_REFUSED = {"reg:logistic", "binary:hinge"}


def from_xgboost(
    model: Any, *, n_jobs: int | None = None
) -> ImportedClassifier | ImportedRegressor:
    """Import a model of XGBoost.

    Parameters
    ----------
    model : str, path, Booster or estimator of xgboost
        A file written by ``save_model`` as ``.json`` or ``.ubj``, or a fitted model. Files in the
        form ``.ubj`` need the package `ubjson` or xgboost itself.
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Returns
    -------
    ImportedClassifier or ImportedRegressor
        Predicts the same up to float32 rounding, in which XGBoost sums. Labels of a classifier are
        0, 1, ..., or those of the estimator if it is given.

    Raises
    ------
    ValueError
        If the model is not a sum of trees with one of the usual objectives; the message says which.
    """
    learner, labels = _learner_of(model)
    objective = learner["objective"]["name"]
    if objective not in _OBJECTIVES or objective in _REFUSED:
        raise ValueError(f"XGBoost's objective {objective!r} cannot be imported.")
    booster = learner["gradient_booster"]
    weights = booster.get("weight_drop")  # of DART
    if booster["name"] == "dart":
        booster = booster["gbtree"]
    if "model" not in booster or "trees" not in booster["model"]:
        raise ValueError(
            f"XGBoost's booster {booster['name']!r} has no trees: it cannot be imported."
        )
    settings, found = learner["learner_model_param"], booster["model"]
    n_columns, n_classes = int(settings["num_feature"]), max(1, int(settings["num_class"]))
    n_scores = max(n_classes, int(settings.get("num_target", "1")))
    factors = [1.0] * len(found["trees"]) if weights is None else weights
    columns = _columns(learner, found, n_columns)
    n_levels = {i: len(one.levels) for i, one in enumerate(columns) if one.levels is not None}
    trees = [
        _tree(tree, number, float(factor), n_levels)
        for number, (tree, factor) in enumerate(zip(found["trees"], factors, strict=True))
    ]
    link = _OBJECTIVES[objective]
    base = _base_scores(settings["base_score"], n_scores, link)
    forest = forest_of(trees, [int(one) for one in found["tree_info"]], base, n_columns)
    classes = None
    if objective in _CLASSES:
        classes = np.arange(max(2, n_classes)) if labels is None else labels
    return imported_model(
        forest,
        link=link,
        source="xgboost",
        classes=classes,
        plan=ColumnPlan(tuple(columns)),
        names=learner.get("feature_names") or None,
        n_jobs=n_jobs,
    )


def _learner_of(model: Any) -> tuple[dict[str, Any], Any]:
    """The learner of XGBoost's JSON form, and the labels of a classifier, if it has them."""
    if isinstance(model, (str, os.PathLike)):
        return _document(Path(model).read_bytes(), str(model)), None
    labels = getattr(model, "classes_", None)
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise TypeError(
            "from_xgboost takes a file, a Booster or an estimator of xgboost; got "
            f"{type(model).__name__}."
        )
    return _document(bytes(booster.save_raw("json")), type(model).__name__), labels


def _document(content: bytes, name: str) -> dict[str, Any]:
    try:
        learner: dict[str, Any] = json.loads(content)["learner"]
    except (ValueError, KeyError, TypeError, RecursionError):
        learner = _read_by_xgboost(content, name)
    return learner


def _read_by_xgboost(content: bytes, name: str) -> dict[str, Any]:
    """Files in another form than JSON are converted by xgboost itself."""
    try:
        import xgboost
    except ImportError as error:
        raise ValueError(
            f"{name!r} is not a JSON model of XGBoost. Save it as .json, or install xgboost, which "
            "is needed to read its other forms."
        ) from error
    booster = xgboost.Booster()
    booster.load_model(bytearray(content))
    learner: dict[str, Any] = json.loads(booster.save_raw("json"))["learner"]
    return learner


def _base_scores(text: Any, n_scores: int, link: str) -> Any:
    """Initial scores; XGBoost stores them as predictions."""
    given = json.loads(text) if isinstance(text, str) else text
    base = np.broadcast_to(np.asarray(given, dtype=np.float64), (n_scores,)).copy()
    if link == "log_loss" and n_scores == 1:
        return np.log(base / (1.0 - base))
    return np.log(base) if link == "poisson" else base


def _tree(
    tree: dict[str, Any], number: int, factor: float, n_levels: dict[int, int]
) -> ForeignTree:
    left = np.array(tree["left_children"], dtype=np.int64)
    value = np.array(tree["base_weights"], dtype=np.float64)
    if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
        raise ValueError(f"tree {number} has vector leaves (multi_strategy='multi_output_tree').")
    conditions = np.array(tree["split_conditions"], dtype=np.float64)
    is_leaf = left < 0
    return ForeignTree(
        left=left,
        right=np.array(tree["right_children"], dtype=np.int64),
        feature=np.array(tree["split_indices"], dtype=np.int64),
        threshold=below_float32(conditions),
        missing_left=np.array(tree["default_left"], dtype=bool),
        # The values of leaves, with the learning rate, are among the conditions.
        value=np.where(is_leaf, conditions, value)[:, np.newaxis] * factor,
        weight=np.array(tree["sum_hessian"], dtype=np.float64),
        gain=np.maximum(np.array(tree["loss_changes"], dtype=np.float64), 0.0),
        levels_left=_sets(tree, n_levels),
    )


def _sets(tree: dict[str, Any], n_levels: dict[int, int]) -> dict[int, list[int]]:
    """Categories that go left: those of the column that the node does not list."""
    sets = {}
    for node, right in _listed(tree):
        column = int(tree["split_indices"][node])
        sets[node] = [level for level in range(n_levels[column]) if level not in right]
    return sets


def _listed(tree: dict[str, Any]) -> Iterator[tuple[int, set[int]]]:
    """The categories that each node lists: they go right."""
    parts = ("categories_nodes", "categories_segments", "categories_sizes")
    for node, begin, size in zip(*(tree.get(name, ()) for name in parts), strict=True):
        yield int(node), {int(one) for one in tree["categories"][begin : begin + size]}


def _columns(learner: dict[str, Any], found: dict[str, Any], n_columns: int) -> list[Column]:
    """Categorical columns: their values if the file has them, otherwise codes 0, 1, ..."""
    types = learner.get("feature_types") or [""] * n_columns
    known = found.get("cats", {}).get("enc") or [{}] * n_columns
    most = [0] * n_columns
    for tree in found["trees"]:
        for node, right in _listed(tree):
            column = int(tree["split_indices"][node])
            most[column] = max(most[column], 1 + max(right, default=-1))
    return [
        Category(_values(known[i]) or tuple(range(most[i]))) if types[i] == "c" else Number()
        for i in range(n_columns)
    ]


def _values(encoded: dict[str, Any]) -> tuple[Any, ...]:
    """Values of the categories in the order of their codes: text, or numbers.

    Empty if there are none, or if they are not UTF-8: XGBoost 3 stores only the first byte of each
    character. Then the model takes codes 0, 1, ...
    """
    values, offsets = encoded.get("values", []), encoded.get("offsets")
    if offsets is None:
        return tuple(level_of(one) for one in values)
    text = bytes(one % 256 for one in values)  # XGBoost may store signed characters
    bounds = pairwise(offsets)
    try:
        return tuple(text[begin:end].decode() for begin, end in bounds)
    except UnicodeDecodeError:
        return ()

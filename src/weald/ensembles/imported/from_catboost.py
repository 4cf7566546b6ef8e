"""Import of CatBoost's models."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from weald.ensembles.imported.foreign_trees import ForeignTree, forest_of, of_float32
from weald.ensembles.imported.imported import (
    ImportedClassifier,
    ImportedRegressor,
    imported_model,
)

# Inverse link of each loss.
_LOSSES = {
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "MAPE", "Huber", "Expectile", "MultiRMSE"), ""),
    **dict.fromkeys(("Poisson", "Tweedie"), "poisson"),
    **dict.fromkeys(("Logloss", "MultiClass"), "log_loss"),
    **dict.fromkeys(("YetiRank", "PairLogit", "QueryRMSE"), ""),
}


def from_catboost(
    model: Any, *, n_jobs: int | None = None
) -> ImportedClassifier | ImportedRegressor:
    """Import a model of CatBoost without categorical columns.

    Parameters
    ----------
    model : str, path or estimator of catboost
        A file written by ``save_model(path, format="json")``, or a fitted model.
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Returns
    -------
    ImportedClassifier or ImportedRegressor
        Predicts the same. Labels of a classifier are those of the model.

    Raises
    ------
    ValueError
        If a tree splits on categories, text or embeddings: CatBoost's statistics of categories
        (CTR) are no columns of a table; or if the loss is unusual. The message says which.
    """
    document = _document_of(model)
    loss = document["model_info"]["params"]["loss_function"]["type"]
    if loss not in _LOSSES:
        raise ValueError(f"CatBoost's loss {loss!r} cannot be imported.")
    features = document["features_info"].get("float_features", [])
    columns = [int(one["flat_feature_index"]) for one in features]
    n_columns = _n_columns(document)
    missing_left = np.array([one.get("nan_value_treatment") != "AsTrue" for one in features])
    scale, bias = document["scale_and_bias"]
    is_symmetric = "oblivious_trees" in document
    read = _tree if is_symmetric else _asymmetric_tree
    trees = [
        read(tree, number, float(scale), np.array(columns, dtype=np.int64), missing_left)
        for number, tree in enumerate(document["oblivious_trees" if is_symmetric else "trees"])
    ]
    n_scores = len(bias)
    outputs = [-1 if n_scores > 1 else 0] * len(trees)
    classes = _classes(document) if _LOSSES[loss] == "log_loss" else None
    return imported_model(
        forest_of(trees, outputs, bias, n_columns),
        link=_LOSSES[loss],
        source="catboost",
        classes=classes,
        names=_names(document, n_columns),
        n_jobs=n_jobs,
    )


def _document_of(model: Any) -> dict[str, Any]:
    if isinstance(model, (str, os.PathLike)):
        content = Path(model).read_text(encoding="utf-8")
    elif hasattr(model, "save_model"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.json"
            model.save_model(str(file), format="json")
            content = file.read_text(encoding="utf-8")
    else:
        raise TypeError(
            f"from_catboost takes a file or an estimator of catboost; got {type(model).__name__}."
        )
    try:
        document: dict[str, Any] = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError("this is not a JSON model of CatBoost.") from error
    if not isinstance(document, dict) or "features_info" not in document:
        raise ValueError("this is not a JSON model of CatBoost.")
    return document


def _n_columns(document: dict[str, Any]) -> int:
    lists = document["features_info"].values()
    places = [
        int(one["flat_feature_index"])
        for found in lists
        if isinstance(found, list)
        for one in found
        if "flat_feature_index" in one
    ]
    return max(places) + 1


def _names(document: dict[str, Any], n_columns: int) -> list[str] | None:
    """Column names, if all columns have one that is not just their index."""
    found = {
        int(one["flat_feature_index"]): str(one.get("feature_id") or "")
        for one in document["features_info"].get("float_features", [])
    }
    names = [found.get(i, "") for i in range(n_columns)]
    is_named = all(names) and names != [str(i) for i in range(n_columns)]
    return names if is_named else None


def _classes(document: dict[str, Any]) -> Any:
    info = document["model_info"].get("class_params", {})
    found = info.get("class_names") or info.get("class_to_label")
    if not found:
        raise ValueError("the model has no class labels.")
    return np.array(found)


def _tree(
    tree: dict[str, Any], number: int, scale: float, columns: Any, missing_left: Any
) -> ForeignTree:
    """An oblivious tree: level k of the tree splits by the last split but k."""
    splits = tree["splits"] or []
    for split in splits:
        _check_split(split, number)
    depth = len(splits)
    order = splits[::-1]  # CatBoost's first split is the lowest bit of the leaf index
    feature = np.array([int(one["float_feature_index"]) for one in order], dtype=np.int64)
    border = of_float32(np.array([float(one["border"]) for one in order]))
    level = np.concatenate([np.full(2**k, k) for k in range(depth)]).astype(np.int64)
    n_inner, n_leaves = 2**depth - 1, 2**depth
    inner = np.arange(n_inner)
    none = np.full(n_leaves, -1)
    value = scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(n_leaves, -1)
    weights = np.array(tree.get("leaf_weights") or np.zeros(n_leaves), dtype=np.float64)
    zeros = np.zeros(n_leaves)
    return ForeignTree(
        left=np.concatenate([2 * inner + 1, none]),
        right=np.concatenate([2 * inner + 2, none]),
        feature=np.concatenate([columns[feature[level]], none]),
        threshold=np.concatenate([border[level], zeros]),
        missing_left=np.concatenate([missing_left[feature[level]], zeros.astype(bool)]),
        value=np.concatenate([np.zeros((n_inner, value.shape[1])), value]),
        weight=_weights_of_nodes(weights),
        gain=np.zeros(n_inner + n_leaves),
    )


def _check_split(split: dict[str, Any], number: int) -> None:
    if split["split_type"] != "FloatFeature":
        raise ValueError(
            f"tree {number} splits on {split['split_type']} (categories, text or embeddings), "
            "which cannot be imported. Encode these columns before training."
        )


def _asymmetric_tree(
    tree: dict[str, Any], number: int, scale: float, columns: Any, missing_left: Any
) -> ForeignTree:
    """A tree of nested nodes, as of grow_policy "Depthwise" and "Lossguide"."""
    nodes = [tree]
    left, right = [], []
    for node in nodes:  # which grows meanwhile
        if "split" in node:
            _check_split(node["split"], number)
            left.append(len(nodes))
            right.append(len(nodes) + 1)
            nodes += [node["left"], node["right"]]
        else:
            left.append(-1)
            right.append(-1)
    is_inner = np.array(left) >= 0
    splits = [node["split"] for node in nodes if "split" in node]
    leaves = [node for node in nodes if "split" not in node]
    column = np.array([int(one["float_feature_index"]) for one in splits], dtype=np.int64)
    of_leaves = np.array([one["value"] for one in leaves], dtype=np.float64).reshape(
        len(leaves), -1
    )
    value = np.zeros((len(nodes), of_leaves.shape[1]))
    value[~is_inner] = scale * of_leaves
    weight = np.array([float(node.get("weight") or 0.0) for node in nodes])
    for i in np.flatnonzero(is_inner)[::-1]:  # children come after their parent
        weight[i] = weight[left[i]] + weight[right[i]]
    feature, threshold = np.full(len(nodes), -1), np.zeros(len(nodes))
    goes_left = np.zeros(len(nodes), dtype=bool)
    feature[is_inner] = columns[column]
    threshold[is_inner] = of_float32(np.array([float(one["border"]) for one in splits]))
    goes_left[is_inner] = missing_left[column]
    return ForeignTree(
        left=np.array(left),
        right=np.array(right),
        feature=feature,
        threshold=threshold,
        missing_left=goes_left,
        value=value,
        weight=weight,
        gain=np.zeros(len(nodes)),
    )


def _weights_of_nodes(leaves: Any) -> Any:
    """Weights of the nodes of a complete binary tree, level by level."""
    levels = [leaves]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels)

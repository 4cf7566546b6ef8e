"""Import of CatBoost's models."""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weald.data import ColumnPlan
from weald.data.columns import Column, Number, TextCategory
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
    """Import a model of CatBoost.

    Categories can be imported where trees compare them one by one (``one_hot_max_size``), from a
    file written with ``save_model(path, format="json", pool=pool)``: only then it has their names.

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
        If a tree splits on statistics of categories (CTR), on text or on embeddings, which are no
        columns of a table; or if the loss is unusual. The message says which.
    """
    document = _document_of(model)
    loss = document["model_info"]["params"]["loss_function"]["type"]
    if loss not in _LOSSES:
        raise ValueError(f"CatBoost's loss {loss!r} cannot be imported.")
    columns = _Columns(document)
    scale, bias = document["scale_and_bias"]
    is_symmetric = "oblivious_trees" in document
    read = _tree if is_symmetric else _asymmetric_tree
    trees = [
        read(tree, number, float(scale), columns)
        for number, tree in enumerate(document["oblivious_trees" if is_symmetric else "trees"])
    ]
    n_scores = len(bias)
    outputs = [-1 if n_scores > 1 else 0] * len(trees)
    classes = _classes(document) if _LOSSES[loss] == "log_loss" else None
    return imported_model(
        forest_of(trees, outputs, bias, columns.n),
        link=_LOSSES[loss],
        source="catboost",
        classes=classes,
        plan=ColumnPlan(columns.columns),
        names=columns.names(),
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


@dataclass(frozen=True)
class _Split:
    """A split in the form of `ForeignTree`; of categories if `levels_left` is not None."""

    column: int
    threshold: float
    missing_left: bool
    levels_left: Sequence[int] | None = None


class _Columns:
    """The columns of a model, and how splits read them."""

    def __init__(self, document: dict[str, Any]) -> None:
        info = document["features_info"]
        self._floats = info.get("float_features", [])
        self._categorical = info.get("categorical_features", [])
        listed = [one for found in info.values() if isinstance(found, list) for one in found]
        places = [int(one["flat_feature_index"]) for one in listed if "flat_feature_index" in one]
        self.n = max(places) + 1
        self._name_of_hash = {
            int(one["hash"]): str(one["value"]) for one in info.get("cat_features_hash", [])
        }

    @property
    def columns(self) -> tuple[Column, ...]:
        columns: list[Column] = [Number()] * self.n
        for one in self._categorical:
            columns[int(one["flat_feature_index"])] = TextCategory(self._levels(one))
        return tuple(columns)

    def _levels(self, column: dict[str, Any]) -> tuple[Any, ...]:
        """The categories that trees compare with."""
        names = [self._name_of_hash.get(_unsigned(one)) for one in column.get("values", [])]
        if None in names:
            raise ValueError(
                f"the file lacks the names of the categories of column {column['feature_id']!r}. "
                'Save the model with save_model(path, format="json", pool=pool), where pool has '
                "its training rows."
            )
        return tuple(names)

    def names(self) -> list[str] | None:
        """Column names, if all columns have one that is not just their index."""
        found = {
            int(one["flat_feature_index"]): str(one.get("feature_id") or "")
            for one in (*self._floats, *self._categorical)
        }
        names = [found.get(i, "") for i in range(self.n)]
        is_named = all(names) and names != [str(i) for i in range(self.n)]
        return names if is_named else None

    def read(self, split: dict[str, Any], tree: int) -> _Split:
        """One split of a tree; what it is true for goes right."""
        if split["split_type"] == "FloatFeature":
            column = self._floats[int(split["float_feature_index"])]
            return _Split(
                int(column["flat_feature_index"]),
                float(of_float32(float(split["border"]))),
                column.get("nan_value_treatment") != "AsTrue",
            )
        if split["split_type"] == "OneHotFeature":
            column = self._categorical[int(split["cat_feature_index"])]
            others = [
                level
                for level, value in enumerate(column["values"])
                if _unsigned(value) != _unsigned(split["value"])
            ]
            return _Split(int(column["flat_feature_index"]), 0.0, True, others)
        raise ValueError(
            f"tree {tree} splits on {split['split_type']} (statistics of categories, text or "
            "embeddings), which cannot be imported. Encode these columns before training, or set "
            "one_hot_max_size."
        )


def _unsigned(number: Any) -> int:
    """A hash of 32 bits, which the file has with and without sign."""
    return int(number) % 2**32


def _classes(document: dict[str, Any]) -> Any:
    info = document["model_info"].get("class_params", {})
    found = info.get("class_names") or info.get("class_to_label")
    if not found:
        raise ValueError("the model has no class labels.")
    return np.array(found)


def _tree(tree: dict[str, Any], number: int, scale: float, columns: _Columns) -> ForeignTree:
    """An oblivious tree: level k of the tree splits by the last split but k."""
    # CatBoost's first split is the lowest bit of the leaf index.
    splits = [columns.read(one, number) for one in reversed(tree["splits"] or [])]
    depth = len(splits)
    n_inner, n_leaves = 2**depth - 1, 2**depth
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    of_nodes = [splits[k] for k in level] + [None] * n_leaves
    inner, none = np.arange(n_inner), np.full(n_leaves, -1)
    value = scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(n_leaves, -1)
    weights = np.array(tree.get("leaf_weights") or np.zeros(n_leaves), dtype=np.float64)
    return ForeignTree(
        left=np.concatenate([2 * inner + 1, none]),
        right=np.concatenate([2 * inner + 2, none]),
        value=np.concatenate([np.zeros((n_inner, value.shape[1])), value]),
        weight=_weights_of_nodes(weights),
        gain=np.zeros(n_inner + n_leaves),
        **_of_splits(of_nodes),
    )


def _asymmetric_tree(
    tree: dict[str, Any], number: int, scale: float, columns: _Columns
) -> ForeignTree:
    """A tree of nested nodes, as of grow_policy "Depthwise" and "Lossguide"."""
    nodes = [tree]
    left, right = [], []
    for node in nodes:  # which grows meanwhile
        is_inner = "split" in node
        left.append(len(nodes) if is_inner else -1)
        right.append(len(nodes) + 1 if is_inner else -1)
        nodes += [node["left"], node["right"]] if is_inner else []
    leaves = [i for i, child in enumerate(left) if child < 0]
    of_leaves = np.array([nodes[i]["value"] for i in leaves], dtype=np.float64)
    of_leaves = of_leaves.reshape(len(leaves), -1)
    value = np.zeros((len(nodes), of_leaves.shape[1]))
    value[leaves] = scale * of_leaves
    weight = np.array([float(node.get("weight") or 0.0) for node in nodes])
    for i in reversed(range(len(nodes))):  # children come after their parent
        if left[i] >= 0:
            weight[i] = weight[left[i]] + weight[right[i]]
    return ForeignTree(
        left=np.array(left),
        right=np.array(right),
        value=value,
        weight=weight,
        gain=np.zeros(len(nodes)),
        **_of_splits(
            [columns.read(node["split"], number) if "split" in node else None for node in nodes]
        ),
    )


def _of_splits(of_nodes: Sequence[_Split | None]) -> dict[str, Any]:
    """The fields of a `ForeignTree` that say how each node splits; None: it is a leaf."""
    leaf = _Split(-1, 0.0, False)
    splits = [one or leaf for one in of_nodes]
    return {
        "feature": np.array([one.column for one in splits]),
        "threshold": np.array([one.threshold for one in splits]),
        "missing_left": np.array([one.missing_left for one in splits]),
        "levels_left": {
            node: one.levels_left for node, one in enumerate(splits) if one.levels_left is not None
        },
    }


def _weights_of_nodes(leaves: Any) -> Any:
    """Weights of the nodes of a complete binary tree, level by level."""
    levels = [leaves]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels)

"""Import of LightGBM's models."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan
from weald.data.columns import Category, Column, Number, level_of
from weald.ensembles.imported.foreign_trees import ForeignTree, forest_of
from weald.ensembles.imported.imported import (
    ImportedClassifier,
    ImportedRegressor,
    imported_model,
)

# Inverse link of each objective.
_OBJECTIVES = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), ""),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "poisson"),
    **dict.fromkeys(("binary", "multiclass"), "log_loss"),
    **dict.fromkeys(("lambdarank", "rank_xendcg", "custom"), ""),
}

# Bits of `decision_type`.
_IS_CATEGORY, _DEFAULT_LEFT, _MISSING_SHIFT = 1, 2, 2
_MISSING_ZERO, _MISSING_NAN = 1, 2


def from_lightgbm(
    model: Any, *, n_jobs: int | None = None
) -> ImportedClassifier | ImportedRegressor:
    """Import a model of LightGBM.

    Parameters
    ----------
    model : str, path, Booster or estimator of lightgbm
        A text file written by ``save_model``, or a fitted model.
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Returns
    -------
    ImportedClassifier or ImportedRegressor
        Predicts the same. Labels of a classifier are 0, 1, ..., or those of the estimator if it is
        given.

    Raises
    ------
    ValueError
        If the model has parts that other trees do not have (linear leaves, zeros as missing
        values) or an unusual objective; the message says which.
    """
    text, labels = _text_of(model)
    head, *blocks = text.split("\nTree=")
    facts = _fields(head)
    if "num_class" not in facts or "max_feature_idx" not in facts:
        raise ValueError("this is not a text model of LightGBM.")
    name, *options = facts.get("objective", "custom").split()
    if name not in _OBJECTIVES or "sqrt" in options:
        raise ValueError(f"LightGBM's objective {facts['objective']!r} cannot be imported.")
    if name == "binary" and "sigmoid:1" not in options:
        raise ValueError(f"a binary objective with {options} cannot be imported, only sigmoid:1.")
    n_scores = int(facts["num_tree_per_iteration"])
    columns = _columns(text, facts, blocks)
    trees = [_tree(_fields(block), number) for number, block in enumerate(blocks)]
    if "average_output" in facts:  # boosting_type="rf"
        n_rounds = len(trees) // n_scores
        trees = [ForeignTree(**{**vars(one), "value": one.value / n_rounds}) for one in trees]
    outputs = list(range(n_scores)) * (len(trees) // n_scores)
    forest = forest_of(trees, outputs, np.zeros(n_scores), len(columns))
    classes = None
    if name in ("binary", "multiclass"):
        classes = np.arange(max(2, int(facts["num_class"]))) if labels is None else labels
    return imported_model(
        forest,
        link=_OBJECTIVES[name],
        source="lightgbm",
        classes=classes,
        plan=ColumnPlan(tuple(columns)),
        names=facts["feature_names"].split() if "feature_names" in facts else None,
        n_jobs=n_jobs,
    )


def _text_of(model: Any) -> tuple[str, Any]:
    """The text form of a model, and the labels of a classifier, if it has them."""
    if isinstance(model, (str, os.PathLike)):
        return Path(model).read_text(encoding="utf-8"), None
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "model_to_string"):
        raise TypeError(
            "from_lightgbm takes a file, a Booster or an estimator of lightgbm; got "
            f"{type(model).__name__}."
        )
    return str(booster.model_to_string()), getattr(model, "classes_", None)


def _fields(block: str) -> dict[str, str]:
    """Lines "name=value" up to the first empty line after them."""
    fields = {}
    for line in block.splitlines():
        name, _, value = line.partition("=")
        if name in ("end of trees", "parameters:"):
            break
        fields[name.strip()] = value
    return fields


def _columns(text: str, facts: dict[str, str], blocks: list[str]) -> list[Column]:
    """Categorical columns with the categories of pandas, if there are any, otherwise codes."""
    n_columns = int(facts["max_feature_idx"]) + 1
    most = _columns_of_sets(blocks) | _most_codes(facts, n_columns)
    values = _values(text, sorted(most))
    columns: list[Column] = [Number()] * n_columns
    for i, code in most.items():
        columns[i] = Category(tuple(range(code + 1)))
    for i, levels in values.items():
        columns[i] = Category(tuple(map(level_of, levels)))
    return columns


def _most_codes(facts: dict[str, str], n_columns: int) -> dict[int, int]:
    """Categorical columns whose codes the file lists, and the largest code.

    Of a categorical column the file lists the codes, as "0:1:2"; of others a range, "[0:5.2]";
    "none" of a column that no tree can split.
    """
    infos = facts.get("feature_infos", "").split()
    listed = [(i, info) for i, info in enumerate(infos[:n_columns]) if info[0] not in "[n"]
    return {i: max(int(one) for one in info.split(":")) for i, info in listed}


def _values(text: str, used: list[int]) -> dict[int, list[Any]]:
    """The categories that columns had in pandas.

    The file has a list of the categories of each column of the type "category", without saying
    which columns these are: they are the categorical columns, in their order.
    """
    last = text.rpartition("pandas_categorical:")[2].strip().splitlines()
    lists = json.loads(last[0]) if last and last[0] not in ("", "null") else []
    if not lists:
        return {}
    found = re.search(r"^\[categorical_feature: ([\d,]+)\]$", text, re.MULTILINE)
    columns = sorted(int(one) for one in found[1].split(",") if one) if found else used
    if len(columns) != len(lists):
        raise ValueError(
            f"the file has the categories of {len(lists)} columns, but {len(columns)} columns are "
            "categorical, so that they cannot be matched. Train with categorical_feature='auto' "
            "and columns of the type category."
        )
    return dict(zip(columns, lists, strict=True))


def _columns_of_sets(blocks: list[str]) -> dict[int, int]:
    """Columns that trees split by category, and the largest that a set can hold."""
    found: dict[int, int] = {}
    for block in blocks:
        fields = _fields(block)
        if int(fields.get("num_cat", "0")) == 0:
            continue
        feature, kinds = _ints(fields, "split_feature"), _ints(fields, "decision_type")
        thresholds, bounds = _floats(fields, "threshold"), _ints(fields, "cat_boundaries")
        for node in np.flatnonzero(kinds & _IS_CATEGORY):
            number = int(thresholds[node])
            most = 32 * int(bounds[number + 1] - bounds[number]) - 1
            found[int(feature[node])] = max(found.get(int(feature[node]), 0), most)
    return found


def _tree(fields: dict[str, str], number: int) -> ForeignTree:
    if fields.get("is_linear", "0") != "0":
        raise ValueError(f"tree {number} has linear leaves (linear_tree=True).")
    n_leaves = int(fields["num_leaves"])
    value, count = _floats(fields, "leaf_value"), _weights(fields, n_leaves)
    if n_leaves == 1:
        return _stump(value)
    kinds, threshold = _ints(fields, "decision_type"), _floats(fields, "threshold")
    is_set = (kinds & _IS_CATEGORY) > 0
    missing = kinds >> _MISSING_SHIFT
    if (missing[~is_set] == _MISSING_ZERO).any():
        raise ValueError(f"tree {number} takes zeros as missing values (zero_as_missing=True).")
    # Where no value was missing in training, a missing value is read as 0.
    as_zero = threshold >= 0.0
    default_left = (kinds & _DEFAULT_LEFT) > 0
    missing_left = np.where(missing == _MISSING_NAN, default_left, as_zero) & ~is_set
    n_inner = n_leaves - 1
    zeros, ones = np.zeros(n_leaves), np.full(n_leaves, -1)
    return ForeignTree(
        left=np.concatenate([_child(_ints(fields, "left_child"), n_inner), ones]),
        right=np.concatenate([_child(_ints(fields, "right_child"), n_inner), ones]),
        feature=np.concatenate([_ints(fields, "split_feature"), ones]),
        threshold=np.concatenate([threshold, zeros]),
        missing_left=np.concatenate([missing_left, zeros.astype(bool)]),
        value=np.concatenate([np.zeros(n_inner), value])[:, np.newaxis],
        weight=np.concatenate([_floats(fields, "internal_weight"), count]),
        gain=np.concatenate([np.maximum(_floats(fields, "split_gain"), 0.0), zeros]),
        levels_left=_sets(fields, threshold, is_set),
    )


def _stump(value: NDArray[Any]) -> ForeignTree:
    """A tree of one leaf."""
    none, zero = np.array([-1]), np.zeros(1)
    return ForeignTree(
        left=none,
        right=none,
        feature=none,
        threshold=zero,
        missing_left=zero,
        value=value[:1, np.newaxis],
        weight=zero,
        gain=zero,
    )


def _weights(fields: dict[str, str], n_leaves: int) -> NDArray[Any]:
    found = _floats(fields, "leaf_weight")
    return found if len(found) == n_leaves else np.zeros(n_leaves)


def _child(child: NDArray[Any], n_inner: int) -> NDArray[Any]:
    """LightGBM numbers leaf k as -k - 1; here leaves come after the inner nodes."""
    return np.where(child >= 0, child, n_inner - child - 1)


def _sets(
    fields: dict[str, str], threshold: NDArray[Any], is_set: NDArray[np.bool_]
) -> dict[int, list[int]]:
    if not is_set.any():
        return {}
    bounds, words = _ints(fields, "cat_boundaries"), _ints(fields, "cat_threshold")
    sets = {}
    for node in np.flatnonzero(is_set):
        number = int(threshold[node])
        own = words[bounds[number] : bounds[number + 1]].astype("<u4")
        bits = np.unpackbits(own.view(np.uint8), bitorder="little")
        sets[int(node)] = [int(level) for level in np.flatnonzero(bits)]
    return sets


def _ints(fields: dict[str, str], name: str) -> NDArray[np.int64]:
    return np.array(fields.get(name, "").split(), dtype=np.int64)


def _floats(fields: dict[str, str], name: str) -> NDArray[np.float64]:
    return np.array(fields.get(name, "").split(), dtype=np.float64)

"""Import of scikit-learn's trees, forests and boosters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import ColumnPlan
from weald.data.columns import Category, Number, level_of
from weald.ensembles.imported.foreign_trees import Floats, ForeignTree, forest_of, of_float32
from weald.ensembles.imported.imported import (
    ImportedClassifier,
    ImportedRegressor,
    imported_model,
)
from weald.trees import Forest

_FORESTS = (
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
)
_TREES = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)
_BOOSTERS = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def from_sklearn(
    model: Any, *, n_jobs: int | None = None
) -> ImportedClassifier | ImportedRegressor:
    """Import a fitted model of scikit-learn.

    Parameters
    ----------
    model : estimator
        A fitted decision tree, random forest, extra trees, gradient boosting or histogram gradient
        boosting model of scikit-learn.
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Returns
    -------
    ImportedClassifier or ImportedRegressor
        Predicts the same, up to rounding in the last digits.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> import numpy as np, weald
    >>> X, y = load_diabetes(return_X_y=True)
    >>> theirs = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    >>> bool(np.allclose(weald.from_sklearn(theirs).predict(X), theirs.predict(X)))
    True
    """
    kind = type(model).__name__
    makers = {
        **dict.fromkeys(_TREES, _of_tree),
        **dict.fromkeys(_FORESTS, _of_forest),
        **dict.fromkeys(_BOOSTERS, _of_booster),
        **dict.fromkeys(_HISTOGRAM, _of_histogram_booster),
    }
    if not type(model).__module__.startswith("sklearn.") or kind not in makers:
        raise TypeError(
            f"from_sklearn imports {', '.join(makers)} of scikit-learn; got {kind} of "
            f"{type(model).__module__.partition('.')[0]}."
        )
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) > 1 and kind.endswith("Classifier"):
        raise ValueError(f"a {kind} of several outputs cannot be imported; import one per output.")
    forest, link, plan = makers[kind](model)
    return imported_model(
        forest,
        link=link,
        source="scikit-learn",
        classes=getattr(model, "classes_", None),
        plan=plan,
        names=getattr(model, "feature_names_in_", None),
        n_jobs=n_jobs,
    )


Parts = tuple[Forest, str, ColumnPlan | None]


def _of_tree(model: Any) -> Parts:
    return _mean([model], model.n_features_in_), "", None


def _of_forest(model: Any) -> Parts:
    return _mean(model.estimators_, model.n_features_in_), "", None


def _mean(models: Any, n_columns: int) -> Forest:
    """The forest whose scores are the mean of the trees' predictions."""
    trees = [_tree(one.tree_, is_classifier=hasattr(one, "classes_")) for one in models]
    n_values = trees[0].value.shape[1]
    scaled = [_times(tree, 1.0 / len(trees)) for tree in trees]
    outputs = [-1 if n_values > 1 else 0] * len(trees)
    return forest_of(scaled, outputs, np.zeros(n_values), n_columns)


def _tree(tree: Any, *, is_classifier: bool = False) -> ForeignTree:
    value = np.asarray(tree.value, dtype=np.float64)
    if is_classifier:  # of one output
        value = value[:, 0, :]
        value = value / value.sum(axis=1, keepdims=True)
    else:
        value = value[:, :, 0]
    n = np.asarray(tree.weighted_n_node_samples, dtype=np.float64)
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    loss = n * np.asarray(tree.impurity)
    gain = np.where(left >= 0, loss - loss[left] - loss[right], 0.0)
    return ForeignTree(
        left=left,
        right=right,
        feature=np.asarray(tree.feature),
        threshold=of_float32(tree.threshold),
        missing_left=np.asarray(tree.missing_go_to_left),
        value=value,
        weight=n,
        gain=np.maximum(gain, 0.0),
    )


def _times(tree: ForeignTree, factor: float) -> ForeignTree:
    """The tree with its values multiplied."""
    return ForeignTree(**{**vars(tree), "value": tree.value * factor})


def _of_booster(model: Any) -> Parts:
    rate, table = float(model.learning_rate), model.estimators_
    trees = [_times(_tree(one.tree_), rate) for one in table.ravel()]
    outputs = list(range(table.shape[1])) * len(table)
    base = _initial_scores(model, table.shape[1])
    link = ""
    if hasattr(model, "classes_"):
        link = "exponential" if model.loss == "exponential" else "log_loss"
    return forest_of(trees, outputs, base, model.n_features_in_), link, None


def _initial_scores(model: Any, n_scores: int) -> Floats:
    """Scores before the first tree, which are constant unless `init` is an estimator."""
    if model.init == "zero":
        return np.zeros(n_scores)
    if model.init is not None:
        raise ValueError(
            f"init={model.init!r} predicts other initial scores for other rows: such a booster "
            "is not a sum of trees and cannot be imported."
        )
    # The only public way to the initial scores: those of a row before the first stage.
    row = np.zeros((1, model.n_features_in_))
    if hasattr(model, "classes_"):
        total = np.atleast_2d(model.decision_function(row).reshape(1, -1))[0]
    else:
        total = model.predict(row)
    for stage in model.estimators_:
        total = total - model.learning_rate * np.array([one.predict(row)[0] for one in stage])
    return np.asarray(total, dtype=np.float64)


def _of_histogram_booster(model: Any) -> Parts:
    predictors = model._predictors
    columns = np.arange(model.n_features_in_)
    plan = None
    categorical = getattr(model, "is_categorical_", None)
    if categorical is not None and model._preprocessor is not None:
        # scikit-learn moves categorical columns to the front and encodes them.
        columns = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
        plan = _plan_of_categories(model, categorical)
    trees = [_histogram_tree(one, columns) for stage in predictors for one in stage]
    outputs = list(range(len(predictors[0]))) * len(predictors)
    base = np.ravel(model._baseline_prediction)
    is_log = not hasattr(model, "classes_") and model.loss in ("poisson", "gamma")
    link = "log_loss" if hasattr(model, "classes_") else "poisson" if is_log else ""
    return forest_of(trees, outputs, base, model.n_features_in_), link, plan


def _plan_of_categories(model: Any, categorical: NDArray[np.bool_]) -> ColumnPlan:
    known = iter(model._preprocessor.named_transformers_["encoder"].categories_)
    return ColumnPlan(
        tuple(_category(next(known)) if is_one else Number() for is_one in categorical)
    )


def _category(values: NDArray[Any]) -> Category:
    """The categories in the order of their codes; missing ones are no category."""
    present = [value for value in values.tolist() if value is not None and value == value]
    return Category(tuple(level_of(value) for value in present))


def _histogram_tree(predictor: Any, columns: NDArray[np.intp]) -> ForeignTree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    is_set = nodes["is_categorical"].astype(bool) & ~is_leaf
    sets = {
        int(node): _levels(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        for node in np.flatnonzero(is_set)
    }
    return ForeignTree(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        feature=columns[np.where(is_leaf, 0, nodes["feature_idx"])],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"],
        value=nodes["value"].astype(np.float64)[:, np.newaxis],
        weight=nodes["count"].astype(np.float64),
        gain=np.maximum(nodes["gain"].astype(np.float64), 0.0),
        levels_left=sets,
    )


def _levels(words: NDArray[np.uint32]) -> list[int]:
    """Categories of a bit set."""
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return [int(level) for level in np.flatnonzero(bits)]

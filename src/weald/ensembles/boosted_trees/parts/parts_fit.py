"""The fit of boosted trees on tables in partitions: Dask collections, and what is streamed."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from weald.advice import advise
from weald.data import Rows
from weald.data.names import frame_names, remember_names
from weald.data.parts.parts import Parts as TableInParts
from weald.data.selection import chosen_columns
from weald.data.targets import advise_of_one_class
from weald.ensembles.boosted_trees.auto_settings import BoosterSettings, is_auto
from weald.ensembles.boosted_trees.boosted_parameters import regression_loss
from weald.ensembles.boosted_trees.booster import Booster
from weald.ensembles.boosted_trees.parts.column_facts import plan_of_parts
from weald.ensembles.boosted_trees.parts.dask_tables import is_dask
from weald.ensembles.boosted_trees.parts.parts_run import Parts, PartsRun, PartsSettings
from weald.ensembles.boosted_trees.parts.streaming import streamed_table
from weald.ensembles.boosted_trees.parts.table_facts import (
    PartSpec,
    TableFacts,
    TargetCode,
    classes_of,
    range_of_target,
    table_facts,
)
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.tree_learners import in_user_units
from weald.losses import BuiltinLoss, class_loss, times_power, unit_of_losses

# Parameters that a fit on partitions does not support, with the values that it does; Dask supports
# none of the progress either.
_ONLY: Mapping[str, Any] = {
    "class_weight": None,
    "warm_start": False,
    "checkpoint": None,
    "time_limit": None,
    "metrics": None,
    "exact": False,
}
_ONLY_ON_DASK: Mapping[str, Any] = {"verbose": 0}
_BESIDE = (
    "sample_weight",
    "groups",
    "offset",
    "X_val",
    "y_val",
    "sample_weight_val",
    "offset_val",
)
_SMOOTH = ("squared_error", "poisson", "gamma", "tweedie", "log_loss", "exponential")


@dataclass(frozen=True, eq=False)
class _Agreed:
    """What the partitions have in common."""

    target: TargetCode
    loss: BuiltinLoss
    class_counts: NDArray[np.int64] | None = None
    target_range: tuple[float, float] = (0.0, 0.0)


# BoostedTreesClassifier or BoostedTreesRegressor, whose module imports this one.
Model = TypeVar("Model", bound=Any)


class PartitionedTable(Protocol):
    """A table in partitions: its columns, and what is asked of its rows.

    `kind` and `instead` say in messages what it is, and what to do about what it does not support.
    """

    kind: str
    instead: str
    n_columns: int
    names: list[Any] | None

    def facts(self, describe: Callable[..., TableFacts], *arguments: Any) -> list[TableFacts]:
        """What `describe(X, y, *arguments)` tells of each partition."""
        ...

    def parts(self, n_rows: Sequence[int], spec: PartSpec) -> Parts:
        """The partitions as parts on which trees are trained."""
        ...


def fit_in_parts(model: Any, X: Any, y: Any, *beside: Any) -> bool:
    """Fit a model on Dask collections, or on a table that does not fit into memory.

    `beside` are the further arguments of `fit`. Returns False, and does nothing, for all others.
    """
    if is_dask(X):
        frame_names(X)  # refuses names that are not unique
        # Not before: it imports Dask.
        tables = importlib.import_module("weald.ensembles.boosted_trees.parts.dask_parts")
        _check_supported(model, beside, tables.DaskTable, {**_ONLY, **_ONLY_ON_DASK})
        fit_on_partitions(model, tables.DaskTable(X, y))
        return True
    table = streamed_table(model, X, y) if isinstance(X, TableInParts) else None
    if table is None:
        return False
    _check_supported(model, beside, table, _ONLY)
    with table:
        fit_on_partitions(model, table)
    return True


def fit_on_partitions(model: Model, table: PartitionedTable) -> Model:
    """Fit a model; it is that of the same rows in one table in memory.

    Parameters
    ----------
    model : BoostedTreesClassifier or BoostedTreesRegressor
        Its fitted attributes are set.
    table : PartitionedTable
        Columns and targets.

    Returns
    -------
    model
    """
    loss = None if is_classifier(model) else _smooth(regression_loss(model), table)
    _set_columns(model, table)
    chosen = chosen_columns(model.categorical_features, table.names, table.n_columns)
    every = table.facts(table_facts, chosen, loss)
    facts = [one for one in every if one.n_rows]
    if not facts:
        raise ValueError("X and y have no rows: all partitions are empty.")
    agreed = _agreed(model, facts, loss, table)
    rows = _stand_in(facts, table.n_columns, agreed)
    settings = model._settings(rows, agreed.loss, None, model._n_classes)
    _check_settings(model, settings, agreed.loss, table)
    rule = model._numbers_levels if settings.target_statistics else None
    model._columns = plan_of_parts([one.columns for one in facts], chosen, rows.n, rule)
    if model._n_classes == 1:
        model._keep_constant(rows, agreed.loss)
        return model
    spec = PartSpec(model._plan, agreed.target, agreed.loss, model.n_jobs)
    _train(model, table.parts([one.n_rows for one in every], spec), rows, settings, agreed)
    return model


def _set_columns(model: Any, table: PartitionedTable) -> None:
    model.n_features_in_ = table.n_columns
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    remember_names(model, table.names)


def _train(
    model: Any, parts: Parts, rows: Rows, settings: BoosterSettings, agreed: _Agreed
) -> None:
    """Train all rounds, and set the fitted attributes."""
    loss = agreed.loss
    model._check_scoring(loss, has_validation=False)
    settings.advise_of_unused(model)
    seed = model._seed_after(None) if settings.max_features is not None else 0
    training = Training(rows, None, None, seed)
    limits = model._tree_limits(training, loss, settings, model._plan)
    run = PartsRun(
        parts,
        PartsSettings(
            loss,
            limits,
            model._plan,
            rows.n,
            settings.n_estimators,
            float(settings.learning_rate),
            255 if model.max_bins is None else model.max_bins,
            agreed.class_counts,
            agreed.target_range,
        ),
    )
    forest = run.train()
    if run.n_restored:
        advise(
            f"Workers were lost {run.n_restored} times during the fit; the partitions were read "
            "again, and the model is the same as without."
        )
    curves = {TRAIN_LOSS: run.curve}
    state = TrainedState(
        forest,
        rows.target_exponent,
        rows.weight_unit,
        seed,
        curves,
        model._plan,
        getattr(model, "classes_", None),
    )
    in_user_losses = times_power(np.array(run.curve), unit_of_losses(loss, rows.target_exponent))
    history = History({TRAIN_LOSS: in_user_losses})
    model._keep(Booster(state, in_user_units(forest, rows, loss), history), loss, settings)
    advise_of_constant(model, rows)


def _agreed(
    model: Any, facts: Sequence[TableFacts], loss: BuiltinLoss | None, table: PartitionedTable
) -> _Agreed:
    """Classes and their numbers of rows, or the range of the target; and the loss."""
    if loss is not None:
        low, high, exponent = range_of_target(facts)
        return _Agreed(TargetCode(None, exponent), loss, target_range=(low, high))
    classes, counts = classes_of(facts)
    model.classes_ = classes
    advise_of_one_class(classes, int(counts.sum()))
    made = class_loss(model.loss, len(classes), model._n_threads)
    return _Agreed(TargetCode(classes), _smooth(made, table), class_counts=counts)


def _stand_in(facts: Sequence[TableFacts], n_columns: int, agreed: _Agreed) -> Rows:
    """Rows of the size of the table, whose values nobody reads."""
    n = sum(one.n_rows for one in facts)
    zero = np.float64(0)
    table, target = np.broadcast_to(zero, (n, n_columns)), np.broadcast_to(zero, (n,))
    return Rows(table, target, target_exponent=agreed.target.exponent)


def _smooth(loss: Any, table: PartitionedTable) -> BuiltinLoss:
    if isinstance(loss, BuiltinLoss) and loss.name in _SMOOTH:
        return loss
    raise ValueError(
        f"loss={getattr(loss, 'name', loss)!r} is not supported on {table.kind}, whose parts "
        f"exchange sums of gradients only. Use one of {', '.join(_SMOOTH)}, or {table.instead}."
    )


def _check_supported(
    model: Any, beside: Sequence[Any], table: Any, only: Mapping[str, Any]
) -> None:
    """Raise for arguments and parameters that need more than sums over the rows."""
    for name, value in zip(_BESIDE, beside, strict=True):
        if value is not None:
            raise ValueError(
                f"{name} is not supported on {table.kind}. Leave it out, or {table.instead}."
            )
    for name, value in only.items():
        if getattr(model, name, value) != value:
            raise ValueError(
                f"{name}={getattr(model, name)!r} is not supported on {table.kind}. Set "
                f"{name}={value!r}, or {table.instead}."
            )
    if model.max_bins is not None and model.max_bins > 255:
        raise ValueError(
            f"max_bins={model.max_bins} is not supported on {table.kind}: codes of values are "
            f"single bytes. Set max_bins to at most 255, or {table.instead}."
        )
    if getattr(model, "_skl_callbacks", None):
        raise ValueError(f"Callbacks are not supported on {table.kind}. Remove them.")


def _check_settings(
    model: Any, settings: BoosterSettings, loss: BuiltinLoss, table: PartitionedTable
) -> None:
    """Raise for settings that draw rows, given or chosen."""
    drawing = {
        "early_stopping": (settings.early_stopping, "early_stopping=False and n_estimators=200"),
        "n_bags": (settings.n_bags is not None, "n_bags=None"),
        "subsample": (settings.subsample < 1.0, "subsample=1.0"),
        "multi_class": (
            loss.n_scores > 1 and settings.multi_class == "vector_leaves",
            "multi_class='tree_per_class'",
        ),
    }
    for name, (is_set, instead) in drawing.items():
        if is_set:
            how = "chosen from 'auto'" if is_auto(getattr(model, name)) else "given"
            raise ValueError(
                f"{name}={getattr(settings, name)!r} ({how}) is not supported on {table.kind}, on "
                f"which no rows are drawn. Set {instead}; or quality='fast', which draws no rows "
                f"and makes 100 rounds; or {table.instead}."
            )

"""The fit of boosted trees on tables in partitions: Dask collections, and what is streamed."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from weald.advice import advise
from weald.data import Rows, refuse_no_weight, validation_classes, validation_numbers
from weald.data.names import frame_names, remember_names
from weald.data.parts.parts import Parts as TableInParts
from weald.data.selection import chosen_columns
from weald.data.targets import advise_of_one_class
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.auto_settings import FOLD_ROWS, BoosterSettings, is_auto
from weald.ensembles.boosted_trees.boosted_parameters import regression_loss
from weald.ensembles.boosted_trees.booster import Booster
from weald.ensembles.boosted_trees.parts.column_facts import plan_of_parts
from weald.ensembles.boosted_trees.parts.dask_tables import is_dask
from weald.ensembles.boosted_trees.parts.given_sets import GivenSets
from weald.ensembles.boosted_trees.parts.not_on_parts import NotOnPartsError
from weald.ensembles.boosted_trees.parts.part_weights import (
    WeightFacts,
    WeightRule,
    are_equal,
    total_weights,
)
from weald.ensembles.boosted_trees.parts.parts_rounds import PartsSettings
from weald.ensembles.boosted_trees.parts.parts_run import Parts, PartsRun
from weald.ensembles.boosted_trees.parts.streaming import streamed_table
from weald.ensembles.boosted_trees.parts.table_facts import (
    PartSpec,
    TableFacts,
    TargetCode,
    classes_of,
    exponent_of_target,
    table_facts,
    weights_in,
)
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.class_weights import (
    refuse_no_class,
    validation_by_class,
    weights_by_totals,
)
from weald.ensembles.constant_models import advise_of_constant
from weald.ensembles.rounds.loop import Training, check_can_hold_out
from weald.ensembles.rounds.progress_bar import Bar
from weald.ensembles.rounds.scoring import is_loss
from weald.ensembles.rounds.time_limit import TimeLimit
from weald.ensembles.rounds.tree_learners import in_user_units
from weald.losses import BuiltinLoss, class_loss, refuse_targets
from weald.resampling import seed_of
from weald.trees import Forest

# Parameters that a fit on partitions does not support, with the values that it does.
_ONLY: Mapping[str, Any] = {
    "warm_start": False,
    "checkpoint": None,
    "metrics": None,
    "exact": False,
}
# X_val, y_val and sample_weight_val of `fit`, in memory.
Given = tuple[Any, Any, Any]
_SMOOTH = ("squared_error", "poisson", "gamma", "tweedie", "log_loss", "exponential")


@dataclass(frozen=True, eq=False)
class _Agreed:
    """What the partitions have in common.

    Attributes
    ----------
    target : TargetCode
        How targets become numbers.
    loss : BuiltinLoss
        Loss function to minimise.
    n_rows : int
        Number of rows that are used: none has a weight of zero.
    class_counts : array or None
        Number of these rows of each class; None: regression.
    class_weight : array or None
        Weight of each class; None: no class weights.
    weights : list or None
        Sample weights of each class, or of all rows of a regression; None: there are none.
    """

    target: TargetCode
    loss: BuiltinLoss
    n_rows: int
    class_counts: NDArray[np.int64] | None = None
    class_weight: Floats | None = None
    weights: list[WeightFacts | None] | None = None

    def n_used_of(self, part: TableFacts) -> int:
        """Number of the rows of a part that are used."""
        names = self.target.classes
        if self.class_weight is None or names is None or part.labels is None:
            return part.n_kept
        classes = np.searchsorted(names, part.labels)
        return int(part.counts[self.class_weight[classes] > 0].sum())


# BoostedTreesClassifier or BoostedTreesRegressor, whose module imports this one.
Model = TypeVar("Model", bound=Any)


class PartitionedTable(Protocol):
    """A table in partitions: its columns, and what is asked of its rows.

    Attributes
    ----------
    kind, instead : str
        What it is, in messages, and what to do about settings that it does not support.
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

    def gathered(self) -> tuple[Any, Any, Any] | None:
        """X, y and sample weights (None: none) in memory; None: it is not to be fetched."""
        ...


def fit_in_parts(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    offset: Any,
    X_val: Any,
    y_val: Any,
    sample_weight_val: Any,
    offset_val: Any,
) -> bool:
    """Fit a model on Dask collections, or on a table that does not fit into memory.

    The arguments are those of `fit`. Returns False, and does nothing, for all other tables.
    """
    refused = {"groups": groups, "offset": offset, "offset_val": offset_val}
    given = (X_val, y_val, sample_weight_val)
    if is_dask(X):
        frame_names(X)  # refuses names that are not unique
        # Not before: it imports Dask.
        tables = importlib.import_module("weald.ensembles.boosted_trees.parts.dask_parts")
        _refuse(refused, tables.DaskTable)
        _check_in_memory(given)
        fit_on_partitions(model, tables.DaskTable(X, y, sample_weight), given)
        return True
    table = streamed_table(model, X, y, sample_weight) if isinstance(X, TableInParts) else None
    if table is None:
        return False
    _refuse(refused, table)
    with table:
        fit_on_partitions(model, table, given)
    return True


def fit_on_partitions(
    model: Model, table: PartitionedTable, given: Given = (None, None, None)
) -> Model:
    """Fit a model; it is that of the same rows in one table in memory.

    Small tables are fetched and fitted in memory if parts do not support the settings.

    Parameters
    ----------
    model : BoostedTreesClassifier or BoostedTreesRegressor
        Its fitted attributes are set.
    table : PartitionedTable
        Columns and targets.
    given : tuple
        X_val, y_val and sample_weight_val, in memory.

    Returns
    -------
    model
    """
    _set_columns(model, table)
    chosen = chosen_columns(model.categorical_features, table.names, table.n_columns)
    loss = None if is_classifier(model) else regression_loss(model)
    domain = loss if loss is None or _is_smooth(loss) else BuiltinLoss("squared_error", 1, 1)
    every = table.facts(table_facts, chosen, domain)
    n_rows = sum(one.n_rows for one in every)
    if n_rows == 0:
        raise ValueError("X and y have no rows: all partitions are empty.")
    refuse_no_weight(sum(one.n_kept for one in every))
    try:
        _fit(model, table, every, chosen, loss, given)
    except NotOnPartsError as error:
        fetched = table.gathered() if n_rows <= FOLD_ROWS else None
        if fetched is None:
            raise error.on(table.kind, table.instead) from None
        model.fit(*fetched, *given)
    return model


def _fit(
    model: Any,
    table: PartitionedTable,
    every: Sequence[TableFacts],
    chosen: NDArray[np.bool_] | None,
    loss: Any,
    given: Given,
) -> None:
    """Fit on the partitions; `every` are the facts of each."""
    _check_supported(model)
    facts = [one for one in every if one.n_rows]
    agreed = _agreed(model, facts, loss)
    rows = _stand_in(agreed, table.n_columns, 1.0)
    # What is chosen depends on whether there is a validation set only, which is read later.
    settings = model._settings(rows, agreed.loss, given[0], model._n_classes)
    _check_settings(model, settings, agreed.loss)
    numbers_levels = model._numbers_levels if settings.target_statistics else None
    n_read = sum(one.n_rows for one in facts)
    model._columns = plan_of_parts([one.columns for one in facts], chosen, n_read, numbers_levels)
    # As in weighted_as_repeated.
    may_repeat = settings.min_samples_leaf <= 1 and not any(model._plan.levels)
    rule = WeightRule.agreed(agreed.weights, agreed.class_weight, may_repeat=may_repeat)
    rows = _stand_in(agreed, table.n_columns, rule.weight_unit)
    sets = _given_sets(model, given, agreed)
    if model._n_classes == 1:
        model._keep_constant(rows, agreed.loss)
        return
    spec = PartSpec(model._plan, agreed.target, agreed.loss, model.n_jobs, rule)
    parts = table.parts([agreed.n_used_of(one) for one in every], spec)
    _train(model, parts, rows, settings, agreed, sets, has_weights=rule.has_factors)


def _set_columns(model: Any, table: PartitionedTable) -> None:
    model.n_features_in_ = table.n_columns
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    remember_names(model, table.names)


def _train(
    model: Any,
    parts: Parts,
    rows: Rows,
    settings: BoosterSettings,
    agreed: _Agreed,
    sets: GivenSets | None,
    *,
    has_weights: bool,
) -> None:
    """Train all rounds, and set the fitted attributes."""
    loss = agreed.loss
    model._check_scoring(loss, has_validation=settings.early_stopping or sets is not None)
    settings.advise_of_unused(model)
    holds_out = settings.early_stopping and sets is None
    held_fraction = model.validation_fraction if holds_out else None
    draws = held_fraction is not None or settings.subsample < 1.0
    seed = seed_of(model._seed_after(None)) if draws or settings.max_features is not None else 0
    if held_fraction is not None:
        check_can_hold_out(rows.n, "rows", "early_stopping=False")
    training = Training(rows, None, None, seed)
    limits = model._tree_limits(training, loss, settings, model._plan, model.growth)
    facts = PartsSettings(
        loss,
        limits,
        model._plan,
        rows.n,
        settings.n_estimators,
        float(settings.learning_rate),
        255 if model.max_bins is None else model.max_bins,
        rows.target_exponent,
        agreed.class_counts,
        held_fraction,
        settings.subsample,
        seed,
        settings.patience(model, has_little_noise=False),
        float(model.tol),
        has_weights=has_weights,
    )
    run = PartsRun(parts, facts, sets)
    forest = _trained(model, run, settings)
    state = TrainedState(
        forest,
        rows.target_exponent,
        rows.weight_unit,
        seed,
        run.curves.curves,
        model._plan,
        getattr(model, "classes_", None),
    )
    model._keep(_booster(state, run, rows, loss, settings), loss, settings)
    advise_of_constant(model, rows)


def _trained(model: Any, run: PartsRun, settings: BoosterSettings) -> Forest:
    """The trees of all rounds; tells how far the training is, and of lost workers."""
    if model.time_limit is not None:
        run.watchers.append(TimeLimit(float(model.time_limit)))
    with ExitStack() as stack:
        if model.verbose:
            bar = Bar(0, settings.n_estimators, run.curves.figures)
            run.watchers.append(stack.enter_context(bar))
        forest = run.train()
    if run.n_restored:
        advise(
            f"Workers were lost {run.n_restored} times during the fit; the partitions were read "
            "again, and the model is the same as without."
        )
    return forest


def _booster(
    state: TrainedState, run: PartsRun, rows: Rows, loss: BuiltinLoss, settings: BoosterSettings
) -> Booster:
    """The best rounds, with leaf values estimated on all rows if rows were held out."""
    kept, curves = state.forest, run.curves
    if settings.early_stopping:
        kept = state.first(curves.best_round, loss)
    if run.leaves is not None:
        kept = run.leaves.refitted(kept)
    stopped_by = run.stopped_by or "n_estimators"
    return Booster(state, in_user_units(kept, rows, loss), curves.history(), stopped_by)


def _agreed(model: Any, facts: Sequence[TableFacts], loss: Any) -> _Agreed:
    """Classes and their numbers of rows, or the unit of the target; weights; and the loss."""
    if loss is not None:
        target = TargetCode(None, exponent_of_target(facts))
        n_kept = sum(one.n_kept for one in facts)
        return _Agreed(target, _smooth(loss), n_kept, weights=weights_in(facts, None))
    classes, counts = classes_of(facts)
    model.classes_ = classes
    advise_of_one_class(classes, sum(one.n_rows for one in facts))
    made = _smooth(class_loss(model.loss, len(classes), model._n_threads))
    weights = weights_in(facts, classes)

    def totals() -> Floats:
        return counts.astype(np.float64) if are_equal(weights) else total_weights(weights or ())

    class_weight = weights_by_totals(model.class_weight, totals, classes)
    if class_weight is not None:
        counts = np.where(class_weight > 0, counts, 0)
        refuse_no_class(counts.any())
    return _Agreed(TargetCode(classes), made, int(counts.sum()), counts, class_weight, weights)


def _stand_in(agreed: _Agreed, n_columns: int, weight_unit: float) -> Rows:
    """Rows of the size of the table, whose values nobody reads."""
    zero, n = np.float64(0), agreed.n_rows
    table, target = np.broadcast_to(zero, (n, n_columns)), np.broadcast_to(zero, (n,))
    exponent = agreed.target.exponent
    return Rows(table, target, weight_unit=weight_unit, target_exponent=exponent)


def _is_smooth(loss: Any) -> bool:
    return isinstance(loss, BuiltinLoss) and loss.name in _SMOOTH


def _smooth(loss: Any) -> BuiltinLoss:
    if not _is_smooth(loss):
        raise NotOnPartsError(
            f"loss={getattr(loss, 'name', loss)!r}",
            f"Parts exchange sums of gradients only: use one of {', '.join(_SMOOTH)}",
        )
    return cast(BuiltinLoss, loss)


def _refuse(given: Mapping[str, Any], table: Any) -> None:
    """Raise for arguments of `fit` that parts do not support."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is not supported on {table.kind}. Leave it out, or {table.instead}."
            )


def _check_in_memory(given: Given) -> None:
    """Raise for validation sets that are Dask collections."""
    for name, value in zip(("X_val", "y_val", "sample_weight_val"), given, strict=True):
        values = value.values() if isinstance(value, dict) else [value]
        if any(is_dask(one) for one in values):
            raise TypeError(
                f"{name} is a Dask collection; validation sets must be in memory. Pass "
                f"{name}.compute(), or leave it out: rows of X are then held out."
            )


def _given_sets(model: Any, given: Given, agreed: _Agreed) -> GivenSets | None:
    """The validation sets that were passed to `fit`, if any."""
    classes = agreed.target.classes
    if classes is None:
        validation = validation_numbers(model, *given)
        if validation is not None:
            refuse_targets(agreed.loss, validation.target, "y_val")
    else:
        read = validation_classes(model, *given, classes)
        validation = validation_by_class(read, agreed.class_weight)
    if validation is None or model._n_classes == 1:
        return None
    return GivenSets(validation, agreed.loss, agreed.target.exponent)


def _check_supported(model: Any) -> None:
    """Raise for parameters that need more than sums over the rows."""
    for name, value in _ONLY.items():
        if getattr(model, name, value) != value:
            raise NotOnPartsError(f"{name}={getattr(model, name)!r}", f"Set {name}={value!r}")
    if model.max_bins is not None and model.max_bins > 255:
        raise NotOnPartsError(
            f"max_bins={model.max_bins}",
            "Codes of values are single bytes: set max_bins to at most 255",
        )
    if getattr(model, "_skl_callbacks", None):
        raise NotOnPartsError("A callback", "Remove it")


def _check_settings(model: Any, settings: BoosterSettings, loss: BuiltinLoss) -> None:
    """Raise for settings, given or chosen, that parts do not support."""
    has_vectors = loss.n_scores > 1 and settings.multi_class == "vector_leaves"
    scores_rows = settings.early_stopping and not is_loss(model.scoring)
    for name, is_set, instead in (
        ("n_bags", settings.n_bags is not None, "n_bags=None"),
        ("multi_class", has_vectors, "multi_class='tree_per_class'"),
        ("scoring", scores_rows, "scoring='loss'"),
    ):
        if is_set:
            value = getattr(settings, name, getattr(model, name))
            how = "chosen from 'auto'" if is_auto(getattr(model, name)) else "given"
            raise NotOnPartsError(f"{name}={value!r} ({how})", f"Set {instead}")

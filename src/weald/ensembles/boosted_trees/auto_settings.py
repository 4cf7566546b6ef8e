"""Values of the parameters that are "auto": by task, number of rows and `quality`."""

from dataclasses import asdict, dataclass
from typing import Any

from weald.advice import advise
from weald.data import Rows, ValidationRows
from weald.data.columns import Category
from weald.ensembles.boosted_trees.curves import Patience
from weald.ensembles.level_statistics import MOST_CLASSES
from weald.ensembles.rounds.scoring import is_loss

# Up to so many rows, boosters on folds choose the number of rounds and are averaged; above, one
# booster with a validation split costs little accuracy and a fifth of the time.
FOLD_ROWS = 30_000

# Rankers learn from queries, which are fewer than rows: a held-out tenth of them is missed longer
# (docs/guide/ranking.md).
RANKED_FOLD_ROWS = 100_000

# With fewer rows (or groups) there is nothing to validate on: a fixed number of rounds is made.
_FEW_ROWS = 10

# Of a loss that changes in steps, improvements are seen later.
_LONGER = 3

_FIXED = 100  # rounds without early stopping
_MOST = 5_000  # rounds with early stopping

_DEFAULT_FRACTION = 0.1
_UNUSED_FRACTION = (
    "validation_fraction={} has no effect: the folds that the boosters leave out are the "
    "validation rows. Set n_bags=None to hold out a fraction of the rows instead."
)
_UNUSED_SAMPLING = (
    "feature_sampling={!r} has no effect: every split considers all columns (max_features_ is "
    "None). Set max_features, for instance to 0.5."
)


@dataclass(frozen=True)
class BoosterSettings:
    """Every parameter that may be "auto", as given or as chosen."""

    n_estimators: int
    n_bags: int | None
    learning_rate: float
    max_leaf_nodes: int | None
    min_samples_leaf: int
    max_features: Any
    subsample: float
    multi_class: str
    early_stopping: bool
    n_iter_no_change: int
    target_statistics: bool

    def as_dict(self) -> dict[str, Any]:
        """The values by the names of the parameters."""
        return asdict(self)

    def feature_sampling(self, model: Any, growth: str) -> str:
        """How columns are sampled; for symmetric trees by level, if it was chosen that any are.

        Likewise if it was chosen that trees are symmetric.
        """
        is_chosen = is_auto(model.max_features) and self.max_features is not None
        is_chosen = is_chosen or is_auto(model.growth)
        if growth == "symmetric" and is_chosen and model.feature_sampling == "node":
            return "level"
        return str(model.feature_sampling)

    def patience(self, model: Any, *, has_little_noise: bool) -> Patience | None:
        """When early stopping ends the fit; None: it never does.

        If it was not set: the pooled loss of all rows, if it is smooth, has little noise, so that
        few rounds without improvement are enough at first.
        """
        if not self.early_stopping:
            return None
        most = self.n_iter_no_change
        is_chosen = is_auto(model.n_iter_no_change) and model.quality != "fast"
        grows = is_chosen and has_little_noise and is_loss(model.scoring)
        return Patience(most, most // 5 if grows else most)

    def advise_of_unused(self, model: Any) -> None:
        """Warn about parameters that have no effect with these settings."""
        if self.n_bags is not None and model.validation_fraction != _DEFAULT_FRACTION:
            advise(_UNUSED_FRACTION.format(model.validation_fraction))
        if self.max_features is None and model.feature_sampling != "node":
            advise(_UNUSED_SAMPLING.format(model.feature_sampling))

    def that_matter(self, model: Any, n_rounds: int) -> dict[str, Any]:
        """The values that give a model of so many rounds again, on the same rows.

        Without those that have no effect, which a fit warns about.
        """
        # The best number of rounds may be 0; n_estimators is the largest one.
        values = {**self.as_dict(), "n_estimators": max(1, n_rounds)}
        if not self.early_stopping:
            del values["n_iter_no_change"]
        if not any(isinstance(column, Category) for column in model._plan.columns):
            del values["target_statistics"]
        if model.growth == "symmetric" and self.max_features is not None:  # may have been chosen
            values["feature_sampling"] = self.feature_sampling(model, model.growth)
        # A regressor has no parameter `multi_class`.
        return {name: value for name, value in values.items() if hasattr(model, name)}


def chosen_settings(
    model: Any,
    rows: Rows,
    validation: ValidationRows | None,
    n_classes: int,
    *,
    has_loss: bool = True,
    hides_means: bool = False,
    is_smooth: bool = True,
) -> BoosterSettings:
    """Replace "auto" by what `quality`, the task and the number of rows suggest.

    Parameters
    ----------
    model : BoostedTreesClassifier or BoostedTreesRegressor
        Parameters other than "auto" are kept as they are.
    n_classes : int
        0 for a regression.
    has_loss : bool
        Whether validation rows can be scored; a user's loss may only have derivatives.
    hides_means : bool
        Whether means of the target say little, because of offsets that are no exposures.
    is_smooth : bool
        Whether the loss changes smoothly with the scores.
    """
    n_units = rows.n if rows.groups is None else rows.groups.n
    stops = _stops_early(model, n_units, validation, has_loss)
    chooses_rounds = stops and is_auto(model.n_estimators)
    values = _FAST
    if model.quality != "fast":
        values = _values(model.quality, rows.n, stops, chooses_rounds, model._ranks_queries)
        if n_classes > 2 and rows.n <= FOLD_ROWS and _can_have_vector_leaves(model):
            values["multi_class"] = "vector_leaves"
    if not is_smooth:
        values = {**values, "n_iter_no_change": _LONGER * values["n_iter_no_change"]}
    if validation is not None or not chooses_rounds or n_units < _FEW_ROWS:
        values = {**values, "n_bags": None}
    values = {**values, "early_stopping": stops, "n_estimators": _MOST if stops else _FIXED}
    statistics = uses_statistics(
        model.target_statistics, model.quality, n_classes, hides_means=hides_means
    )
    values = {**values, "target_statistics": statistics}
    if rows.n_outputs > 1 and model.multi_output == "vector_leaves":
        values = {**values, "multi_class": "vector_leaves"}
    given: dict[str, Any] = {name: getattr(model, name, "auto") for name in values}
    given["early_stopping"] = "auto"  # True and False are in `stops` already
    return BoosterSettings(
        **{name: values[name] if is_auto(one) else one for name, one in given.items()}
    )


def may_stop_early(model: Any) -> bool:
    """Whether early stopping is on, unless there are too few rows for it."""
    if not is_auto(model.early_stopping):
        return bool(model.early_stopping)
    return is_auto(model.n_estimators) and model.quality != "fast"


def uses_statistics(wanted: bool | str, quality: str, n_classes: int, *, hides_means: bool) -> bool:
    """Whether categories of many levels get target statistics."""
    if not is_auto(wanted):
        if wanted and hides_means:
            raise ValueError(
                "target_statistics=True cannot be combined with offset, unless the loss has a log "
                "link: the mean target of a category says little without the offsets of its rows. "
                "Leave target_statistics at 'auto', or set it to False."
            )
        return bool(wanted)
    return quality != "fast" and not hides_means and n_classes <= MOST_CLASSES


def _stops_early(
    model: Any, n_units: int, validation: ValidationRows | None, has_loss: bool
) -> bool:
    if not is_auto(model.early_stopping):
        return bool(model.early_stopping)
    can_validate = has_loss and (validation is not None or n_units >= _FEW_ROWS)
    return may_stop_early(model) and can_validate


_FAST: dict[str, Any] = {
    "n_bags": None,
    "learning_rate": 0.1,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "max_features": None,
    "subsample": 1.0,
    "multi_class": "tree_per_class",
    "n_iter_no_change": 10,
}


def _can_have_vector_leaves(model: Any) -> bool:
    return (
        model.loss == "log_loss"
        and model.l1_regularization == 0
        and model.growth == "best_first"
        and not model.exact
    )


def _values(
    quality: str, n_rows: int, stops: bool, chooses_rounds: bool, ranks_queries: bool
) -> dict[str, Any]:
    is_best, is_small = quality == "best", n_rows <= FOLD_ROWS
    has_folds = is_best or n_rows <= (RANKED_FOLD_ROWS if ranks_queries else FOLD_ROWS)
    rate = 0.05 if is_small else 0.1
    return {
        "n_bags": (10 if is_best and is_small else 5) if has_folds else None,
        # With a given number of rounds a smaller rate might not get far enough.
        "learning_rate": (rate / 2 if is_best else rate) if chooses_rounds else 0.1,
        "max_leaf_nodes": 16 if is_small else 31,
        # Small leaves need early stopping: a class of a few rows would spoil the others.
        "min_samples_leaf": min(5 if is_small and stops else 20, max(1, n_rows // 10)),
        "max_features": 0.6 if is_small or is_best else None,
        "subsample": 0.8 if is_small or is_best else 1.0,
        "multi_class": "tree_per_class",
        "n_iter_no_change": 100 if is_best else 50,
    }


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to be chosen."""
    return isinstance(value, str) and value == "auto"

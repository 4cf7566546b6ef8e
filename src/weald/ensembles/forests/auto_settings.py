"""Parameters of a random forest that are chosen by its out-of-bag error ("auto")."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import mass_of
from weald.ensembles.base import Floats
from weald.ensembles.class_weights import weights_by_class, weights_of_classes
from weald.ensembles.exact_means import exact_means
from weald.ensembles.forests.forest import FirstTrees, ForestModel, TreeSettings
from weald.ensembles.forests.forest_limits import FOREST_LIMITS
from weald.ensembles.forests.forest_rows import TrainingRows, forest_rows, sums_of_left_out
from weald.ensembles.max_features import MAX_FEATURES, n_drawn
from weald.log import report
from weald.parameters import AnyOf, Limit, OneOf
from weald.resampling import Purpose
from weald.trees import ForestGrower, ForestRows, OutOfBag

# Trees of a trial forest, and on large tables the maximum number of rows drawn for each of them,
# and of distinct rows these are drawn from.
_TREES, _MOST_DRAWS, _MOST_ROWS = 25, 20_000, 40_000

# Number of trees for which the error is extrapolated. It does not depend on n_estimators, so that
# a warm start chooses the settings that a single fit of all trees would have chosen.
_FORESEEN = 100

# The larger leaf size is tried only if the second of the first two is better than the first.
_LEAVES, _LARGER_LEAF = (1, 5), 20

_AUTO = OneOf(("auto",))
CHOSEN_LIMITS: Mapping[str, Limit] = {
    "min_samples_leaf": AnyOf((_AUTO, FOREST_LIMITS["min_samples_leaf"])),
    "max_features": AnyOf((_AUTO, MAX_FEATURES)),
}


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows on which settings are tried, ranked and as given, and their weights."""

    rows: ForestRows
    training: TrainingRows
    weight: Floats | None


class Tried(NamedTuple):
    """Settings, the trial forest grown with them, and its out-of-bag error for many trees."""

    settings: TreeSettings
    first_trees: FirstTrees
    error: float

    def or_better(self, other: "Tried") -> "Tried":
        return other if other.error < self.error else self


class Chosen(NamedTuple):
    """The chosen settings, the trial forest to go on with if any, and the log of all trials."""

    settings: TreeSettings
    first_trees: FirstTrees | None
    log: list[dict[str, Any]]


class ChosenSettings(ForestModel):
    """A forest that chooses `min_samples_leaf` and `max_features` where these are "auto".

    A trial forest of 25 trees is grown for each combination, and the one with the lowest squared
    out-of-bag error (Brier score for classification), extrapolated to 100 trees, is chosen; the
    first one if all are equal or if no row is out-of-bag for two trees. With the criterion
    "absolute_error", the absolute out-of-bag error of the trial forests is compared. Trial trees
    are not pruned (`ccp_alpha`). The choice depends neither on the order of the rows nor on
    `n_jobs` or `n_estimators`; a warm start keeps the choice of its first fit, which is also that
    of a single fit of all trees.

    Parameters
    ----------
    min_samples_leaf : int, float or "auto", default="auto"
        Minimum number of rows in a leaf; a float is a fraction of the rows drawn for the tree.
        "auto": 1 or 5, whichever has the lower out-of-bag error, and 20 if 5 is better than 1 and
        20 better than 5; 1 if every tree is fitted on all rows.

    Attributes
    ----------
    min_samples_leaf_ : int or float
        Minimum number of rows in a leaf, as given or as chosen.
    max_features_ : int, float, str or None
        Number of columns considered at each split, as given or as chosen.
    auto_settings_ : dict
        The value of every parameter that may be "auto", as given or as chosen: `n_estimators`,
        `min_samples_leaf` and `max_features`.
    auto_trials_ : list of dict
        The combinations tried: `min_samples_leaf`, `max_features` and the extrapolated `oob_error`
        (NaN if no row is out-of-bag for two trees). Empty if nothing was to be chosen.
    """

    min_samples_leaf_: Any
    max_features_: Any
    auto_trials_: list[dict[str, Any]]
    _column_choices: ClassVar[tuple[Any, ...]]

    @property
    def auto_settings_(self) -> dict[str, Any]:
        """The value of every parameter that may be "auto"."""
        check_is_fitted(self)
        return {
            "n_estimators": self.forest_.n_trees,
            "min_samples_leaf": self.min_samples_leaf_,
            "max_features": self.max_features_,
        }

    def _choose_settings(
        self, training: TrainingRows, seed: int, n_before: int
    ) -> tuple[TreeSettings, FirstTrees | None]:
        if n_before:
            chosen = Chosen(self._settings_of_first_fit(), None, self.auto_trials_)
        else:
            chosen = self._best_settings(training, seed)
        self.min_samples_leaf_, self.max_features_ = chosen.settings
        self.auto_trials_ = chosen.log
        return chosen.settings, chosen.first_trees

    def _settings_of_first_fit(self) -> TreeSettings:
        leaf, columns = self.min_samples_leaf, self.max_features
        return TreeSettings(
            self.min_samples_leaf_ if _is_auto(leaf) else leaf,
            self.max_features_ if _is_auto(columns) else columns,
        )

    def _best_settings(self, training: TrainingRows, seed: int) -> Chosen:
        """Choose by the out-of-bag error of trial forests, on large tables of a row subsample."""
        candidates, samples = self._settings_to_try(), training.samples
        if len(candidates) == 1 or samples is None:
            return Chosen(candidates[0], None, [])
        is_small = samples.mean_rows <= _MOST_DRAWS and samples.n <= _MOST_ROWS
        if not is_small:
            training = _fewer(training, seed)
        trial = Trial(forest_rows(*training), training, self._weight_of_rows(training))
        log: list[dict[str, Any]] = []

        def grow(settings: TreeSettings) -> Tried:
            tried = self._try(settings, trial, seed)
            log.append(self._log_entry(tried, training.rows.target_exponent))
            return tried

        best = grow(candidates[0])
        for settings in candidates[1:]:
            best = best.or_better(grow(settings))
        if _is_auto(self.min_samples_leaf) and best.settings.min_samples_leaf == _LEAVES[-1]:
            best = best.or_better(grow(best.settings._replace(min_samples_leaf=_LARGER_LEAF)))
        if self.verbose:
            leaf, columns = best.settings
            report(f"min_samples_leaf={leaf!r}, max_features={columns!r} chosen")
        return Chosen(best.settings, best.first_trees if is_small else None, log)

    def _settings_to_try(self) -> list[TreeSettings]:
        """All combinations; numbers of columns that are equal are tried once."""
        leaf, columns = self.min_samples_leaf, self.max_features
        leaves = _LEAVES if _is_auto(leaf) else (leaf,)
        choices = self._column_choices if _is_auto(columns) else (columns,)
        n = self._plan.n_columns
        different = {n_drawn(choice, n): choice for choice in reversed(choices)}
        kept = [choice for choice in choices if choice in different.values()]
        return [TreeSettings(*pair) for pair in product(leaves, kept)]

    def _try(self, settings: TreeSettings, trial: Trial, seed: int) -> Tried:
        """Grow a trial forest and estimate its out-of-bag error."""
        n_kept = _TREES if self._is_open_ended else min(_TREES, int(self.n_estimators))
        training, n_rows = trial.training, trial.rows.n_rows
        limits = self._tree_limits(training.n_drawn, training.rows, settings)
        oob = OutOfBag(sums_of_left_out(n_rows, trial.rows.width), np.zeros(n_rows))
        grower = ForestGrower(
            trial.rows,
            limits,
            seed=seed,
            n_threads=training.n_threads,
            n_jobs=self.n_jobs,
            out_of_bag=oob,
        )
        first_trees = FirstTrees(trial.rows, grower.grow(range(n_kept)), oob)
        if n_kept < _TREES:  # the other trees only serve the estimate and are discarded
            first_trees = first_trees._replace(oob=deepcopy(oob))
            step = max(n_kept, training.n_threads)  # no more at a time than the forest itself holds
            for first in range(n_kept, _TREES, step):
                grower.score(range(first, min(first + step, _TREES)))
        return Tried(settings, first_trees, self._extrapolated_error(oob, trial))

    def _extrapolated_error(self, oob: OutOfBag, trial: Trial) -> float:
        scored = oob.counts > 1
        if not scored.any():
            return float("nan")
        losses_of = _absolute if self.criterion == "absolute_error" else _squared
        losses = losses_of(oob, trial.rows, scored)
        weight = None if trial.weight is None else trial.weight[scored]
        return float(exact_means(losses, weight))

    def _log_entry(self, tried: Tried, target_exponent: int) -> dict[str, Any]:
        is_absolute = self.criterion == "absolute_error"
        with np.errstate(over="ignore"):  # squares of targets beyond 1e154 overflow to inf
            error = float(np.ldexp(tried.error, target_exponent * (1 if is_absolute else 2)))
        return {**tried.settings._asdict(), "oob_error": error}

    def _weight_of_rows(self, training: TrainingRows) -> Floats | None:
        """Weights of the rows in the fit: sample weight times class weight."""
        ordered, rows, of_class = training.ordered, training.rows, training.class_weight
        own = rows.total_weight
        weight = None if own is None else own[ordered.index]
        if self._votes().get("balances_bags"):
            of_class = weights_of_classes("balanced", rows, self.classes_)
        if of_class is None:
            return weight
        of_row = weights_by_class(rows.target[ordered.index], of_class)
        return of_row if weight is None else weight * of_row


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def _squared(oob: OutOfBag, rows: ForestRows, scored: NDArray[np.bool_]) -> Floats:
    """Squared errors of rows, extrapolated from the c trees for which a row is out-of-bag.

    With residuals r of the single trees, the mean of r·r' over pairs of different trees estimates
    the squared error of infinitely many trees, and the mean of r² that of a single tree. The error
    of n trees is pairs + (single - pairs) / n.
    """
    assert oob.squares is not None
    counts, squares = oob.counts[scored].astype(np.float64), oob.squares[scored]
    missed = np.zeros(len(counts))
    for k in range(rows.width):  # a fixed order of summation, for equal results on all machines
        missed += (counts * rows.channel(k)[scored] - oob.sums[scored, k]) ** 2
    pairs = (missed - squares) / (counts * (counts - 1.0))
    return np.asarray(pairs + (squares / counts - pairs) / _FORESEEN)


def _absolute(oob: OutOfBag, rows: ForestRows, scored: NDArray[np.bool_]) -> Floats:
    """Absolute errors of the out-of-bag predictions, without extrapolation."""
    return np.asarray(np.abs(rows.channel(0)[scored] - oob.means()[scored, 0]))


def _fewer(training: TrainingRows, seed: int) -> TrainingRows:
    """A random subsample of the rows (of whole groups, with groups), with smaller row samples."""
    ordered, samples = training.ordered, training.samples
    assert samples is not None
    words = _native.draw(ordered.keys, seed, 0, Purpose.SETTINGS)
    order = np.argsort(words, kind="stable")
    end = min(_MOST_ROWS, len(order))
    while end < len(order) and words[order[end]] == words[order[end - 1]]:
        end += 1  # the rest of a group
    some = np.sort(order[:end])
    rows, fewer = training.rows.take(ordered.index[some]), ordered.take(some)
    share = min(1.0, _MOST_DRAWS / samples.mean_rows)
    n_draws = max(1, round(samples.n_draws * share))
    groups, weight = fewer.groups, rows.total_weight
    n_units = fewer.n if groups is None else groups.n
    by_weight = samples.draws_by_weight and weight is not None
    statistics = training.statistics
    return training._replace(
        rows=rows,
        ordered=fewer,
        statistics=None if statistics is None else statistics.take(ordered.index[some]),
        samples=replace(
            samples,
            n_draws=n_draws if samples.keys is None else min(n_draws, n_units),
            place=fewer.index,
            n=fewer.n,
            mass=mass_of(weight) if by_weight else None,
            keys=None if samples.keys is None else (fewer.keys if groups is None else groups.keys),
            group_of=None if groups is None else groups.of_row,
        ),
    )

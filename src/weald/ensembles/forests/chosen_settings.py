"""Settings of a random forest that are left to the data: its own out-of-bag error chooses."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data import Rows, mass_of
from weald.ensembles.base import Floats
from weald.ensembles.class_weights import weights_by_class, weights_of_classes
from weald.ensembles.drawn_columns import MAX_FEATURES, n_drawn
from weald.ensembles.exact_means import exact_means
from weald.ensembles.forests.forest import Begun, ForestModel
from weald.ensembles.forests.forest_limits import FOREST_LIMITS
from weald.ensembles.forests.forest_rows import Learnt, forest_rows, sums_of_left_out
from weald.parameters import AnyOf, Limit, OneOf
from weald.resampling import Purpose
from weald.trees import ForestRows, OutOfBag, grow_members

# Trees of a trial; rows each draws at most, and different rows it draws from at most: a large table
# pays for a small one.
_TREES, _MOST_DRAWS, _MOST_ROWS = 25, 20_000, 40_000

# The trees whose error is foreseen: never those asked for, so that trees added by a warm start are
# of the settings that one fit of all would have chosen.
_FORESEEN = 100

# Where the larger of the first two leaves wins, a third one is tried with the winner's columns.
_LEAVES, _LARGER_LEAF = (1, 5), 20

_AUTO = OneOf(("auto",))
CHOSEN_LIMITS: Mapping[str, Limit] = {
    "min_samples_leaf": AnyOf((_AUTO, FOREST_LIMITS["min_samples_leaf"])),
    "max_features": AnyOf((_AUTO, MAX_FEATURES)),
}


@dataclass(frozen=True, eq=False)
class Trial:
    """What the settings are tried on: rows, how many of them a tree draws, what each weighs."""

    rows: ForestRows
    n_drawn: int
    weight: Floats | None


class Tried(NamedTuple):
    """A pair of settings, the small forest grown with them, and the error foreseen for a large."""

    leaf: Any
    columns: Any
    begun: Begun
    error: float

    def or_better(self, other: "Tried") -> "Tried":
        return other if other.error < self.error else self


class ChosenSettings(ForestModel):
    """A forest that chooses its leaves and columns where these are "auto".

    Small forests of 25 trees are grown for each setting, and the one of the least squared
    out-of-bag error (the Brier score of classes), as foreseen for 100 trees, is taken; the first
    one if all are equal, or if no row was left out twice. With the criterion "absolute_error" the
    absolute error of the small forests decides. Trees are not pruned (`ccp_alpha`) for it. What is
    chosen depends neither on the order of rows nor on `n_jobs` nor on `n_estimators`; a warm start
    keeps what its first fit chose, which is what one fit of all its trees chooses.

    Parameters
    ----------
    min_samples_leaf : int, float or "auto", default="auto"
        Fewest rows of a leaf; a float is a share of the rows drawn. "auto": 1 or 5, by the
        out-of-bag error, and 20 if 5 is better than 1 and 20 better than 5; 1 if every tree sees
        every row.

    Attributes
    ----------
    min_samples_leaf_ : int or float
        The fewest rows of a leaf: as given, or as chosen.
    max_features_ : int, float, str or None
        The columns a node looks at: as given, or as chosen.
    auto_settings_ : list of dict
        What was tried: `min_samples_leaf`, `max_features` and the `oob_error` foreseen (NaN: no row
        was left out twice). Empty if nothing was to be chosen.
    """

    min_samples_leaf_: Any
    max_features_: Any
    auto_settings_: list[dict[str, Any]]
    _column_choices: ClassVar[tuple[Any, ...]]

    @property
    def _leaf_and_columns(self) -> tuple[Any, Any]:
        leaf, columns = self.min_samples_leaf, self.max_features
        return (
            self.min_samples_leaf_ if _is_auto(leaf) else leaf,
            self.max_features_ if _is_auto(columns) else columns,
        )

    def _settle(self, learnt: Learnt, seed: int, n_before: int) -> Begun | None:
        """Choose; return the winner's trees where they are the first of the forest to be grown."""
        if n_before:
            self.min_samples_leaf_, self.max_features_ = self._leaf_and_columns
            return None
        settings = self._settings_to_try()
        self.min_samples_leaf_, self.max_features_ = settings[0]
        self.auto_settings_ = []
        if len(settings) == 1 or learnt.samples is None:
            return None
        is_small = learnt.samples.mean_rows <= _MOST_DRAWS and learnt.samples.n <= _MOST_ROWS
        if not is_small:
            learnt = _fewer(learnt, seed)
        assert learnt.samples is not None
        trial = Trial(forest_rows(*learnt), learnt.samples.mean_rows, self._weight_of_rows(learnt))
        grow = partial(self._try, trial=trial, rows=learnt.rows, seed=seed)
        best = grow(*settings[0])
        for setting in settings[1:]:
            best = best.or_better(grow(*setting))
        if _is_auto(self.min_samples_leaf) and best.leaf == _LEAVES[-1]:
            best = best.or_better(grow(_LARGER_LEAF, best.columns))
        self.min_samples_leaf_, self.max_features_ = best.leaf, best.columns
        if self.verbose:
            print(f"min_samples_leaf={best.leaf!r}, max_features={best.columns!r} chosen")
        return best.begun if is_small else None

    def _settings_to_try(self) -> list[tuple[Any, Any]]:
        """Pairs of `min_samples_leaf` and `max_features`; two that mean the same are tried once."""
        leaf, columns = self.min_samples_leaf, self.max_features
        leaves = _LEAVES if _is_auto(leaf) else (leaf,)
        choices = self._column_choices if _is_auto(columns) else (columns,)
        n = self._plan.n_columns
        different = {n_drawn(choice, n): choice for choice in reversed(choices)}
        kept = [choice for choice in choices if choice in different.values()]
        return list(product(leaves, kept))

    def _try(self, leaf: Any, columns: Any, trial: Trial, rows: Rows, seed: int) -> Tried:
        self.min_samples_leaf_, self.max_features_ = leaf, columns
        is_open = isinstance(self.n_estimators, str)
        n_kept = _TREES if is_open else min(_TREES, int(self.n_estimators))
        n_rows = trial.rows.n_rows
        oob = OutOfBag(sums_of_left_out(n_rows, trial.rows.width), np.zeros(n_rows))
        grow = partial(
            grow_members,
            trial.rows,
            self._tree_limits(trial.n_drawn, rows),
            seed=seed,
            n_threads=self._n_threads,
            out_of_bag=oob,
        )
        begun = Begun(trial.rows, grow(range(n_kept)), oob)
        if n_kept < _TREES:  # fewer are wanted; the rest only judge, and none of them is kept
            begun = begun._replace(oob=deepcopy(oob))
            for first in range(n_kept, _TREES, self._n_threads):
                grow(range(first, min(first + self._n_threads, _TREES)))
        error = self._foreseen(oob, trial)
        self._note(error, rows.target_exponent)
        return Tried(leaf, columns, begun, error)

    def _foreseen(self, oob: OutOfBag, trial: Trial) -> float:
        judged = oob.counts > 1
        if not judged.any():
            return float("nan")
        foresee = _absolute if self.criterion == "absolute_error" else _squared
        losses = foresee(oob, trial.rows, judged)
        weight = None if trial.weight is None else trial.weight[judged]
        return float(exact_means(losses, weight))

    def _note(self, error: float, target_exponent: int) -> None:
        is_absolute = self.criterion == "absolute_error"
        with np.errstate(over="ignore"):  # the square of a target beyond 1e154 is none: inf
            error = float(np.ldexp(error, target_exponent * (1 if is_absolute else 2)))
        self.auto_settings_.append(
            {
                "min_samples_leaf": self.min_samples_leaf_,
                "max_features": self.max_features_,
                "oob_error": error,
            }
        )

    def _weight_of_rows(self, learnt: Learnt) -> Floats | None:
        """What the rows weigh in the fit, by themselves and by their classes."""
        ordered, rows, of_class = learnt.ordered, learnt.rows, learnt.class_weight
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


def _squared(oob: OutOfBag, rows: ForestRows, judged: NDArray[np.bool_]) -> Floats:
    """Squared errors of rows foreseen for a mean of many trees, from those of few.

    Of c answers, each missing the target by r, the mean of r·r' over pairs of different ones is
    what a mean of infinitely many would miss, squared, and that of r² what one alone does. A mean
    of n trees is 1/n of the way between them.
    """
    assert oob.squares is not None
    counts, squares = oob.counts[judged].astype(np.float64), oob.squares[judged]
    missed = np.zeros(len(counts))
    for k in range(rows.width):  # in this order on every machine
        missed += (counts * rows.channel(k)[judged] - oob.sums[judged, k]) ** 2
    pairs = (missed - squares) / (counts * (counts - 1.0))
    return np.asarray(pairs + (squares / counts - pairs) / _FORESEEN)


def _absolute(oob: OutOfBag, rows: ForestRows, judged: NDArray[np.bool_]) -> Floats:
    """Absolute errors of the mean answers as they are: more trees are not foreseen."""
    return np.asarray(np.abs(rows.channel(0)[judged] - oob.means()[judged, 0]))


def _fewer(learnt: Learnt, seed: int) -> Learnt:
    """Some of the rows, drawn by their keys (of groups: whole groups), and smaller samples."""
    ordered, samples = learnt.ordered, learnt.samples
    assert samples is not None
    words = _native.draw(ordered.keys, seed, 0, Purpose.SETTINGS)
    order = np.argsort(words, kind="stable")
    end = min(_MOST_ROWS, len(order))
    while end < len(order) and words[order[end]] == words[order[end - 1]]:
        end += 1  # the rest of a group
    some = np.sort(order[:end])
    rows, fewer = learnt.rows.take(ordered.index[some]), ordered.take(some)
    share = min(1.0, _MOST_DRAWS / samples.mean_rows)
    n_draws = max(1, round(samples.n_draws * share))
    groups, weight = fewer.groups, rows.total_weight
    n_units = fewer.n if groups is None else groups.n
    by_weight = samples.draws_by_weight and weight is not None
    return learnt._replace(
        rows=rows,
        ordered=fewer,
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

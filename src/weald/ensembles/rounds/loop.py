"""The training loop of all boosting methods: row sampling, gradients, base estimators, update."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from weald.cached import cached_property
from weald.data import Rows, ValidationRows, as_one_array, target_in_units
from weald.ensembles.base import Floats
from weald.ensembles.counts_as_weights import warn_of_counts
from weald.losses import Loss
from weald.resampling import (
    OrderedRows,
    hold_out,
    hold_out_groups,
    ordered_rows,
    seed_of,
    subsample,
)

Copies = NDArray[np.int64] | None
# From targets to the strata of rows; None: no strata.
Strata = Callable[[Floats], NDArray[np.int64] | None]
Mask = NDArray[np.uint8] | None

# Leaf values and scores of this size count as divergence, before they overflow.
_DIVERGED = 1e200


@dataclass(frozen=True, eq=False)
class Training:
    """Training and validation rows of a fit.

    Attributes
    ----------
    rows : Rows
        All rows; those held out for validation are the last, except with folds.
    keys : uint64 [rows, 2] or None
        Content hashes that key row sampling; None: no rows are sampled.
    held_out : bool [rows] or None
        Mask of the validation rows; None: there are none.
    seed : int
        Seed of row and column sampling.
    validation : ValidationRows or None
        The validation set passed by the user, if any; its rows are the last of `rows`.
    scored_rows : Rows or None
        `rows` with the weights that validation scores use; None: those of `rows`.
    index : intp [rows] or None
        Position of each row before the rows were ordered; None: they were not.
    """

    rows: Rows
    keys: NDArray[np.uint64] | None
    held_out: NDArray[np.bool_] | None
    seed: int
    validation: ValidationRows | None = None
    scored_rows: Rows | None = None
    index: NDArray[np.intp] | None = None

    @cached_property
    def y(self) -> Floats:
        """Target in the layout of the losses; class shares are flattened class by class.

        A uint8 target is not converted, to save memory; the core converts it on the fly.
        """
        y = cast(Floats, self.rows.y)
        return y if y.ndim == 1 else np.ascontiguousarray(y.T).ravel()

    def y_of(self, index: NDArray[np.intp]) -> Floats:
        """The target of some rows, in the same layout."""
        y = cast(Floats, self.rows.y[index])
        return y if y.ndim == 1 else np.ascontiguousarray(y.T).ravel()

    @cached_property
    def train_copies(self) -> Copies:
        """Number of copies of each row in training, 0 for held-out rows; None: 1 each."""
        if self.held_out is None:
            return self.rows.copies
        return np.where(self.held_out, np.int64(0), _copies_of(self.rows))

    @cached_property
    def n_used(self) -> int:
        """Number of leading rows among which all training rows are."""
        if self.held_out is None:
            return self.rows.n
        return int(np.flatnonzero(~self.held_out)[-1]) + 1

    @cached_property
    def used_copies(self) -> Copies:
        """`train_copies`; None if the first `n_used` rows occur once each."""
        if self.rows.copies is None and self.held_out is not None:
            return self.train_copies if self.held_out[: self.n_used].any() else None
        return self.train_copies

    @cached_property
    def validation_copies(self) -> NDArray[np.int64]:
        """Number of copies of each row in validation, 0 for training rows."""
        assert self.held_out is not None
        if self.validation is not None:
            counted = self.held_out.copy()
            if self.validation.counted is not None:
                counted[self.rows.n - self.validation.n :] = self.validation.counted
            return counted.astype(np.int64)
        return np.where(self.held_out, _copies_of(self.scored_rows or self.rows), np.int64(0))

    @cached_property
    def validation_weight(self) -> Floats | None:
        """Weight of each row in validation scores; None: 1 each."""
        if self.validation is None:
            return (self.scored_rows or self.rows).weight
        if self.validation.weight is None:
            return None
        training_rows = np.zeros(self.rows.n - self.validation.n)
        return np.concatenate([training_rows, self.validation.weight])

    def with_all_rows(self) -> "Training":
        """Return a copy in which the held-out rows are training rows too."""
        return replace(self, held_out=None)

    def drawn(self, fraction: float, round_: int) -> tuple[Copies, Mask]:
        """Number of copies of each row in a round, after row subsampling; None: 1 each.

        The second marks the rows that are drawn among all, those that are held out included; None:
        all of them.
        """
        if fraction == 1.0 or self.keys is None:
            return self.train_copies, None
        return subsample(
            self.keys, self.rows.copies, self.held_out, fraction, seed=self.seed, member=round_
        )

    def not_drawn(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of copies of each training row that a round left out (out-of-bag)."""
        seen = _copies_of(self.rows) if self.train_copies is None else self.train_copies
        return seen - drawn

    def in_weight_units(self, amount: float) -> float:
        """Convert a threshold on sums of weights to the unit of the scaled weights."""
        return amount / self.rows.weight_unit


def prepare(
    rows: Rows,
    *,
    fraction: float,
    held_fraction: float | None,
    asked_by: str,
    random_state: object,
    strata: Strata,
    n_threads: int,
    validation: ValidationRows | None = None,
    draws_columns: bool = False,
    ordered: OrderedRows | None = None,
) -> Training:
    """Set up the training rows: order them by content and split off a validation set.

    Rows are ordered only if any are sampled or held out, so that a permutation of the rows yields
    the same model. Rows that are held out are put behind the others: trees then grow on a
    contiguous part of the table.

    Parameters
    ----------
    fraction
        Row subsampling rate of each round; 1.0: no subsampling.
    held_fraction
        Fraction of the rows held out for validation; None: no rows are held out.
    asked_by
        "parameter=value" that disables the validation split, for an error message.
    strata
        Gives the stratum of each row by its target; the split is stratified.
    validation
        Validation set passed by the user.
    draws_columns
        Whether trees sample columns, which requires a seed but no ordered rows.
    ordered
        The ordered rows, if the caller has them already.
    """
    if validation is not None:
        training = prepare(
            rows,
            fraction=fraction,
            held_fraction=None,
            asked_by=asked_by,
            random_state=random_state,
            strata=strata,
            n_threads=n_threads,
            draws_columns=draws_columns,
            ordered=ordered,
        )
        return _with_validation(validation, training)
    if fraction == 1.0 and held_fraction is None and ordered is None:
        refuse_groups(rows)
        return Training(rows, None, None, seed_of(random_state) if draws_columns else 0)
    seed = seed_of(random_state)
    if ordered is not None or held_fraction is not None:
        warn_of_counts(rows, n_threads)
    if ordered is None:
        ordered = ordered_rows(_hashable(rows), n_threads=n_threads)
    index, groups = ordered.index, ordered.groups
    if held_fraction is None:
        return Training(rows.take(index), ordered.keys, None, seed, index=index)
    check_can_hold_out(*((rows.n, "rows") if groups is None else (groups.n, "groups")), asked_by)
    if groups is not None:
        held = hold_out_groups(groups, held_fraction, seed=seed)
    else:
        held = hold_out(ordered.keys, strata(rows.target[index]), held_fraction, seed=seed)
    last = np.argsort(held, kind="stable")
    index = index[last]
    return Training(rows.take(index), ordered.keys[last], held[last], seed, index=index)


def check_can_hold_out(n: int, what: str, asked_by: str) -> None:
    """Raise if there are fewer than two rows or groups, so that none can be held out."""
    if n < 2:
        name, off = asked_by.split("=")
        raise ValueError(
            f"{name} needs at least two {what}, one for training and one for validation; got "
            f"n_samples = {n}. Set {name}={off} or give more {what}."
        )


def refuse_groups(rows: Rows) -> None:
    """Raise if `groups` was passed to a fit that neither samples nor holds out rows."""
    if rows.groups is not None:
        raise ValueError(
            "groups was given, but no rows are drawn or held out: groups says which rows are drawn "
            "together. Set early stopping, subsample or n_bags, or do not pass groups."
        )


def _with_validation(validation: ValidationRows, training: Training) -> Training:
    """Append the user's validation set as held-out rows: the trees update their scores too."""
    rows, n = training.rows, validation.n
    copies, weight, keys = rows.copies, rows.weight, training.keys
    # No weight in the fit: none of what is decided from all weights depends on the validation set.
    if copies is not None:
        copies = np.concatenate([copies, np.zeros(n, dtype=np.int64)])
    if weight is not None:
        weight = np.concatenate([weight, np.zeros(n)])
    if keys is not None:
        keys = np.concatenate([keys, np.zeros((n, 2), dtype=np.uint64)])
    target = target_in_units(validation.target, rows.target_exponent)
    offset = rows.offset
    if offset is not None and validation.offset is not None:
        offset = np.concatenate([offset, validation.offset])
    merged = replace(
        rows,
        table=validation.below(rows.table),
        y=np.concatenate([rows.target, target]),
        copies=copies,
        weight=weight,
        groups=None,
        offset=offset,
    )
    return Training(merged, keys, np.arange(merged.n) >= rows.n, training.seed, validation)


def _copies_of(rows: Rows) -> NDArray[np.int64]:
    return np.ones(rows.n, dtype=np.int64) if rows.copies is None else rows.copies


def _hashable(rows: Rows) -> Rows:
    """Rows with a single target column; several target columns are appended to the table."""
    if rows.y.ndim == 1:
        return rows
    table = np.column_stack([as_one_array(rows.table), rows.target]).astype(np.float64)
    return replace(rows, table=table, y=np.zeros(rows.n))


class DerivativeBuffers:
    """Arrays for gradients and hessians, allocated on first use and shared by all rounds."""

    def __init__(self, scores: Floats) -> None:
        self._shape = scores.shape

    @cached_property
    def arrays(self) -> tuple[Floats, Floats]:
        """The gradient and the hessian array."""
        return np.empty(self._shape), np.empty(self._shape)


@dataclass(eq=False)
class Stage:
    """State of one boosting round.

    Derivatives are computed on first access, at the current scores: read them before updating
    the scores.

    Attributes
    ----------
    number : int
        Index of the round, from 0.
    loss : Loss
        The loss, with the parameters that depend on the scores (as of "huber") set.
    training : Training
        Training and validation rows.
    copies : int64 [rows] or None
        Number of copies of each row in this round, after row subsampling; None: 1 each.
    scores : float64 [scores, rows]
        Raw predictions, updated in place.
    weight : float64 [rows] or None
        Factor of the gradients and hessians; None: 1 each.
    buffers : DerivativeBuffers
        Where gradients and hessians are written to.
    drawn_of_all : uint8 [rows] or None
        Marks the rows that are drawn in this round, as if none were held out; None: all of them.
    """

    number: int
    loss: Loss
    training: Training
    copies: Copies
    scores: Floats
    weight: Floats | None
    buffers: DerivativeBuffers
    drawn_of_all: Mask = None
    # Not a cached_property, whose lock costs as much as the rest of a small round.
    _derivatives: tuple[Floats, Floats | None] | None = field(default=None, init=False)

    @property
    def derivatives(self) -> tuple[Floats, Floats | None]:
        """Gradients and hessians; hessians of None: 1 each."""
        if self._derivatives is None:
            gradient, hessian = self.buffers.arrays
            y = self.training.y
            has_hessian = self.loss.gradients(y, self.scores, self.weight, gradient, hessian)
            self._derivatives = gradient, hessian if has_hessian else None
        return self._derivatives

    @property
    def used_copies(self) -> Copies:
        """`copies`; None if the first `training.n_used` rows occur once each in this round."""
        is_sampled = self.copies is not self.training.train_copies
        return self.copies if is_sampled else self.training.used_copies

    @property
    def gradient(self) -> Floats:
        """Gradients, of shape (scores, rows)."""
        return self.derivatives[0]

    @property
    def hessian(self) -> Floats | None:
        """Hessians, of shape (scores, rows); None: 1 each."""
        return self.derivatives[1]

    @property
    def n_scores(self) -> int:
        """Number of raw predictions per row."""
        return len(self.scores)

    @property
    def first_member(self) -> int:
        """Index of the round's first base estimator, at one per score and round."""
        return self.number * self.n_scores


class Numbered(Protocol):
    """A boosting round, by its index from 0."""

    @property
    def number(self) -> int: ...


class Watcher(Protocol):
    """Observer of the boosting rounds that may end the fit."""

    # Value of `stopped_by_` if this observer ends the fit.
    reason: str

    def before(self, stage: Stage) -> None:
        """Called before each round."""

    def after(self, stage: Stage) -> bool:
        """Called after each round; True ends the fit."""


class Watchers:
    """A list of observers as one; `ended_by` is the first of them that ended the fit."""

    reason = "any"

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = watchers
        self.ended_by: Watcher | None = None

    def before(self, stage: Stage) -> None:
        for watcher in self._watchers:
            watcher.before(stage)

    def after(self, stage: Stage) -> bool:
        # Every observer sees every round, also when an earlier one ends the fit.
        ending = [watcher for watcher in self._watchers if watcher.after(stage)]
        if ending:
            self.ended_by = ending[0]
        return bool(ending)


class Learner(Protocol):
    """Trains the base estimators of a round."""

    # Whether `Stage.gradient` and `Stage.hessian` are to be multiplied by the sample weights.
    weighs_gradients: bool

    def learn(self, stage: Stage) -> None:
        """Fit base estimators to the gradients and add their predictions to `stage.scores`."""


def boost(
    training: Training,
    loss: Loss,
    scores: Floats,
    learner: Learner,
    *,
    rounds: range,
    fraction: float,
    watcher: Watcher,
) -> None:
    """Run the boosting rounds, until `rounds` ends or `watcher` stops the fit.

    Parameters
    ----------
    training
        Training and validation rows.
    loss
        Loss function to minimise.
    scores
        Raw predictions of shape (scores, rows), updated in place.
    learner
        Trains the base estimators of a round.
    rounds
        Indices of the rounds; they start above 0 if the fit continues an earlier one.
    fraction
        Row subsampling rate of each round.
    watcher
        Called before and after each round; may end the fit.
    """
    y, sample_weight, copies = training.y, training.rows.weight, training.train_copies
    gradient_weight = sample_weight if learner.weighs_gradients else None
    buffers = DerivativeBuffers(scores)
    for m in rounds:
        current_loss = loss.at(y, scores, sample_weight, copies)
        sample, drawn = training.drawn(fraction, m)
        stage = Stage(m, current_loss, training, sample, scores, gradient_weight, buffers, drawn)
        watcher.before(stage)
        learner.learn(stage)  # fit trees to the gradients at `scores`; update `scores`
        if watcher.after(stage):
            break


def check_divergence(values: Floats, round_: int, learning_rate: float) -> None:
    """Raise if any of the values has diverged, instead of fitting a model of NaN."""
    check_largest(np.maximum.reduce(np.abs(values), axis=None), round_, learning_rate)


def check_largest(size: float, round_: int, learning_rate: float) -> None:
    """Raise if the largest absolute leaf value of a round has diverged."""
    if not size < _DIVERGED:
        raise ValueError(
            f"The scores left the range of floats in round {round_ + 1}: "
            f"learning_rate={learning_rate} is too large for this target. "
            "Use a smaller one; 0.1 is the default."
        )

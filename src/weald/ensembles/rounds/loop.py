"""The loop that boosting methods share: gradients, a member, its step, new scores."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from weald.cached import cached_property
from weald.data import Rows, ValidationRows, as_one_array
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

# A leaf value or score beyond this is on its way out of the range of floats.
RUNAWAY = 1e200


@dataclass(frozen=True, eq=False)
class Training:
    """The rows of a fit as the loop needs them."""

    rows: Rows
    keys: NDArray[np.uint64] | None  # what draws of rows go by; None: none are drawn
    held_out: NDArray[np.bool_] | None  # rows that only judge; None: none
    seed: int
    validation: ValidationRows | None = None  # the held-out rows, if the user gave them
    scored_rows: Rows | None = None  # how rows count when they judge; None: as in `rows`

    @cached_property
    def y(self) -> Floats:
        """The target as losses take it; shares of many classes class after class.

        Bytes stay bytes: what the core asks for as floats it makes of them, while it needs these.
        """
        y = cast(Floats, self.rows.y)
        return y if y.ndim == 1 else np.ascontiguousarray(y.T).ravel()

    @cached_property
    def seen_copies(self) -> Copies:
        """What each row weighs in whole numbers, 0 if it is held out; None: 1 each."""
        if self.held_out is None:
            return self.rows.copies
        return np.where(self.held_out, np.int64(0), _copies_of(self.rows))

    @cached_property
    def held_copies(self) -> NDArray[np.int64]:
        """The same of the rows that judge when to stop."""
        assert self.held_out is not None
        if self.validation is not None and self.validation.counted is not None:
            counted = self.held_out.copy()
            counted[self.rows.n - self.validation.n :] = self.validation.counted
            return counted.astype(np.int64)
        return np.where(self.held_out, _copies_of(self.scored_rows or self.rows), np.int64(0))

    @cached_property
    def held_weight(self) -> Floats | None:
        """What each row weighs when held-out rows judge; None: 1 each."""
        if self.validation is None:
            return (self.scored_rows or self.rows).weight
        if self.validation.weight is None:
            return None
        before = np.zeros(self.rows.n - self.validation.n)
        return np.concatenate([before, self.validation.weight])

    def with_all_rows(self) -> "Training":
        """The same rows, with none of them held out."""
        return replace(self, held_out=None)

    def drawn(self, fraction: float, round_: int) -> Copies:
        """What each row weighs in a round, in whole numbers; None: 1 each."""
        if fraction == 1.0 or self.keys is None:
            return self.seen_copies
        seen = _copies_of(self.rows) if self.seen_copies is None else self.seen_copies
        drawn = subsample(self.keys, seen > 0, fraction, seed=self.seed, member=round_)
        return np.where(drawn, seen, np.int64(0))

    def not_drawn(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same of the rows that a round might have seen and did not."""
        seen = _copies_of(self.rows) if self.seen_copies is None else self.seen_copies
        return seen - drawn

    def in_weight_units(self, amount: float) -> float:
        """A parameter that is compared with sums of weights, in the unit these are kept in."""
        return amount / self.rows.weight_unit


def prepare(
    rows: Rows,
    *,
    fraction: float,
    held_fraction: float | None,
    asked_by: str,
    random_state: object,
    strata: bool,
    n_threads: int,
    validation: ValidationRows | None = None,
    draws_columns: bool = False,
    ordered: OrderedRows | None = None,
) -> Training:
    """Sort the rows by content and hold some out, where any are drawn.

    Parameters
    ----------
    fraction
        Share of the rows that a round sees; 1 draws nothing.
    held_fraction
        Share of the rows held out to judge by; None: none.
    asked_by
        How the user asked for held-out rows, for an error.
    strata
        Whether the target holds classes, to be held out alike.
    validation
        Rows that the user gave to judge by.
    draws_columns
        Whether trees draw the columns they look at, for which rows need no hash.
    ordered
        The rows sorted already, because something else is drawn too.
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
        return _judged_by(validation, training)
    if fraction == 1.0 and held_fraction is None and ordered is None:
        refuse_groups(rows)
        return Training(rows, None, None, seed_of(random_state) if draws_columns else 0)
    seed = seed_of(random_state)
    if ordered is not None or held_fraction is not None:
        warn_of_counts(rows, n_threads)
    if ordered is None:
        ordered = ordered_rows(_hashable(rows), n_threads=n_threads)
    rows, groups = rows.take(ordered.index), ordered.groups
    if held_fraction is None:
        return Training(rows, ordered.keys, None, seed)
    n, what = (rows.n, "rows") if groups is None else (groups.n, "groups")
    if n < 2:
        name, off = asked_by.split("=")
        raise ValueError(
            f"{name} needs at least two {what}, one to learn from and one to judge by; got "
            f"n_samples = {n}. Set {name}={off} or give more {what}."
        )
    if groups is not None:
        held = hold_out_groups(groups, held_fraction, seed=seed)
    else:
        classes = rows.target.astype(np.int64) if strata else None
        held = hold_out(ordered.keys, classes, held_fraction, seed=seed)
    return Training(rows, ordered.keys, held, seed)


def refuse_groups(rows: Rows) -> None:
    """Groups without a draw are an argument that would be ignored."""
    if rows.groups is not None:
        raise ValueError(
            "groups says which rows are drawn or held out together, and nothing is drawn: set "
            "early stopping, subsample or n_bags, or leave groups out."
        )


def _judged_by(validation: ValidationRows, training: Training) -> Training:
    """Put the user's rows after those of the fit, held out: their leaves are found by the way."""
    rows, n = training.rows, validation.n
    copies, weight, keys = rows.copies, rows.weight, training.keys
    if copies is not None:
        copies = np.concatenate([copies, np.ones(n, dtype=np.int64)])
    if weight is not None:
        # Any weight of the others: it is never looked at, and must not be the largest.
        weight = np.concatenate([weight, np.full(n, weight[0])])
    if keys is not None:
        keys = np.concatenate([keys, np.zeros((n, 2), dtype=np.uint64)])
    with np.errstate(over="ignore"):
        target = np.ldexp(validation.target, -rows.target_exponent)
    if not np.isfinite(target).all():
        raise ValueError(
            f"y_val holds {np.abs(validation.target).max():g}, beyond any comparison with y, whose "
            "largest value is "
            f"{np.ldexp(np.abs(rows.target).max(), rows.target_exponent):g}. Check its unit."
        )
    merged = replace(
        rows,
        table=validation.below(rows.table),
        y=np.concatenate([rows.target, target]),
        copies=copies,
        weight=weight,
        groups=None,
    )
    return Training(merged, keys, np.arange(merged.n) >= rows.n, training.seed, validation)


def _copies_of(rows: Rows) -> NDArray[np.int64]:
    return np.ones(rows.n, dtype=np.int64) if rows.copies is None else rows.copies


def _hashable(rows: Rows) -> Rows:
    """Rows of one target; several are hashed as columns."""
    if rows.y.ndim == 1:
        return rows
    table = np.column_stack([as_one_array(rows.table), rows.target]).astype(np.float64)
    return replace(rows, table=table, y=np.zeros(rows.n))


class Slopes:
    """Room for the derivatives of all rows, taken when they are first asked for and then kept."""

    def __init__(self, scores: Floats) -> None:
        self._shape = scores.shape

    @cached_property
    def pair(self) -> tuple[Floats, Floats]:
        """Of gradients and of hessians."""
        return np.empty(self._shape), np.empty(self._shape)


@dataclass(eq=False)
class Stage:
    """One round: what its members learn from, and the scores they move.

    The derivatives are those at the scores before the round: whoever wants them asks before he
    moves the scores.
    """

    number: int
    loss: Loss
    training: Training
    copies: Copies  # drawn in this round
    scores: Floats  # (scores, rows)
    weight: Floats | None  # in the derivatives
    slopes: Slopes
    # Known once they are asked for. Not a cached property: its lock takes as long as the rest here.
    _known: tuple[Floats, Floats | None] | None = field(default=None, init=False)

    @property
    def derivatives(self) -> tuple[Floats, Floats | None]:
        """The first and the second derivatives; None: 1 each."""
        if self._known is None:
            gradient, hessian = self.slopes.pair
            y = self.training.y
            has_hessian = self.loss.gradients(y, self.scores, self.weight, gradient, hessian)
            self._known = gradient, hessian if has_hessian else None
        return self._known

    @property
    def gradient(self) -> Floats:
        return self.derivatives[0]

    @property
    def hessian(self) -> Floats | None:
        """The second derivatives; None: 1 each."""
        return self.derivatives[1]

    @property
    def n_scores(self) -> int:
        return len(self.scores)

    @property
    def first_member(self) -> int:
        """The number of the round's first member among those of all rounds."""
        return self.number * self.n_scores


class Watcher(Protocol):
    """Looks at every round before and after it; after it, True ends the fit."""

    # What ended the fit if this did.
    reason: str

    def before(self, stage: Stage) -> None: ...

    def after(self, stage: Stage) -> bool: ...


class Watchers:
    """Several watchers as one: each sees every round; the first that has enough is remembered."""

    reason = "any"

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self._watchers = watchers
        self.ended_by: Watcher | None = None

    def before(self, stage: Stage) -> None:
        for watcher in self._watchers:
            watcher.before(stage)

    def after(self, stage: Stage) -> bool:
        ending = [watcher for watcher in self._watchers if watcher.after(stage)]
        if ending:
            self.ended_by = ending[0]
        return bool(ending)


class Learner(Protocol):
    """Fits the members of a round and adds their answers to the scores."""

    # Whether gradients are to include the rows' weights, as sums of trees do.
    weighs_gradients: bool

    def learn(self, stage: Stage) -> None: ...


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
    """Round after round: gradients at the scores, members, new scores; until it is enough."""
    rows = training.rows
    weight = rows.weight if learner.weighs_gradients else None
    slopes = Slopes(scores)
    for number in rounds:
        here = loss.at(training.y, scores, rows.weight, training.seen_copies)
        stage = Stage(
            number,
            here,
            training,
            training.drawn(fraction, number),
            scores,
            weight,
            slopes,
        )
        watcher.before(stage)
        learner.learn(stage)
        if watcher.after(stage):
            break


def refuse_runaway(values: Floats, round_: int, learning_rate: float) -> None:
    """Scores that run away end in an error, not in a model of NaN."""
    refuse_largest(np.maximum.reduce(np.abs(values), axis=None), round_, learning_rate)


def refuse_largest(size: float, round_: int, learning_rate: float) -> None:
    """The same where the size of the largest is known."""
    if not size < RUNAWAY:
        raise ValueError(
            f"The scores left the range of floats in round {round_ + 1}: "
            f"learning_rate={learning_rate} is too large for this target. "
            "Use a smaller one; 0.1 is the default."
        )

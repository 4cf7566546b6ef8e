"""Bags of boosters: several on bootstrap samples of the same rows and bins; their mean answers."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    Rows,
    as_one_array,
    dense_blocks,
    mass_of,
    table_for_predict,
)
from weald.ensembles.bagged import Bagged
from weald.ensembles.boosting import Training
from weald.ensembles.class_weights import weighed_by_class
from weald.ensembles.in_bag import InBag
from weald.ensembles.scored import why_no_ledger
from weald.ensembles.tally import Record, recorded
from weald.losses import Loss, QuantileLosses
from weald.resampling import Bags, DistinctRows, distinct_rows, member_seed
from weald.trees import Forest

Floats = NDArray[np.float64]

# Rows are answered so many at a time.
_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class BoosterBags:
    """How K boosters draw their rows from one prepared training set."""

    training: Training
    bags: Bags

    @classmethod
    def of(
        cls, training: Training, distinct: DistinctRows, place: NDArray[np.intp], n_rows: int
    ) -> "BoosterBags":
        """`place` says which of the different rows each row passed to fit is."""
        n, mass = len(distinct.index), mass_of(distinct.copies, distinct.weight)
        n_draws = n_rows if distinct.copies is None else int(distinct.copies.sum())
        if training.held_out is not None and training.held_out[:n].any():
            # What judges when to stop is never drawn.
            kept = ~training.held_out[:n]
            mass = np.where(kept, 1 if mass is None else mass, 0).astype(np.int64)
            n_draws = int(kept.sum() if distinct.copies is None else distinct.copies[kept].sum())
        return cls(training, Bags(training.seed, n_draws, mass, place, n))

    def training_of(self, member: int) -> Training:
        """The same rows, as often as a booster drew them; weights are in the draws."""
        rows, held = self.training.rows, self.training.held_out
        copies = np.zeros(rows.n, dtype=np.int64)
        copies[: self.bags.n] = self.bags.drawn(member)
        if held is not None:
            copies = np.where(held, 1 if rows.copies is None else rows.copies, copies)
        rows = replace(rows, weight=None, weight_exponent=0, copies=copies)
        return replace(self.training, rows=rows, seed=member_seed(self.training.seed, member))


def joined_boosters(parts: list[Forest]) -> Forest:
    """All boosters as one forest, whose scores are the mean of theirs."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.joined(part)
    base = np.mean([part.base_score for part in parts], axis=0)
    return replace(whole, base_score=base, tree_weight=whole.tree_weight / len(parts))


class BaggedBoosters(Bagged):
    """A model that may be several boosters; `_parts` are their forests, none if it is one alone."""

    forest_: Forest
    _parts: list[Forest]
    _bags: Bags
    _fitted_loss: Loss
    _n_threads: int
    n_bags: int | None
    subsample: float
    warm_start: bool

    def _boost_bags(
        self,
        rows: Rows,
        loss: Loss,
        prepared: Callable[..., Training],
        class_weight: Floats | None,
        kept: NDArray[np.bool_],
        stops: bool,
        is_judged: bool,
    ) -> None:
        """Fit several boosters, each as a model of its own on the same bins."""
        self._refuse_what_bags_cannot(loss)
        distinct = distinct_rows(rows, n_threads=self._n_threads)
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = distinct.set_of
        bags = BoosterBags.of(prepared(distinct=distinct), distinct, place, rows.n)
        model: Any = self
        binned, members = model._binned(bags.training), []
        for number in range(int(self.n_bags or 0)):
            training = bags.training_of(number)
            if class_weight is not None:
                training = replace(training, rows=weighed_by_class(training.rows, class_weight))
            member = copy.copy(model)
            member.n_bags = None
            member._boost_on(
                training, loss, model._grower(training, binned), None, stops, is_judged
            )
            members.append(member)
        self._keep_members(members, loss, bags, distinct)

    def _refuse_what_bags_cannot(self, loss: Loss) -> None:
        if self.warm_start:
            raise ValueError(
                "warm_start=True adds rounds to one booster; with n_bags there are several. Set "
                "warm_start=False or n_bags=None."
            )
        if isinstance(loss, QuantileLosses):
            raise ValueError(
                "n_bags needs one answer of each booster; a list of quantiles gives several. Give "
                "one quantile, or ask predict_quantiles of a model of another loss."
            )

    def _keep_members(
        self, members: list[Any], loss: Loss, bags: "BoosterBags", distinct: DistinctRows
    ) -> None:
        """Keep the boosters, as one forest and each by itself, and their curves side by side."""
        self.__dict__.pop("_grown", None)
        self._parts, self._bags = [member.forest_ for member in members], bags.bags
        self.forest_, self._fitted_loss = joined_boosters(self._parts), loss
        self.n_estimators_ = max(member.n_estimators_ for member in members)
        for name in ("train_loss_", "validation_loss_", "validation_score_"):
            self.__dict__.pop(name, None)
            curves = [getattr(member, name, None) for member in members]
            if all(curve is not None for curve in curves):
                table = np.full((len(curves), max(map(len, curves))), np.nan)  # type: ignore[arg-type]
                for row, curve in zip(table, curves, strict=True):
                    row[: len(curve)] = curve  # type: ignore[arg-type]
                setattr(self, name, table)
        weight = distinct.weight if distinct.weight is not None else distinct.copies
        weight = None if weight is None else weight.astype(np.float64)
        n, held = bags.bags.n, bags.training.held_out
        rows = bags.training.rows.take(np.arange(n))
        self._record = self._booster_record(rows, weight, None if held is None else held[:n])

    def _in_bag(self) -> InBag:
        check_is_fitted(self)
        if not self._parts:
            raise AttributeError(why_no_ledger(self))
        return InBag(((0, self._bags),), len(self._parts))

    def _one_on_all_rows(self, X: Any, y: Any) -> Any:
        alone = clone(self).set_params(n_bags=None).fit(X, y)
        # A bag of one: its answers are those of its only booster.
        alone._parts = [alone.forest_]
        return alone

    def _check_bags(self) -> None:
        check_is_fitted(self)
        if not self._parts:
            raise ValueError(
                "The trees of one booster are terms of a sum: they have no spread that says how "
                "sure it is. Fit several boosters with n_bags=10, and ask them."
            )

    def _answers_of(self, part: Forest, table: Any) -> Floats:
        scores = part.predict(table, n_threads=self._n_threads)
        return replace(self._fitted_loss, n_threads=self._n_threads).predictions(scores)

    def _member_answers(self, X: object) -> Iterator[Floats]:
        self._check_bags()
        for table in dense_blocks(table_for_predict(self, X)):
            for begin in range(0, len(table), _AT_ONCE):
                rows = table[begin : begin + _AT_ONCE]
                yield np.stack([self._answers_of(part, rows) for part in self._parts])

    def _combined_answers(self, X: object) -> Floats:
        self._check_bags()
        return self._mean_answers(X)

    def _mean_answers(self, X: object) -> Floats:
        return np.concatenate([mean_of(answers) for answers in self._member_answers(X)])

    def _booster_record(
        self, rows: Rows, weight: Floats | None, held_out: NDArray[np.bool_] | None
    ) -> Record:
        """Ask each booster about the rows it left out; those held out have steered all of them."""
        classes = getattr(self, "classes_", None)
        table = as_one_array(rows.table)
        target = np.ldexp(rows.target, rows.target_exponent)
        n = len(target)

        def members() -> Iterator[tuple[NDArray[np.intp], Floats]]:
            for number, part in enumerate(self._parts):
                out = self._bags.drawn(number) == 0
                some = np.flatnonzero(out if held_out is None else out & ~held_out)
                yield some, self._answers_of(part, table[some])

        n_members = len(self._parts)
        return recorded([(slice(0, n), members())], target, classes, weight, n_members=n_members)


def mean_of(answers: Floats) -> Floats:
    """The mean of the boosters' answers, added in their order."""
    total = answers[0].copy()
    for answer in answers[1:]:
        total += answer
    return np.asarray(total / len(answers))

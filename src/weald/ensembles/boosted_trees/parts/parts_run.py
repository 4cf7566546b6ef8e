"""Training boosted trees on the parts of a table: rounds, and lost parts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weald.data.validation import ONE_SET
from weald.ensembles.boosted_trees.curves import StoppingCurves
from weald.ensembles.boosted_trees.leaf_refit import RefittedLeaves
from weald.ensembles.boosted_trees.parts.given_sets import GivenSets
from weald.ensembles.boosted_trees.parts.parts_rounds import (
    Agreed,
    Asked,
    PartsRounds,
    PartsSettings,
    Round,
)
from weald.ensembles.rounds.history import TRAIN_LOSS
from weald.ensembles.rounds.loop import Numbered
from weald.ensembles.rounds.scoring import LOSS
from weald.trees import Forest, ForestBuilder, GrownTree

# A fit gives up if parts were lost so often without a finished round between: a worker that dies
# each time it gets its part would go on for ever.
_MOST_LOSSES = 5

VALIDATION_LOSS = f"{ONE_SET} {LOSS}"


class PartsLost(RuntimeError):
    """Some of the parts no longer answer."""


class Parts(Protocol):
    """The parts of a table, and what asks them."""

    def make(self, asker: Callable[[Asked], Any]) -> None:
        """Make all parts, as they are before the first question, and what asks them.

        Raises `PartsLost`.
        """
        ...

    def lead(self, verb: str, *arguments: Any) -> Any:
        """Call a method of what asks the parts; raises `PartsLost`, or what a part raised."""
        ...


class RoundWatcher(Protocol):
    """Looks at each round, and may end the run: a time limit, a progress bar."""

    reason: str

    def after(self, stage: Numbered) -> bool:
        """Called after each round; True ends the run."""
        ...


class _Round(NamedTuple):
    number: int


class PartsRun:
    """Trains one booster on the rows of all parts (see `PartsRounds`), also if some are lost.

    Attributes
    ----------
    curves : StoppingCurves
        Training loss before the first and after each round; validation loss, if rows are held out.
    leaves : RefittedLeaves or None
        The leaf values of all rows, if rows are held out.
    stopped_by : str or None
        What ended the run; None: it goes on.
    n_restored : int
        How often parts were lost and made anew.
    """

    def __init__(
        self, parts: Parts, settings: PartsSettings, given: GivenSets | None = None
    ) -> None:
        self._parts, self._settings, self._given = parts, settings, given
        self._agreed: Agreed | None = None
        self._content: list[int] | None = None
        self.n_restored = 0
        watched = [VALIDATION_LOSS] if settings.holds_out else given.names if given else []
        self.curves = StoppingCurves(
            settings.loss,
            settings.target_exponent,
            dict.fromkeys([TRAIN_LOSS, *watched], True),
            watched=watched[0] if watched else None,
            patience=settings.patience,
            tol=settings.tol,
        )
        self.leaves: RefittedLeaves | None = None
        self.watchers: list[RoundWatcher] = []
        self.stopped_by: str | None = None

    def train(self) -> Forest:
        """Run all rounds; returns the trees in the units of the fit."""
        is_ready, n_lost = False, 0
        while not is_ready or self.stopped_by is None:
            try:
                if is_ready:
                    self._add_rounds(self._parts.lead("rounds", self._n_rounds))
                else:
                    self._begin()
                    self.stopped_by = self._end()
                is_ready, n_lost = True, 0
            except PartsLost:
                is_ready, n_lost = False, n_lost + 1
                if n_lost > _MOST_LOSSES:
                    raise
                self.n_restored += 1
        return self._forest.build()

    def _end(self) -> str | None:
        """What ends the run after this round, if anything does."""
        last = _Round(self._n_rounds - 1)
        ended_by = [one for one in self.watchers if last.number >= 0 and one.after(last)]
        if self.curves.is_over:
            return self.curves.reason
        if ended_by:
            return ended_by[0].reason
        return "n_estimators" if self._n_rounds >= self._settings.n_estimators else None

    @property
    def _n_rounds(self) -> int:
        return self._forest.rounds(self._settings.loss.n_scores)

    def _add_rounds(self, rounds: Sequence[Round]) -> None:
        """Add finished rounds, up to the one that ends the run.

        What a round adds is kept when all of it is known: if parts are lost before, it is repeated.
        """
        for one in rounds:
            self._add_round(one)
            self.stopped_by = self._end()
            if self.stopped_by is not None:
                return

    def _add_round(self, one: Round) -> None:
        losses = {TRAIN_LOSS: one.train_loss}
        if self._settings.holds_out:
            losses[VALIDATION_LOSS] = one.validation_loss
        self._add_trees(self._forest, one.trees)
        if self._given is not None:
            self._given.add(self._alone(one.trees))
            losses |= self._given.losses()
        self.curves.append(losses)
        if self.leaves is not None:
            for of_tree in one.refitted:
                self.leaves.add(*of_tree)

    def _add_trees(self, forest: ForestBuilder, trees: Sequence[dict[str, NDArray[Any]]]) -> None:
        no_rows = np.empty(0, dtype=np.int32)
        for k, arrays in enumerate(trees):
            tree = GrownTree(leaf_of_row=no_rows, saw_missing=self._saw_missing, **arrays)
            forest.add(tree, output=k)

    def _alone(self, trees: Sequence[dict[str, NDArray[Any]]]) -> Forest:
        """The trees of a round, without base scores."""
        base = np.zeros(self._settings.loss.n_scores)
        forest = ForestBuilder(base, self._settings.plan.n_columns)
        self._add_trees(forest, trees)
        return forest.build()

    # ---- before the first round, and after parts were lost ----

    def _begin(self) -> None:
        """Make the parts, and bring them to the first round, or to where lost ones were."""
        settings = self._settings
        self._parts.make(partial(PartsRounds, settings=settings))
        self._check_content()
        agreed = self._parts.lead("begin", self._agreed)
        if self._agreed is None:
            if agreed.base_of_all is not None:
                self.leaves = RefittedLeaves(agreed.base_of_all)
            self._forest = ForestBuilder(agreed.base, settings.plan.n_columns)
            self._agreed = agreed
        forest = self._forest.build()
        refitted = None if self.leaves is None else self.leaves.refitted(forest)
        elsewhere = None if self._given is None else self._given.has_missing
        self._saw_missing = self._parts.lead("start", forest, refitted, self._n_rounds, elsewhere)
        if not self.curves.curves[TRAIN_LOSS]:
            self._append_first_losses(forest)

    def _append_first_losses(self, forest: Forest) -> None:
        train_loss, validation_loss = self._parts.lead("first_losses")
        losses = {TRAIN_LOSS: train_loss}
        if self._settings.holds_out:
            losses[VALIDATION_LOSS] = validation_loss
        if self._given is not None:
            self._given.start(forest.base_score)
            losses |= self._given.losses()
        self.curves.append(losses)

    def _check_content(self) -> None:
        """Raise if parts that were made anew hold other rows than before."""
        content = self._parts.lead("content")
        if self._content not in (None, content):
            raise RuntimeError(
                "A worker was lost, and its partitions hold other rows when they are read again: "
                "their source is not deterministic. Persist the collection, or write it to files "
                "and fit on these."
            )
        self._content = content

"""Base class of the automatic ensembles: one fit, from the table to the weighted models."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.advice import advise
from weald.aggregation.spread import deviation
from weald.data import (
    Rows,
    ValidationRows,
    as_one_array,
    dense_blocks,
    in_fitted_order,
    levels_of,
    plan_of,
    refuse_beyond_memory,
    table_for_predict,
)
from weald.ensembles.auto.auto_parameters import AutoParameters
from weald.ensembles.auto.clock import Clock
from weald.ensembles.auto.leaderboard import Leaderboard, LeaderboardRow
from weald.ensembles.auto.metric import Metric
from weald.ensembles.auto.portfolio import NAMES, Entry, TableFacts, most_models, portfolio
from weald.ensembles.auto.progress import Progress
from weald.ensembles.auto.refitting import Refitted, refitted
from weald.ensembles.auto.search import Search
from weald.ensembles.auto.selection import Selector, mean_of
from weald.ensembles.auto.training import (
    Member,
    Task,
    advise_of_failures,
    has_time_for_scores,
    train_unscored,
)
from weald.ensembles.base import TreeModel
from weald.ensembles.combining.out_of_fold import parts_of
from weald.ensembles.members.member_errors import member_error
from weald.ensembles.members.members import (
    Named,
    checked_estimators,
    is_dropped,
    model_fingerprints,
    take,
)
from weald.ensembles.members.samples import as_table
from weald.errors import listing
from weald.groups import checked_group_labels
from weald.persist import fingerprint
from weald.resampling import ContentKFold, seed_of

Floats = NDArray[np.float64]

_MANY_FOLDS, _FOLDS, _MOST_ROWS_OF_MANY = 8, 5, 1_000

# Rows that predictions are timed on.
_TIMED_ROWS = 1_000

ONE_NAME = "ensemble"


@dataclass(frozen=True, eq=False)
class OutOfFoldRecord:
    """Predictions of the ensemble for rows that its models were not trained on.

    Attributes
    ----------
    predictions : array, shape (rows, columns)
        Predictions of the scored rows.
    spread : array, shape (rows,)
        Standard deviation of the models' predictions about those of the ensemble; 0 for classes.
    target : array, shape (rows,)
        Class indices or numbers.
    weight : array or None
        Row weights.
    place : intp array
        For each row passed to `fit`, its index among these rows; -1: weight 0. None with X_val.
    """

    predictions: Floats
    spread: Floats
    target: NDArray[Any]
    weight: Floats | None
    place: NDArray[np.intp] | None


class AutoEnsemble(AutoParameters):
    """The search, the prediction and the inspection of automatic ensembles."""

    _members: list[Member]
    _exponent: int
    _power: float
    _record: OutOfFoldRecord | None

    # Models of trees make target statistics of rare categories, the others merge them.
    _keeps_rare_levels = True

    # ---- fit ----

    def _clock(self) -> Clock:
        return Clock(self.time_limit)

    def _fit(
        self,
        clock: Clock,
        X: Any,
        rows: Rows,
        kept: NDArray[np.bool_],
        groups: Any,
        classes: NDArray[Any] | None,
        validation: ValidationRows | None,
    ) -> None:
        """Train models, select their weights, and keep those in the ensemble."""
        task = self._task(X, rows, kept, groups, classes, validation)
        entries = self._entries(task, levels_of(rows.table))
        metric = Metric.of(self.metric, classes, rows.target_exponent)
        metric.check(task.scored.table, task.scored.y, task.scored.weight)
        if not has_time_for_scores(task, clock):
            self._keep_unscored(train_unscored(entries[0], task, clock), metric)
            self._warn_of_one_model(is_scored=False)
            return
        if validation is None:
            task = replace(task, splits=self._splits(task, rows))
        search = Search(task, Selector.of(task, metric), clock)
        self._run(search, entries, metric)
        if search.trained:
            self._keep(search, entries, metric, None if validation else kept)
        elif search.failed:
            failed = {name: ("to fit", error) for name, error in search.failed.items()}
            raise member_error(self, failed, {})
        else:
            self._keep_unscored(train_unscored(entries[0], task, clock), metric)
        self._warn(search)

    def _run(self, search: Search, entries: Sequence[Entry], metric: Metric) -> None:
        most = most_models(search.task.n) if self.max_models is None else self.max_models
        progress = Progress(len(entries), metric.name, is_shown=self.verbose > 0)
        try:
            search.run(entries, most, progress)
        finally:
            progress.close()

    def _task(
        self,
        X: Any,
        rows: Rows,
        kept: NDArray[np.bool_],
        groups: Any,
        classes: NDArray[Any] | None,
        validation: ValidationRows | None,
    ) -> Task:
        """The training rows, and the split of a validation set."""
        n_cells = rows.n * rows.table.shape[1]
        what = f"{rows.n:,} rows of {rows.table.shape[1]:,} columns as one array"
        refuse_beyond_memory(3 * 8 * n_cells, what, "Use fewer rows or columns.")
        table, y = as_one_array(rows.table), rows.target
        y = y if classes is None else y.astype(np.intp)
        weight, seed = rows.weight, seed_of(0 if self.random_state is None else self.random_state)
        if groups is not None:
            groups = checked_group_labels(groups, len(kept))[kept]
        given = X if kept.all() else take(X, np.flatnonzero(kept))
        numbers = None if classes is None else np.arange(len(classes))
        task = Task(table, given, y, weight, groups, [], numbers, seed)
        if validation is None:
            self._check_units(rows)
            return task
        held_out = _validation_task(self, validation, rows.target_exponent, numbers, seed)
        splits = [(np.arange(rows.n), np.arange(held_out.n))]
        return replace(task, splits=splits, held_out=held_out)

    def _check_units(self, rows: Rows) -> None:
        if _n_units(rows) < 2:
            what = "rows" if rows.groups is None else "groups"
            raise ValueError(
                f"{type(self).__name__} scores models on {what} that they were not trained on, "
                f"which needs at least two; got n_samples = {_n_units(rows)}. Give more {what}, or "
                "X_val."
            )

    def _splits(self, task: Task, rows: Rows) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        wanted = self.n_folds
        if isinstance(wanted, str):
            wanted = _MANY_FOLDS if rows.n <= _MOST_ROWS_OF_MANY else _FOLDS
        n_folds, is_classes = min(int(wanted), _n_units(rows)), task.classes is not None
        splitter = ContentKFold(n_folds, stratify=is_classes, random_state=task.seed)
        return list(splitter.split(task.table, task.y, task.groups, sample_weight=task.weight))

    def _entries(self, task: Task, levels: list[int]) -> list[Entry]:
        """The models to try, those of the user after the first of weald's."""
        n_classes = 0 if task.classes is None else len(task.classes)
        counts = np.bincount(task.y) if n_classes else np.array([task.n])
        n_units = task.n if task.groups is None else len(np.unique(task.groups))
        facts = TableFacts(
            n_classes,
            task.n,
            int(task.table.shape[1]),
            n_units,
            int(counts.min()),
            tuple(column for column, n in enumerate(levels) if n),
        )
        own = portfolio(facts, task.seed, self.n_jobs)
        if isinstance(self.portfolio, str):
            return [one for one in own if isinstance(one.estimator, TreeModel)]
        if self.portfolio is None:
            return own
        return _with_given(self, own, self.portfolio)

    def _keep(
        self,
        search: Search,
        entries: Sequence[Entry],
        metric: Metric,
        kept: NDArray[np.bool_] | None,
    ) -> None:
        """Keep the models of positive weight, and what is known of their errors."""
        task = search.task
        scored = task.scored
        best = search.best
        predictions, used = best.predictions, np.flatnonzero(best.weights)
        spread = np.zeros(scored.n)
        if task.classes is None and len(used) > 1:
            of_models = np.stack([search.trained[k].predictions[:, 0] for k in used])
            spread = np.asarray(deviation(of_models, predictions[:, 0]))
        place = None if kept is None else np.where(kept, np.cumsum(kept) - 1, -1)
        self._power, self._exponent = best.power, metric.exponent
        self._record = OutOfFoldRecord(predictions, spread, scored.y, scored.weight, place)
        chosen = np.arange(len(search.trained)) if self.keep_models else used
        self._members = [search.trained[k].member for k in chosen]
        self.weights_ = best.weights[chosen]
        self.metric_, self.stopped_by_ = metric.name, search.stopped_by
        self.best_score_ = best.score
        seconds = _predict_seconds(self._members, task)
        total = sum(seconds[search.trained[k].member.name] for k in used)
        ensemble = LeaderboardRow(
            ONE_NAME, self.best_score_, search.spread(predictions), 1.0, search.clock.spent, total
        )
        rows = (ensemble, *search.rows(entries, seconds))
        self.leaderboard_ = Leaderboard(metric.name, rows)

    def _keep_unscored(self, member: Member, metric: Metric) -> None:
        """Keep one model, of which there is no score."""
        self._record, self._members, self.weights_ = None, [member], np.ones(1)
        self._power, self._exponent = 1.0, metric.exponent
        self.metric_, self.stopped_by_, self.best_score_ = metric.name, "time_limit", math.nan
        row = LeaderboardRow(member.name, weight=1.0, status="trained, not scored")
        self.leaderboard_ = Leaderboard(metric.name, (row,))

    def _warn(self, search: Search) -> None:
        advise_of_failures(search.failed)
        if search.stopped_by == "interrupt":
            advise(
                "The fit was interrupted: the model is the best ensemble of the models trained so "
                f"far ({len(search.trained)})."
            )
        elif search.stopped_by == "time_limit" and len(search.trained) < 2:
            self._warn_of_one_model(is_scored=bool(search.trained))

    def _warn_of_one_model(self, *, is_scored: bool) -> None:
        name, scored = self._members[0].name, "" if is_scored else ", without any score"
        advise(
            f"time_limit={self.time_limit:g} was enough for one model only ({name}){scored}. "
            "Give more time for an ensemble."
        )

    # ---- prediction ----

    @property
    def models_(self) -> dict[str, Any]:
        """The fitted models by name."""
        check_is_fitted(self)
        return {one.name: one.model for one in self._members}

    def _mean_predictions(self, X: Any) -> Floats:
        """The weighted mean of the predictions of the models."""
        return mean_of(*self._all_predictions(X))

    def _all_predictions(self, X: Any) -> tuple[list[Floats], Floats]:
        """Predictions of the models of positive weight, and their weights."""
        check_is_fitted(self)
        X = as_table(X)
        table = table_for_predict(self, X)
        blocks = list(dense_blocks(table))
        numbers = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        given = in_fitted_order(self, X) if any(one.is_foreign for one in self._members) else X
        used = np.flatnonzero(self.weights_)
        predictions = []
        for member in (self._members[k] for k in used):
            try:
                predictions.append(member.predict(numbers, given))
            except Exception as error:
                raise member_error(self, {member.name: ("to predict", error)}, {}) from error
        return predictions, self.weights_[used]

    # ---- one small model ----

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        size: str = "small",
    ) -> Refitted:
        """Fit one small model to the same rows, and measure what it loses.

        Parameters
        ----------
        X, y : table and array
            Training rows, usually those of the fit: the folds are then the same.
        sample_weight : array, shape (rows,), or None, default=None
            Sample weights.
        groups : array, shape (rows,), or None, default=None
            Group labels.
        size : {"small", "tree"}, default="small"
            "small": one booster of 100 rounds. "tree": one decision tree of at most 32 leaves. For
            a tree that imitates the ensemble, see `weald.distill`.

        Returns
        -------
        Refitted
            The model, its score on unseen rows and that of the ensemble.
        """
        check_is_fitted(self)
        return refitted(self, X, y, sample_weight, groups, size)

    # ---- inspection ----

    @property
    def out_of_fold_(self) -> Floats:
        """Predictions of the ensemble for rows that its models were not trained on.

        Of shape (rows, classes) or (rows,). Rows are those passed to `fit`, NaN for rows of weight
        zero; with `X_val` those of the validation set.
        """
        check_is_fitted(self)
        if self._record is None:
            raise AttributeError("There are no out-of-fold predictions: one model was trained only")
        predictions, place = self._record.predictions, self._record.place
        if place is not None:
            missing = np.full((1, predictions.shape[1]), np.nan)
            predictions = np.concatenate([predictions, missing])[place]
        if self._record.target.dtype == np.intp:
            return predictions
        return np.ldexp(predictions[:, 0], self._exponent)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the gain of all splits: the weighted mean of the tree models.

        Models without importances, such as networks, do not count. `weald.explain.importance`
        measures the importances of all models together.
        """
        check_is_fitted(self)
        total = np.zeros(len(plan_of(self).owner))
        for member, weight in zip(self._members, self.weights_, strict=True):
            if weight > 0 and not member.is_foreign and _is_of_trees(member.model):
                shares = [one.feature_importances_ for one in parts_of([member.model])]
                total += weight * np.mean(shares, axis=0)
        by_input = plan_of(self).sums_by_input(total)
        return by_input / by_input.sum() if by_input.sum() > 0 else by_input

    def fingerprint(self) -> str:
        """SHA-256 of the fitted model, if all its models are weald's own trees.

        Equal for any `n_jobs`, row order and machine if `time_limit` is None. Other libraries do
        not guarantee this, so linear models, networks, neighbours and models of the user raise a
        TypeError; portfolio="trees" trains none of them.
        """
        check_is_fitted(self)
        return fingerprint(self._fingerprint_arrays())

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        used = np.flatnonzero(self.weights_)
        models = {self._members[k].name: self._members[k].model for k in used}
        foreign = [name for name, one in models.items() if not _is_of_trees(one)]
        if foreign:
            raise TypeError(
                "fingerprint requires weald's own tree models, which are reproducible bit by bit; "
                f"the ensemble has {listing(foreign)}. Set portfolio='trees'."
            )
        return {
            **plan_of(self).fingerprint_arrays(),
            **model_fingerprints("model", models),
            "weights": self.weights_[used],
            "exponent": np.array([self._exponent]),
        }

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_members")

    def _readers(self) -> Sequence[Any]:
        return parts_of(one.model for one in self._members if one.is_foreign)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def _n_units(rows: Rows) -> int:
    """Number of rows, or of groups."""
    return rows.n if rows.groups is None else rows.groups.n


def _is_of_trees(model: Any) -> bool:
    return all(isinstance(one, TreeModel) for one in parts_of([model]))


def _validation_task(
    owner: Any, validation: ValidationRows, exponent: int, classes: Any, seed: int
) -> Task:
    """The rows of a validation set, to score models on."""
    (given,) = validation.sets
    table = np.concatenate(list(dense_blocks(given.table)))
    y = np.ldexp(validation.target, -exponent) if classes is None else validation.target
    y = y if classes is None else y.astype(np.intp)
    X = in_fitted_order(owner, as_table(given.X))
    return Task(table, X, y, validation.weight, None, [], classes, seed)


def _with_given(owner: Any, own: list[Entry], pairs: Sequence[Named]) -> list[Entry]:
    """The portfolio with models replaced, dropped or added by the user."""
    dropped = {name for name, model in pairs if is_dropped(model)}
    unknown = sorted(dropped - {*NAMES})
    if unknown:
        raise ValueError(
            f"portfolio drops {unknown[0]!r}, which is none of weald's models: {', '.join(NAMES)}."
        )
    if any(name == ONE_NAME for name, _ in pairs):
        raise ValueError(
            f"portfolio names a model {ONE_NAME!r}, which is the name of the whole ensemble in the "
            "leaderboard. Rename it."
        )
    given: dict[str, Entry] = {}
    if len(dropped) < len(pairs):
        named = checked_estimators(owner, list(pairs))
        given = {name: Entry(name, model, True) for name, model in named}
    entries = [given.pop(one.name, one) for one in own if one.name not in dropped]
    entries = [*entries[:1], *given.values(), *entries[1:]]
    if not entries:
        kept = listing([name for name in NAMES if name not in dropped]) or "none"
        raise ValueError(
            f"portfolio drops every model for this table (not dropped: {kept}). Drop fewer models, "
            "or add one."
        )
    return entries


def _predict_seconds(members: Sequence[Member], task: Task) -> dict[str, float]:
    """Measured seconds to predict 1,000 rows."""
    n = min(task.n, _TIMED_ROWS)
    first = np.arange(n)
    table = take(task.table, first)
    given = take(task.given, first) if any(one.is_foreign for one in members) else None
    seconds = {}
    for member in members:
        begin = time.perf_counter()
        member.predict(table, given)
        seconds[member.name] = (time.perf_counter() - begin) * _TIMED_ROWS / n
    return seconds

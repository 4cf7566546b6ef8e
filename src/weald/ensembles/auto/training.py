"""Training of one model of the portfolio, with predictions for rows it was not trained on."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from weald.advice import advise, collecting
from weald.ensembles.auto.clock import Clock
from weald.ensembles.auto.portfolio import Entry
from weald.ensembles.combining.out_of_fold import FoldModels, predict_with
from weald.ensembles.forests.auto_settings import ChosenSettings
from weald.ensembles.forests.forest import ForestModel
from weald.ensembles.members.members import Indices, take
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import weight_keyword
from weald.resampling import ContentKFold

Floats = NDArray[np.float64]

# A trial fit has about so many rows of a large table (or a 64th), fewer of a wide one, and more if
# the first one is no measure of the whole fit, whose time grows a little faster than the rows.
_TRIAL_ROWS, _TRIAL_CELLS, _FEWEST_TRIAL_ROWS, _GROWTH = 500, 20_000, 50, 1.1
_MORE, _SHARE_OF_TRIALS, _FEW_TREES = 4, 0.2, 25

# Folds of one in so many rows, if these are enough, are timed before any fit; those of all rows, a
# first model and its scores take about five times as long as folds alone.
_ROWS_PER_PROBED, _FEWEST_PROBED, _TIMES_OF_FOLDS = 16, 1_000, 5

# Rounds of boosting may take this share of what is left; leaf values and predictions follow.
_SHARE_OF_FIRST, _SHARE_OF_OTHERS = 0.5, 0.75


class OutOfTime(Exception):
    """A model was not trained because it could not be finished in time."""


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows of positive weight, and the rows that models are scored on.

    Attributes
    ----------
    table : array
        The numeric columns.
    given : table
        The rows as passed to `fit`, for models passed by the user.
    splits : list of (training rows, scored rows)
        Folds; with a validation set one split, whose scored rows are those of the set.
    held_out : Task or None
        The validation set; None: rows are scored by the models of the other folds.
    classes : array or None
        Indices of the classes; None for regression.
    """

    table: Any
    given: Any
    y: NDArray[Any]
    weight: Floats | None
    groups: NDArray[Any] | None
    splits: list[tuple[Indices, Indices]]
    classes: NDArray[Any] | None
    seed: int
    held_out: "Task | None" = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def scored(self) -> "Task":
        """The rows that models are scored on."""
        return self if self.held_out is None else self.held_out

    def rows_for(self, entry: Entry) -> Any:
        return self.given if entry.is_foreign else self.table

    @property
    def response(self) -> ResponseMethod:
        if self.classes is None:
            return ResponseMethod("predict", width=1)
        return ResponseMethod("predict_proba", self.classes)


@dataclass(frozen=True, eq=False)
class Member:
    """A trained model of the ensemble."""

    name: str
    model: Any
    response: ResponseMethod
    is_foreign: bool

    def predict(self, table: Any, given: Any) -> Floats:
        """Class probabilities, or numbers, of shape (rows, columns)."""
        if self.is_foreign:
            return predict_with(self.response, self.model, given)
        if hasattr(self.model, "forest_"):
            return predict_with(self.response, self.model, table)
        with _one_blas_thread():
            return predict_with(self.response, self.model, table)


@dataclass(frozen=True, eq=False)
class Trained:
    """A member, and its predictions for the scored rows."""

    member: Member
    predictions: Floats
    seconds: float


def train(entry: Entry, task: Task, clock: Clock, *, is_first: bool) -> Trained:
    """Train a model and predict rows that it was not trained on.

    Raises
    ------
    OutOfTime
        If it could not be finished in time.
    """
    begin = time.perf_counter()
    estimator = clone(entry.estimator)
    params = _weight_params(entry, task)
    if clock.is_limited:
        if hasattr(estimator, "time_limit"):
            share = _SHARE_OF_FIRST if is_first else _SHARE_OF_OTHERS
            n_fits = 1 if _is_one_fit(estimator, task) else len(task.splits)
            _limit_time(estimator, share * clock.left / n_fits)
        else:
            _check_time(replace(entry, estimator=estimator), task, clock, params)
    if _is_one_fit(estimator, task):
        model, predictions = _out_of_bag(entry, estimator, task, params)
        if predictions is not None:
            return _trained(entry, model, predictions, task, begin)
    models, predictions = _cross_fitted(entry, estimator, task, clock, params)
    return _trained(entry, FoldModels(models), predictions, task, begin)


def train_unscored(entry: Entry, task: Task, clock: Clock) -> Member:
    """Train a model on all rows, without predictions to score it by: of boosters only one."""
    estimator = clone(entry.estimator)
    if clock.is_limited and hasattr(estimator, "time_limit"):
        if not entry.is_foreign:
            estimator.set_params(quality="fast", n_bags=None)
        _limit_time(estimator, 0.5 * clock.left)
    model = _fitted(entry, estimator, task, None, _weight_params(entry, task))
    return Member(entry.name, model, task.response, entry.is_foreign)


def _trained(entry: Entry, model: Any, predictions: Floats, task: Task, begin: float) -> Trained:
    member = Member(entry.name, model, task.response, entry.is_foreign)
    return Trained(member, predictions, time.perf_counter() - begin)


# ---- fits ----


def _is_one_fit(estimator: Any, task: Task) -> bool:
    """Whether one fit gives out-of-bag predictions of all rows."""
    if task.held_out is not None:
        return False
    params = estimator.get_params(deep=False)
    has_bags = isinstance(params.get("n_bags"), int)
    draws = bool(params.get("oob_score")) and bool(params.get("bootstrap"))
    return hasattr(type(estimator), "oob_") and (has_bags or draws)


def _out_of_bag(
    entry: Entry, estimator: Any, task: Task, params: dict[str, Any]
) -> tuple[Any, Floats | None]:
    """A model fitted on all rows and its out-of-bag predictions; None if some rows have none."""
    model = _fitted(entry, estimator, task, None, params)
    try:
        predicted = model.oob_.predictions
    except (AttributeError, ValueError):  # too few rows to leave any out
        return model, None
    predicted = predicted[:, np.newaxis] if predicted.ndim == 1 else predicted
    if not np.isfinite(predicted).all():
        return model, None
    return model, task.response.checked(predicted, model, task.n)


def _cross_fitted(
    entry: Entry, estimator: Any, task: Task, clock: Clock, params: dict[str, Any]
) -> tuple[list[Any], Floats]:
    """The models of all folds, and the predictions of each for its scored rows."""
    scored, predictions = task.scored, None
    models: list[Any] = []
    begin = time.perf_counter()
    for number, (train_rows, test_rows) in enumerate(task.splits):
        spent = time.perf_counter() - begin
        if number and spent / number * (len(task.splits) - number) > clock.left:
            raise OutOfTime(f"needs {spent / number * len(task.splits):.1f} s")
        model = _fitted(entry, estimator, task, train_rows, params)
        part = task.response(model, take(scored.rows_for(entry), test_rows))
        if predictions is None:
            predictions = np.empty((scored.n, part.shape[1]))
        predictions[test_rows] = part
        models.append(model)
    assert predictions is not None
    return models, predictions


def _fitted(
    entry: Entry, estimator: Any, task: Task, rows: Indices | None, params: dict[str, Any]
) -> Any:
    table, y = task.rows_for(entry), task.y
    if rows is not None:
        table, y = take(table, rows), y[rows]
        params = {name: value[rows] for name, value in params.items()}
    with _warnings_of(entry):
        return clone(estimator).fit(table, y, **params)


@cache
def _libraries() -> Any:
    return ThreadpoolController()  # takes milliseconds


def _one_blas_thread() -> Any:
    """Context in which BLAS uses one thread; on small matrices several wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@contextmanager
def _warnings_of(entry: Entry) -> Iterator[None]:
    """Pass on warnings of the user's models; those of the others are about what weald chose."""
    if entry.is_foreign:
        yield
        return
    with collecting(), warnings.catch_warnings(), _one_blas_thread():
        warnings.simplefilter("ignore")
        yield


def _weight_params(entry: Entry, task: Task) -> dict[str, Any]:
    """Keyword arguments of fit with one value per row."""
    params: dict[str, Any] = {}
    if task.weight is not None:
        params[weight_keyword(entry.estimator, f"model {entry.name!r}")] = task.weight
    if task.groups is not None and _is_one_fit(entry.estimator, task):
        params["groups"] = task.groups
    return params


# ---- time ----


def _limit_time(estimator: Any, seconds: float) -> None:
    """Give a booster at most so many seconds; a shorter limit of its own is kept."""
    own = estimator.time_limit
    seconds = max(0.05, seconds)
    estimator.set_params(time_limit=seconds if own is None else min(own, seconds))


def has_time_for_scores(task: Task, clock: Clock) -> bool:
    """Whether there is time for the folds of a large table and for a first model with scores.

    Both read all rows several times. Folds of some of the rows tell how long that takes.
    """
    n_rows = task.n // _ROWS_PER_PROBED
    if not clock.is_limited or n_rows < _FEWEST_PROBED:
        return True
    begin = time.perf_counter()
    list(ContentKFold(5, random_state=task.seed).split(task.table[:n_rows], task.y[:n_rows]))
    return _TIMES_OF_FOLDS * _ROWS_PER_PROBED * (time.perf_counter() - begin) < clock.left


def _check_time(entry: Entry, task: Task, clock: Clock, params: dict[str, Any]) -> None:
    """Raise OutOfTime if a fit on some of the rows says that there is not enough time."""
    if clock.is_over:
        raise OutOfTime("none left")
    n_fits = 1 if _is_one_fit(entry.estimator, task) else len(task.splits)
    usual = min(_TRIAL_ROWS, _TRIAL_CELLS // task.table.shape[1])
    n_rows = max(_FEWEST_TRIAL_ROWS, min(task.n // 8, max(usual, task.n // 64)))
    few, times = _of_few_trees(entry)
    if times > 1:
        seconds = times * _trial_seconds(few, task, n_rows, params)
        if seconds > _SHARE_OF_TRIALS * clock.left:  # a trial of all trees would take too long
            expected = n_fits * seconds * (task.n / n_rows) ** _GROWTH
            if expected > clock.left:
                raise OutOfTime(f"needs {expected:.1f} s")
            return
    while n_rows <= task.n // 2:
        seconds = _trial_seconds(entry, task, n_rows, params)
        expected = n_fits * seconds * (task.n / n_rows) ** _GROWTH
        if expected <= clock.left:
            return
        # The constant part of a short fit is no measure of a long one: try more rows, if cheap.
        n_rows *= _MORE
        if n_rows > task.n // 2 or seconds * _MORE**_GROWTH > _SHARE_OF_TRIALS * clock.left:
            raise OutOfTime(f"needs {expected:.1f} s")


def _of_few_trees(entry: Entry) -> tuple[Entry, float]:
    """A forest of few trees, and how many times longer the whole takes; else the model itself."""
    forest = entry.estimator
    if entry.is_foreign or not isinstance(forest, ForestModel):
        return entry, 1.0
    few, times = clone(forest).set_params(n_estimators=_FEW_TREES), forest.n_estimators / _FEW_TREES
    if isinstance(few, ChosenSettings):  # by as many trees for each of up to five combinations
        few.set_params(min_samples_leaf=1, max_features=few._column_choices[-1])
        times += 5
    return replace(entry, estimator=few), times


def _trial_seconds(entry: Entry, task: Task, n_rows: int, params: dict[str, Any]) -> float:
    """Duration of a fit on some of the rows, among them one of each class."""
    order = np.random.default_rng(task.seed).permutation(task.n)
    chosen = order[:n_rows]
    if task.classes is not None:
        chosen = np.union1d(chosen, np.unique(task.y, return_index=True)[1])
    begin = time.perf_counter()
    _fitted(entry, entry.estimator, task, chosen, params)
    return time.perf_counter() - begin


def advise_of_failures(failed: dict[str, Exception]) -> None:
    """Warn about models that were left out because they failed."""
    for name, error in failed.items():
        advise(
            f"Model {name!r} was left out of the ensemble, because it failed: "
            f"{type(error).__name__}: {error}"
        )

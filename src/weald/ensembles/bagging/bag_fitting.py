"""Parallel fit and prediction of the base estimators of bagging."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from weald.advice import collecting
from weald.cluster import Cluster, active_cluster, is_on_dask
from weald.ensembles.members.member_errors import member_error, portable
from weald.ensembles.members.members import (
    Indices,
    Job,
    Outcome,
    forward_warnings,
    outcomes_of,
    params_for,
    take,
    workers_and_threads,
)
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.samples import Sample
from weald.log import report
from weald.resampling import RowSamples

Floats = NDArray[np.float64]


class Noise(Protocol):
    """Adds noise to a table and a target."""

    def added(self, X: Any, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]: ...


@dataclass(frozen=True, eq=False)
class BagDraws:
    """The rows of all base estimators, drawn when they are needed.

    `index` are the rows of the sample in the order of their content, `weight` the weight of one
    copy of each. `samples` is None if every base estimator is fitted on all rows.
    """

    index: Indices
    samples: RowSamples | None
    weight: Floats | None

    def copies(self, number: int) -> NDArray[np.int64]:
        """How often each row is drawn for a base estimator."""
        if self.samples is None:
            return np.ones(len(self.index), dtype=np.int64)
        return self.samples.drawn(number)


@dataclass(frozen=True, eq=False)
class BagTask:
    """One fit: the number of a base estimator, which says what rows it draws, and its parameters.

    `estimator` has its random states set. `columns` is None for all columns. `weight` multiplies
    the weights of the rows drawn; `noise` is added to the training rows. Out-of-bag rows are
    predicted after the fit if `predicts_left_out`.
    """

    number: int
    estimator: Any
    drawn: BagDraws
    columns: Indices | None = None
    weight: Floats | None = None
    noise: Noise | None = None
    predicts_left_out: bool = False

    @property
    def name(self) -> str:
        return estimator_name(self.number)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows drawn."""
        return int(np.count_nonzero(self.drawn.copies(self.number)))

    @property
    def oob_rows(self) -> Indices:
        """Rows of the sample that were not drawn."""
        left_out: Indices = self.drawn.index[self.drawn.copies(self.number) == 0]
        return left_out

    def rows_and_weights(self) -> tuple[Indices, Floats | None]:
        """Rows of the sample, repeated as often as they were drawn, and their weights if any."""
        copies, weight = self.drawn.copies(self.number), self.drawn.weight
        if self.weight is not None:
            weight = self.weight if weight is None else self.weight * weight
        return (
            np.repeat(self.drawn.index, copies),
            None if weight is None else np.repeat(weight, copies),
        )


def take_columns(X: Any, columns: Indices | None) -> Any:
    """The given columns of an array, a sparse matrix or a frame; columns may be repeated."""
    if columns is None:
        return X
    if hasattr(X, "tocsc"):
        taken = X.tocsc()[:, columns]
        return taken if X.format == "csc" else taken.tocsr()
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if hasattr(X, "iloc"):
        cut = X.iloc[:, columns]
        names = _unique_names(X.columns, columns)
        return cut if names is None else cut.set_axis(names, axis=1)
    if isinstance(frame, nw.DataFrame):
        names = _unique_names(frame.columns, columns)
        if names is None:
            return frame[:, columns.tolist()].to_native()
        series = [frame[:, int(i)].alias(name) for i, name in zip(columns, names, strict=True)]
        return frame.select(*series).to_native()
    return np.asarray(X)[:, columns]


def _unique_names(names: Sequence[Any], columns: Indices) -> list[str] | None:
    """Unique names of repeated columns, such as "a (2)"; None if no column is repeated."""
    if len(set(columns.tolist())) == len(columns):
        return None
    before = [int((columns[:i] == column).sum()) for i, column in enumerate(columns)]
    return [
        f"{names[column]} ({n + 1})" if n else str(names[column])
        for column, n in zip(columns, before, strict=True)
    ]


def seeded_clone(estimator: Any, seed: int, number: int) -> Any:
    """A clone with new random states, also of nested estimators; given ones are replaced."""
    fresh = clone(estimator)
    if not hasattr(fresh, "get_params"):
        return fresh
    names = sorted(
        name for name in fresh.get_params(deep=True) if name.rpartition("__")[2] == "random_state"
    )
    states = np.random.SeedSequence((seed, number)).generate_state(len(names))
    return fresh.set_params(**{name: int(state) for name, state in zip(names, states, strict=True)})


def fit_bag(
    owner: Any,
    tasks: Sequence[BagTask],
    sample: Sample,
    response: ResponseMethod,
    params: Mapping[str, Any],
) -> list[Outcome]:
    """Fit all base estimators; an error names those that failed and holds the others."""
    jobs = [Job(task.name, task.estimator) for task in tasks]
    cluster = active_cluster(owner.n_jobs) if len(tasks) > 1 else None
    workers, inner = workers_and_threads(jobs, owner.n_jobs)
    shared = (sample.X, sample.y, response, params, inner, int(owner.verbose))
    outcomes: list[Outcome]
    if cluster is not None:
        outcomes = _fit_on(cluster, owner, tasks, sample, response, params)
    elif workers == 1:
        outcomes = _fit_some(tasks, *shared)
    else:
        from sklearn.utils.parallel import Parallel, delayed

        use_threads = inner is not None or _all_weald(jobs)
        # Threads share the table; each process receives it once, for all its fits.
        n_parts = len(tasks) if use_threads else workers
        ends = np.linspace(0, len(tasks), n_parts + 1).astype(int)
        run = Parallel(n_jobs=workers, prefer="threads" if use_threads else None)
        parts = run(
            delayed(_fit_some)(tasks[begin:end], *shared) for begin, end in itertools.pairwise(ends)
        )
        outcomes = [outcome for part in parts for outcome in part]
    _raise_failures(owner, tasks, outcomes)
    forward_warnings(outcomes)
    return outcomes


def _fit_on(
    cluster: Cluster,
    owner: Any,
    tasks: Sequence[BagTask],
    sample: Sample,
    response: ResponseMethod,
    params: Mapping[str, Any],
) -> list[Outcome]:
    """Fit in the workers of a cluster, which receive the rows and what draws them once."""
    shared = (tasks[0].drawn, sample.X, sample.y, response, params)
    small = [replace(task, drawn=_NOTHING) for task in tasks]
    lines = map(_line, tasks) if owner.verbose else None
    return outcomes_of(cluster, _fit_in_worker, small, shared, owner.n_jobs, lines)


_NOTHING = BagDraws(np.zeros(0, dtype=np.intp), None, None)


def _fit_in_worker(
    task: BagTask,
    drawn: BagDraws,
    X: Any,
    y: Any,
    response: ResponseMethod,
    params: Mapping[str, Any],
) -> Outcome:
    return _fit_one(replace(task, drawn=drawn), X, y, response, params, None, 0)


def _all_weald(jobs: Sequence[Job]) -> bool:
    from weald.ensembles.base import TreeModel

    return all(isinstance(job.estimator, TreeModel) for job in jobs)


def _raise_failures(owner: Any, tasks: Sequence[BagTask], outcomes: Sequence[Outcome]) -> None:
    failed: dict[str, tuple[str, BaseException]] = {}
    fitted: dict[str, Any] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        if outcome.error is not None:
            failed[task.name] = (f"on its {task.n_rows} rows", outcome.error)
        else:
            fitted[task.name] = outcome.fitted
    if failed:
        raise member_error(owner, failed, fitted, kept_as="fitted on their samples")


def _fit_some(tasks: Sequence[BagTask], X: Any, y: Any, *shared: Any) -> list[Outcome]:
    return [_fit_one(task, X, y, *shared) for task in tasks]


def _fit_one(
    task: BagTask,
    X: Any,
    y: Any,
    response: ResponseMethod,
    params: Mapping[str, Any],
    inner: int | None,
    verbose: int,
) -> Outcome:
    try:
        estimator = task.estimator
        if inner is not None:
            estimator.set_params(n_jobs=inner)
        rows, weight = task.rows_and_weights()
        extra = _weights(estimator, weight)
        passed = params_for(params, len(y), rows)
        seen, target = take_columns(take(X, rows), task.columns), y[rows]
        if task.noise is not None:
            seen, target = task.noise.added(seen, target)
        with collecting() as advice:
            estimator.fit(seen, target, **passed, **extra)
        if inner is not None:
            estimator.set_params(n_jobs=None)
        predictions = None
        if task.predicts_left_out:
            left_out = task.oob_rows
            predictions = (
                response(estimator, take_columns(take(X, left_out), task.columns))
                if len(left_out)
                else np.empty((0, 1))
            )
        if verbose:
            report(_line(task))
        return Outcome(estimator, predictions, advice=advice)
    except Exception as error:
        return Outcome(error=portable(error))


def _line(task: BagTask) -> str:
    return f"{task.name}: fitted on {task.n_rows} rows"


def _weights(estimator: Any, weight: Floats | None) -> dict[str, Floats]:
    """The weights of the rows, if any, as an argument of fit."""
    if weight is None:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"{type(estimator).__name__} does not support sample_weight, but the rows have weights "
            "that the draws do not account for. Use an estimator that supports sample_weight, or "
            "bootstrap=True without groups, which draws rows by their weights."
        )
    return {"sample_weight": weight}


def predict_bag(
    owner: Any,
    estimators: Sequence[Any],
    columns: Sequence[Indices | None],
    response: ResponseMethod,
    X: Any,
) -> Iterator[Floats]:
    """Predictions of the base estimators in turn; an error names the one that failed."""
    from joblib import effective_n_jobs

    # Not on a cluster: sending the base estimators would take longer than their predictions.
    n_jobs = 1 if is_on_dask() else effective_n_jobs(owner.n_jobs)
    workers = min(n_jobs, len(estimators))
    ends = np.linspace(0, len(estimators), max(1, workers) + 1).astype(int)
    if workers <= 1:
        parts: Any = (
            _predict_some(estimators[k : k + 1], columns[k : k + 1], response, X)
            for k in range(len(estimators))
        )
    else:
        from sklearn.utils.parallel import Parallel, delayed

        parts = Parallel(n_jobs=workers)(
            delayed(_predict_some)(estimators[a:b], columns[a:b], response, X)
            for a, b in itertools.pairwise(ends)
        )
    number = 0
    for part in parts:
        for outcome in part:
            if outcome.error is not None:
                failure = ("to predict", outcome.error)
                raise member_error(owner, {estimator_name(number): failure}, {}) from outcome.error
            number += 1
            yield outcome.predictions


def _predict_some(
    estimators: Sequence[Any], columns: Sequence[Indices | None], response: ResponseMethod, X: Any
) -> list[Outcome]:
    outcomes = []
    for estimator, own in zip(estimators, columns, strict=True):
        try:
            outcomes.append(Outcome(predictions=response(estimator, take_columns(X, own))))
        except Exception as error:
            outcomes.append(Outcome(error=portable(error)))
    return outcomes


def estimator_name(number: int) -> str:
    """Name of a base estimator in errors."""
    return f"estimators_[{number}]"

"""Base estimators of any library: checks, row selection, parallel fitting, fingerprints."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.advice import advise, collecting
from weald.cluster import Cluster, active_cluster, is_on_dask
from weald.ensembles.base import TreeModel
from weald.ensembles.members.member_errors import member_error, portable
from weald.log import report
from weald.threads import thread_count

Indices = NDArray[np.intp]
Named = tuple[str, Any]

DROPPED = "drop"

_FORM = (
    "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, "
    "estimator) tuples, such as [('tree', DecisionTreeClassifier())]."
)


def checked_estimators(owner: Any, estimators: object, *, taken: Sequence[str] = ()) -> list[Named]:
    """Validate (name, estimator) pairs and remove dropped ones.

    Parameters
    ----------
    taken
        Names already used by other base estimators of `owner`.
    """
    kind = type(owner).__name__
    if not isinstance(estimators, (list, tuple)) or not estimators:
        raise ValueError(f"{_FORM} {kind} got {estimators!r}.")
    for pair in estimators:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2):
            raise ValueError(f"{_FORM} {kind} got the item {pair!r}.")
        _check_named(owner, *pair)
    names = [name for name, _ in estimators]
    twice = sorted({name for name in names if names.count(name) > 1} | ({*names} & {*taken}))
    if twice:
        raise ValueError(
            f"Names of estimators must be unique in {kind}: {twice[0]!r} is used more than once. "
            "Rename one of them."
        )
    kept = [(name, estimator) for name, estimator in estimators if not is_dropped(estimator)]
    if not kept:
        raise ValueError(
            f"All estimators are dropped. At least one is required to be an estimator of {kind}."
        )
    return kept


def is_dropped(estimator: object) -> bool:
    """Whether a base estimator is left out."""
    return isinstance(estimator, str) and estimator == DROPPED


def _check_named(owner: Any, name: object, estimator: object) -> None:
    kind = type(owner).__name__
    if not isinstance(name, str) or not name:
        raise ValueError(f"{_FORM} A name must be a string. {kind} got {name!r}.")
    if "__" in name:
        raise ValueError(
            f"The name {name!r} of an estimator of {kind} must not contain '__', which separates "
            "names from parameters in set_params."
        )
    if name in owner.get_params(deep=False):
        raise ValueError(
            f"The name {name!r} of an estimator is also a parameter of {kind}. Rename it."
        )
    if isinstance(estimator, type):
        raise TypeError(
            f"Estimator {name!r} of {kind} must be an instance, {estimator.__name__}(). Got the "
            f"class {estimator.__name__}."
        )
    if not is_dropped(estimator) and not hasattr(estimator, "fit"):
        raise TypeError(
            f"Estimator {name!r} of {kind} must be an estimator with a fit method, or 'drop'. Got "
            f"{estimator!r}."
        )


# ---- rows of any table ----


def take(values: Any, index: Indices) -> Any:
    """Select rows of an array, a sparse matrix, a frame or a list.

    A CSC matrix stays one; other sparse formats become CSR.
    """
    if hasattr(values, "tocsr"):
        rows = values.tocsr()[index]
        return rows.tocsc() if values.format == "csc" else rows
    if hasattr(values, "iloc"):
        return values.iloc[index]
    if hasattr(values, "__array__") and not hasattr(values, "columns"):
        return np.asarray(values)[index] if not isinstance(values, np.ndarray) else values[index]
    native = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[index.tolist()].to_native()
    return [values[i] for i in index]


def is_frame(table: Any) -> bool:
    """Whether a table is a data frame, of which `take` selects rows."""
    return hasattr(table, "iloc") or isinstance(
        nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame
    )


def n_rows_of(values: Any) -> int:
    """Number of rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(values, "shape"):
        return int(values.shape[0])
    return len(values) if hasattr(values, "__len__") else len(np.asarray(values))


def has_rows(value: Any, n_rows: int) -> bool:
    """Whether a value holds one entry per row."""
    is_list = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict))
    return is_list and n_rows_of(value) == n_rows


def params_for(params: Mapping[str, Any], n_rows: int, index: Indices | None) -> dict[str, Any]:
    """Keyword arguments of fit; arguments with one entry per row are reduced to some rows."""
    if index is None:
        return dict(params)
    return {
        name: take(value, index) if has_rows(value, n_rows) else value
        for name, value in params.items()
    }


# ---- fitting ----


@dataclass(frozen=True)
class Job:
    """One fit of a base estimator, and the prediction after it.

    `train` are the rows to fit on (None: all), `test` the rows to predict (None: none); `predict`
    computes the predictions from the fitted estimator and a table. `where` describes the fit in
    messages.
    """

    name: str
    estimator: Any
    where: str = "on all rows"
    train: Indices | None = None
    test: Indices | None = None
    predict: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True)
class Outcome:
    """A fitted base estimator and its predictions, or the exception it raised."""

    fitted: Any = None
    predictions: Any = None
    error: Exception | None = None
    advice: Sequence[str] = ()  # warnings of the fit


def forward_warnings(outcomes: Sequence[Outcome]) -> None:
    """Issue the warnings of all fits, each once."""
    for outcome in outcomes:
        for message in outcome.advice:
            advise(message)


def fit_estimators(
    owner: object,
    jobs: Sequence[Job],
    X: Any,
    y: Any,
    params: Mapping[str, Mapping[str, Any]],
    *,
    n_jobs: int | None,
    verbose: int | bool = False,
) -> list[Outcome]:
    """Run all jobs, in parallel where `n_jobs` allows.

    A failed fit does not stop the others: the MemberError raised at the end names all that failed
    and keeps those that were fitted on all rows.
    """
    cluster = active_cluster(n_jobs) if len(jobs) > 1 else None
    workers, inner = workers_and_threads(jobs, n_jobs)
    log = report if verbose else None
    arguments = [(job, X, y, params.get(job.name, {}), inner, log) for job in jobs]
    outcomes: list[Outcome]
    if cluster is not None:
        numbers, shared = range(len(jobs)), (jobs, X, y, params)
        lines = map(_line, jobs) if verbose else None
        outcomes = outcomes_of(cluster, _run_number, numbers, shared, n_jobs, lines)
    elif workers == 1:
        outcomes = [_run(*argument) for argument in arguments]
    else:
        from sklearn.utils.parallel import Parallel, delayed

        prefer = "threads" if _all_weald(jobs) else None
        run = Parallel(n_jobs=workers, prefer=prefer)
        outcomes = run(delayed(_run)(*argument) for argument in arguments)
    _raise_failures(owner, jobs, outcomes)
    forward_warnings(outcomes)
    return outcomes


def _raise_failures(owner: object, jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> None:
    failed: dict[str, tuple[str, BaseException]] = {}
    fitted: dict[str, Any] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        if outcome.error is not None:
            failed.setdefault(job.name, (job.where, outcome.error))
        elif job.train is None:
            fitted[job.name] = outcome.fitted
    if failed:
        kept = {name: estimator for name, estimator in fitted.items() if name not in failed}
        raise member_error(owner, failed, kept)


def _all_weald(jobs: Sequence[Job]) -> bool:
    """Whether all estimators are weald's: these release the GIL, so that threads suffice."""
    return all(isinstance(job.estimator, TreeModel) for job in jobs)


def workers_and_threads(jobs: Sequence[Job], n_jobs: int | None) -> tuple[int, int | None]:
    """Number of jobs to run in parallel, and n_jobs of each estimator (None: unchanged).

    `n_jobs` has scikit-learn's meaning, with one exception: weald's own estimators that may use all
    cores (n_jobs=None) are fitted in parallel, with the cores divided among them, which is faster
    than one after another. The fitted models are the same.
    """
    if is_on_dask():  # what is not spread over the cluster stays here, whatever joblib would do
        return 1, None
    from joblib import effective_n_jobs

    n_requested = effective_n_jobs(n_jobs)
    may_spread = n_jobs is None and n_requested == 1 and len(jobs) > 1
    if may_spread and _all_weald(jobs) and all(job.estimator.n_jobs is None for job in jobs):
        cores = thread_count(None)
        workers = min(cores, len(jobs))
        return workers, max(1, cores // workers)
    return min(n_requested, len(jobs)), None


def _run(
    job: Job, X: Any, y: Any, params: Mapping[str, Any], inner: int | None, log: Any
) -> Outcome:
    """Fit a clone of the job's estimator and predict; an exception becomes part of the outcome."""
    try:
        estimator = clone(job.estimator)
        if inner is not None:
            estimator.set_params(n_jobs=inner)
        rows = X if job.train is None else take(X, job.train)
        target = y if job.train is None else y[job.train]
        with collecting() as advice:
            estimator.fit(rows, target, **params_for(params, len(y), job.train))
        if inner is not None:
            estimator.set_params(n_jobs=None)
        predictions = None
        if job.predict is not None and job.test is not None:
            predictions = job.predict(estimator, take(X, job.test))
        if log is not None:
            log(_line(job))
        return Outcome(estimator, predictions, advice=advice)
    except Exception as error:
        return Outcome(error=portable(error))


def _line(job: Job) -> str:
    return f"{job.name}: fitted {job.where}"


# ---- on a cluster ----


def outcomes_of(
    cluster: Cluster,
    work: Callable[..., Outcome],
    tasks: Sequence[Any],
    shared: Sequence[Any],
    n_jobs: int | None,
    lines: Iterable[str] | None,
) -> list[Outcome]:
    """The outcomes of tasks in the workers of a cluster; see `Cluster.run`.

    Of `lines`, one for each fit is reported when it is known that it did not fail.
    """

    def failed(error: Exception) -> Outcome:
        return Outcome(error=error)

    outcomes: list[Outcome] = []
    told = itertools.repeat(None) if lines is None else lines
    found = cluster.run(work, tasks, shared, n_jobs=n_jobs, failed=failed)
    for outcome, line in zip(found, told, strict=False):
        outcomes.append(outcome)
        if line is not None and outcome.error is None:
            report(line)
    return outcomes


def _run_number(
    number: int, jobs: Sequence[Job], X: Any, y: Any, params: Mapping[str, Mapping[str, Any]]
) -> Outcome:
    # All jobs are sent together: those of the same fold share its rows.
    job = jobs[number]
    return _run(job, X, y, params.get(job.name, {}), None, None)


# ---- fingerprints ----


def model_fingerprints(key: str, models: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Fingerprints of models, as arrays named by `key` and index.

    Raises
    ------
    TypeError
        If a model has no fingerprint.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for number, (name, model) in enumerate(models.items()):
        if not hasattr(model, "fingerprint"):
            raise TypeError(
                f"fingerprint requires weald's own models, which are reproducible bit by bit; "
                f"{name!r} is a {type(model).__name__}."
            )
        arrays[f"{key} {number}"] = np.array([model.fingerprint()])
    return arrays

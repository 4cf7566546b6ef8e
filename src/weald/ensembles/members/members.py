"""Members: other people's estimators (or ours) that an ensemble fits and asks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.advice import advise, collecting
from weald.ensembles.base import TreeModel
from weald.ensembles.members.member_errors import member_error, portable
from weald.log import report
from weald.threads import thread_count

Indices = NDArray[np.intp]
Named = tuple[str, Any]

DROPPED = "drop"


def checked_members(owner: Any, members: object, *, taken: Sequence[str] = ()) -> list[Named]:
    """Pairs of names and estimators, dropped ones left out; an error says what is wrong.

    Parameters
    ----------
    taken
        Names that other members of `owner` have already.
    """
    kind = type(owner).__name__
    form = "a list of (name, estimator) pairs, such as [('tree', DecisionTreeClassifier())]"
    if not isinstance(members, (list, tuple)) or not members:
        raise ValueError(f"The members of {kind} must be {form}. Got {members!r}.")
    for member in members:
        if not (isinstance(member, (list, tuple)) and len(member) == 2):
            raise ValueError(f"The members of {kind} must be {form}. One of them is {member!r}.")
        _check_member(owner, *member)
    names = [name for name, _ in members]
    twice = sorted({name for name in names if names.count(name) > 1} | ({*names} & {*taken}))
    if twice:
        raise ValueError(
            f"Names of members must be unique in {kind}: {twice[0]!r} is given more than once. "
            "Give each member a name of its own."
        )
    kept = [(name, estimator) for name, estimator in members if not is_dropped(estimator)]
    if not kept:
        raise ValueError(f"All members of {kind} are dropped; at least one must remain.")
    return kept


def is_dropped(estimator: object) -> bool:
    """Tell whether a member is left out."""
    return isinstance(estimator, str) and estimator == DROPPED


def _check_member(owner: Any, name: object, estimator: object) -> None:
    kind = type(owner).__name__
    if not isinstance(name, str) or not name:
        raise ValueError(f"A member of {kind} must be named by text. Got {name!r}.")
    if "__" in name:
        raise ValueError(
            f"The name {name!r} of a member of {kind} must not hold two underscores in a row: "
            "they separate names from parameters in set_params."
        )
    if name in owner.get_params(deep=False):
        raise ValueError(
            f"The name {name!r} of a member is also a parameter of {kind}; choose another name."
        )
    if isinstance(estimator, type):
        raise TypeError(
            f"Member {name!r} of {kind} is the class {estimator.__name__}; "
            f"an instance is expected: {estimator.__name__}()."
        )
    if not is_dropped(estimator) and not hasattr(estimator, "fit"):
        raise TypeError(
            f"Member {name!r} of {kind} has no method fit: it is {estimator!r}, no estimator. "
            "Expected an estimator, or 'drop'."
        )


# ---- rows of any table ----


def take(values: Any, index: Indices) -> Any:
    """Those rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(values, "tocsr"):
        return values.tocsr()[index]
    if hasattr(values, "iloc"):
        return values.iloc[index]
    if hasattr(values, "__array__") and not hasattr(values, "columns"):
        return np.asarray(values)[index] if not isinstance(values, np.ndarray) else values[index]
    native = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[index.tolist()].to_native()
    return [values[i] for i in index]


def n_rows_of(values: Any) -> int:
    """Number of rows of an array, a sparse matrix, a frame or a list."""
    if hasattr(values, "shape"):
        return int(values.shape[0])
    return len(values) if hasattr(values, "__len__") else len(np.asarray(values))


def has_rows(value: Any, n_rows: int) -> bool:
    """Tell whether something holds one entry per row."""
    is_list = hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict))
    return is_list and n_rows_of(value) == n_rows


def params_for(params: Mapping[str, Any], n_rows: int, index: Indices | None) -> dict[str, Any]:
    """Keyword arguments of a fit, cut to some of the rows: whatever has one entry per row."""
    if index is None:
        return dict(params)
    return {
        name: take(value, index) if has_rows(value, n_rows) else value
        for name, value in params.items()
    }


# ---- fitting ----


@dataclass(frozen=True)
class Job:
    """One fit of one member, and what it is asked afterwards.

    `train` are the rows it sees (None: all), `test` those it answers (None: none); `ask` turns the
    fitted member and a table into answers.
    """

    name: str
    estimator: Any
    where: str = "on all rows"
    train: Indices | None = None
    test: Indices | None = None
    ask: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True)
class Outcome:
    """A fitted member and its answers, or what it raised."""

    fitted: Any = None
    answers: Any = None
    error: Exception | None = None
    advice: Sequence[str] = ()  # what its fit would have warned of


def hand_on_advice(outcomes: Sequence[Outcome]) -> None:
    """Warn once of what several members would have warned of."""
    for outcome in outcomes:
        for message in outcome.advice:
            advise(message)


def fit_members(
    owner: object,
    jobs: Sequence[Job],
    X: Any,
    y: Any,
    params: Mapping[str, Mapping[str, Any]],
    *,
    n_jobs: int | None,
    verbose: int | bool = False,
) -> list[Outcome]:
    """Run all jobs, in parallel where `n_jobs` allows; raise a MemberError if any failed.

    A member that fails does not stop the others: the error names all that failed and keeps those
    that were fitted on all rows.
    """
    workers, inner = shared_out(jobs, n_jobs)
    say = report if verbose else None
    arguments = [(job, X, y, params.get(job.name, {}), inner, say) for job in jobs]
    if workers == 1:
        outcomes = [_run(*argument) for argument in arguments]
    else:
        from sklearn.utils.parallel import Parallel, delayed

        prefer = "threads" if _all_ours(jobs) else None
        run = Parallel(n_jobs=workers, prefer=prefer)
        outcomes = run(delayed(_run)(*argument) for argument in arguments)
    _raise_failures(owner, jobs, outcomes)
    hand_on_advice(outcomes)
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
        kept = {name: member for name, member in fitted.items() if name not in failed}
        raise member_error(owner, failed, kept)


def _all_ours(jobs: Sequence[Job]) -> bool:
    """Our own trees work outside of Python's lock: threads serve them, without copies of X."""
    return all(isinstance(job.estimator, TreeModel) for job in jobs)


def shared_out(jobs: Sequence[Job], n_jobs: int | None) -> tuple[int, int | None]:
    """How many jobs run at a time, and how many threads each member of ours gets (None: its own).

    `n_jobs` has scikit-learn's meaning. But members of ours that may use all cores (their n_jobs is
    None) use them better side by side than one after another: they get one core each where there
    are enough of them. The models are the same.
    """
    from joblib import effective_n_jobs

    asked = effective_n_jobs(n_jobs)
    may_spread = n_jobs is None and asked == 1 and len(jobs) > 1
    if may_spread and _all_ours(jobs) and all(job.estimator.n_jobs is None for job in jobs):
        cores = thread_count(None)
        workers = min(cores, len(jobs))
        return workers, max(1, cores // workers)
    return min(asked, len(jobs)), None


def _run(
    job: Job, X: Any, y: Any, params: Mapping[str, Any], inner: int | None, say: Any
) -> Outcome:
    """Fit a clone of the job's estimator and ask it; what it raises is the outcome."""
    try:
        member = clone(job.estimator)
        if inner is not None:
            member.set_params(n_jobs=inner)
        rows = X if job.train is None else take(X, job.train)
        target = y if job.train is None else y[job.train]
        with collecting() as advice:
            member.fit(rows, target, **params_for(params, len(y), job.train))
        if inner is not None:
            member.set_params(n_jobs=None)
        answers = None
        if job.ask is not None and job.test is not None:
            answers = job.ask(member, take(X, job.test))
        if say is not None:
            say(f"{job.name}: fitted {job.where}")
        return Outcome(member, answers, advice=advice)
    except Exception as error:
        return Outcome(error=portable(error))


# ---- fingerprints ----


def members_learnt(what: str, models: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Fingerprints of models as named arrays; a TypeError names the first that has none."""
    learnt: dict[str, NDArray[Any]] = {}
    for number, (name, model) in enumerate(models.items()):
        if not hasattr(model, "fingerprint"):
            raise TypeError(
                f"There is no fingerprint: the {what} {name!r} is a {type(model).__name__}, and "
                "only weald's own models promise the same bits everywhere."
            )
        learnt[f"{what} {number}"] = np.array([model.fingerprint()])
    return learnt

"""Repeated fits of one estimator: seeds, training sets and parallel execution.

Each repeat draws its training set by row position from its own NumPy generator, so that results do
not depend on `n_jobs`. Unlike weald's estimators, which sample rows by content, the estimates here
depend on the row order, within their standard errors.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.advice import advise, collecting
from weald.parameters import Jobs, Seed, Whole
from weald.theory.arguments import check, take

Task = TypeVar("Task")
Result = TypeVar("Result")
Rows = NDArray[np.intp]

# Maximum number of attempts to draw a training set with at least two classes.
_MOST_DRAWS = 1000


def check_estimator_like(function: str, estimator: Any) -> None:
    """Raise TypeError unless `estimator` is an instance with `fit` and `predict`."""
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
            raise TypeError(
                f"The 'estimator' parameter of {function} must be an estimator with 'fit' and "
                f"'predict', such as DecisionTreeClassifier(). Got {estimator!r} instead."
            )


def check_common_arguments(
    function: str, *, random_state: object, n_jobs: object, verbose: object
) -> None:
    """Check the arguments common to all functions that fit models."""
    check(function, Seed(), random_state=random_state)
    check(function, Jobs(), n_jobs=n_jobs)
    if not isinstance(verbose, bool):
        check(function, Whole(0, 1), verbose=verbose)


def seeds_of(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """Spawn n independent seeds from a random_state."""
    if random_state is None:
        return np.random.SeedSequence().spawn(n)
    if isinstance(random_state, np.random.RandomState):
        words = [int(word) for word in random_state.randint(2**31, size=4)]
        return np.random.SeedSequence(words).spawn(n)
    return np.random.SeedSequence(int(random_state)).spawn(n)


def seeded_clone(estimator: Any, seed: np.random.SeedSequence) -> Any:
    """Clone an estimator and set those of its random states that are None from the seed.

    A random state given by the user is kept, so that all fits share it.
    """
    copy = clone(estimator)
    if not hasattr(copy, "get_params"):
        return copy
    parameters = copy.get_params(deep=True)
    names = sorted(
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    if names:
        numbers = map(int, seed.generate_state(len(names)))
        copy.set_params(**dict(zip(names, numbers, strict=True)))
    return copy


@dataclass(frozen=True, eq=False)
class Resampling:
    """Draws training sets (X, y) from one table, given a NumPy generator."""

    X: Any
    y: NDArray[Any]
    n_draws: int
    bootstrap: bool
    is_classification: bool

    def __call__(self, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        rows = self.rows(rng)
        return take(self.X, rows), self.y[rows]

    def rows(self, rng: np.random.Generator) -> Rows:
        """Return row indices of one training set; sets with a single class are redrawn."""
        for _ in range(_MOST_DRAWS):
            rows = self._draw(rng)
            if not self.is_classification or not self._has_single_class(rows):
                return rows
        raise ValueError(
            f"{_MOST_DRAWS} training sets of {self.n_draws} rows all had a single class. Provide "
            "more rows of the rare classes, or increase max_samples."
        )

    def _draw(self, rng: np.random.Generator) -> Rows:
        if self.bootstrap:
            return rng.integers(len(self.y), size=self.n_draws, dtype=np.intp)
        # Sorted, so that drawing all rows yields the table itself.
        return np.sort(rng.permutation(len(self.y))[: self.n_draws])

    def _has_single_class(self, rows: Rows) -> bool:
        # Many classifiers raise an error if there is a single class.
        drawn = self.y[rows]
        return bool((drawn == drawn[0]).all() and (self.y != drawn[0]).any())


def run_parallel(
    work: Callable[..., Result],
    tasks: Iterable[Task],
    *common: Any,
    n_jobs: int | None,
    verbose: int,
    label: str,
) -> list[Result]:
    """Call `work(task, *common)` for all tasks with joblib, and return the results in order.

    Common data are arguments rather than captured by `work`, because joblib passes large array
    arguments to other processes as memory maps instead of copying them for every task.
    """
    from sklearn.utils.parallel import Parallel, delayed

    todo = list(tasks)
    results: list[Result] = []
    advice: dict[str, None] = {}
    with Parallel(n_jobs=n_jobs) as workers:
        for part in _parts(todo, 20 if verbose else 1):
            done = workers(delayed(_with_advice)(work, task, *common) for task in part)
            results += [result for result, _ in done]
            advice.update(dict.fromkeys(message for _, kept in done for message in kept))
            if verbose:
                _show_progress(label, len(results), len(todo))
    for message in advice:
        advise(message)
    return results


def _with_advice(
    work: Callable[..., Result], task: Any, *common: Any
) -> tuple[Result, Sequence[str]]:
    """Return the result of a task and its warnings, which are issued once for all tasks."""
    with collecting() as advice:
        result = work(task, *common)
    return result, advice


def _parts(tasks: list[Task], n_parts: int) -> Iterator[list[Task]]:
    step = max(1, -(-len(tasks) // n_parts))
    for begin in range(0, len(tasks), step):
        yield tasks[begin : begin + step]


def _show_progress(label: str, done: int, total: int) -> None:
    filled = 30 * done // total
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r{label} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}{end}")
    sys.stderr.flush()

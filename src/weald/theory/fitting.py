"""Many fits of one estimator: seeds, training sets, the sharing out of work.

Training sets are drawn by position with a NumPy generator of their own for every repeat, so that
nothing depends on who does the work. (A model of weald draws by what a row holds; here no model is
made, only an estimate, and another order of rows may give another one within its spread.)
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

# A draw of one class only is drawn again at most so often.
_MOST_DRAWS = 1000


def check_estimator_like(function: str, estimator: Any) -> None:
    """Refuse what cannot be fitted and asked."""
    for method in ("fit", "predict"):
        if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
            raise TypeError(
                f"The 'estimator' parameter of {function} must be an estimator with 'fit' and "
                f"'predict', such as DecisionTreeClassifier(). Got {estimator!r} instead."
            )


def check_work(function: str, *, random_state: object, n_jobs: object, verbose: object) -> None:
    """Check what all functions that fit have in common."""
    check(function, Seed(), random_state=random_state)
    check(function, Jobs(), n_jobs=n_jobs)
    if not isinstance(verbose, bool):
        check(function, Whole(0, 1), verbose=verbose)


def seeds_of(random_state: Any, n: int) -> list[np.random.SeedSequence]:
    """Independent seeds, the same for the same whole number."""
    if random_state is None:
        return np.random.SeedSequence().spawn(n)
    if isinstance(random_state, np.random.RandomState):
        words = [int(word) for word in random_state.randint(2**31, size=4)]
        return np.random.SeedSequence(words).spawn(n)
    return np.random.SeedSequence(int(random_state)).spawn(n)


def unfitted(estimator: Any, seed: np.random.SeedSequence) -> Any:
    """A copy to fit; its random states that are None become fixed by the seed.

    A number that the user gave stays: then all fits share it, and only the training sets differ.
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
    """Training sets drawn from one table: called with a generator it gives X, y."""

    X: Any
    y: NDArray[Any]
    n_draws: int
    bootstrap: bool
    is_classification: bool

    def __call__(self, rng: np.random.Generator) -> tuple[Any, NDArray[Any]]:
        rows = self.rows(rng)
        return take(self.X, rows), self.y[rows]

    def rows(self, rng: np.random.Generator) -> Rows:
        """Row numbers of one training set; a set of one class only is drawn again."""
        for _ in range(_MOST_DRAWS):
            rows = self._draw(rng)
            if not self.is_classification or not self._lacks_contrast(rows):
                return rows
        raise ValueError(
            f"{_MOST_DRAWS} training sets of {self.n_draws} rows all held a single class. Give "
            "more rows of the rare classes, or draw larger sets."
        )

    def _draw(self, rng: np.random.Generator) -> Rows:
        if self.bootstrap:
            return rng.integers(len(self.y), size=self.n_draws, dtype=np.intp)
        # In the order of the table: all rows drawn are the table itself.
        return np.sort(rng.permutation(len(self.y))[: self.n_draws])

    def _lacks_contrast(self, rows: Rows) -> bool:
        # Many classifiers refuse a single class, so that such a set would end all the work.
        drawn = self.y[rows]
        return bool((drawn == drawn[0]).all() and (self.y != drawn[0]).any())


def share_out(
    work: Callable[..., Result],
    tasks: Iterable[Task],
    *common: Any,
    n_jobs: int | None,
    verbose: int,
    label: str,
) -> list[Result]:
    """Call `work(task, *common)` for all tasks, in parallel if joblib is told so, in their order.

    What tasks have in common is an argument and not closed over by `work`: large arrays among the
    arguments are handed to other processes as memory maps, not copied for every task.
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
    """What a task gives, and what its fits would have warned of: all tasks warn once."""
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

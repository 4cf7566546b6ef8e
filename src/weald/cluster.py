"""Parts of a fit on the workers of a Dask cluster: inside `joblib.parallel_config("dask")`."""

import importlib
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pickle import PickleError
from typing import Any
from uuid import uuid4

from weald.threads import sharing_cores
from weald.version import __version__

# How often a wait looks whether there are workers, how long there may be none, in seconds, and how
# often the shared data may be lost before a task is finished.
_LOOKS, _PATIENCE, _MOST_LOSSES = 2.0, 600.0, 5

# Of each client, the futures of the objects that its workers have: while these objects live, and
# until a fit ends, as their owner may change them after it.
_PLACED: "weakref.WeakKeyDictionary[Any, dict[int, tuple[Any, Any]]]" = weakref.WeakKeyDictionary()


def active_cluster(n_jobs: int | None) -> "Cluster | None":
    """The cluster of the active joblib backend, if that is Dask's.

    None also in tasks of the workers: what a worker fits, such as a model of a grid search, is
    fitted by that worker alone. And with ``n_jobs=1``, which asks for nothing in parallel.

    >>> active_cluster(None) is None
    True
    """
    backend = _dask_backend()
    return None if backend is None or n_jobs == 1 or _is_in_task() else Cluster(backend)


def is_on_dask() -> bool:
    """Whether joblib's Dask backend is active, which would send what joblib is given to workers."""
    return _dask_backend() is not None


def _dask_backend() -> Any:
    if "distributed" not in sys.modules:  # nothing is imported for ordinary fits
        return None
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    return backend if isinstance(client, sys.modules["distributed"].Client) else None


def _is_in_task() -> bool:
    try:
        importlib.import_module("distributed").get_worker()
    except ValueError:
        return False
    return True


def forget_shared() -> None:
    """Let workers drop the objects that they received for a fit, which has ended."""
    _PLACED.clear()


class Shared:
    """An object that all workers need.

    Dask does not see its size: it would leave workers idle rather than send them a large table.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


class Cluster:
    """The workers of a Dask cluster.

    Parameters
    ----------
    backend : object
        joblib's Dask backend.
    """

    def __init__(self, backend: Any) -> None:
        self._backend, self._client = backend, backend.client

    def slots(self, n_jobs: int | None) -> int:
        """Number of tasks that run at the same time: `n_jobs` of the fit or of the context.

        None and -1 mean as many as the workers have threads; other negative numbers count back.
        """
        n_threads = int(self._backend.effective_n_jobs(-1))  # waits for workers, for some seconds
        if n_jobs is None:
            from joblib.parallel import get_active_backend

            n_jobs = get_active_backend()[1]
        if n_jobs is None:
            return n_threads
        return max(1, n_threads + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, n_threads)

    def run(
        self,
        work: Callable[..., Any],
        tasks: Sequence[Any],
        shared: Sequence[Any],
        *,
        n_jobs: int | None = None,
        failed: Callable[[Exception], Any] | None = None,
    ) -> Iterator[Any]:
        """Yield ``work(task, *shared)`` for all tasks in order, computed by the workers.

        Dask computes again what a lost worker was to do.

        Parameters
        ----------
        work : function
            Function of a module that workers can import.
        tasks : sequence
            Small objects.
        shared : sequence
            Objects that every worker receives once in a fit, also if later calls pass them again.
        n_jobs : int or None, default=None
            At most so many tasks at the same time; see `slots`.
        failed : function or None, default=None
            The result of a task that raised this exception. None: it is raised.
        """
        at_once = min(self.slots(n_jobs), len(tasks))
        n_each = -(-at_once // max(1, len(self._client.nthreads())))  # of each worker
        # All tasks at once, unless there is a limit: Dask divides them best.
        most = len(tasks) if at_once == self.slots(-1) else at_once
        waiting, done = deque(range(len(tasks))), dict[int, Any]()
        running = dict[Any, tuple[int, int]]()  # number of the task, losses when it was submitted
        n_losses, n_in_vain, n_given = 0, 0, 0
        try:
            while n_given < len(tasks):
                if waiting:
                    placed = self._placed(shared)
                while waiting and len(running) < most:
                    number = waiting.popleft()
                    future = self._submitted(work, tasks[number], placed, n_each)
                    running[future] = number, n_losses
                for future in self._finished(list(running)):
                    number, n_before = running.pop(future)
                    try:
                        done[number], n_in_vain = future.result(), 0
                    except CancelledError as error:
                        waiting.append(number)
                        if n_before < n_losses:  # known from another task
                            continue
                        n_losses, n_in_vain = n_losses + 1, n_in_vain + 1
                        if n_in_vain > _MOST_LOSSES:
                            raise RuntimeError(_LOST.format(n_in_vain)) from error
                        self._forget(placed)
                    except Exception as error:
                        done[number] = _failure(error, failed)
                while n_given in done:
                    yield done.pop(n_given)
                    n_given += 1
        finally:
            for future in running:
                future.release()

    def _submitted(
        self, work: Callable[..., Any], task: Any, placed: Sequence[Any], n_each: int
    ) -> Any:
        name = work.__name__.strip("_")
        return self._client.submit(
            _in_worker,
            work,
            task,
            n_each,
            __version__,
            *placed,
            key=f"{name}-{uuid4().hex}",
            **self._backend.submit_kwargs,
        )

    def _finished(self, futures: list[Any]) -> list[Any]:
        """The futures that are no longer waited for; none after some seconds."""
        distributed = importlib.import_module("distributed")
        begin = time.monotonic()
        while True:
            with suppress(TimeoutError, CancelledError):  # what became of each is seen below
                distributed.wait(futures, timeout=_LOOKS, return_when="FIRST_COMPLETED")
            ended = [one for one in futures if one.status in ("finished", "error", "cancelled")]
            if ended:
                return ended
            self._refuse_closed()
            if self._client.nthreads():
                begin = time.monotonic()
            elif time.monotonic() - begin > _PATIENCE:
                raise RuntimeError(
                    f"The Dask cluster has had no workers for {_PATIENCE / 60:.0f} minutes. Start "
                    "some, and fit again."
                )

    def _placed(self, shared: Sequence[Any]) -> list[Any]:
        """Futures of objects that workers have, sent now if they have not been before."""
        known = _PLACED.setdefault(self._client, {})
        given = getattr(self._backend, "data_futures", {})  # scatter= of parallel_config
        placed: list[Any] = []
        for one in shared:
            reference, future = known.get(id(one), (None, given.get(id(one))))
            is_there = future is not None and future.status == "finished"
            if not is_there or (reference is not None and reference() is not one):
                future = self._scattered(one)
                _keep(known, one, future)
            placed.append(future)
        return placed

    def _refuse_closed(self) -> None:
        if self._client.status != "running":
            raise RuntimeError(
                "The Dask client was closed, or lost its scheduler, during a fit. Connect to a "
                "running scheduler, and fit again."
            )

    def _scattered(self, one: Any) -> Any:
        """Send an object to a worker, from which the others have it when they need it.

        All of it goes to one worker first: if workers die, Dask's broadcast may fail or never end.
        """
        for attempt in range(_MOST_LOSSES):
            try:
                # Not by content: hashing a table takes longer than sending it.
                return self._client.scatter([Shared(one)], hash=False)[0]
            except (TypeError, AttributeError, PickleError) as error:
                self._refuse_closed()
                raise TypeError(
                    f"A {type(one).__name__} cannot be sent to the workers of the Dask cluster, "
                    f"because it cannot be pickled: {error}"
                ) from error
            except (OSError, TimeoutError, KeyError) as error:  # the worker has just died
                lost = error
                time.sleep(1 + attempt)
        raise RuntimeError(_LOST.format(_MOST_LOSSES)) from lost

    def _forget(self, placed: Sequence[Any]) -> None:
        """Send the shared objects anew: no worker that had one of them is left."""
        known = _PLACED.get(self._client, {})
        for key in [key for key, (_, future) in known.items() if future in placed]:
            known.pop(key, None)


def _keep(known: dict[int, tuple[Any, Any]], one: Any, future: Any) -> None:
    key = id(one)

    def forget(_: object) -> None:
        known.pop(key, None)

    with suppress(TypeError):  # a list, None: sent with every call
        known[key] = (weakref.ref(one, forget), future)


_LOST = (
    "The Dask cluster lost the data of a fit {} times: all workers that held it died, or the "
    "connection to the scheduler broke. See their logs; often they run out of memory. Give workers "
    "more memory, or fit on one machine."
)


def _failure(error: Exception, failed: Callable[[Exception], Any] | None) -> Any:
    if type(error).__name__ == "KilledWorker":
        error = RuntimeError(
            "Several workers of the Dask cluster died one after another while they ran the same "
            "part of the fit, often because they ran out of memory; their logs say more. Give them "
            f"more memory, or fewer threads each. Dask says: {error}"
        )
    if failed is None:
        raise error
    return failed(error)


def _in_worker(work: Callable[..., Any], task: Any, n_each: int, version: str, *shared: Any) -> Any:
    """A task, by its share of the worker's threads, of which `n_each` tasks run at a time.

    The number of cores is no measure: Dask's nanny sets OMP_NUM_THREADS=1.
    """
    if version != __version__:
        raise RuntimeError(
            f"The client has weald {version}, a worker of the Dask cluster {__version__}. Install "
            "the same version on all."
        )
    worker = importlib.import_module("distributed").get_worker()
    with sharing_cores(max(1, worker.state.nthreads // n_each)):
        return work(task, *(one.value if isinstance(one, Shared) else one for one in shared))

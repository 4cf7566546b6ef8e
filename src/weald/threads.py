"""The number of threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from weald import _native

_MOST = 256

# The cores of a task that shares a machine with others; None: all usable ones.
_SHARE: ContextVar[int | None] = ContextVar("_SHARE", default=None)


def thread_count(n_jobs: int | None) -> int:
    """Convert `n_jobs` to a number of threads.

    None means all usable cores (affinity, cgroup quota, OMP_NUM_THREADS); negative numbers count
    back from them, as in joblib; positive ones are used as given, up to 256, even above the number
    of cores.

    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        return _cores()
    if n_jobs < 0:
        return max(1, _cores() + 1 + int(n_jobs))
    return min(int(n_jobs), _MOST)


def _cores() -> int:
    return _SHARE.get() or _native.usable_cores()


@contextmanager
def sharing_cores(n: int) -> Iterator[None]:
    """Context in which so many cores count as usable.

    >>> with sharing_cores(3):
    ...     thread_count(-2)
    2
    """
    token = _SHARE.set(n)
    try:
        yield
    finally:
        _SHARE.reset(token)

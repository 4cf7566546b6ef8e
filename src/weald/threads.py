"""The number of threads."""

from weald import _native

_MOST = 256


def thread_count(n_jobs: int | None) -> int:
    """Convert `n_jobs` to a number of threads.

    None means all usable cores (affinity, cgroup quota, OMP_NUM_THREADS); negative numbers count
    back from them, as in joblib; positive ones are used as given, up to 256, even above the number
    of cores.

    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        return _native.usable_cores()
    if n_jobs < 0:
        return max(1, _native.usable_cores() + 1 + int(n_jobs))
    return min(int(n_jobs), _MOST)

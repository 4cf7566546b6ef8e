"""How many threads a piece of work may use."""

from weald import _native

_MOST = 256


def thread_count(n_jobs: int | None) -> int:
    """Turn `n_jobs` into a number of threads.

    None means all usable cores (affinity, cgroup quota, OMP_NUM_THREADS); a negative number counts
    back from them, as in joblib; a positive one is taken as it is, also above the number of cores,
    up to 256.

    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        return _native.usable_cores()
    if n_jobs < 0:
        return max(1, _native.usable_cores() + 1 + int(n_jobs))
    return min(int(n_jobs), _MOST)

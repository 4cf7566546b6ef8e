"""Early errors for data that cannot fit into memory."""

import os


def refuse_beyond_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise MemoryError if `n_bytes` exceeds the memory available to this process."""
    most = most_bytes()
    if most is not None and n_bytes > most:
        raise MemoryError(
            f"{what} need at least {n_bytes / 2**30:,.1f} GiB, but this process can use at most "
            f"{most / 2**30:,.1f} GiB. {advice}"
        )


def most_bytes() -> int | None:
    """Return the machine's memory, or the process limit if smaller; None if unknown."""
    try:
        import resource  # not on Windows

        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    return machine if limit == resource.RLIM_INFINITY else min(machine, limit)

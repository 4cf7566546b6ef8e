"""What surely does not fit into memory is said before the work, not in the midst of it."""

import os


def refuse_beyond_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise a MemoryError if so many bytes are more than this process can ever have."""
    most = _most_bytes()
    if most is not None and n_bytes > most:
        raise MemoryError(
            f"{what} need at least {n_bytes / 2**30:,.1f} GiB, but this process can have at most "
            f"{most / 2**30:,.1f} GiB. {advice}"
        )


def _most_bytes() -> int | None:
    """The machine's memory, or the limit of this process if that is less; None: unknown."""
    try:
        import resource  # not on Windows

        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    return machine if limit == resource.RLIM_INFINITY else min(machine, limit)

"""Early errors for data that cannot fit into memory."""

import os
from pathlib import Path, PurePosixPath

_PROCESS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def refuse_beyond_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise MemoryError if `n_bytes` exceeds the memory available to this process."""
    most = most_bytes()
    if most is not None and n_bytes > most:
        raise MemoryError(
            f"{what} need at least {n_bytes / 2**30:,.1f} GiB, but this process can use at most "
            f"{most / 2**30:,.1f} GiB. {advice}"
        )


def most_bytes() -> int | None:
    """Return the machine's memory, or the limit of the process or its cgroup; None if unknown."""
    try:
        import resource  # not on Windows

        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    limits = [machine, *_limits_of_cgroups()]
    return min(limits if limit == resource.RLIM_INFINITY else [*limits, limit])


def _limits_of_cgroups() -> list[int]:
    """The limits of the control groups of the process, as containers and schedulers set them."""
    limits = []
    for line in _lines(_PROCESS):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":  # version 2
            folder, name = _GROUPS, "memory.max"
        elif controllers == "memory":
            folder, name = _GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        for one in (group, *group.parents):
            limits += [int(text) for text in _lines(folder / one / name) if text.isdigit()]
    return limits


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().split("\n")
    except OSError:
        return []

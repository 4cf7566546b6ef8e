"""Run in a fresh process: fit one system on saved arrays and print the memory the fit took."""

from __future__ import annotations

import contextlib
import gc
import json
import sys
from pathlib import Path

import numpy as np

import peers
import tables

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def kilobytes(field: str) -> int:
    """A memory field of this process as Linux reports it: VmRSS now, VmHWM at its highest."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"{STATUS} has no {field}")


def main() -> None:
    """Arguments: system, task, threads, work as JSON, folder of the four saved arrays."""
    system, task, threads, work, folder = sys.argv[1:]
    # Read, not mapped: a user's table is in memory before the fit, and pages of it that a mapped
    # file brings in during the fit would count as the fit's own.
    X, y = (np.load(Path(folder) / f"{name}.npy") for name in ("X", "y"))
    model = peers.make(system, task, int(threads), **json.loads(work))
    gc.collect()
    with contextlib.suppress(OSError):
        RESET.write_text("5")  # forget the highest mark of loading and importing
    before, mark = kilobytes("VmRSS"), kilobytes("VmHWM")
    model.fit(X, y)
    peak = kilobytes("VmHWM")
    if peak <= mark:
        # Only possible without the reset: then the mark of loading would be taken for the fit's.
        raise RuntimeError("the fit's peak memory is hidden below that of loading the table")
    X_test, y_test = (np.load(Path(folder) / f"{name}.npy") for name in ("X_test", "y_test"))
    print(
        json.dumps(
            {
                "megabytes": (peak - before) * 1024 / 1e6,
                "metric": tables.score(task, model, X_test, y_test),
                "leaves": peers.leaves_per_tree(system, model),
            }
        )
    )


if __name__ == "__main__":
    main()

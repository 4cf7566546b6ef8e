"""What it costs to come with a frame: the same fit on an array, and on frames of the same numbers.

python studies/frames.py [rows] [repeats] [threads]
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import Any

import numpy as np

import peers
import report
import tables


def containers(X: np.ndarray) -> dict[str, Any]:
    """The table as users have it: one array, or columns that lie apart."""
    import pandas
    import polars
    import pyarrow

    names = [f"column {i}" for i in range(X.shape[1])]
    apart = {name: np.ascontiguousarray(X[:, i]) for i, name in enumerate(names)}
    return {
        "numpy": X,
        "pandas, made of the array": pandas.DataFrame(X, columns=names),
        "pandas, made of columns": pandas.DataFrame(apart),
        "polars": polars.DataFrame(apart),
        "pyarrow": pyarrow.table(apart),
    }


def main() -> None:
    """Print the median of each container and its ratio to the array's."""
    given = [int(argument) for argument in sys.argv[1:]]
    rows, repeats, threads = (*given, *(1_000_000, 3, 2)[len(given) :])
    data = tables.load("higgs_like", rows=rows, test_rows=1)
    tables_ = containers(data.X)
    times: dict[str, list[float]] = {name: [] for name in tables_}
    fingerprints = set()
    for repeat in range(repeats):
        order = list(tables_)
        turn = repeat % len(order)
        for name in order[turn:] + order[:turn]:
            model = peers.make(peers.OURS, "binary", threads)
            begin = time.perf_counter()
            model.fit(tables_[name], data.y)
            times[name].append(time.perf_counter() - begin)
            fingerprints.add(model.fingerprint())
    here = ", ".join(f"{name}: {value}" for name, value in report.machine().items())
    print(f"# {rows:,} x {data.X.shape[1]} float32, {threads} threads, {repeats} runs\n\n{here}\n")
    print("| table | seconds | to numpy |\n|---|---:|---:|")
    for name, all_ in times.items():
        print(f"| {name} | {median(all_):.3f} | {median(all_) / median(times['numpy']):.3f} |")
    print(f"\n{len(fingerprints)} model(s)")


if __name__ == "__main__":
    main()

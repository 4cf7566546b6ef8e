"""Peak memory of a forest's fit beside what it may take: bins, model, 64 bytes a row and thread.

Run: python benchmarks/forest_memory.py [--rows 1000000] [--columns 28] [--trees 5] [--threads 2]

Every fit is in a process of its own; the table is in memory before. Bins are what cpp/ranks keeps:
a code and a rank of two bytes for each value, rows of ranks rounded up to a power of two or whole
tiles; with drawn cuts the values, as floats where they are floats.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import subprocess
import sys

import numpy as np

import weald
from memory import RESET, kilobytes

KINDS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor")


def model_bytes(model: object) -> int:
    """What the arrays of the forest take."""
    forest = model.forest_  # type: ignore[attr-defined]
    arrays = {id(a): a for a in vars(forest).values() if isinstance(a, np.ndarray)}
    return sum(array.nbytes for array in arrays.values())


def measure(kind: str, rows: int, columns: int, trees: int, threads: int) -> dict[str, float]:
    """Fit one forest in this process."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    y = X[:, :4].sum(axis=1) + rng.normal(size=rows)
    if kind.endswith("Classifier"):
        y = y > 0
    model = getattr(weald, kind)(n_estimators=trees, n_jobs=threads, random_state=0)
    small = getattr(weald, kind)(n_estimators=2, n_jobs=threads, random_state=0)
    small.fit(X[:1000], y[:1000])  # what is imported and started once is not the fit's
    gc.collect()
    with contextlib.suppress(OSError):
        RESET.write_text("5")
    before = kilobytes("VmRSS")
    model.fit(X, y)
    stride = 1 << (columns - 1).bit_length() if columns < 64 else columns
    drawn = kind.startswith("Extra")
    bins = rows * (4 * stride if drawn else 2 * stride + columns)
    return {
        "peak": (kilobytes("VmHWM") - before) * 1024 / 1e6,
        "bins": bins / 1e6,
        "model": model_bytes(model) / 1e6,
        "rows": 64 * rows * threads / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 1_000_000), ("columns", 28), ("trees", 5), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kind", choices=KINDS)
    args = parser.parse_args()
    if args.kind:
        settings = (args.kind, args.rows, args.columns, args.trees, args.threads)
        print(json.dumps(measure(*settings)))
        return
    print(
        f"weald {weald.__version__}: {args.rows} rows, {args.columns} columns, {args.trees} trees, "
    )
    print(f"{args.threads} threads; megabytes")
    print(f"{'':24}{'peak':>8}{'bins':>8}{'model':>8}{'rows':>8}{'of what it may':>16}")
    for kind in KINDS:
        command = [sys.executable, __file__, *sys.argv[1:], "--kind", kind]
        one = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        share = one["peak"] / (one["bins"] + one["model"] + one["rows"])
        parts = "".join(f"{one[name]:8.0f}" for name in ("peak", "bins", "model", "rows"))
        print(f"{kind:24}{parts}{share:16.2f}")


if __name__ == "__main__":
    main()

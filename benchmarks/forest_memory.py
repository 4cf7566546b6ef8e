"""Peak memory of a forest's fit beside what it may take: bins, model, 64 bytes a row and thread.

Run: python benchmarks/forest_memory.py [--rows 1000000] [--columns 28] [--trees 5] [--threads 2]

Every fit is in a process of its own; the table is in memory before, and what a process starts once
(a small fit) is not counted. Bins are what cpp/ranks keeps of the table: of each value a code of
one byte and a rank of two, rows of ranks rounded up to a power of two or whole tiles; and of each
rank (up to 65,535 a column) its values and its bin, up to 17 bytes. With drawn cuts they are the
values, as floats where they are floats, in rows as long. The model is the arrays of the forest,
without who drew which row (8 bytes a row). "named": the settings that a random forest would choose
are given.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import subprocess
import sys

import numpy as np

import weald
from memory import RESET, kilobytes

KINDS = (
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
)
WAYS = ("auto", "named", "bootstrap")
NAMED = {"min_samples_leaf": 1, "max_features": "sqrt"}


def ways(kind: str) -> tuple[str, ...]:
    """What is asked of a kind: random forests choose settings, extra trees may draw rows."""
    return ("auto", "named") if kind.startswith("Random") else ("named", "bootstrap")


def model_bytes(model: object) -> int:
    """What the arrays of the forest take."""
    forest = model.forest_  # type: ignore[attr-defined]
    arrays = {id(a): a for a in vars(forest).values() if isinstance(a, np.ndarray)}
    return sum(array.nbytes for array in arrays.values())


def bytes_of_ranks(column: np.ndarray) -> int:
    """A value of each rank, or two where ranks share values; a bin, where there are fewer."""
    n = len(np.unique(column))
    return min(n, 65_535) * ((16 if n > 65_535 else 8) + (n > 255))


def measure(args: argparse.Namespace) -> dict[str, float]:
    """Fit one forest in this process."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.columns)).astype(args.dtype)
    y = X[:, :4].sum(axis=1) + rng.normal(size=args.rows)
    if args.kind.endswith("Classifier"):
        y = y > 0
    settings = {"n_jobs": args.threads, "random_state": 0}
    settings |= {} if args.way == "auto" else NAMED
    settings |= {"bootstrap": True} if args.way == "bootstrap" else {}
    make = getattr(weald, args.kind)
    make(n_estimators=2, **settings).fit(X[:1000], y[:1000])
    model = make(n_estimators=args.trees, **settings)
    gc.collect()
    with contextlib.suppress(OSError):
        RESET.write_text("5")
    before = kilobytes("VmRSS")
    model.fit(X, y)
    columns = args.columns
    stride = 1 << (columns - 1).bit_length() if columns < 64 else columns
    peak = (kilobytes("VmHWM") - before) * 1024
    bins = args.rows * X.itemsize * stride
    if args.kind.startswith("Random"):
        bins = args.rows * (2 * stride + columns) + sum(map(bytes_of_ranks, X.T))
    return {
        "peak": peak / 1e6,
        "bins": bins / 1e6,
        "model": model_bytes(model) / 1e6,
        "rows": 64 * args.rows * args.threads / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 1_000_000), ("columns", 28), ("trees", 5), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--way", choices=WAYS, default="auto")
    args = parser.parse_args()
    if args.kind:
        print(json.dumps(measure(args)))
        return
    print(f"weald {weald.__version__}, numpy {np.__version__}: {args.rows} rows, {args.columns} ")
    print(f"columns, {args.trees} trees, {args.threads} threads; megabytes")
    print(f"{'':44}{'peak':>8}{'bins':>8}{'model':>8}{'rows':>8}{'of what it may':>16}")
    for kind, dtype in itertools.product(KINDS, ("float32", "float64")):
        for way in ways(kind):
            own = ["--kind", kind, "--dtype", dtype, "--way", way]
            command = [sys.executable, __file__, *sys.argv[1:], *own]
            one = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            share = one["peak"] / (one["bins"] + one["model"] + one["rows"])
            parts = "".join(f"{one[name]:8.0f}" for name in ("peak", "bins", "model", "rows"))
            print(f"{kind:24}{dtype:9}{way:11}{parts}{share:16.2f}", flush=True)


if __name__ == "__main__":
    main()

"""Peak memory of a forest fit beside the table: bins, model, and 64 bytes per row and thread."""

import subprocess
import sys

import pytest

from peak_memory import only_on_linux, peak_of_fit

ROWS, COLUMNS, THREADS = 400_000, 16, 2

# Few distinct values, so that the tables of ranks are small compared with the rows.
SETTING = """
kind, dtype, rows, columns, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
X = rng.integers(0, 1000, size=(rows, columns)).astype(dtype)
y = (X[:, 0] + X[:, 1] + rng.integers(0, 1000, size=rows) > 1500).astype(np.int64)
named = {"min_samples_leaf": 1, "max_features": 4} if kind.startswith("Extra") else {}
settings = {"n_estimators": 4, "n_jobs": threads, "random_state": 0, "max_depth": 9, **named}
getattr(weald, kind)(**settings).fit(X[:2000], y[:2000])
model = getattr(weald, kind)(**settings)
"""


@only_on_linux
@pytest.mark.parametrize(
    ("kind", "dtype"), [("RandomForestClassifier", "float64"), ("ExtraTreesRegressor", "float32")]
)
def test_the_peak_of_a_fit(kind: str, dtype: str) -> None:
    peak = peak_of_fit(SETTING, kind, dtype, ROWS, COLUMNS, THREADS)
    bins = (
        (3 if kind.startswith("Random") else 4) * COLUMNS * ROWS
    )  # integers are converted to floats
    # Allocators and huge pages round up, which matters more for small tables.
    slack = 64 * ROWS
    assert peak < bins + 64 * ROWS * THREADS + slack, f"{peak / ROWS:.0f} bytes a row"


# A leaf stores a value per class: 24 trees that only select the settings take 600 MB.
OF_MANY_CLASSES = """
rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 4)), np.arange(3000) % 1500
weald.RandomForestClassifier(n_estimators=1, n_jobs=1).fit(X[:100], y[:100])
model = weald.RandomForestClassifier(n_estimators=1, n_jobs=1)
"""


@only_on_linux
def test_trees_of_discarded_trials_are_not_kept() -> None:
    assert peak_of_fit(OF_MANY_CLASSES) < 300e6


BEYOND_MEMORY = """
import resource, sys
import numpy as np, weald

rng = np.random.default_rng(0)
X, y = rng.normal(size=(20_000, 3)), rng.integers(0, 2, size=20_000)
model = eval(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    model.fit(X, y)
except MemoryError as error:
    print(error, hasattr(model, "forest_"))
"""


@only_on_linux
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("ExtraTreesClassifier(100_000, n_jobs=2)", "A forest of 100000 trees needs about "),
        (
            "ExtraTreesRegressor(100_000, bootstrap=True, oob_score=True)",
            "A forest of 100000 trees",
        ),
    ],
)
def test_a_forest_beyond_memory(model: str, message: str) -> None:
    """The error gives the required memory and advice, as soon as the first trees are grown."""
    command = [sys.executable, "-c", BEYOND_MEMORY, f"weald.{model}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.startswith(message), done.stdout
    assert "n_estimators" in done.stdout and "max_leaf_nodes" in done.stdout
    assert done.stdout.endswith("False\n")

"""What a forest's fit takes beside the table: bins, model, and 64 bytes a row and thread."""

import json
import subprocess
import sys

import pytest

ROWS, COLUMNS, THREADS = 400_000, 16, 2

# Small numbers of values, so that what ranks stand for is little beside what every row takes. The
# first fit pays for what a process starts once.
PROGRAM = """
import gc, json, re, sys
from pathlib import Path
import numpy as np
import weald

def bytes_of(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) * 1024

kind, dtype, rows, columns, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
X = rng.integers(0, 1000, size=(rows, columns)).astype(dtype)
y = (X[:, 0] + X[:, 1] + rng.integers(0, 1000, size=rows) > 1500).astype(np.int64)
named = {"min_samples_leaf": 1, "max_features": 4} if kind.startswith("Extra") else {}
settings = {"n_estimators": 4, "n_jobs": threads, "random_state": 0, "max_depth": 9, **named}
getattr(weald, kind)(**settings).fit(X[:2000], y[:2000])
model = getattr(weald, kind)(**settings)
gc.collect()
try:
    Path("/proc/self/clear_refs").write_text("5")
except OSError:
    sys.exit(print("null"))
before = bytes_of("VmRSS")
model.fit(X, y)
print(json.dumps(bytes_of("VmHWM") - before))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
@pytest.mark.parametrize(
    ("kind", "dtype"), [("RandomForestClassifier", "float64"), ("ExtraTreesRegressor", "float32")]
)
def test_the_peak_of_a_fit(kind: str, dtype: str) -> None:
    command = [sys.executable, "-c", PROGRAM, kind, dtype]
    sizes = [str(size) for size in (ROWS, COLUMNS, THREADS)]
    done = subprocess.run([*command, *sizes], capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)
    if peak is None:
        pytest.skip("the highest mark of memory cannot be reset here")
    bins = (3 if kind.startswith("Random") else 4) * COLUMNS * ROWS  # whole numbers are floats
    # Allocators and large pages round up, which is more of a small table than of a large one.
    slack = 64 * ROWS
    assert peak < bins + 64 * ROWS * THREADS + slack, f"{peak / ROWS:.0f} bytes a row"

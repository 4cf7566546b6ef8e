"""What boosted trees of many rows and two classes take beside the table, in bytes a row."""

import json
import subprocess
import sys

import pytest

# Above two million rows derivatives are not written down and labels are bytes; of so many columns
# codes are not kept a second time.
ROWS, COLUMNS = 2_010_000, 34

# Of every row: codes, a label, a score, a word of both derivatives, and twice its number.
BYTES = COLUMNS + 1 + 8 + 8 + 4 + 4

# The first fit pays for what a process starts once.
PROGRAM = """
import gc, json, re, sys
from pathlib import Path
import numpy as np
import weald

def bytes_of(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) * 1024

rows, columns = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.integers(0, 200, size=(rows, columns), dtype=np.uint8).astype(np.float32)
y = (X[:, 0] > X[:, 1]).astype(np.int64)
model = weald.BoostedTreesClassifier(n_estimators=2, n_jobs=2)
model.fit(X[:30_000], y[:30_000])
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
def test_the_peak_of_a_fit() -> None:
    command = [sys.executable, "-c", PROGRAM, str(ROWS), str(COLUMNS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)
    if peak is None:
        pytest.skip("the highest mark of memory cannot be reset here")
    # Histograms, stacks, and what allocators and large pages round up.
    slack = 12e6
    assert peak < BYTES * ROWS + slack, f"{peak / ROWS:.1f} bytes a row, of which {BYTES} are told"

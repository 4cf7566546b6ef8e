"""A table of several times the allowed memory is fitted within it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from peak_memory import only_on_linux

ROWS, COLUMNS = 1_100_000, 64  # more values than the core copies column by column

_FIT = """
import json, re, resource, sys
from pathlib import Path
import numpy as np, pyarrow.parquet
import weald

def n_bytes(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) * 1024

def fit(source):
    X, y = weald.parts(source, target="y", memory_limit=int(sys.argv[3]))
    model = weald.BoostedTreesRegressor(n_estimators=1, quality="fast", max_leaf_nodes=4, n_jobs=1)
    return model.fit(X, y)

fit([pyarrow.table({"a": np.arange(50.0), "y": np.arange(50.0)})])  # what a process starts once
allowed = int(sys.argv[2])
limit = n_bytes("VmSize") + allowed
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
model = fit(sys.argv[1])
if sys.argv[4] == "predict":
    assert len(model.predict(weald.parts(sys.argv[1], drop=["y"]))) == int(sys.argv[5])
print(json.dumps([model.fingerprint(), n_bytes("VmPeak") - limit]))
"""


def written(file: Path) -> int:
    """Write a table; returns its bytes."""
    rng = np.random.default_rng(0)
    one = rng.integers(0, 100, ROWS).astype(np.float64)
    columns = {f"c{i}": np.roll(one, i * 1009) for i in range(COLUMNS)}
    table = pa.table({**columns, "y": columns["c1"] + columns["c2"]})
    pyarrow.parquet.write_table(table, file, row_group_size=100_000)
    return int(table.nbytes)


def fitted_within(file: Path, allowed: int, memory_limit: int, then: str = "") -> str:
    """The fingerprint of a fit within so many bytes more than a process with weald has.

    `then` "predict": predictions, which are 16 bytes a row, are made within them, too.
    """
    environment = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-c", _FIT, str(file), str(allowed), str(memory_limit)]
    command += [then, str(ROWS)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert run.returncode == 0, run.stderr
    fingerprint, beyond = json.loads(run.stdout)
    assert beyond <= 0
    return str(fingerprint)


@only_on_linux
def test_fits_within_a_third_and_a_tenth_of_the_table(tmp_path) -> None:
    file = tmp_path / "rows.parquet"
    n_bytes = written(file)
    in_memory = fitted_within(file, n_bytes // 3, n_bytes // 4, "predict")
    assert fitted_within(file, n_bytes // 10, n_bytes // 40) == in_memory

"""A table of several times the allowed memory is fitted within it."""

import json
import os
import subprocess
import sys

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
    X, y = weald.parts(source, target="y", memory_limit=2**24)
    model = weald.BoostedTreesRegressor(n_estimators=1, quality="fast", max_leaf_nodes=4, n_jobs=1)
    return model.fit(X, y)

fit([pyarrow.table({"a": np.arange(50.0), "y": np.arange(50.0)})])  # what a process starts once
allowed = int(sys.argv[2])
limit = n_bytes("VmSize") + allowed
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
model = fit(sys.argv[1])
scores = model.predict(weald.parts(sys.argv[1], drop=["y"]))
print(json.dumps([model.fingerprint(), len(scores), n_bytes("VmPeak") - limit]))
"""


@only_on_linux
def test_fit_and_predict_within_a_fraction_of_the_table(tmp_path) -> None:
    file, rng = tmp_path / "rows.parquet", np.random.default_rng(0)
    one = rng.integers(0, 100, ROWS).astype(np.float64)
    columns = {f"c{i}": np.roll(one, i * 1009) for i in range(COLUMNS)}
    table = pa.table({**columns, "y": columns["c1"] + columns["c2"]})
    pyarrow.parquet.write_table(table, file, row_group_size=100_000)
    allowed = table.nbytes // 3
    environment = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    command = [sys.executable, "-c", _FIT, str(file), str(allowed)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert run.returncode == 0, run.stderr
    fingerprint, n_predicted, beyond = json.loads(run.stdout)
    assert n_predicted == ROWS and beyond <= 0 and len(fingerprint) == 64

"""A process that is killed while it saves leaves the old model or the new one."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weald
from golden.model_files import FOLDER

OLD = FOLDER / "DecisionTreeRegressor.format1.weald"
NEW = FOLDER / "RandomForestRegressor.format1.weald"
N_KILLED = int(os.environ.get("WEALD_KILLS", "4"))

PROGRAM = """
import sys, weald
models = [weald.load(path) for path in sys.argv[1:3]]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[3], oob=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_killed_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(0)
    path = tmp_path / "model.weald"
    known = {weald.load(one).fingerprint() for one in (OLD, NEW)}
    weald.load(OLD).save(path, oob=True)
    for _ in range(N_KILLED):
        command = [sys.executable, "-c", PROGRAM, str(OLD), str(NEW), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.03))
            process.kill()
        assert weald.load(path).fingerprint() in known

"""Without memory a fit raises MemoryError; the process survives."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from public.scripts import run_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and libraries of Linux")

FAILING = """
import ctypes
import numpy as np
import weald

fail = ctypes.c_int.in_dll(ctypes.CDLL(None), "fail_in_other_threads")
rng = np.random.default_rng(0)
X = rng.normal(size=(10_000, 5))
y = X[:, 0] + X[:, 1] ** 2

def fitted():
    return weald.ExtraTreesRegressor(8, random_state=0, n_jobs=3).fit(X, y).fingerprint()

expected = fitted()  # starts the worker threads
for _ in range(5):
    fail.value = 1
    try:
        fitted()
    except MemoryError:
        print("MemoryError")
    fail.value = 0
    assert fitted() == expected
"""


def test_allocations_that_fail_in_our_threads(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    library = tmp_path / "failing_memory.so"
    source = Path(__file__).with_name("failing_memory.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    run = run_script(FAILING, environment={"LD_PRELOAD": str(library)})
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["MemoryError"] * 5


# Children with less and less free address space. Each fits with new threads.
LIMITED = """
import os, resource, signal, warnings
import numpy as np
import weald

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(10_000, 5))
label = np.digitize(X[:, 0] + rng.normal(size=len(X)), [-1, 0, 1])
kinds = [
    lambda: weald.RandomForestClassifier(6, random_state=0, n_jobs=3),
    lambda: weald.ExtraTreesClassifier(6, random_state=0, n_jobs=3),
    lambda: weald.BoostedTreesClassifier(quality="fast", n_estimators=4, n_jobs=3),
    lambda: weald.AdaBoostClassifier(n_estimators=4, n_jobs=3),
]
expected = [kind().fit(X, label).fingerprint() for kind in kinds]

def ending(kind, expected, free):
    with open("/proc/self/statm") as sizes:
        limit = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") + free
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        return 0 if kind().fit(X, label).fingerprint() == expected else 1
    except MemoryError as error:
        return 2 if str(error) else 3

endings = []
for i in range(40):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(ending(kinds[i % 4], expected[i % 4], (40 - i) * 2**19))
    endings.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert set(endings) <= {0, 2} and 2 in endings, endings
"""


def test_fits_in_little_memory() -> None:
    run = run_script(LIMITED)
    assert run.returncode == 0, run.stderr

"""The thread pool in an extension that carries its own copy of the C++ runtime."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "cpp"

# Beside NumPy and weald, which have brought the runtime of the system with them.
LOADING = """
import ctypes, sys
import numpy, weald

assert weald.BoostedTreesRegressor(n_estimators=2, n_jobs=2).fit(
    numpy.arange(40.0).reshape(20, 2), numpy.arange(20.0)).n_estimators_ == 2
library = ctypes.CDLL(sys.argv[1])
library.static_runtime_sum.restype = ctypes.c_int64
library.static_runtime_sum.argtypes = [ctypes.c_int64, ctypes.c_int]
print(library.static_runtime_cores(), library.static_runtime_sum(100_000, 3))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if sys.platform != "linux" or compiler is None or not CORE.is_dir():
        pytest.skip("needs Linux, g++ and the sources")
    made = tmp_path_factory.mktemp("runtime") / "static_runtime.so"
    flags = "-std=c++20 -O1 -fPIC -shared -static-libstdc++ -static-libgcc -pthread"
    sources = [str(HERE / "static_runtime.cpp"), str(CORE / "parallel.cpp")]
    command = [*compiler.split(), *flags.split(), f"-I{CORE}", *sources, "-o", str(made)]
    subprocess.run(command, check=True)
    return made


def test_a_parallel_loop_runs_beside_another_runtime(library: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADING, str(library)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    cores, total = map(int, run.stdout.split())
    assert 1 <= cores <= len(os.sched_getaffinity(0))
    assert total == sum(range(100_000))


def test_the_thread_pool_needs_no_locale(library: Path) -> None:
    """What is not linked cannot meet its like of another runtime: names are kept in the file."""
    names = library.read_bytes()
    assert b"parallel_for" in names
    assert b"St6locale" not in names
    assert b"ios_base" not in names

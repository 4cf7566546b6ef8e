"""Interrupts, forks and processes during a fit; for threads see tests/contract/test_threads.py."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed

from weald import BoostedTreesClassifier, BoostedTreesRegressor

# A timer sends SIGINT to the process while the core is running; the fit would take hours. Prints
# the time until the interrupt was handled.
INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from weald import BoostedTreesClassifier, BoostedTreesRegressor, ExtraTreesRegressor

# The parent process may ignore or block the signal, as a shell does for a background job.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 20))
y = X[:, 0] > 0
sent = []

def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

def small():
    return BoostedTreesRegressor(quality='fast', n_estimators=3).fit(X[:500], y[:500]).fingerprint()

before = small()
{prepare}
threading.Timer(0.3, send).start()
try:
    {work}
except KeyboardInterrupt:
    print(time.monotonic() - sent[0], {after}, small() == before)
"""


def seconds_to_interrupt(**parts: str) -> float:
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(**parts)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seconds, is_whole, is_same = run.stdout.split()
    assert (is_whole, is_same) == ("True", "True")
    return float(seconds)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("kind", ["BoostedTreesRegressor", "BoostedTreesClassifier"])
def test_ctrl_c_ends_a_fit(kind: str, jobs: int) -> None:
    """Within a second, or two on a busy machine; the next fit is not affected."""
    seconds = seconds_to_interrupt(
        prepare=f"model = {kind}(n_estimators=10**6, n_jobs={jobs})",
        work="model.fit(X, y)",
        after="not hasattr(model, 'forest_')",
    )
    assert seconds < 2.0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("left_out", [False, True])
def test_ctrl_c_ends_a_forest(left_out: bool) -> None:
    """Also while threads wait for branches of each other's trees, and while out-of-bag predictions
    are computed after every few trees."""
    seconds = seconds_to_interrupt(
        prepare="many = rng.normal(size=(40_000, 5))\nmodel = ExtraTreesRegressor("
        f"10_000, n_jobs=3, bootstrap={left_out}, oob_score={left_out})",
        work="model.fit(many, many[:, 0])",
        after="not hasattr(model, 'forest_')",
    )
    assert seconds < 2.0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_prediction() -> None:
    seconds = seconds_to_interrupt(
        # Ten million views of the same row need no memory.
        prepare="model = BoostedTreesRegressor(quality='fast', n_estimators=100).fit(X, X[:, 1])\n"
        "many = np.broadcast_to(X[:1], (10**7, 20))",
        work="model.predict(many)",
        after="model.predict(X).shape == (20_000,)",
    )
    assert seconds < 2.0


def task(n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    return X, X[:, 0] + X[:, 1] ** 2


def fingerprint(kind=BoostedTreesRegressor, n_jobs: int = 2) -> str:
    X, y = task()
    return kind(n_estimators=4, n_jobs=n_jobs).fit(X, y).fingerprint()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_can_fit() -> None:
    """Worker threads do not exist in a child, which starts its own."""
    expected = fingerprint()
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    children = [
        context.Process(target=lambda: results.put(fingerprint()), daemon=True) for _ in range(2)
    ]
    for child in children:
        child.start()
    try:
        got = [results.get(timeout=60) for _ in children]
    finally:
        for child in children:
            child.join(timeout=10)
            if child.is_alive():
                child.kill()
    assert got == [expected, expected]
    assert fingerprint() == expected


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fits_inside_joblib(backend: str) -> None:
    expected = fingerprint(n_jobs=1)
    work = [delayed(fingerprint)(n_jobs=2) for _ in range(3)]
    assert Parallel(n_jobs=2, backend=backend, timeout=120)(work) == [expected] * 3


def test_many_small_fits_leave_no_threads_and_little_memory() -> None:
    resource = pytest.importorskip("resource")
    X, y = task(200)
    kinds = (BoostedTreesRegressor, BoostedTreesClassifier)

    def cycle(times: int) -> None:
        for i in range(times):
            kinds[i % 2](n_estimators=2, n_jobs=2).fit(X, y > 1).predict(X)

    cycle(50)
    threads, memory = threading.active_count(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cycle(400)
    assert threading.active_count() == threads
    # Kilobytes on Linux, bytes on macOS: less than 30 MB is not a leak per fit.
    unit = 1 if sys.platform == "darwin" else 1024
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * unit
    assert grown < 30e6

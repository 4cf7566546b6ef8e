"""How soon a fit reacts to a signal. The state after it: tests/contract/test_interrupts.py."""

import signal
import time
from types import FrameType

import numpy as np
import pytest

from public.scripts import run_script
from weald import DecisionTreeRegressor, ExtraTreesRegressor

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")


def longest_silence(model, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Longest time in which a fit does not check for signals, and the duration of the fit.

    A timer sends a signal every 20 ms; its handler runs whenever the fit checks for signals.
    """
    looks: list[float] = []

    def note(_number: int, _frame: FrameType | None) -> None:
        looks.append(time.monotonic())

    before = signal.signal(signal.SIGALRM, note)
    begin = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        model.fit(X, y)
    finally:
        end = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    return float(np.diff([begin, *looks, end]).max()), end - begin


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(criterion="absolute_error", max_depth=4),
        ExtraTreesRegressor(1, criterion="absolute_error", max_depth=4, max_features=1.0, n_jobs=1),
        ExtraTreesRegressor(2, criterion="absolute_error", max_depth=4, max_features=1.0, n_jobs=2),
    ],
)
def test_medians_of_large_nodes_are_interruptible(model) -> None:
    """Formerly signals were checked only every 256 nodes, that is after the whole fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 40)).astype(np.float32), rng.normal(size=200_000)
    silence, whole = longest_silence(model, X, y)
    assert silence < 0.1 + whole / 4


# A search for a stump takes most of a second here: every interrupt occurs within it.
SEARCH_FOR_STUMPS = """
import signal
import numpy as np
from weald import _native

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
rng = np.random.default_rng(0)
table, classes = rng.normal(size=(20_000, 10)), rng.integers(0, 100, 20_000).astype(np.int32)
stumps = _native.Stumps(table, classes, 100, 65535, 1)
mass, goes_right = np.ones(20_000), np.empty(20_000, np.uint8)
for _ in range(10):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        stumps.find(mass, "entropy", goes_right, 1.0)
        raise SystemExit("the search has ended before it was interrupted")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_search_for_stumps_is_interrupted_again_and_again() -> None:
    run = run_script(SEARCH_FOR_STUMPS)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["interrupted"] * 10

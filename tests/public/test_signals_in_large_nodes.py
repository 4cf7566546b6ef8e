"""How soon a fit hears of Ctrl-C."""

import signal
import time
from types import FrameType

import numpy as np
import pytest

from weald import DecisionTreeRegressor, ExtraTreesRegressor

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")


def longest_silence(model, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """The longest time in which a fit does not look for signals, and the time of the fit.

    A timer of the process sends a signal every 20 ms; its handler runs whenever the fit looks.
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
def test_medians_of_large_nodes_hear_of_signals(model) -> None:
    """Before, nobody looked until 256 nodes were done: that was the whole fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 40)).astype(np.float32), rng.normal(size=200_000)
    silence, whole = longest_silence(model, X, y)
    assert silence < 0.1 + whole / 4

"""How soon a fit hears of Ctrl-C."""

import signal
import time
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
import pytest

import weald
from public.scripts import run_script
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


# Far more than can be done until the signal comes; to a single tree it comes sooner.
LONG: dict[str, dict[str, Any]] = {
    "AdaBoostClassifier": {"n_estimators": 100_000},
    "AdaBoostRegressor": {"n_estimators": 100_000},
    "BaggingClassifier": {"n_estimators": 2000},
    "BaggingRegressor": {"n_estimators": 2000},
    "BoostedTreesClassifier": {"n_estimators": 10**6},
    "BoostedTreesRegressor": {"n_estimators": 10**6},
    "DecisionTreeClassifier": {"min_samples_leaf": 1},
    "DecisionTreeRegressor": {"min_samples_leaf": 1},
    "ExtraTreesClassifier": {"n_estimators": 2000},
    "ExtraTreesRegressor": {"n_estimators": 2000},
    "GradientBoostingClassifier": {"n_estimators": 10**5},
    "GradientBoostingRegressor": {"n_estimators": 10**5},
    "OptionTreeClassifier": {"min_samples_leaf": 1},
    "OptionTreeRegressor": {"min_samples_leaf": 1},
    "RandomForestClassifier": {"n_estimators": 2000},
    "RandomForestRegressor": {"n_estimators": 2000},
    "RotationForestClassifier": {"n_estimators": 2000},
    "RotationForestRegressor": {"n_estimators": 2000},
}


@cache
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 20))
    return X, X[:, 0] * X[:, 1] + rng.normal(size=len(X))


def interrupt(model: Any, X: np.ndarray, y: np.ndarray, after: float) -> float:
    """Raise KeyboardInterrupt in a fit, as Ctrl-C does, and say how long that took to be heard."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    begin = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        model.fit(X, y)
    except KeyboardInterrupt:
        return time.monotonic() - begin - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("the fit ended before the signal came")


@pytest.mark.parametrize("name", sorted(LONG))
def test_an_interrupted_fit_leaves_the_model_as_it_was(name: str) -> None:
    """At several moments of a fit; the next fit is that of a model that was never interrupted."""
    X, y = table()
    if name.endswith("Classifier"):
        y = np.asarray(y > 0)
    few = {key: 3 if key == "n_estimators" else value for key, value in LONG[name].items()}
    model = getattr(weald, name)(**few)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X[:300], y[:300])
    expected, answers = model.fingerprint(), model.predict(X[:300])
    for after in (0.02, 0.05, 0.15) if "n_estimators" in few else (0.01, 0.02, 0.05):
        model.set_params(**LONG[name])
        before = dict(vars(model))
        assert interrupt(model, X, y, after) < 2.0  # a few hundredths, unless others work here
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is before[key] for key in before)
        assert np.array_equal(model.predict(X[:300]), answers)
        assert model.set_params(**few).fingerprint() == expected
    assert model.fit(X[:300], y[:300]).fingerprint() == expected


# A search for a stump takes most of a second here: every interrupt comes inside of it.
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

"""Ctrl-C is heard soon by every kind of fit, again and again, and leaves nothing behind."""

import os

import pytest

from public.scripts import run_script

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# A timer of the process raises KeyboardInterrupt in the main thread, each time somewhat later; the
# work would take minutes. Prints the longest time that it took to be heard.
INTERRUPTED = """
import signal, time
import numpy as np
import weald

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 10))
y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X))
label = np.digitize(y, [-1, 0, 1, 2])

def small():
    model = {kind}
    settings = {{"n_estimators": 3, "random_state": 0, "option_depth": 2}}
    model.set_params(**{{n: settings[n] for n in settings if n in model.get_params()}})
    return model.fit(X[:300], {target}[:300]).fingerprint()

before = small()
longest = 0.0
for i in range(4):
    model = {kind}
    after = 0.2 + 0.1 * i
    signal.setitimer(signal.ITIMER_REAL, after)
    start = time.monotonic()
    try:
        model.fit(X, {target})
        raise SystemExit("the fit has ended before it was interrupted")
    except KeyboardInterrupt:
        longest = max(longest, time.monotonic() - start - after)
    assert vars(model) == vars({kind})
assert small() == before
print(longest)
"""

# Each would fit for a minute or more.
FITS = {
    "boosted trees": ("weald.BoostedTreesRegressor(n_estimators=10**5)", "y"),
    "boosted trees of classes": ("weald.BoostedTreesClassifier(n_estimators=10**5)", "label"),
    "gradient boosting": ("weald.GradientBoostingRegressor(n_estimators=10**5)", "y"),
    "a random forest": ("weald.RandomForestClassifier(10**4, n_jobs=2)", "label"),
    "extra trees": ("weald.ExtraTreesRegressor(10**4, n_jobs=2)", "y"),
    "a rotation forest": ("weald.RotationForestClassifier(10**4)", "label"),
    "AdaBoost": ("weald.AdaBoostClassifier(n_estimators=10**5)", "label"),
    "AdaBoost of numbers": ("weald.AdaBoostRegressor(n_estimators=10**5)", "y"),
    "an option tree": ("weald.OptionTreeClassifier(max_options=8, option_depth=8)", "label"),
    "bagging": ("weald.BaggingClassifier(n_estimators=10**4)", "label"),
}


@pytest.mark.parametrize("what", FITS)
def test_ctrl_c_ends_every_kind_of_fit(what: str) -> None:
    """Within a second, or two where the machine has other work; and the next fit is as ever."""
    kind, target = FITS[what]
    run = run_script(INTERRUPTED.format(kind=kind, target=target))
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 2.0


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

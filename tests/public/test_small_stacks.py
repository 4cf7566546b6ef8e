"""Fits and predictions work in threads with a stack of 128 KiB, the default of musl."""

import sys

import pytest

from public.scripts import run_script

STACK = 128 * 1024

# Labels that alternate along a column make trees of maximal depth: a level for every few rows.
# Everything is imported and every cache filled before the stack is small.
PREPARED = """
import threading
import numpy as np
import weald

rng = np.random.default_rng(0)
line = np.arange(1000.0)[:, np.newaxis]
X = rng.normal(size=(3000, 70))
y = X[:, 0] + X[:, 1] * X[:, 2]
label = np.digitize(y, [-1, 0, 1])
deep = dict(random_state=0, n_jobs={n_jobs}, bootstrap=False)

def predictions():
    for n_classes in (2, 3, 40):
        alternating = np.arange(1000) % n_classes
        for kind in (weald.RandomForestClassifier, weald.ExtraTreesClassifier):
            for criterion in ("gini", "entropy"):
                model = kind(4, criterion=criterion, min_samples_leaf=1, **deep)
                yield model.fit(line, alternating).predict_proba(line)
    for kind in (weald.RandomForestRegressor, weald.ExtraTreesRegressor):
        model = kind(4, min_samples_leaf=1, **deep)
        yield model.fit(line, np.arange(1000.0) % 2).predict(line)
        yield kind(2, criterion="absolute_error", **deep).fit(X[:500], y[:500]).predict(X)
    for model, target in (
        (weald.BoostedTreesRegressor(quality="fast", n_estimators=3), y),
        (weald.BoostedTreesClassifier(quality="fast", n_estimators=3), label > 1),
        (weald.BoostedTreesClassifier(quality="fast", n_estimators=3, max_bins=None), label),
        (weald.GradientBoostingRegressor(n_estimators=3), y),
        (weald.AdaBoostClassifier(n_estimators=3), label),
        (weald.RotationForestClassifier(2, random_state=0), label),
        (weald.OptionTreeClassifier(max_depth=4), label),
        (weald.DecisionTreeRegressor(), y),
    ):
        model.set_params(n_jobs={n_jobs})
        yield model.fit(X, target).predict(X)

expected = list(predictions())
"""

IN_A_SMALL_THREAD = (
    PREPARED
    + """
got = []
threading.stack_size({stack})
thread = threading.Thread(target=lambda: got.extend(predictions()))
thread.start()
thread.join()
print(len(got) == len(expected) and all(map(np.array_equal, got, expected)))
"""
)


def test_a_thread_of_128_kib_can_fit() -> None:
    run = run_script(IN_A_SMALL_THREAD.format(n_jobs=1, stack=STACK))
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr


# Worker threads have a sufficient stack, whatever the default of the process.
WITH_SMALL_THREADS = (
    """
import ctypes
libc = ctypes.CDLL(None)
attributes = ctypes.create_string_buffer(256)
assert libc.pthread_attr_init(attributes) == 0
assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t({stack})) == 0
assert libc.pthread_setattr_default_np(attributes) == 0
"""
    + PREPARED
    + """
print(len(expected) > 0)
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="sets the default of glibc")
def test_threads_of_128_kib_by_default_can_fit() -> None:
    run = run_script(WITH_SMALL_THREADS.format(n_jobs=3, stack=STACK))
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr

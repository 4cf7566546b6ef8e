"""A process may be forked at any moment, while its threads are busy."""

import os

import pytest

from public.scripts import run_script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

# A child fits and predicts while the threads of its parent continue to fit. Each child must end;
# one that hangs is killed after a minute. The parent polls for the end of a child, so that it holds
# no Python lock meanwhile.
FORKED = """
import os, signal, sys, threading, time, warnings
import numpy as np
import weald

warnings.simplefilter("ignore")  # Python 3.12 warns of fork beside threads
rng = np.random.default_rng(0)
X = rng.normal(size=(3_000, 6))
y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
kinds = [
    lambda: weald.BoostedTreesClassifier(quality="fast", n_estimators=5, n_jobs=2),
    lambda: weald.RandomForestClassifier(4, random_state=0, n_jobs=2, oob_score=True),
    lambda: weald.ExtraTreesClassifier(4, random_state=0, n_jobs=2),
    lambda: weald.AdaBoostClassifier(n_estimators=5),
    lambda: weald.OptionTreeClassifier(max_depth=4),
]

def result(i):
    model = kinds[i % len(kinds)]().fit(X, y)
    return model.fingerprint(), model.predict_proba(X).tobytes()

expected = [result(i) for i in range(len(kinds))]
stop = False

def work(i):
    while not stop:
        result(i)
        i += 1

threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads:
    thread.start()
endings = []
for i in range({n_forks}):
    time.sleep(0.003 * (i % 7))
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        os._exit(0 if result(i) == expected[i % len(kinds)] else 1)
    endings.append(os.waitpid(child, 0)[1])
stop = True
for thread in threads:
    thread.join()
print(endings)
"""


def test_children_forked_during_fits_can_fit() -> None:
    run = run_script(FORKED.format(n_forks=40), timeout=200)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str([0] * 40)


# The fork happens while a thread computes a cached property of an object; the child reads the same
# property of another object.
FORKED_IN_A_PROPERTY = """
import os, signal, threading, warnings
import numpy as np
import weald
from weald.data.columns import Number
from weald.data.plan import ColumnPlan

warnings.simplefilter("ignore")
reached, go_on = threading.Event(), threading.Event()

class Waiting(Number):
    @property
    def parts(self):
        reached.set()
        go_on.wait()
        return ("",)

thread = threading.Thread(target=lambda: ColumnPlan((Waiting(),)).owner)
thread.start()
reached.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)  # ends a child that hangs
    assert ColumnPlan.of_numbers(2).n_columns == 2
    X = np.arange(60.0).reshape(30, 2)
    weald.RandomForestClassifier(2, random_state=0).fit(X, np.arange(30) % 2)
    os._exit(0)
print(os.waitpid(child, 0)[1])
go_on.set()
thread.join()
"""


def test_a_child_forked_while_a_property_is_computed_can_fit() -> None:
    run = run_script(FORKED_IN_A_PROPERTY)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "0\n"

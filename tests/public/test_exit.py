"""The interpreter exits cleanly while other threads fit or predict."""

import os

import pytest

from public.scripts import run_script

WORK = {
    "boosting": "weald.BoostedTreesClassifier(quality='fast', n_estimators=20).fit(X, y)",
    "a forest": "weald.ExtraTreesClassifier(2).fit(X, y)",
    "AdaBoost": "weald.AdaBoostClassifier(n_estimators=10).fit(X, y)",
    "an option tree": "weald.OptionTreeClassifier(max_depth=3).fit(X, y)",
    "a prediction": "model.predict(X)",
    "a prediction of a forest": "forest.predict_proba(X)",
}

# Two daemon threads are busy when the main thread ends.
WITH_DAEMONS = """
import threading
import numpy as np
import weald

rng = np.random.default_rng(0)
X = rng.normal(size=(10_000, 8))
y = (X[:, 0] > 0).astype(int)
model = weald.BoostedTreesClassifier(quality='fast', n_estimators=20).fit(X, y)
forest = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
def work():
    while True:
        {work}
        began.release()

began = threading.Semaphore(0)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for _ in range(2):
    began.acquire()
"""


@pytest.mark.parametrize("what", WORK)
def test_daemon_threads_at_work_do_not_abort_the_process(what: str) -> None:
    run = run_script(WITH_DAEMONS.format(work=WORK[what]))
    assert (run.returncode, run.stderr) == (0, "")


INTERRUPTED_STACKING = """
import os, signal, threading
import numpy as np
import weald

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
rng = np.random.default_rng(0)
X = rng.normal(size=(5_000, 8))
y = (X[:, 0] > 0).astype(int)
kind = weald.BoostedTreesClassifier
estimators = [(str(n), kind(n_estimators=10_000, max_bins=n)) for n in (99, 255)]
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    weald.StackingClassifier(estimators, n_jobs=2).fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_ensemble_fitted_in_threads_exits_cleanly() -> None:
    """The threads of joblib are daemons that still fit when the interpreter exits."""
    run = run_script(INTERRUPTED_STACKING)
    assert (run.returncode, run.stdout, run.stderr) == (0, "interrupted\n", "")

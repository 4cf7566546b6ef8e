"""Kill workers of a Dask cluster at random moments of fits, and compare the models: no test.

    python tests/reliability/dask_kills.py --kills 100

Each fit loses one worker process by SIGKILL; Dask replaces it, and the model must be the same. It
ends by itself, with exit code 1 if a model differs or a fit fails.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

from weald import BoostedTreesRegressor

N_WORKERS = 3


def process_ids(client: Any) -> list[int] | None:
    """The processes of the workers, once Dask has replaced the last one; None if it does not."""
    begin = time.monotonic()
    while time.monotonic() - begin < 30:
        try:
            found = sorted(client.run(os.getpid).values())
        except OSError:
            found = []
        if len(found) == N_WORKERS:
            return found
        time.sleep(0.2)
    return None


def outcome_of(fit: Callable[[], str], want: str, victim: int, delay: float) -> str:
    """What became of a fit during which a worker died."""
    timer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
    timer.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            is_same = fit() == want
    except Exception as error:
        return f"failed with {type(error).__name__}: {error}"
    finally:
        timer.join()
    if not is_same:
        return "another model"
    lost = [str(one.message) for one in caught if "Workers were lost" in str(one.message)]
    return f"same model, {lost[0].split(' during')[0]}" if lost else "same model, not noticed"


def kills_on_a_cluster(
    X: Any, y: Any, n_kills: int, choice: random.Random
) -> list[tuple[str, float]]:
    """Outcomes and seconds of up to so many fits, fewer if Dask does not replace a worker."""
    model = BoostedTreesRegressor(quality="fast", n_estimators=15)
    want = model.fit(X, y).fingerprint()
    outcomes: list[tuple[str, float]] = []
    with (
        # A LocalCluster gives up a worker that is missing some time after it was, even if it was
        # back in between.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        dX, dy = da.from_array(X, chunks=(3_000, 6)), da.from_array(y, chunks=3_000)

        def fit() -> str:
            return BoostedTreesRegressor(**model.get_params()).fit(dX, dy).fingerprint()

        fit()
        usual = timed(fit)
        while len(outcomes) < n_kills and (ids := process_ids(client)):
            delay = choice.uniform(0, usual)
            begin = time.monotonic()
            outcome = outcome_of(fit, want, choice.choice(ids), delay)
            outcomes.append((outcome, time.monotonic() - begin))
            print(f"killed after {delay:.2f} of {usual:.2f} s: {outcome}", flush=True)
    return outcomes


def timed(fit: Callable[[], str]) -> float:
    begin = time.monotonic()
    fit()
    return time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no cluster after these")
    given = parser.parse_args()
    rng, choice = np.random.default_rng(0), random.Random(0)
    X = rng.normal(size=(30_000, 6))
    y = X[:, 0] * X[:, 1] + rng.normal(size=len(X))
    begin, outcomes = time.monotonic(), []
    while len(outcomes) < given.kills and time.monotonic() - begin < 60 * given.minutes:
        left = min(25, given.kills - len(outcomes))
        outcomes += kills_on_a_cluster(X, y, left, choice)
    print(f"the longest fit took {max(seconds for _, seconds in outcomes):.1f} s")
    for outcome, n in Counter(outcome for outcome, _ in outcomes).most_common():
        print(f"{n:4d}  {outcome}")
    return int(not all(outcome.startswith("same model") for outcome, _ in outcomes))


if __name__ == "__main__":
    sys.exit(main())

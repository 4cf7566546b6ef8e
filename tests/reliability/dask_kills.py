"""Kill workers of a Dask cluster at random moments of fits, and compare the models: no test.

    python tests/reliability/dask_kills.py --kills 100

Each fit loses one worker process by SIGKILL; Dask replaces it, and the model must be the same. It
ends by itself, with exit code 1 if a model differs or a fit fails or takes more than the limit.
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
from typing import Any

import numpy as np


def killed_fit(client: Any, fit: Any, delay: float, choice: random.Random) -> tuple[str, str]:
    """The fingerprint of a fit during which a worker dies; and how often it was begun again."""
    client.wait_for_workers(2, timeout=120)
    victim = choice.choice(sorted(client.run(os.getpid).values()))
    timer = threading.Timer(delay, os.kill, (victim, signal.SIGKILL))
    timer.start()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fingerprint = fit()
    timer.join()
    lost = [str(one.message) for one in caught if "Workers were lost" in str(one.message)]
    return fingerprint, lost[0].split(" during")[0] if lost else "not noticed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a fit")
    given = parser.parse_args()
    import dask.array as da
    import distributed

    from weald import BoostedTreesRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 6))
    y = X[:, 0] * X[:, 1] + rng.normal(size=len(X))
    model = BoostedTreesRegressor(quality="fast", n_estimators=15)
    want = model.fit(X, y).fingerprint()
    choice, n_bad, times = random.Random(0), 0, []
    outcomes: dict[str, int] = {}
    with (
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        dX, dy = da.from_array(X, chunks=(3_000, 6)), da.from_array(y, chunks=3_000)

        def fit() -> str:
            return BoostedTreesRegressor(**model.get_params()).fit(dX, dy).fingerprint()

        fit()
        begin = time.monotonic()
        fit()
        usual = time.monotonic() - begin
        for i in range(given.kills):
            delay, begin = choice.uniform(0, usual), time.monotonic()
            try:
                fingerprint, outcome = killed_fit(client, fit, delay, choice)
                outcome = outcome if fingerprint == want else "other model"
            except Exception as error:
                outcome = f"{type(error).__name__}: {error}"
            spent = time.monotonic() - begin
            times.append(spent)
            is_bad = outcome.startswith("Workers") is False and outcome != "not noticed"
            n_bad += is_bad or spent > given.limit
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if is_bad:
                print(f"kill {i} after {delay:.2f} s: {outcome}", flush=True)
    print(f"{given.kills} kills in fits of {usual:.1f} s; the longest took {max(times):.1f} s")
    for outcome, n in outcomes.items():
        print(f"{n:4d}  {outcome}")
    return int(n_bad > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Cut the link of a worker of a Dask cluster during a fit, and compare the models: no test.

    python tests/reliability/dask_dead_link.py

Scheduler, client and two workers run in network namespaces of this machine, so root must run it.
The link of one worker goes down, and nobody is told: no connection is closed. The fit must notice,
go on with the other worker, and give the same model; this is tried with the worker that asks the
other one and with the one that is asked. The namespaces are removed at the end; a try takes three
minutes at most. Exit code 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# The namespaces, and the last number of the address of each in 10.213.97.0/24.
HERE, WORKERS = "weald-link-0", ("weald-link-1", "weald-link-2")
NET, PORT = "10.213.97", 8786
SECONDS_BEFORE, MOST_SECONDS = 1.0, 180


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def link_of(worker: int) -> str:
    """The end, at the scheduler, of the cable to a worker."""
    return f"weald{worker}"


@contextmanager
def network() -> Iterator[None]:
    """A bridge in the scheduler's namespace, and a cable from it to each worker."""
    try:
        for name in (HERE, *WORKERS):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", HERE, "link", "add", "hub", "type", "bridge")
        ip("-n", HERE, "addr", "add", f"{NET}.1/24", "dev", "hub")
        ip("-n", HERE, "link", "set", "hub", "up")
        for i, name in enumerate(WORKERS):
            near, far = link_of(i), "cable"
            ip("-n", HERE, "link", "add", near, "type", "veth", "peer", far, "netns", name)
            ip("-n", HERE, "link", "set", near, "master", "hub")
            ip("-n", HERE, "link", "set", near, "up")
            ip("-n", name, "addr", "add", f"{NET}.{i + 2}/24", "dev", far)
            ip("-n", name, "link", "set", far, "up")
        yield
    finally:
        for name in (HERE, *WORKERS):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def running(namespace: str, *words: str, **given: Any) -> Iterator[subprocess.Popen[str]]:
    """A Python process in a namespace."""
    command = ["ip", "netns", "exec", namespace, sys.executable, *words]
    process = subprocess.Popen(command, text=True, stderr=subprocess.DEVNULL, **given)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def cluster() -> Iterator[None]:
    where = f"tcp://{NET}.1:{PORT}"
    silent = {"stdout": subprocess.DEVNULL}
    scheduler = ["--host", f"{NET}.1", "--port", str(PORT), "--no-dashboard"]
    worker = [where, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
    dask = ("-m", "distributed.cli.dask_scheduler"), ("-m", "distributed.cli.dask_worker")
    with (
        running(HERE, *dask[0], *scheduler, **silent),
        running(WORKERS[0], *dask[1], *worker, "--host", f"{NET}.2", **silent),
        running(WORKERS[1], *dask[1], *worker, "--host", f"{NET}.3", **silent),
    ):
        yield


def fits() -> None:
    """The client: the same fit in memory, and on the cluster while the link goes down."""
    import dask.array as da
    import distributed
    import numpy as np

    from weald import BoostedTreesRegressor
    from weald.ensembles.boosted_trees.parts.dask_parts import DaskParts
    from weald.ensembles.boosted_trees.parts.parts_run import PartsLost

    lead = DaskParts.lead

    def lead_and_tell(parts: DaskParts, verb: str, *arguments: Any) -> Any:
        if verb == "rounds" and not arguments[0]:
            print("begin", flush=True)
        try:
            return lead(parts, verb, *arguments)
        except PartsLost:
            print("noticed", time.monotonic(), flush=True)
            raise

    DaskParts.lead = lead_and_tell  # type: ignore[method-assign]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 6))
    y = X[:, 0] * X[:, 1] + rng.normal(size=len(X))
    settings: dict[str, Any] = {"quality": "fast", "n_estimators": 600}
    print(BoostedTreesRegressor(**settings).fit(X, y).fingerprint(), flush=True)
    with distributed.Client(f"tcp://{NET}.1:{PORT}") as client:
        client.wait_for_workers(2, timeout=60)
        dX, dy = da.from_array(X, chunks=(3_000, 6)), da.from_array(y, chunks=3_000)
        print(BoostedTreesRegressor(**settings).fit(dX, dy).fingerprint(), flush=True)


def outcome_of(worker: int) -> tuple[bool, str]:
    """Whether the model is the same although the link of a worker went down, and a line."""
    with network(), cluster(), running(HERE, __file__, "--fits", stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        want = client.stdout.readline().strip()
        client.stdout.readline()
        time.sleep(SECONDS_BEFORE)
        ip("-n", HERE, "link", "set", link_of(worker), "down")
        begin = time.monotonic()
        try:
            told, _ = client.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return False, f"no model within {MOST_SECONDS} s"
    took = time.monotonic() - begin
    found = told.split()
    is_same = found[-1:] == [want]
    model = f"{'the same' if is_same else 'another'} model after {took:.0f} s"
    if found[:1] != ["noticed"]:
        return False, f"{model}; the fit ended before, or did not notice"
    return is_same, f"noticed after {float(found[1]) - begin:.0f} s, {model}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", action="store_true", help="be the client")
    if parser.parse_args().fits:
        fits()
        return 0
    if os.geteuid() != 0:
        print("Network namespaces need root.")
        return 1
    all_same = True
    for worker, role in enumerate(("that asks the other", "that is asked")):
        same, line = outcome_of(worker)
        all_same &= same
        print(f"link of the worker {role} down: {line}", flush=True)
    return int(not all_same)


if __name__ == "__main__":
    sys.exit(main())

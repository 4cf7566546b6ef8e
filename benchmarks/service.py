"""`weald serve` beside a plain FastAPI service of LightGBM: one-row requests on loopback.

    python benchmarks/service.py [--seconds 5] [--repeats 5] [--connections 8]

Both serve 100 trees of 31 leaves on 28 columns, trained on the same rows, from one process each on
the same uvicorn, with their access logs on; the peer predicts with one thread and without a change
of threads. Requests bring one row as a list and ask for probabilities. Runs alternate; the client
is one process, which keeps a number of connections busy. Processor time is that of the server.
Needs fastapi and lightgbm.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

N_ROWS, N_COLUMNS, N_TREES, N_LEAVES = 20_000, 28, 100, 31

PEER = """
import sys
import lightgbm, numpy, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

booster = lightgbm.Booster(model_file=sys.argv[1])
app = FastAPI()

class Rows(BaseModel):
    rows: list[list[float]]
    probabilities: bool = False

@app.post("/predict")
async def predict(asked: Rows):
    shares = booster.predict(numpy.array(asked.rows), num_threads=1)
    answer = {"predictions": (shares > 0.5).astype(int).tolist()}
    if asked.probabilities:
        answer["probabilities"] = numpy.stack([1 - shares, shares], axis=1).tolist()
    return answer

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]))
"""


@dataclass
class Figures:
    """What one run of a service gave."""

    per_second: float
    p50: float
    p99: float
    cpu: float  # microseconds of the server's processor time for each request


class Client(asyncio.Protocol):
    """A connection that sends the next request when the answer to the last one is complete."""

    def __init__(self, requests: list[bytes], times: list[float], end: float) -> None:
        self.requests, self.times, self.end = requests, times, end
        self.done = asyncio.get_running_loop().create_future()
        self.buffer, self.number = b"", 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self._send()

    def _send(self) -> None:
        self.number += 1
        self.begun = time.perf_counter()
        self.transport.write(self.requests[self.number % len(self.requests)])

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(body) < length:
            return
        assert head.startswith(b"HTTP/1.1 200"), self.buffer
        now = time.perf_counter()
        self.times.append(now - self.begun)
        self.buffer = b""
        if now < self.end:
            self._send()
        else:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.done.set_result(None)


def requests(X: np.ndarray) -> list[bytes]:
    """A hundred different requests."""
    found = []
    for row in X[:100]:
        body = json.dumps({"rows": [row.tolist()], "probabilities": True})
        head = (
            "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append((head + body).encode())
    return found


async def load(port: int, sent: list[bytes], connections: int, seconds: float) -> list[float]:
    """Keep connections busy for some seconds; return the time of each request."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: Client(sent, times, end), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.wait_for(asyncio.gather(*(one.done for one in clients)), seconds + 30)
    return times


def measure(server: subprocess.Popen, port: int, sent: list[bytes], options) -> Figures:
    """One run."""
    before, begun = cpu_seconds(server.pid), time.perf_counter()
    times = asyncio.run(load(port, sent, options.connections, options.seconds))
    wall, used = time.perf_counter() - begun, cpu_seconds(server.pid) - before
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    return Figures(len(times) / wall, p50, p99, used / len(times) * 1e6)


def cpu_seconds(process: int) -> float:
    """Processor time of a process (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def train(folder: Path) -> np.ndarray:
    """Train and save a model of each library on the same rows."""
    import lightgbm

    from weald import BoostedTreesClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)).round(4)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=N_ROWS) > 0).astype(int)
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=N_TREES, max_leaf_nodes=N_LEAVES, early_stopping=False
    ).fit(X, y)
    model.save(folder / "model.weald")
    settings = {"objective": "binary", "num_leaves": N_LEAVES, "verbose": -1}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, y), N_TREES)
    booster.save_model(folder / "model.txt")
    print(f"weald: {model.forest_!r}; lightgbm: {booster.num_trees()} trees")
    return X


def started(words: list[str], port: int) -> subprocess.Popen:
    """Start a server and wait until it answers."""
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([sys.executable, *words], stdout=quiet, stderr=quiet)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return server
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    raise SystemExit(f"{words} does not answer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sent = requests(train(folder))
        (folder / "peer.py").write_text(PEER)
        ports = {"weald serve": free_port(), "FastAPI + LightGBM": free_port()}
        one, other = ports.values()
        words = {
            "weald serve": ["-m", "weald", "serve", f"{name}/model.weald", "--port", f"{one}"],
            "FastAPI + LightGBM": [f"{name}/peer.py", f"{name}/model.txt", f"{other}"],
        }
        servers = {system: started(words[system], ports[system]) for system in words}
        try:
            found: dict[str, list[Figures]] = {system: [] for system in words}
            for repeat in range(options.repeats + 1):
                for system, server in servers.items():
                    figures = measure(server, ports[system], sent, options)
                    if repeat:  # the first run warms up
                        found[system].append(figures)
        finally:
            for server in servers.values():
                server.terminate()
                server.wait(30)
    report(found)


def report(found: dict[str, list[Figures]]) -> None:
    """Print medians over the runs."""
    print("| service | requests/s | p50, ms | p99, ms | processor time for each, us |")
    print("|---|---:|---:|---:|---:|")
    medians = {}
    for system, runs in found.items():
        fields = ("per_second", "p50", "p99", "cpu")
        own = [statistics.median(getattr(run, field) for run in runs) for field in fields]
        medians[system] = own
        print(f"| {system} | {own[0]:,.0f} | {own[1]:.2f} | {own[2]:.2f} | {own[3]:.0f} |")
    ours, peer = medians.values()
    print(f"throughput {ours[0] / peer[0]:.2f} times, processor time {ours[3] / peer[3]:.2f} times")


if __name__ == "__main__":
    main()

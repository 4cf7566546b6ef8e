"""A service in a process of its own, and requests to it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

TOKEN = "a-token-for-tests-only"
_URL = re.compile(r" at (http://\S+:(\d+)/) ")


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return self.json["error"]


class Running:
    """`weald serve` on a free port; stops when the block ends."""

    def __init__(self, model: Path, *options: str, **environment: str) -> None:
        words = [sys.executable, "-m", "weald", "serve", str(model)]
        if "--port" not in options:
            words += ["--port", "0"]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed by __exit__
        inherited = {name: value for name, value in os.environ.items() if name != "WEALD_TOKEN"}
        self.process = subprocess.Popen(
            [*words, *options],
            stdout=subprocess.PIPE, stderr=self._log, text=True, env=inherited | environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.start = self.process.stdout.readline()
        found = _URL.search(self.start)
        assert found, self.log()
        self.url, self.port = found[1], int(found[2])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def lines(self) -> list[dict[str, Any]]:
        """The log, whose lines are JSON."""
        return [json.loads(line) for line in self.log().splitlines()]

    def wait_for_log(self, text: str) -> None:
        end = time.monotonic() + 30
        while text not in self.log():
            assert time.monotonic() < end, self.log()
            time.sleep(0.02)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def memory(self) -> float:
        """Resident memory in megabytes (Linux)."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send one request; `_` in names of headers stands for a dash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            found = connection.getresponse()
            return Reply(found.status, found.headers, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def predict(self, asked: Any, **headers: str) -> Reply:
        """Post a request, as JSON unless it is bytes already."""
        body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
        return self.ask("POST", "/predict", body, **{"Content_Type": "application/json"} | headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def raw(self, content: bytes) -> bytes:
        """Send bytes, and return everything up to the end of the connection."""
        with self.connect() as one:
            one.sendall(content)
            return received(one)


def received(one: socket.socket) -> bytes:
    """Everything up to the end of a connection."""
    parts = []
    try:
        while part := one.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass  # closed while we were still sending
    return b"".join(parts)


def head(size: int | None = None, **headers: str) -> bytes:
    """The head of a request for predictions; without a size, its body comes in chunks."""
    named = {"Host": "localhost", "Content-Type": "application/json"}
    named |= {"Transfer-Encoding": "chunked"} if size is None else {"Content-Length": str(size)}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}\r\n" for name, value in named.items()]
    return ("POST /predict HTTP/1.1\r\n" + "".join(lines) + "\r\n").encode()

"""A headless Chromium, driven through a pipe by its DevTools protocol."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

_SECONDS = 60.0  # for each answer


class Browser:
    """One page; `errors` are the messages of its console."""

    def __init__(self, folder: Path, width: int = 1200, *, dark: bool = False) -> None:
        to_browser, own_end = os.pipe()
        other_end, from_browser = os.pipe()
        words = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        words += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        line = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", *words],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._write, self._read = os.fdopen(own_end, "wb"), os.fdopen(other_end, "rb")
        self._numbers, self._pending, self.errors = itertools.count(1), b"", list[str]()
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        found = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._write.close()
        self._read.close()

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        while True:
            found = self._receive()
            if found.get("id") == number:
                assert "error" not in found, found
                return found["result"]
            self._note(found)

    def _receive(self) -> Any:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], _SECONDS)
            assert ready, "the browser does not answer"
            part = os.read(self._read.fileno(), 65536)
            assert part, "the browser has ended"
            self._pending += part
        message, _, self._pending = self._pending.partition(b"\0")
        return json.loads(message)

    def _note(self, event: Any) -> None:
        entry = event.get("params", {})
        if event.get("method") == "Log.entryAdded" and entry["entry"]["level"] == "error":
            self.errors.append(entry["entry"]["text"])
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(entry["exceptionDetails"]))

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Evaluate JavaScript."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str, seconds: float = 30.0) -> Any:
        """Wait until JavaScript gives something true."""
        tried = f"(() => {{ try {{ return {script}; }} catch {{ return null; }} }})()"
        end = time.monotonic() + seconds
        while not (found := self.run(tried)):
            assert time.monotonic() < end, self.run("document.body.innerText")
            time.sleep(0.05)
        return found

    def picture(self, path: Path) -> None:
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

"""Scripts that run in a process of their own, because they may end it."""

import subprocess
import sys


def run_script(script: str, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )

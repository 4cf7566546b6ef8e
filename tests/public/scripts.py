"""Run scripts in a separate process, because they may end it."""

import os
import subprocess
import sys
from collections.abc import Mapping


def run_script(
    script: str, timeout: float = 100, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=None if environment is None else {**os.environ, **environment},
    )

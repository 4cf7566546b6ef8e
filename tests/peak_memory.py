"""The peak memory of a fit or of loading a file, in a process of its own."""

import json
import subprocess
import sys

import pytest

only_on_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads Linux's /proc"
)

_BEFORE = """
import gc, json, re, sys
from pathlib import Path
import numpy as np
import weald

def bytes_of(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) * 1024

"""

_AFTER = """
gc.collect()
try:
    Path("/proc/self/clear_refs").write_text("5")
except OSError:
    sys.exit(print("null"))
before = bytes_of("VmRSS")
ACTION
print(json.dumps(bytes_of("VmHWM") - before))
"""


def peak_of_fit(setting: str, *arguments: object) -> int:
    """Bytes beyond what is there before `model.fit(X, y)`.

    `setting` makes the three of `sys.argv`; a fit of its own pays for what a process starts once.
    """
    return _peak(setting, "model.fit(X, y)", *arguments)


_LOADER = """
import contextlib
from weald.persist.model_file import load
with contextlib.suppress(weald.ModelFormatError):
    load(sys.argv[2])  # what a process starts once
"""


def peak_of_load(path: object, warm: object) -> int:
    """Bytes that `weald.load(path)` takes, also if it is refused; `warm` is loaded before."""
    action = "with contextlib.suppress(weald.ModelFormatError): load(sys.argv[1])"
    return _peak(_LOADER, action, path, warm)


def _peak(setting: str, action: str, *arguments: object) -> int:
    program = _BEFORE + setting + _AFTER.replace("ACTION", action)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)
    if peak is None:
        pytest.skip("the highest mark of memory cannot be reset here")
    return int(peak)

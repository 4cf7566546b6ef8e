"""The peak memory of a fit or of loading a file, in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
model.fit(X, y)
print(json.dumps(bytes_of("VmHWM") - before))
"""


def peak_of_fit(setting: str, *arguments: object) -> int:
    """Bytes beyond what is there before `model.fit(X, y)`.

    `setting` makes the three of `sys.argv`; a fit of its own pays for what a process starts once.
    """
    command = [sys.executable, "-c", _BEFORE + setting + _AFTER, *map(str, arguments)]
    return _bytes_or_skip(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )


# A process that has imported weald and loaded a file once. It measures each file in a child of its
# own, which begins as the process is: no measurement pays for the import, or finds memory that an
# earlier one has freed.
_LOADER = (
    _BEFORE
    + """
import contextlib, os
from weald.persist.model_file import load

load(sys.argv[1])  # what a process starts once
for path in sys.stdin:
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1]:
            sys.exit("the file was neither loaded nor refused")
        continue
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("null", flush=True)
        os._exit(0)
    before = bytes_of("VmRSS")
    with contextlib.suppress(weald.ModelFormatError):
        load(path.rstrip("\\n"))
    print(bytes_of("VmHWM") - before, flush=True)
    os._exit(0)
"""
)


@contextmanager
def loader(warm: object) -> Iterator[Callable[[object], int]]:
    """A function: the bytes that `weald.load(path)` takes, also if the file is refused.

    `warm` is loaded before, once.
    """
    command = [sys.executable, "-c", _LOADER, str(warm)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None

        def peak_of_load(path: object) -> int:
            print(path, file=process.stdin, flush=True)
            return _bytes_or_skip(process.stdout.readline())

        yield peak_of_load
        process.stdin.close()


def _bytes_or_skip(printed: str) -> int:
    peak = json.loads(printed)
    if peak is None:
        pytest.skip("the highest mark of memory cannot be reset here")
    return int(peak)

"""Code that another process runs with one instruction set."""

import atexit
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

# Runs one program per line, and writes a line for each: its error, or nothing.
_RUNNER = """
import contextlib, json, sys, traceback
for line in sys.stdin:
    failure = ""
    with contextlib.redirect_stdout(sys.stderr):
        try:
            exec(json.loads(line), {})
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps(failure), flush=True)
"""


@cache
def _process_with(instructions: str) -> subprocess.Popen[str]:
    """A process for all programs of the instruction set: importing weald takes a second."""
    env = {**os.environ, "WEALD_INSTRUCTIONS": instructions}
    process = subprocess.Popen(
        [sys.executable, "-c", _RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=env,
    )
    atexit.register(process.communicate)  # closes its input, which ends it
    return process


def run_with(instructions: str, code: str) -> None:
    """Run Python code, which may import from `native`; fail if it fails."""
    process = _process_with(instructions)
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps(code), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        _process_with.cache_clear()
        raise AssertionError(f"the process has ended with code {process.wait()}")
    failure = json.loads(answer)
    assert not failure, failure


def digest_of(all_trees: Iterable[Mapping[str, np.ndarray]]) -> str:
    """Of all arrays of all trees."""
    whole = hashlib.sha256()
    for trees in all_trees:
        for name in sorted(trees):
            whole.update(np.asarray(trees[name]).tobytes())
    return whole.hexdigest()


def assert_same_digest(instructions: str, module: str, digest: str) -> None:
    """Check that `native.module` has the same digest() with this instruction set."""
    run_with(instructions, f"from native.{module} import digest\nassert digest() == {digest!r}")

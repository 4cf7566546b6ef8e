"""Code that another process runs with one instruction set."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np


def run_with(instructions: str, code: str) -> None:
    """Run Python code, which may import from `native`; fail if it fails."""
    env = {**os.environ, "WEALD_INSTRUCTIONS": instructions}
    here = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=here, env=env, check=True)


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

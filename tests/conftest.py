"""What every test may use."""

import gc
import os

# Read by SciPy when it is first imported: without it scikit-learn skips its array-API checks.
os.environ["SCIPY_ARRAY_API"] = "1"

from pathlib import Path

import numpy as np
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-variants",
        action="store_true",
        help="every check of scikit-learn on every variant of every estimator, and all "
        "random trees of tests/native/test_more_limits.py (make test-all)",
    )


def pytest_collection_finish() -> None:
    """Tests and modules stay to the end: the garbage collector need not look through them again."""
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out helpers and scripts: doctests are looked for in the package only."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_helper else None


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20260101)

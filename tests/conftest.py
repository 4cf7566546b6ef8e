"""What every test may use."""

import os

# Read by SciPy when it is first imported: without it scikit-learn skips its array-API checks.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20260101)

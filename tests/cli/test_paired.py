"""The paired test of `weald compare` holds its level where the uncorrected one does not."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from weald.cli.paired import corrected_t_test, holm


def test_without_overlap_it_is_the_t_test(rng: np.random.Generator) -> None:
    differences = rng.normal(0.3, 1.0, size=12)
    expected = float(ttest_1samp(differences, 0).pvalue)
    assert corrected_t_test(differences, 0.0) == pytest.approx(expected, rel=1e-12)


def test_level_for_two_methods_that_are_equal(rng: np.random.Generator) -> None:
    """Two columns predict y equally well; on a sample of rows, one of them seems better."""
    corrected, plain, n, k = [], [], 60, 5
    for _ in range(300):
        columns = rng.normal(size=(2, n))
        y, differences = columns.sum(axis=0) + rng.normal(size=n), []
        for _ in range(4):
            for test in np.array_split(rng.permutation(n), k):
                train = np.setdiff1d(np.arange(n), test)
                slopes = columns[:, train] @ y[train] / (columns[:, train] ** 2).sum(axis=1)
                errors = (y[test] - slopes[:, np.newaxis] * columns[:, test]) ** 2
                differences.append(errors[0].mean() - errors[1].mean())
        corrected.append(corrected_t_test(np.array(differences), 1 / k) < 0.05)
        plain.append(corrected_t_test(np.array(differences), 0.0) < 0.05)
    assert np.mean(corrected) < 0.08
    assert np.mean(plain) > 0.3


def test_not_defined() -> None:
    assert math.isnan(corrected_t_test(np.array([0.1, np.nan]), 0.2))
    assert math.isnan(corrected_t_test(np.array([0.1]), 0.2))
    assert corrected_t_test(np.full(4, 0.5), 0.2) == 0.0


def test_holm_leaves_out_what_is_not_defined() -> None:
    assert holm([0.02, math.nan, 0.01])[::2] == [0.02, 0.02]
    assert math.isnan(holm([0.02, math.nan, 0.01])[1])

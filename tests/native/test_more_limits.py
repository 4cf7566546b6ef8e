"""Penalties, constraints and drawn columns in every engine, against the naive twins."""

from collections.abc import Callable

import pytest

from native import (
    test_categories,
    test_level_sets,
    test_sorted_engine,
    test_symmetric,
    test_tree_twin,
)

# Limits of the newton criterion only.
OF_NEWTON = ("l1", "all")
KINDS = [
    (kind, criterion)
    for kind in ("columns", "groups", "prune", "directions", *OF_NEWTON)
    for criterion in (("newton",) if kind in OF_NEWTON else ("newton", "gini"))
]
KINDS += [("directions", criterion) for criterion in ("squared_error", "entropy", "poisson")]
every_kind = pytest.mark.parametrize(("kind", "criterion"), KINDS)


@pytest.fixture
def seeds(pytestconfig: pytest.Config) -> Callable[[int], range]:
    """Seeds of so many random trees: a third of them, all with `--all-variants`.

    Trees without these limits are compared for every seed in the files of each search.
    """
    return lambda n: range(n) if pytestconfig.getoption("--all-variants") else range(1, n, 3)


@every_kind
@pytest.mark.parametrize("n_columns", [3, 20])
def test_wide_cells(kind: str, criterion: str, n_columns: int, seeds) -> None:
    for seed in seeds(8):
        test_tree_twin.compare(criterion, seed, 7 + 6 * seed, n_columns, "wide", kind)


@pytest.mark.parametrize("kind", [kind for kind, criterion in KINDS if criterion == "newton"])
@pytest.mark.parametrize("n_columns", [3, 20])
def test_packed_cells(kind: str, n_columns: int, seeds) -> None:
    for seed in seeds(12):
        test_tree_twin.compare("newton", seed, 7 + 6 * seed, n_columns, "automatic", kind)


@every_kind
def test_values_in_order(kind: str, criterion: str) -> None:
    test_sorted_engine.compare_exact(criterion, 7, kind)


@pytest.mark.parametrize(("kind", "criterion"), [case for case in KINDS if case[0] != "prune"])
@pytest.mark.parametrize("cells", ["wide", "automatic"])
def test_splits_of_whole_levels(kind: str, criterion: str, cells: str, seeds) -> None:
    for seed in seeds(6):
        test_symmetric.compare(criterion, seed, 9 + 5 * seed, 9, cells, kind)
        test_level_sets.compare(criterion, seed, 9 + 5 * seed, 5, cells, kind)


@every_kind
@pytest.mark.parametrize("cells", ["wide", "automatic"])
def test_sets_of_levels(kind: str, criterion: str, cells: str, seeds) -> None:
    for seed in seeds(8):
        test_categories.compare(criterion, seed, 9 + 9 * seed, 5, cells, kind)

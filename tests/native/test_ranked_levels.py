"""Levels at the border of the core: a table of ranks takes places of levels and nothing else."""

import numpy as np
import pytest

from weald import _native


def ranked(values: list[float], n_levels: list[int], **more: object) -> "_native.RankedTable":
    table = np.array(values)[:, np.newaxis]
    settings = {"n_levels": n_levels, **more}
    return _native.RankedTable(table, np.arange(len(table)), None, 1, **settings)


@pytest.mark.parametrize("keeps_values", [False, True])
@pytest.mark.parametrize(
    ("values", "n_levels", "match"),
    [
        ([0.0, 3.0], [3], "contain levels in"),
        ([0.0, -1.0], [3], "contain levels in"),
        ([0.0, 1.5], [3], "contain levels in"),
        ([0.0, np.inf], [3], "contain levels in"),
        ([0.0, 1.0], [3, 0], "one entry per column"),
        ([0.0, 1.0], [-1], "65535"),
        ([0.0, 1.0], [65536], "65535"),
    ],
)
def test_what_is_no_place_is_refused(
    keeps_values: bool, values: list[float], n_levels: list[int], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        ranked(values, n_levels, keeps_values=keeps_values)


def test_missing_places_and_levels_without_rows_are_welcome() -> None:
    assert ranked([np.nan, 4.0, 2.0], [6]).n_ranks() == [2]

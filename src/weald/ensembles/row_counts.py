"""Integer sample weights as repeated rows, unless a limit of the fit counts rows."""

from typing import Any

import numpy as np

from weald.data import Rows, levels_of


def weighted_as_repeated(
    rows: Rows, *, min_samples_split: Any = 2, min_samples_leaf: Any = 1
) -> Rows:
    """Convert weights to whole numbers if no limit of the fit counts rows.

    Categorical columns count rows too: rare categories are merged.
    """
    counts = not (_is_at_most(min_samples_split, 2) and _is_at_most(min_samples_leaf, 1))
    return rows if counts or any(levels_of(rows.table)) else rows.with_whole_weights()


def _is_at_most(limit: Any, number: int) -> bool:
    return isinstance(limit, (int, np.integer)) and int(limit) <= number

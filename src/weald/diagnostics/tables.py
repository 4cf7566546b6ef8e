"""Names of the columns of any table."""

from typing import Any

import narwhals.stable.v1 as nw


def names_of_columns(model: Any, table: Any) -> list[str]:
    """Names of the columns of a table: those of the fit, those of a data frame, or numbers.

    >>> import numpy as np
    >>> names_of_columns(None, np.zeros((3, 2)))
    ['column 0', 'column 1']
    """
    n_columns = table.shape[1]
    names = getattr(model, "feature_names_in_", None)
    if names is None or len(names) != n_columns:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else None
    if names is None:
        return [f"column {i}" for i in range(n_columns)]
    return [str(name) for name in names]

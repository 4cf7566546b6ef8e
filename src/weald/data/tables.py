"""The user's table as a float array, checked by scikit-learn's own rules."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import validate_data

from weald.data.rows import Table

# Missing values and infinities are welcome: the first are learnt, the second are ordered.
_RULES: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
    "accept_sparse": "csr",
}

# A sparse table is made dense in pieces of at most this many values when predicting.
_DENSE_VALUES = 2**22


def table_for_fit(estimator: object, X: object, y: object, *, y_numeric: bool) -> tuple[Table, Any]:
    """Check X and y together, and remember the columns on the estimator."""
    table, target = validate_data(estimator, X, y, y_numeric=y_numeric, **_RULES)
    if scipy.sparse.issparse(table):
        table = table.toarray()
    return _native_order(table), target


def table_for_predict(estimator: object, X: object) -> Any:
    """Check X against the columns of the fit; the result may be sparse."""
    return validate_data(estimator, X, reset=False, **_RULES)


def dense_blocks(table: Any) -> Iterator[Table]:
    """Yield a checked table as dense pieces, top to bottom: one piece if it is dense already."""
    if not scipy.sparse.issparse(table):
        yield _native_order(table)
        return
    step = max(1, _DENSE_VALUES // max(1, table.shape[1]))
    for begin in range(0, table.shape[0], step):
        yield table[begin : begin + step].toarray()


def _native_order(table: Any) -> Table:
    """Swap the bytes of a big-endian array; leave all others as they are."""
    if not table.dtype.isnative:
        table = table.astype(table.dtype.newbyteorder("="))
    return table  # type: ignore[no-any-return]

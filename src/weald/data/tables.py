"""The user's table as a float array, checked by scikit-learn's own rules."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from sklearn.utils.validation import validate_data

from weald.data.kinds import refuse_other_kinds
from weald.data.rows import Table

# Missing values and infinities are welcome: the first are learnt, the second are ordered.
_RULES: dict[str, Any] = {
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
    "accept_sparse": "csr",
}

# Native byte order only: np.dtype(">f8") is not among them.
_PLAIN = (np.dtype(np.float64), np.dtype(np.float32))

# A sparse table is made dense in pieces of at most this many values when predicting.
_DENSE_VALUES = 2**22


def table_for_fit(estimator: object, X: object, y: object, *, y_numeric: bool) -> tuple[Table, Any]:
    """Check X and y together, and remember the columns on the estimator."""
    refuse_other_kinds(X)
    table, target = validate_data(estimator, X, y, y_numeric=y_numeric, **_RULES)
    if _is_sparse(table):
        table = table.toarray()
    return _native_order(table), target


def table_for_predict(estimator: object, X: object) -> Any:
    """Check X against the columns of the fit; the result may be sparse."""
    refuse_other_kinds(X)
    return validate_data(estimator, X, reset=False, **_RULES)


def _is_sparse(table: Any) -> bool:
    return hasattr(table, "toarray")


def is_plain_table(X: object, estimator: object) -> TypeGuard[Table]:
    """Tell whether X is an array the core can read as it stands, with the columns of the fit.

    Then scikit-learn's checks would find nothing, and take longer than a prediction. Anything
    else goes the long way and gets their errors and warnings.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in _PLAIN
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", -1)
        and not hasattr(estimator, "feature_names_in_")
    )


def dense_blocks(table: Any) -> Iterator[Table]:
    """Yield a checked table as dense pieces, top to bottom: one piece if it is dense already."""
    if not _is_sparse(table):
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

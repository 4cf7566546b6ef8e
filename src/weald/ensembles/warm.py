"""Checks of warm starts."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from weald.data import ColumnPlan, Rows
from weald.persist import fingerprint


@dataclass(frozen=True)
class OffsetMark:
    """Digests of the rows of a fit without and with their offsets, regardless of their order."""

    rows: str
    rows_and_offsets: str

    @classmethod
    def of(cls, rows: Rows, n_threads: int) -> "OffsetMark | None":
        """The mark of a fit; None if it has no offsets."""
        if rows.offset is None:
            return None
        return cls(_digest(replace(rows, offset=None), n_threads), _digest(rows, n_threads))


def _digest(rows: Rows, n_threads: int) -> str:
    hashes = rows.hashes(n_threads)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    return hashlib.sha256(hashes[order].astype("<u8").tobytes()).hexdigest()


def check_offsets(before: OffsetMark | None, now: OffsetMark | None) -> None:
    """Refuse a warm start with other offsets than those of the previous fit, or with none.

    Offsets of other rows are allowed, as other rows are.
    """
    if (before is None) != (now is None):
        had, has = ("without", "has") if before is None else ("with", "lacks")
        raise ValueError(
            f"warm_start continues a fit {had} offset, and this one {has} it. Pass the same "
            "arguments, or set warm_start=False to fit from scratch."
        )
    if before is not None and now is not None and before.rows == now.rows and before != now:
        raise ValueError(
            "warm_start continues a fit on the same rows with other offsets. Pass the same offset, "
            "or set warm_start=False to fit from scratch."
        )


def check_warm_start(
    *, n_estimators: int, rounds: int, is_alike: bool, plans: tuple[ColumnPlan, ColumnPlan]
) -> None:
    """Refuse fewer rounds, other classes or base estimators, and incompatible columns.

    Parameters
    ----------
    rounds
        Number of rounds of the fitted model.
    is_alike
        Whether the classes and the type of base estimator are the same.
    plans
        Column plans of the previous fit and of this one.
    """
    if n_estimators < rounds:
        raise ValueError(
            f"n_estimators={n_estimators} must be larger or equal to the {rounds} rounds of the "
            "model when warm_start==True."
        )
    if not is_alike:
        raise ValueError(
            "warm_start continues the previous fit, which had other classes or base estimators. "
            "Set warm_start=False to fit from scratch."
        )
    before, now = [plan.as_read() for plan in plans]
    if before.n_columns != now.n_columns:
        raise ValueError(
            f"warm_start continues a fit on {before.n_columns} columns; got {now.n_columns}. "
            "Set warm_start=False to fit from scratch."
        )
    if fingerprint(before.fingerprint_arrays()) != fingerprint(now.fingerprint_arrays()):
        raise ValueError(
            "warm_start continues a fit on columns of other kinds or categories. "
            "Set warm_start=False to fit from scratch."
        )


def check_statistics(before: ColumnPlan, now: ColumnPlan) -> None:
    """Raise if target statistics are not those of the earlier fit."""
    if not now.has_statistics:
        return
    if fingerprint(before.fingerprint_arrays()) != fingerprint(now.fingerprint_arrays()):
        raise ValueError(
            "warm_start continues a fit whose categories have target statistics of other rows. "
            "Pass the same rows, or set target_statistics=False for both fits, or "
            "warm_start=False to fit from scratch."
        )

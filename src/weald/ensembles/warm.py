"""Checks of warm starts."""

from weald.data import ColumnPlan
from weald.persist import fingerprint


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
    before, now = plans
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

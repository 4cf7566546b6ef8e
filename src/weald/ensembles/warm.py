"""What a warm start refuses: a model that cannot be gone on with."""

from weald.data import ColumnPlan
from weald.persist import fingerprint


def check_warm_start(
    *, n_estimators: int, rounds: int, is_alike: bool, plans: tuple[ColumnPlan, ColumnPlan]
) -> None:
    """Refuse fewer rounds, other classes or members, and columns that would be misread.

    Parameters
    ----------
    rounds
        How many rounds the model has.
    is_alike
        Whether it has the same classes and kind of members.
    plans
        The columns of the last fit and of this one.
    """
    if n_estimators < rounds:
        raise ValueError(
            f"n_estimators={n_estimators} must be larger or equal to the {rounds} rounds of the "
            "model when warm_start==True."
        )
    if not is_alike:
        raise ValueError(
            "warm_start goes on from the last fit, which had other classes or members. "
            "Set warm_start=False to begin anew."
        )
    before, now = plans
    if before.n_columns != now.n_columns:
        raise ValueError(
            f"warm_start goes on from a fit on {before.n_columns} columns; got {now.n_columns}. "
            "Set warm_start=False to begin anew."
        )
    if fingerprint(before.learnt()) != fingerprint(now.learnt()):
        raise ValueError(
            "warm_start goes on from a fit on columns of other kinds or categories, so that "
            "its members would misread these. Set warm_start=False to begin anew."
        )

"""Aggregation of the predictions of several estimators: pure functions of arrays.

The first axis is the estimators: votes and numeric predictions have the shape (estimators, rows),
probabilities (estimators, rows, classes). Rows are combined independently, and the result does not
depend on the order of the estimators (up to rounding).
"""

from weald.aggregation.extremes import maximum, median, minimum
from weald.aggregation.means import mean, shares, weighted_mean
from weald.aggregation.products import geometric_mean, product
from weald.aggregation.ranks import rank_mean, ranks_among
from weald.aggregation.spread import disagreement
from weald.aggregation.votes import majority, vote_shares, weighted_majority

__all__ = [
    "disagreement",
    "geometric_mean",
    "majority",
    "maximum",
    "mean",
    "median",
    "minimum",
    "product",
    "rank_mean",
    "ranks_among",
    "shares",
    "vote_shares",
    "weighted_majority",
    "weighted_mean",
]

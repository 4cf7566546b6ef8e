"""Rules that combine the answers of members: pure functions of arrays.

Members come first: votes and numbers have the shape (members, rows), probabilities (members, rows,
classes). No rule looks at more than one row at a time, so an answer never depends on the other rows
asked about, and none depends on the order of the members (sums up to rounding).
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

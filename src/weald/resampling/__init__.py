"""Who is drawn: everything random is keyed by a seed and by what a row holds."""

from weald.resampling.bags import Bags
from weald.resampling.content import DistinctRows, distinct_rows, seed_of
from weald.resampling.draws import draw_by_mass, draw_some, hold_out, member_seed, subsample
from weald.resampling.folds import ContentKFold, hold_out_rows

__all__ = [
    "Bags",
    "ContentKFold",
    "DistinctRows",
    "distinct_rows",
    "draw_by_mass",
    "draw_some",
    "hold_out",
    "hold_out_rows",
    "member_seed",
    "seed_of",
    "subsample",
]

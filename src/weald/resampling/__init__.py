"""Who is drawn: everything random is keyed by a seed and by what a row holds."""

from weald.resampling.content import DistinctRows, distinct_rows, seed_of
from weald.resampling.draws import draw_by_mass, hold_out, member_seed, subsample

__all__ = [
    "DistinctRows",
    "distinct_rows",
    "draw_by_mass",
    "hold_out",
    "member_seed",
    "seed_of",
    "subsample",
]

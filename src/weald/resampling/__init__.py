"""Who is drawn: everything random is keyed by a seed and by what a row holds."""

from weald.resampling.content import DistinctRows, distinct_rows, seed_of
from weald.resampling.draws import hold_out, subsample

__all__ = ["DistinctRows", "distinct_rows", "hold_out", "seed_of", "subsample"]

"""Who is drawn: everything random is keyed by a seed and by what a row holds."""

from weald.resampling.bags import Bags
from weald.resampling.content import DistinctRows, distinct_rows, rows_by_themselves, seed_of
from weald.resampling.draws import (
    Purpose,
    draw_by_mass,
    draw_columns,
    draw_some,
    hold_out,
    member_seed,
    subsample,
)
from weald.resampling.folds import ContentKFold, hold_out_rows
from weald.resampling.pastes import Pastes
from weald.resampling.tables import hash_any_rows

__all__ = [
    "Bags",
    "ContentKFold",
    "DistinctRows",
    "Pastes",
    "Purpose",
    "distinct_rows",
    "draw_by_mass",
    "draw_columns",
    "draw_some",
    "hash_any_rows",
    "hold_out",
    "hold_out_rows",
    "member_seed",
    "rows_by_themselves",
    "seed_of",
    "subsample",
]

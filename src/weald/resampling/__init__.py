"""Random sampling keyed by a seed and by row content, hence independent of the row order."""

from weald.resampling.content import OrderedRows, ordered_rows, rows_as_they_lie, seed_of
from weald.resampling.draws import (
    Purpose,
    draw_by_mass,
    draw_columns,
    draw_some,
    hold_out,
    hold_out_groups,
    member_seed,
    subsample,
)
from weald.resampling.folds import ContentKFold, hold_out_rows
from weald.resampling.samples import RowSamples
from weald.resampling.tables import hash_any_rows

__all__ = [
    "ContentKFold",
    "OrderedRows",
    "Purpose",
    "RowSamples",
    "draw_by_mass",
    "draw_columns",
    "draw_some",
    "hash_any_rows",
    "hold_out",
    "hold_out_groups",
    "hold_out_rows",
    "member_seed",
    "ordered_rows",
    "rows_as_they_lie",
    "seed_of",
    "subsample",
]

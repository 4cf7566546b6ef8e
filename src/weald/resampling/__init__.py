"""Random sampling keyed by a seed and by row content, hence independent of the row order."""

from weald.resampling.content import OrderedRows, ordered_rows, rows_as_they_lie, seed_of
from weald.resampling.draws import (
    Purpose,
    draw_by_mass,
    draw_columns,
    draw_some,
    estimator_seed,
    hold_out,
    hold_out_groups,
    numbers_held_out,
    subsample,
)
from weald.resampling.folds import ContentKFold, deal_folds, hold_out_rows
from weald.resampling.samples import RowSamples
from weald.resampling.tables import hash_any_rows

__all__ = [
    "ContentKFold",
    "OrderedRows",
    "Purpose",
    "RowSamples",
    "deal_folds",
    "draw_by_mass",
    "draw_columns",
    "draw_some",
    "estimator_seed",
    "hash_any_rows",
    "hold_out",
    "hold_out_groups",
    "hold_out_rows",
    "numbers_held_out",
    "ordered_rows",
    "rows_as_they_lie",
    "seed_of",
    "subsample",
]

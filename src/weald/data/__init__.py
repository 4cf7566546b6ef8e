"""Input validation, conversion of tables to numeric columns, and binning."""

from weald.data.binning import BinnedTable, SortedTable, bin_rows, mass_of
from weald.data.containers import sound_sparse
from weald.data.memory import refuse_beyond_memory
from weald.data.missing_targets import naming_missing
from weald.data.names import in_fitted_order
from weald.data.offsets import checked_offset, validation_with_offset, with_offset
from weald.data.outputs import first_classes, label_rows, vector_rows
from weald.data.plan import ColumnPlan
from weald.data.reading import read
from weald.data.row_reading import RowReader
from weald.data.rows import (
    Rows,
    checked_weights,
    effective_rows,
    extreme_exponent,
    moderate_weights,
    refuse_no_weight,
    rows_of_weight,
    unit_exponent,
    weights_of_some,
)
from weald.data.selection import column_position
from weald.data.sources import (
    ColumnTable,
    SparseTable,
    as_one_array,
    levels_of,
    numbers_only,
    refuse_levels,
    steady,
)
from weald.data.sparse_binning import AnyBins, ListedTable, bin_any_rows, bin_sparse_rows
from weald.data.tables import (
    dense_blocks,
    is_plain_table,
    plan_of,
    read_columns,
    readable_table,
    table_for_predict,
)
from weald.data.targets import (
    advise_of_one_class,
    checked_labels,
    class_rows,
    finite_target,
    has_several,
    number_rows,
    numbered_classes,
    read_once,
    readable_target,
    refuse_missing_labels,
    refuse_several,
    refuse_text,
    unlabelled_rows,
)
from weald.data.validation import (
    ValidationRows,
    ValidationSet,
    target_in_units,
    validation_classes,
    validation_numbers,
    validation_vectors,
)
from weald.data.values import Kind, Values

__all__ = [
    "AnyBins",
    "BinnedTable",
    "ColumnPlan",
    "ColumnTable",
    "Kind",
    "ListedTable",
    "RowReader",
    "Rows",
    "SortedTable",
    "SparseTable",
    "ValidationRows",
    "ValidationSet",
    "Values",
    "advise_of_one_class",
    "as_one_array",
    "bin_any_rows",
    "bin_rows",
    "bin_sparse_rows",
    "checked_labels",
    "checked_offset",
    "checked_weights",
    "class_rows",
    "column_position",
    "dense_blocks",
    "effective_rows",
    "extreme_exponent",
    "finite_target",
    "first_classes",
    "has_several",
    "in_fitted_order",
    "is_plain_table",
    "label_rows",
    "levels_of",
    "mass_of",
    "moderate_weights",
    "naming_missing",
    "number_rows",
    "numbered_classes",
    "numbers_only",
    "plan_of",
    "read",
    "read_columns",
    "read_once",
    "readable_table",
    "readable_target",
    "refuse_beyond_memory",
    "refuse_levels",
    "refuse_missing_labels",
    "refuse_no_weight",
    "refuse_several",
    "refuse_text",
    "rows_of_weight",
    "sound_sparse",
    "steady",
    "table_for_predict",
    "target_in_units",
    "unit_exponent",
    "unlabelled_rows",
    "validation_classes",
    "validation_numbers",
    "validation_vectors",
    "validation_with_offset",
    "vector_rows",
    "weights_of_some",
    "with_offset",
]

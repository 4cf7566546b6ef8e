"""Warning for models that are constant because no split was possible."""

import inspect
from typing import Any

from weald.advice import advise
from weald.data import Rows


def advise_of_constant(model: Any, rows: Rows) -> None:
    """Warn if all trees are single leaves because the default `min_samples_leaf` is too large.

    There is no warning for a value that the user set.
    """
    forest = model.forest_
    least = getattr(model, "min_samples_leaf_", model.min_samples_leaf)
    n_rows = rows.n if rows.copies is None else int(rows.copies.sum())
    if not isinstance(least, int) or not 1 < n_rows < 2 * least:
        return
    parameter = inspect.signature(type(model)).parameters.get("min_samples_leaf")
    is_default = parameter is not None and model.min_samples_leaf == parameter.default
    if is_default and forest.n_trees and len(forest.feature) == forest.n_trees:
        advise(
            f"min_samples_leaf={least} of {type(model).__name__} allows no split of {n_rows} rows: "
            "the model predicts the same for every row. Set it lower, for example "
            f"min_samples_leaf={max(1, n_rows // 10)}.",
            of_parts=False,
        )

"""Codes of categories in the input of exported models."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from weald.data import plan_of
from weald.data.columns import Category, Column, Moment, Ordered
from weald.data.level_means import EncodedCategory
from weald.export.checks import check_is_tree_model


def category_codes(model: Any) -> dict[str | int, dict[Any, int]]:
    """Codes of the categories of a fitted tree model, as its exported forms take them.

    Exported models take numbers only. A category enters as its code; a missing value or a
    category that is not listed here enters as NaN. Columns of numbers and booleans enter as they
    are, durations in seconds.

    Parameters
    ----------
    model : estimator
        A fitted tree model.

    Returns
    -------
    dict
        For each column of categories, by name (by index if the model knows no names), its
        categories and their codes 0, 1, ... Empty if the model has no categories.

    Examples
    --------
    >>> import pandas as pd
    >>> import weald
    >>> X = pd.DataFrame({"city": ["Ulm", "Bonn", "Ulm", "Köln"], "km": [3, 1, 4, 1]})
    >>> model = weald.DecisionTreeRegressor().fit(X, [1.0, 2.0, 1.0, 3.0])
    >>> weald.export.category_codes(model)
    {'city': {'Bonn': 0, 'Köln': 1, 'Ulm': 2}}
    """
    check_is_tree_model(model)
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    coded: dict[str | int, dict[Any, int]] = {}
    for i, column in enumerate(plan_of(model).columns):
        levels = levels_of(column)
        if levels is not None:
            codes = {level: code for code, level in enumerate(levels)}
            coded[i if names is None else str(names[i])] = codes
    return coded


def levels_of(column: Column) -> tuple[Any, ...] | None:
    """Categories of a column in the order of their codes; None for other columns."""
    if isinstance(column, Ordered):
        return column.order
    return column.levels if isinstance(column, Category) else None


def refuse_derived_columns(model: Any) -> None:
    """Raise an error if trees split numbers that the model derives from a column.

    These are the parts of dates, and the target statistics of categories.
    """
    for i, column in enumerate(plan_of(model).columns):
        if isinstance(column, EncodedCategory):
            raise ValueError(
                f"This {type(model).__name__} cannot be exported: it splits target statistics of "
                f"{model._column_names()[i]!r}, and the exported forms read codes of categories "
                "only. Fit the model with target_statistics=False."
            )
        if isinstance(column, Moment):
            raise ValueError(
                f"This {type(model).__name__} cannot be exported: {model._column_names()[i]!r} "
                "holds dates, which the exported forms do not read. Fit the model on numbers made "
                "from the dates, such as year, month and days since a fixed day."
            )

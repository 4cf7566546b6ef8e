"""Checks of models and tables, shared by all explanations."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald.data import is_plain_table, table_for_predict
from weald.ensembles.base import TreeModel
from weald.ensembles.members.members import n_rows_of
from weald.ensembles.members.samples import as_table, table_to_predict


def check_model(model: Any) -> None:
    """Raise if the model is no fitted model."""
    if isinstance(model, type) or not callable(getattr(model, "predict", None)):
        raise TypeError(
            f"Explanations require a fitted model with a predict method. Got {model!r}."
        )
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)


def checked_table(model: Any, X: Any, name: str = "X") -> Any:
    """Check a table against the columns of the fit, and order its columns like these.

    Parameters
    ----------
    model : estimator
        The fitted model.
    X : table
        Any table that the model's predict accepts.
    name : str, default="X"
        Name in messages.
    """
    if isinstance(model, TreeModel) and is_plain_table(X, model) and len(X):
        return X  # as predict does: scikit-learn's checks take longer than one row
    X = as_table(X)
    if isinstance(model, TreeModel):
        table_for_predict(model, X)
    if hasattr(model, "n_features_in_"):
        X = table_to_predict(model, X)
    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            f"Expected 2D array for {name}, got {type(X).__name__} of shape "
            f"{getattr(X, 'shape', None)}. Pass a table of rows and columns; reshape one row by "
            "X.reshape(1, -1)."
        )
    if n_rows_of(X) == 0:
        raise ValueError(f"{name} has no rows (shape={tuple(X.shape)}); at least 1 is required.")
    return X


def number_of_columns(model: Any, X: Any) -> int:
    """Number of input columns."""
    return int(getattr(model, "n_features_in_", X.shape[1]))


def column_names(model: Any, X: Any, n_columns: int) -> list[str]:
    """Names of the columns: those of the fit, those of the table, or their numbers."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and hasattr(X, "columns") and not callable(X.columns):
        names = getattr(X, "column_names", X.columns)
    return [f"column {i}" for i in range(n_columns)] if names is None else [str(n) for n in names]

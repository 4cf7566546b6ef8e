"""Saving fitted models to files, and the check of loaded ones."""

import os
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald.errors import ModelFormatError


class Saved:
    """Estimator with the method `save`."""

    def save(self, path: str | os.PathLike[str], *, oob: bool = False) -> None:
        """Save the fitted model to a file, which `weald.load` reads.

        The file is a zip archive of JSON and NumPy arrays: no pickle, no code, no paths. It is
        written to a temporary file first and then renamed, so that a crash leaves the old file or
        the new one.

        Parameters
        ----------
        path : str or path
            Usually with the suffix ``.weald``; an existing file is replaced.
        oob : bool, default=False
            Whether to save the records of the training rows too: their targets and which base
            estimator has seen them. Out-of-bag estimates and intervals of the loaded model need
            them, and so does a warm start of a bag or a stack.

        Raises
        ------
        ModelFormatError
            If the model has a part that cannot be saved without pickle: a function, or an estimator
            of another library. The message names it.
        """
        from weald.persist.model_file import save_model

        check_is_fitted(self)
        save_model(self, path, oob=oob)

    def _check_loaded(self) -> None:
        """Raise if the fitted attributes, read from a file, are not consistent."""
        for part in _estimators_within(vars(self)):
            if isinstance(part, Saved):
                part._check_loaded()


def check_prediction(model: Any, n_columns: int, *, is_plain: bool) -> None:
    """Predict a row of missing values, which involves every array of a model."""
    row = np.full((1, n_columns), np.nan) if is_plain else np.full((1, n_columns), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no column names
        predicted = model.predict(row)
        if hasattr(model, "predict_proba"):
            model.predict_proba(row)
    if len(predicted) != 1:
        raise ModelFormatError(f"{type(model).__name__} does not predict one value for one row.")


def _estimators_within(value: Any) -> list[Any]:
    """Fitted estimators in lists, tuples and dicts."""
    if isinstance(value, BaseEstimator):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [found for one in value for found in _estimators_within(one)]
    return []

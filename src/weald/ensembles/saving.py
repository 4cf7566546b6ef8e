"""Saving fitted models to files, and the check of loaded ones."""

import os
from typing import Any

import numpy as np
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state that is unpickled, copied or read from a model file, and check it."""
        name = type(self).__name__
        try:
            self._set_state(state)
            self._check_restored()
        except (ModelFormatError, MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # whatever inconsistent content leads to
            raise ModelFormatError(
                f"the state of {name} is not a sound model: {error!r}."
            ) from error

    def _set_state(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            raise TypeError("the state is not a dict of attributes")
        super().__setstate__(state)  # type: ignore[misc]  # of scikit-learn's BaseEstimator

    def _check_restored(self) -> None:
        """Raise if the fitted attributes are not consistent; those of parts were checked before."""


def check_prediction(model: Any, n_columns: int, *, is_plain: bool) -> None:
    """Predict a row of missing values, which involves every array of a model."""
    row = np.full((1, n_columns), np.nan) if is_plain else np.full((1, n_columns), None)
    nameless = object.__new__(type(model))  # the row has no names, which would be a warning
    vars(nameless).update(vars(model))
    vars(nameless).pop("feature_names_in_", None)
    with np.errstate(all="ignore"):
        predicted = nameless.predict(row)
        shares = nameless.predict_proba(row) if hasattr(nameless, "predict_proba") else None
    if len(predicted) != 1:
        raise ModelFormatError(f"{type(model).__name__} does not predict one value for one row.")
    if shares is None:
        return
    of_outputs, classes = (shares, model.classes_)
    if not isinstance(shares, list):
        of_outputs, classes = [shares], [classes]
    if [one.shape for one in of_outputs] != [(1, len(one)) for one in classes]:
        raise ModelFormatError(f"{type(model).__name__} has not one probability per class.")

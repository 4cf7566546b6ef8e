"""Saving fitted models to files, and the check of loaded ones."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.errors import ModelFormatError, shown
from weald.persist.kinds import kind_of


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
        """Raise if the fitted attributes do not fit together; those of parts were checked before.

        A row is predicted, unless a part is of another library and may not take any.
        """
        n_columns = getattr(self, "n_features_in_", None)
        if n_columns is None or not self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            return
        readers = self._readers()
        for part in readers:
            if not hasattr(part, "predict"):
                raise ModelFormatError(
                    f"{type(self).__name__} has a part that is no estimator: {shown(part)}."
                )
        if n_columns > _MOST_COLUMNS and readers:
            return
        if takes_missing_values(self):
            nothing = np.nan if self._has_only_numbers() else None
            check_prediction(self, np.full((1, n_columns), nothing))
        elif takes_numbers(self):
            check_prediction(self, np.zeros((1, n_columns)))

    def _readers(self) -> Sequence[Any]:
        """The fitted parts that read rows; none if they are weald's own trees."""
        return ()

    def _has_only_numbers(self) -> bool:
        """Whether all columns are surely numeric."""
        return False


# A row of more columns would need much memory before it is known whether the parts have as many.
_MOST_COLUMNS = 2**16


def takes_missing_values(model: Any) -> bool:
    """Whether a model predicts any row of missing values: weald's own do."""
    return isinstance(model, Saved) and all(map(takes_missing_values, model._readers()))


def takes_numbers(model: Any) -> bool:
    """Whether a model surely predicts a row of zeros: weald's own and scikit-learn's simple ones.

    A pipeline does if its last step does and is none of weald, which may be fitted on text that the
    steps before have completed.
    """
    if isinstance(model, Saved):
        is_of_others = (
            getattr(model, "_columns", None) is not None and not model._has_only_numbers()
        )
        return not is_of_others and all(map(takes_numbers, model._readers()))
    kind = kind_of(type(model)) or ""
    if kind == "sklearn.Pipeline":
        steps = [step for _, step in model.steps]
        return not isinstance(steps[-1], Saved) and all(map(takes_numbers, steps))
    return kind.startswith("sklearn.")


def check_prediction(model: Any, row: NDArray[Any]) -> None:
    """Predict a row, which involves every array of a model."""
    if not model._limits["n_jobs"].admits(model.n_jobs):
        raise ModelFormatError(f"{type(model).__name__} has n_jobs={shown(model.n_jobs)}.")
    nameless = object.__new__(type(model))  # the row has no names
    vars(nameless).update(vars(model), n_jobs=1)
    vars(nameless).pop("feature_names_in_", None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # Parts may have names although the model has none any more.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
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

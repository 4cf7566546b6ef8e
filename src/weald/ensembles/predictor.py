"""Low-latency predictors for serving: prediction only, with minimal input validation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.checked_state import check_fields
from weald.data import ColumnPlan, RowReader
from weald.ensembles.multioutput import labels_of_outputs, shares_of_outputs
from weald.errors import ModelFormatError
from weald.threads import thread_count
from weald.trees import Forest, RotatedForest

Floats = NDArray[np.float64]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True, eq=False)
class Predictor:
    """Immutable, thread-safe predictor returned by `predictor()` of a model.

    A 2-D array is a batch, predicted as by the model itself. A 1-D array is one row, whose
    prediction has no row axis. Columns must be in the order of the fit.

    Attributes
    ----------
    forest : Forest or RotatedForest
        The trees.
    loss : str
        Loss whose inverse link turns scores into predictions; empty: identity.
    classes : array, tuple of arrays or None
        Class labels, sorted; one array per output for several outputs.
    n_jobs : int or None
        Number of threads for a batch, as in the model.
    """

    forest: Forest | RotatedForest
    loss: str
    classes: NDArray[Any] | tuple[NDArray[Any], ...] | None
    n_jobs: int | None
    _n_threads: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.classes, tuple):
            object.__setattr__(self, "classes", tuple(map(_read_only_copy, self.classes)))
        elif self.classes is not None:
            object.__setattr__(self, "classes", _read_only_copy(self.classes))
        object.__setattr__(self, "_n_threads", thread_count(self.n_jobs))
        # Warm up: load the trees into the core now rather than on the first request.
        self.predict(np.zeros(self.forest.n_columns))

    def __reduce__(self) -> tuple[Any, ...]:
        # Rebuild on load: the number of cores may differ.
        return _restored, (type(self), self.forest, self.loss, self.classes, self.n_jobs)

    def _check_classes(self) -> None:
        """Raise an error if there is not one probability per class."""

    def predict(self, X: NDArray[Any]) -> Any:
        """Predict as the model's `predict`."""
        raise NotImplementedError

    def _answer(self, X: NDArray[Any], loss: str = "") -> Floats:
        try:
            # Exact type: the core would ignore the mask or names of a subclass.
            if type(X) is np.ndarray:
                return self.forest.answer(X, loss=loss, n_threads=self._n_threads)
            raise TypeError
        except (TypeError, ValueError) as error:
            raise self._input_error(X) or error from None

    def _input_error(self, X: object) -> Exception | None:
        """Explain why the core rejected X."""
        n, hint = self.forest.n_columns, "The model's own methods take any table."
        if isinstance(X, np.ma.MaskedArray):
            return TypeError(
                "predictor() takes plain arrays; the mask of a masked array would be ignored. "
                "Pass X.filled(np.nan), so that masked values are missing."
            )
        if type(X) is not np.ndarray:
            return TypeError(
                f"predictor() takes NumPy arrays; got {type(X).__name__}. Pass "
                f"np.asarray(X, dtype=np.float64) with columns in the order of the fit. {hint}"
            )
        if X.dtype not in _FLOATS:
            return TypeError(
                f"predictor() takes float32 and float64; got an array of {X.dtype!r}. "
                f"Pass X.astype(np.float64). {hint}"
            )
        if X.ndim not in {1, 2}:
            return ValueError(
                f"predictor() takes one row of shape ({n},) or a batch of shape (rows, {n}); "
                f"got shape {X.shape}."
            )
        if X.shape[-1] != n:
            return ValueError(
                f"X has {X.shape[-1]} features, but this predictor is expecting {n} features as "
                f"input: one row of shape ({n},) or a batch of shape (rows, {n})."
            )
        if any(stride % X.itemsize for stride in X.strides):
            return ValueError(
                f"predictor() cannot read an array with strides {X.strides}, which are not "
                f"multiples of {X.itemsize} bytes. Pass np.ascontiguousarray(X)."
            )
        return None


def _restored(kind: type[Any], *state: Any) -> Any:
    """A predictor that is unpickled or copied: its state is checked like that of a model."""
    try:
        if not (isinstance(kind, type) and issubclass(kind, (Predictor, TablePredictor))):
            raise TypeError("it names another class")
        made = kind(*state)
        check_fields(made)
        made._check_classes()
    except ModelFormatError:
        raise
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise ModelFormatError(f"the state of a predictor is damaged: {error!r}.") from error
    return made


@dataclass(frozen=True, eq=False)
class NumberPredictor(Predictor):
    """Regression with one output."""

    def predict(self, X: NDArray[Any]) -> Any:
        """Predict as the model's `predict`."""
        return self._answer(X, self.loss)[..., 0]


@dataclass(frozen=True, eq=False)
class LevelsPredictor(Predictor):
    """Regression with several outputs per row, such as quantiles."""

    def predict(self, X: NDArray[Any]) -> Floats:
        """Predict as the model's `predict`."""
        return self._answer(X, self.loss)


@dataclass(frozen=True, eq=False)
class ClassPredictor(Predictor):
    """Classification with probabilities."""

    classes: NDArray[Any]

    def predict(self, X: NDArray[Any]) -> Any:
        """Predict as the model's `predict`."""
        return self.classes[self.predict_proba(X).argmax(axis=-1)]

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Predict as the model's `predict_proba`."""
        if len(self.classes) == 1:
            return np.ones_like(self._answer(X))
        return self._answer(X, self.loss)

    def _check_classes(self) -> None:
        n = self.predict_proba(np.zeros(self.forest.n_columns)).shape[-1]
        if n != len(self.classes):
            raise ModelFormatError(f"the predictor has {len(self.classes)} classes, not {n}.")


@dataclass(frozen=True, eq=False)
class LabelPredictor(Predictor):
    """Multi-output classification with probabilities."""

    classes: tuple[NDArray[Any], ...]

    def predict(self, X: NDArray[Any]) -> Any:
        """Predict as the model's `predict`."""
        return labels_of_outputs(self.predict_proba(X), self.classes)

    def predict_proba(self, X: NDArray[Any]) -> list[Floats]:
        """Predict as the model's `predict_proba`."""
        return shares_of_outputs(self._answer(X, self.loss), self.classes)

    def _check_classes(self) -> None:
        n = self._answer(np.zeros(self.forest.n_columns)).shape[-1]
        if n != sum(map(len, self.classes)):
            raise ModelFormatError(f"the predictor has other classes than its {n} outputs.")


@dataclass(frozen=True, eq=False)
class ScorePredictor(ClassPredictor):
    """Classification with probabilities and raw scores."""

    def decision_function(self, X: NDArray[Any]) -> Any:
        """Predict as the model's `decision_function`."""
        scores = self._answer(X)
        return scores[..., 0] if scores.shape[-1] == 1 else scores


def predictor_of(model: object, forest: Forest, *, loss: str, n_jobs: int | None) -> Predictor:
    """Make the predictor with the prediction methods of a fitted model."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        several = (
            getattr(model, "_predicts_quantiles", False) or getattr(model, "n_outputs_", 1) > 1
        )
        return (LevelsPredictor if several else NumberPredictor)(forest, loss, None, n_jobs)
    if isinstance(classes, list):
        return LabelPredictor(forest, loss, tuple(classes), n_jobs)
    kind = ScorePredictor if hasattr(model, "decision_function") else ClassPredictor
    return kind(forest, loss, classes, n_jobs)


@dataclass(frozen=True, eq=False)
class TablePredictor:
    """Predictor for tables with text, categories or dates.

    One row is a list, a tuple or a 1-D array with its values in the order of the fit, or a dict
    with a value for every column name. Any table the model accepts is a batch.

    Attributes
    ----------
    alone : Predictor
        Predicts from numeric columns.
    reader : RowReader
        Converts tables and rows to numeric columns.
    """

    alone: Any
    reader: RowReader

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.alone, self.reader)

    def _check_classes(self) -> None:
        if not isinstance(self.alone, Predictor):
            raise ModelFormatError("the predictor has none of numeric columns.")
        n, found = self.reader.plan.n_columns, self.alone.forest.n_columns
        if n != found:
            raise ModelFormatError(f"the predictor splits {found} columns, but reads {n}.")

    def predict(self, X: Any) -> Any:
        """Predict as the model's `predict`."""
        return self.alone.predict(self.reader.read(X))


@dataclass(frozen=True, eq=False)
class TableClassPredictor(TablePredictor):
    """Classification with probabilities."""

    def predict_proba(self, X: Any) -> Any:
        """Predict as the model's `predict_proba`."""
        return self.alone.predict_proba(self.reader.read(X))


@dataclass(frozen=True, eq=False)
class TableScorePredictor(TableClassPredictor):
    """Classification with probabilities and raw scores."""

    def decision_function(self, X: Any) -> Any:
        """Predict as the model's `decision_function`."""
        return self.alone.decision_function(self.reader.read(X))


def table_predictor_of(
    alone: Predictor, plan: ColumnPlan, names: list[str] | None
) -> TablePredictor:
    """Wrap a predictor of arrays in one that reads tables by a column plan."""
    kind = TablePredictor
    if hasattr(alone, "predict_proba"):
        has_scores = hasattr(alone, "decision_function")
        kind = TableScorePredictor if has_scores else TableClassPredictor
    return kind(alone, RowReader(plan, None if names is None else tuple(names)))


def _read_only_copy(classes: NDArray[Any]) -> NDArray[Any]:
    copy = classes.copy()
    copy.setflags(write=False)
    return copy

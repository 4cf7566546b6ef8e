"""Validation of y and its conversion to numbers: class codes, or values for regression."""

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from weald.advice import advise
from weald.data.containers import is_known_frame, plain_array, read_array
from weald.data.parts.parts import PartsColumn
from weald.data.rows import Rows, weights_as_numbers
from weald.data.tables import table_for_fit
from weald.data.values import SeriesValues, is_missing
from weald.data.wrong_arrays import refuse_complex

# With more rows, codes of two classes may be stored as bytes, which saves 7 bytes per row.
_MANY_ROWS = 2_000_000


def class_rows(
    estimator: object,
    X: object,
    y: object,
    sample_weight: object,
    *,
    takes_bytes: bool = False,
) -> tuple[Rows, NDArray[Any]]:
    """Return rows with class codes as target, and the sorted classes.

    Classes include those of rows with weight zero. With `takes_bytes`, codes of two classes may be
    bytes if there are many rows.
    """
    y, sample_weight = read_once(y, sample_weight)
    refuse_several(estimator, y)
    table, labels = table_for_fit(estimator, X, y, y_numeric=False, sample_weight=sample_weight)
    # Integers need no check other than the warning about too many classes.
    is_whole = labels.dtype.kind in "iub" and labels.ndim == 1
    if not is_whole:
        labels = checked_labels(labels)
    small = np.uint8 if takes_bytes and len(labels) > _MANY_ROWS else np.float64
    classes, target = numbered_classes(labels, np.float64, of_two=small)
    if is_whole and 2 * len(classes) > len(labels):
        check_classification_targets(labels)
    advise_of_one_class(classes, len(labels))
    return Rows(table, target).weighted(sample_weight), classes


def advise_of_one_class(classes: NDArray[Any], n_rows: int) -> None:
    """Warn if several rows all have the same class."""
    if len(classes) == 1 and n_rows > 1:
        advise(
            f"y holds one class only, {classes.tolist()[0]!r}, which will be predicted for every "
            "row. Check how the target or the rows were selected.",
            of_parts=False,
        )


# Integers with a smaller range are encoded by a lookup table instead of sorting.
_NARROW = 1 << 16

# Number of labels per block, to stay in the cache.
_BLOCK = 1 << 15


def numbered_classes(
    labels: NDArray[Any], kind: Any = np.intp, *, of_two: Any = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sorted distinct labels, and the code of each row.

    Codes have the dtype `kind`, or `of_two` if there are at most two classes.

    Examples
    --------
    >>> numbered_classes(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """

    def numbers_for(classes: NDArray[Any]) -> Any:
        return kind if of_two is None or len(classes) > 2 else of_two

    if labels.dtype.kind == "b":
        classes, numbers = numbered_classes(labels.view(np.uint8), kind, of_two=of_two)
        return classes.astype(bool), numbers
    is_whole = labels.dtype.kind in "iu"
    least, most = (labels.min(), labels.max()) if is_whole else (0, 0)
    if not is_whole or int(most) - int(least) >= _NARROW:
        # Allocate before temporaries, so that freeing them does not fragment the heap.
        numbers = np.empty(labels.size, dtype=kind)
        classes, numbers[:] = _sorted_classes(labels)
        return classes, numbers.astype(numbers_for(classes), copy=False)
    is_there = np.zeros(int(most) - int(least) + 1, dtype=bool)
    for _, places in _places(labels, least):
        is_there[places] = True
    # The addition may wrap around, which yields the correct result.
    classes = (least + np.flatnonzero(is_there).astype(labels.dtype)).astype(labels.dtype)
    number_of = (np.cumsum(is_there) - 1).astype(numbers_for(classes))
    numbers = np.empty(labels.size, dtype=number_of.dtype)
    for rows, places in _places(labels, least):
        number_of.take(places, out=numbers[rows], mode="clip")  # other modes buffer the output
    return classes, numbers


def _places(labels: NDArray[Any], least: Any) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Yield blocks of rows with the differences of their labels from the smallest."""
    # Differences are non-negative and cannot overflow 64 bits.
    wide = np.uint64 if labels.dtype.kind == "u" else np.int64
    for begin in range(0, labels.size, _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        yield rows, np.subtract(labels[rows], least, dtype=wide).astype(np.intp, copy=False)


def _sorted_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers.reshape(-1)


# Sums and differences of larger targets could overflow.
LARGEST_TARGET = 2.0**1000


def number_rows(estimator: object, X: object, y: object, sample_weight: object) -> Rows:
    """Return rows with a finite number as target."""
    y, sample_weight = read_once(y, sample_weight)
    refuse_several(estimator, y)
    refuse_text(y)
    table, values = table_for_fit(estimator, X, y, y_numeric=True, sample_weight=sample_weight)
    return Rows(table, finite_target(values)).weighted(sample_weight)


def unlabelled_rows(estimator: object, X: object, sample_weight: object) -> Rows:
    """Return rows without a target, of an estimator that takes none."""
    _, sample_weight = read_once(None, sample_weight)
    table, _ = table_for_fit(estimator, X, None, y_numeric=False, sample_weight=sample_weight)
    return Rows(table, np.zeros(table.shape[0])).weighted(sample_weight)


def finite_target(values: Any) -> NDArray[np.float64]:
    """Return the target as finite floats, or raise an error that names the first bad row."""
    if values.dtype.kind in "mM":
        raise TypeError(
            f"y holds dates or durations ({values.dtype}); regression requires numbers, such as "
            "days since a fixed date."
        )
    # Converts objects too: None becomes NaN.
    target = np.ascontiguousarray(values, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(target) <= LARGEST_TARGET))
    if bad.size:
        value = target[bad[0]]
        what = "NaN" if np.isnan(value) else "infinity or a value too large for float64 sums"
        raise ValueError(
            f"Input y contains {what}: row {bad[0]} has {value}. Targets must be finite numbers "
            f"of at most {LARGEST_TARGET:g} in size; drop the row or scale the target."
        )
    return target


def read_once(y: object, sample_weight: object) -> tuple[Any, Any]:
    """Convert target and weights once, so that later reads yield the same values."""
    if sample_weight is not None:
        sample_weight = weights_as_numbers(sample_weight)
    return readable_target(y), sample_weight


def readable_target(y: Any) -> Any:
    """Convert polars and pyarrow series, and objects with array protocols, to an array.

    Other objects are returned unchanged, to be checked by scikit-learn. Columns of tables in parts
    are, too: they are read with their table.
    """
    if isinstance(y, PartsColumn):
        return y
    _refuse_masked_or_sparse(y)
    refuse_complex(y, "y")
    if isinstance(y, np.ndarray):
        return plain_array(y)
    series = nw.from_native(y, allow_series=True, pass_through=True)
    if nw.dependencies.is_pandas_series(y):
        return y
    if not isinstance(series, nw.Series):
        return y if is_known_frame(series) else read_array(y, "y")
    if isinstance(series.dtype, (nw.Categorical, nw.Enum, nw.String)):
        codes, values = SeriesValues(series, "y").coded()
        # The last entry is for code -1.
        return np.array([*values, None], dtype=object)[codes]
    return series.to_numpy()


def has_several(y: Any) -> bool:
    """Whether a target has more than one column.

    >>> has_several(np.zeros((3, 2))), has_several([[1], [2]]), has_several([1, 2])
    (True, False, False)
    """
    try:
        shape: tuple[int, ...] = (
            np.shape(y) if isinstance(y, (list, tuple)) else getattr(y, "shape", ())
        )
    except ValueError:  # ragged rows: scikit-learn raises the error
        return False
    return len(shape) == 2 and shape[1] > 1


def refuse_several(estimator: object, y: Any) -> None:
    """Raise ValueError for a multi-output target if the estimator supports one output."""
    if has_several(y):
        kind = "Classifier" if is_classifier(estimator) else "Regressor"
        boosted = "" if kind == "Classifier" else "BoostedTreesRegressor, "
        raise ValueError(
            f"y should be a 1d array, got an array of shape {np.shape(y)} instead: this "
            f"{type(estimator).__name__} supports one output. Use {boosted}DecisionTree{kind}, "
            f"RandomForest{kind} or ExtraTrees{kind}, which support several, or a model for each: "
            f"sklearn.multioutput.MultiOutput{kind}."
        )


def refuse_text(y: Any) -> None:
    """Raise ValueError that names the first row whose target is text or overflows float64."""
    if isinstance(y, PartsColumn) or getattr(getattr(y, "dtype", None), "kind", "O") not in "OSTU":
        return
    for row, value in enumerate(np.ravel(np.asarray(y, dtype=object))):
        try:
            _ = float(value) if isinstance(value, (str, bytes, int)) else 0.0
        except OverflowError as error:
            raise ValueError(
                f"y holds an integer too large for float64 in row {row}. Scale the target."
            ) from error
        except ValueError as error:
            raise ValueError(
                f"y holds text, which could not be converted to numbers: row {row} has {value!r}. "
                "Regression requires numbers; use a classifier for labels."
            ) from error


def _refuse_masked_or_sparse(y: Any) -> None:
    if np.ma.isMaskedArray(y):
        raise TypeError(
            "y is a masked array, which is not supported: the mask would be ignored. Drop the "
            "masked rows: X[~mask], y.data[~mask] with mask = np.ma.getmaskarray(y)."
        )
    if hasattr(y, "tocsc") and hasattr(y, "format"):
        if len(y.shape) == 2 and y.shape[1] > 1:
            raise ValueError(
                "sparse multilabel-indicator for y is not supported: pass y.toarray(), with one "
                "column per output."
            )
        raise TypeError(
            "Sparse data was passed for y, but dense data is required: pass y.toarray().ravel()."
        )


def checked_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Check class labels: none missing, and either all or none of them text.

    Object arrays of numbers are converted to numeric arrays.
    """
    refuse_missing_labels(labels)
    if labels.dtype.kind == "S" or isinstance(labels.flat[0], bytes):
        raise TypeError(
            "Support for labels represented as bytes is not supported. Convert the labels to text "
            "or numbers, for example by y.astype(str)."
        )
    if labels.dtype == object:
        _refuse_mixed_labels(labels)
        plain = np.array(labels.tolist())
        if plain.ndim == 1 and plain.dtype.kind in "biuf":
            labels = plain
    check_classification_targets(labels)
    return labels


def _refuse_mixed_labels(labels: NDArray[Any]) -> None:
    is_text = np.array([isinstance(label, str) for label in labels])
    if is_text.any() and not is_text.all():
        text, other = int(np.argmax(is_text)), int(np.argmin(is_text))
        raise ValueError(
            f"y has a mix of label input types: row {text} has the text {labels[text]!r}, row "
            f"{other} has {labels[other]!r} ({type(labels[other]).__name__}). Convert all of them "
            "to text, for example by y.astype(str)."
        )


def refuse_missing_labels(labels: NDArray[Any]) -> None:
    """Raise ValueError that names the first row with a missing label."""
    if labels.dtype != object:
        return  # scikit-learn has checked numbers for NaN
    for row, label in enumerate(labels):
        if is_missing(label):
            raise ValueError(
                f"Input y contains NaN: the label of row {row} is missing ({label!r}). "
                "Drop such rows, or use a separate label for them."
            )

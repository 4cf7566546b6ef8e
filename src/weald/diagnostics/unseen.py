"""Predictions for rows that a model was not fitted on: out of bag, or by cross-validation."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.diagnostics.base_estimators import MOST_PREDICTIONS, BaseEstimators, base_estimators_of
from weald.diagnostics.subject import Subject, predictions_of
from weald.ensembles.out_of_bag.oob_importance import checked_rows_of_fit
from weald.persist.not_saved import has_record
from weald.resampling import ContentKFold
from weald.theory.arguments import take

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Share of the rows that must be out of bag for some base estimator, and number of base estimators:
# a third of a few of them predicts much worse than all.
_ENOUGH_ROWS, _ENOUGH_MEMBERS = 0.5, 25
_NO_REFIT = (
    "A model that cannot be refitted is diagnosed on rows that it was not fitted on: "
    "weald.diagnose(model, X_new, y_new, refit=False), which weald.report takes as diagnosis=."
)
# Number of base estimators that are compared; pairs grow with its square.
MOST_MEMBERS = 300


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that are looked at.

    Attributes
    ----------
    table, labels, target : table and arrays
        Columns, targets as given, and targets as class indices or floats.
    groups : array or None
        Groups of rows that stay together in folds.
    rows : intp [rows]
        Their positions in X.
    n_all : int
        Number of rows of X.
    """

    table: Any
    labels: NDArray[Any]
    target: NDArray[Any]
    groups: NDArray[Any] | None
    rows: Rows
    n_all: int

    @property
    def n(self) -> int:
        return len(self.rows)

    def take(self, some: Rows) -> "Sample":
        """Some of the rows, in the given order."""
        groups = None if self.groups is None else self.groups[some]
        return Sample(
            take(self.table, some),
            self.labels[some],
            self.target[some],
            groups,
            self.rows[some],
            self.n_all,
        )


@dataclass(frozen=True, eq=False)
class Members:
    """Predictions of single base estimators for some rows.

    Attributes
    ----------
    predictions : float64 [estimators, rows, classes or 1]
        What each predicts.
    in_bag : int [estimators, rows]
        How often each has seen each row.
    rows : intp [rows]
        Positions of the rows in the sample.
    """

    predictions: Floats
    in_bag: NDArray[Any]
    rows: Rows


@dataclass(frozen=True, eq=False)
class Unseen:
    """Predictions by models that were not fitted on the row.

    Attributes
    ----------
    predictions : float64 [rows, classes or 1]
        NaN for rows without one.
    source : {"out-of-bag", "cross-validation", "held-out"}
        How they were made; "held-out": by the model itself, which was not fitted on any of them.
    members : Members or None
        Those of single base estimators.
    """

    predictions: Floats
    source: str
    members: Members | None

    @property
    def scored(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.predictions[:, 0])


def unseen_predictions(subject: Subject, sample: Sample, n_folds: int, seed: int) -> Unseen:
    """Take out-of-bag predictions if the ensemble has them, else cross-validate clones."""
    base = base_estimators_of(subject)
    # Each of several boosters leaves out a fold, and is as good as their mean but for noise.
    has_folds = getattr(subject.model, "_folds", None) is not None
    if base is not None and base.in_bag is not None and (has_folds or base.n >= _ENOUGH_MEMBERS):
        in_bag = base.in_bag(sample.n_all, sample.rows)
        if (in_bag == 0).any(axis=0).mean() >= _ENOUGH_ROWS:
            return _out_of_bag(subject, base, sample, in_bag)
    return _cross_validated(subject, sample, n_folds, seed)


def held_out_predictions(subject: Subject, sample: Sample) -> Unseen:
    """Predictions of the model itself, for rows that it was not fitted on."""
    base = base_estimators_of(subject)
    members = None
    if base is not None and base.n > 1:
        n = min(sample.n, base.rows_at_once(1 if subject.classes is None else len(subject.classes)))
        rows = np.arange(n)
        predicted = base.predict(take(sample.table, rows))[:MOST_MEMBERS]
        members = Members(predicted, np.zeros(predicted.shape[:2], dtype=int), rows)
    return Unseen(subject.predict(sample.table), "held-out", members)


def check_rows_of_fit(subject: Subject, X: Any, y: Any) -> None:
    """Raise ValueError if the model remembers other training rows."""
    # Automatic ensembles keep a record of another kind.
    if hasattr(type(subject.model), "oob_") and has_record(subject.model):
        checked_rows_of_fit(subject.model, X, y)


# ---- out of bag ----


def _out_of_bag(
    subject: Subject, base: BaseEstimators, sample: Sample, in_bag: NDArray[Any]
) -> Unseen:
    """Mean prediction of the base estimators that did not see the row, block by block."""
    width = 1 if subject.classes is None else len(subject.classes)
    predict = base.predict_out_of_bag or base.predict
    weights = np.asarray(getattr(subject.model, "weights_", np.ones(base.n)), dtype=np.float64)
    step, found, members = base.rows_at_once(width), [], None
    for begin in range(0, sample.n, step):
        rows = np.arange(begin, min(begin + step, sample.n))
        predicted = predict(take(sample.table, rows))
        share = (in_bag[:, rows] == 0) * weights[:, np.newaxis]
        with np.errstate(invalid="ignore"):
            mean = np.einsum("kr,krw->rw", share, predicted) / share.sum(axis=0)[:, np.newaxis]
        found.append(mean)
        if members is None:
            some = slice(0, MOST_MEMBERS)
            members = Members(predicted[some], in_bag[some][:, rows], rows)
    return Unseen(np.concatenate(found), "out-of-bag", members)


# ---- cross-validation ----


def _cross_validated(subject: Subject, sample: Sample, n_folds: int, seed: int) -> Unseen:
    width = 1 if subject.classes is None else len(subject.classes)
    predictions = np.full((sample.n, width), np.nan)
    parts: list[Floats] | None = []
    places: list[Rows] = []
    for train, test in folds_of(sample, subject.classes is not None, n_folds, seed):
        model = _refitted_fold(subject.model, sample.take(train))
        held = take(sample.table, test)
        predictions[test] = predictions_of(model, held, subject.classes, subject.asked_by)
        places.append(test)
        parts = _with_members(parts, subject, model, held, sample.n * width)
    return Unseen(predictions, "cross-validation", _joined(parts, places))


def _refitted_fold(model: Any, sample: Sample) -> Any:
    try:
        return refitted(model, sample)
    except Exception as error:
        error.add_note(_NO_REFIT)
        raise


def folds_of(
    sample: Sample, of_classes: bool, n_folds: int, seed: int
) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of each fold; at most as many folds as rows or groups."""
    n_units = sample.n if sample.groups is None else len(np.unique(sample.groups))
    splitter = ContentKFold(min(n_folds, n_units), stratify=of_classes, random_state=seed)
    yield from splitter.split(sample.table, sample.target, sample.groups)


def refitted(model: Any, sample: Sample) -> Any:
    """Fit a clone of the model; its warnings are those that the first fit gave."""
    with quiet():
        return copy_of(model).fit(sample.table, sample.labels)


def copy_of(model: Any) -> Any:
    """Clone the model, or say what to do if that is not possible."""
    try:
        return clone(model)
    except TypeError as error:
        raise TypeError(f"{error}. {_NO_REFIT}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _with_members(
    parts: list[Floats] | None, subject: Subject, model: Any, held: Any, n_values: int
) -> list[Floats] | None:
    """Add the predictions of the clone's base estimators; None if there are none, or too many."""
    if parts is None:
        return None
    base = base_estimators_of(Subject(model, subject.classes, subject.asked_by))
    if base is None or base.n * n_values > MOST_PREDICTIONS:
        return None
    predicted = base.predict(held)[:MOST_MEMBERS]
    if parts and len(predicted) != len(parts[0]):
        return None  # boosting stopped at different rounds
    return [*parts, predicted]


def _joined(parts: list[Floats] | None, places: list[Rows]) -> Members | None:
    if not parts or len(parts[0]) < 2:
        return None
    predictions = np.concatenate(parts, axis=1)
    return Members(predictions, np.zeros(predictions.shape[:2], int), np.concatenate(places))

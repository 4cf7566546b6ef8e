"""The base estimators of an ensemble: their predictions, and the rows they did not see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.subject import Subject
from weald.ensembles.out_of_bag.bagged import Bagged
from weald.theory.correlation import base_probabilities, base_tables, in_bag_counts

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Number of predictions of base estimators held at once: 160 MB.
MOST_PREDICTIONS = 2 * 10**7


@dataclass(frozen=True, eq=False)
class BaseEstimators:
    """Base estimators of which each predicts the target.

    The trees of one gradient booster are none: they are terms of a sum.

    Attributes
    ----------
    n : int
        Number of base estimators.
    predict : function
        Predictions for a table, of shape (estimators, rows, classes or 1).
    combined_by : str
        "mean" if the ensemble predicts their mean, else "other".
    in_bag : function or None
        In-bag counts of some rows of the fit, of shape (estimators, rows), given the number of
        rows of the fit and the indices; None if they are not known.
    predict_out_of_bag : function or None
        As `predict`, by base estimators that did not learn anything from their out-of-bag rows.
    """

    n: int
    predict: Callable[[Any], Floats]
    combined_by: str
    in_bag: Callable[[int, Rows], NDArray[Any]] | None = None
    predict_out_of_bag: Callable[[Any], Floats] | None = None

    def rows_at_once(self, n_classes: int) -> int:
        """Number of rows whose predictions by all base estimators fit into memory."""
        return max(1, MOST_PREDICTIONS // (self.n * max(1, n_classes)))


def base_estimators_of(subject: Subject) -> BaseEstimators | None:
    """The base estimators of an ensemble; None for other models and for gradient boosters."""
    model = subject.model
    if isinstance(model, Bagged):
        return _of_bag(model)
    estimators = getattr(model, "estimators_", None)
    if estimators is None or np.ndim(np.asarray(estimators, dtype=object)) != 1:
        return None
    if not all(hasattr(one, "predict") for one in estimators) or not len(estimators):
        return None
    if subject.classes is not None and not all(hasattr(one, "classes_") for one in estimators):
        return None
    is_boosted = hasattr(model, "staged_predict")
    if is_boosted and not hasattr(model, "estimator_errors_"):
        return None  # terms of a sum; AdaBoost's predict the target
    plain = not is_boosted and not hasattr(model, "final_estimator_")
    has_weights = getattr(model, "weights", None) is not None
    return BaseEstimators(
        n=len(estimators),
        predict=lambda X: _predictions(model, X, subject.classes),
        combined_by="mean" if plain and not has_weights else "other",
        in_bag=_in_bag_of_samples(model) if plain else None,
    )


def _of_bag(model: Any) -> BaseEstimators | None:
    """A bag or forest of weald, or several boosters."""
    try:
        ledger = model._in_bag()
    except AttributeError:  # all base estimators are fitted on all rows, or there is one booster
        ledger = None
    if getattr(model, "_folds", True) is None or getattr(model, "n_outputs_", 1) > 1:
        return None
    n = len(ledger) if ledger is not None else len(model.estimators_)
    return BaseEstimators(
        n=n,
        predict=lambda X: _joined(model._estimator_predictions(X)),
        combined_by="mean" if getattr(model, "weights", None) is None else "other",
        in_bag=partial(_counts_of_ledger, ledger) if _has_counts(ledger) else None,
        predict_out_of_bag=lambda X: _joined(model._out_of_bag_predictions(X)),
    )


def _has_counts(ledger: Any) -> bool:
    """Whether in-bag counts are known; a model loaded from a file may lack them."""
    try:
        return ledger is not None and len(ledger[0]) > 0
    except AttributeError:
        return False


def _joined(blocks: Iterator[Floats]) -> Floats:
    return np.concatenate(list(blocks), axis=1)


def _predictions(model: Any, X: Any, classes: NDArray[Any] | None) -> Floats:
    if classes is not None:
        return base_probabilities(model, X, classes)
    found = [np.asarray(one.predict(table), dtype=float) for one, table in base_tables(model, X)]
    return np.stack(found)[:, :, np.newaxis]


def _counts_of_ledger(ledger: Any, n_rows: int, rows: Rows) -> NDArray[Any]:
    if len(ledger[0]) != n_rows:
        raise ValueError(
            f"X must hold the rows of the fit in the same order: the model was fitted on "
            f"{len(ledger[0])} rows; got {n_rows}. Pass other rows as X_test and y_test."
        )
    return np.stack([counts[rows] for counts in ledger])


def _in_bag_of_samples(model: Any) -> Callable[[int, Rows], NDArray[Any]] | None:
    """In-bag counts of bags and forests of scikit-learn."""
    samples = getattr(model, "estimators_samples_", None)
    if samples is None:
        return None
    return lambda n_rows, rows: np.stack([in_bag_counts(one, n_rows)[rows] for one in samples])

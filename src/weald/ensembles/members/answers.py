"""What a fitted member says, checked and put into the order of the ensemble's classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of
from weald.returned import numbers_returned, probabilities_returned, refuse_not_finite

Floats = NDArray[np.float64]

# In this order a classifier is asked for what it knows.
METHODS = ("predict_proba", "decision_function", "predict")


def method_of(name: str, estimator: Any, wanted: str) -> str:
    """The method a member is asked through: `wanted`, or the first it has for "auto"."""
    candidates = METHODS if wanted == "auto" else (wanted,)
    for method in candidates:
        if hasattr(estimator, method):
            return method
    raise ValueError(
        f"Member {name!r} ({type(estimator).__name__}) has no method {' or '.join(candidates)}."
    )


@dataclass(frozen=True)
class Question:
    """A method to ask members through, and the classes as they name them (None: numbers).

    Called with a fitted member and a table, it gives floats of the shape (rows, columns): one
    column per class, in the order of `classes`, or a single one for numbers, for labels (as class
    numbers) and for the decision between two classes. `width`: so many columns, None: any number.
    """

    method: str
    classes: NDArray[Any] | None = None
    width: int | None = None

    def __call__(self, member: Any, X: Any) -> Floats:
        return self.checked(getattr(member, self.method)(X), member, n_rows_of(X))

    def checked(self, said: Any, member: Any, n_rows: int) -> Floats:
        """What a member said of some rows, as floats; a ValueError says what is wrong with it."""
        if self.method != "predict" or np.ma.isMaskedArray(said):
            said = numbers_returned(said, self.method)  # labels need not be numbers
        said = np.asarray(said)
        _check_rows(said, n_rows, self.method)
        # A regressor among the members of a classifier answers with a number.
        if self.classes is not None and hasattr(member, "classes_"):
            said = self.in_order(said, np.asarray(member.classes_))
        answers = numbers_returned(said, self.method)
        answers = answers[:, np.newaxis] if answers.ndim == 1 else answers
        self._check_width(answers.shape[1])
        refuse_not_finite(answers, self.method)
        if self.method == "predict_proba":
            answers = probabilities_returned(answers, self.method)
        return answers

    def _check_width(self, width: int) -> None:
        of_classes = self.method == "predict_proba" and self.classes is not None
        expected = len(self.classes) if of_classes else self.width  # type: ignore[arg-type]
        if expected is not None and width != expected:
            what = f"for {expected} classes" if of_classes else f"a row; expected {expected}"
            raise ValueError(f"{self.method} gave {width} columns {what}.")

    def in_order(self, said: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
        """What a member said, with its classes put into the places they have here."""
        assert self.classes is not None
        if self.method == "predict":
            return _places(said, self.classes)
        place = _places(known, self.classes)
        if self.method == "predict_proba" and said.ndim == 1:
            raise ValueError(f"predict_proba gave 1 column for {len(known)} classes.")
        if said.ndim == 1 and len(self.classes) > 2:
            # A decision between the only two classes this member has seen.
            said = np.stack([-said, said], axis=1)
        is_decision = self.method == "decision_function"
        if is_decision and (said.ndim == 1 or (said.shape[1] == 1 and len(known) == 2)):
            # The sign of the decision is for the second class; so it is if only one was seen.
            return said if len(known) == 2 or place[0] == 1 else -said
        if said.shape[1] != len(known):
            raise ValueError(
                f"{self.method} gave {said.shape[1]} columns for {len(known)} classes."
            )
        if len(known) == len(self.classes):
            return said
        # Classes that were not in the rows this member saw: improbable, or as bad as the worst.
        missing = 0.0 if self.method == "predict_proba" else said.min(axis=1, keepdims=True)
        full = np.empty((len(said), len(self.classes)))
        full[:] = missing
        full[:, place] = said
        return full


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The number of each label among the sorted classes."""
    try:
        place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        unknown = np.flatnonzero(classes[place] != labels)
    except TypeError:  # they cannot even be compared
        place, unknown = np.zeros(0, dtype=np.intp), np.arange(len(labels))
    if unknown.size:
        raise ValueError(
            f"It knows the class {labels[unknown[0]]!r}, which is none of the target's: "
            f"{', '.join(map(str, classes[:10]))}. Was it fitted on other labels?"
        )
    return place


def _check_rows(said: NDArray[Any], n_rows: int, method: str) -> None:
    if said.ndim not in (1, 2) or len(said) != n_rows:
        raise ValueError(
            f"{method} gave answers of the shape {said.shape} for {n_rows} rows; expected "
            f"({n_rows},) or ({n_rows}, columns)."
        )

"""What a fitted member says, checked and put into the order of the ensemble's classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of

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
    numbers) and for the decision between two classes.
    """

    method: str
    classes: NDArray[Any] | None = None

    def __call__(self, member: Any, X: Any) -> Floats:
        said = np.asarray(getattr(member, self.method)(X))
        _check_rows(said, n_rows_of(X), self.method)
        # A regressor among the members of a classifier answers with a number.
        if self.classes is not None and hasattr(member, "classes_"):
            said = self.in_order(said, np.asarray(member.classes_))
        answers = _as_floats(said, self.method)
        _check_finite(answers, self.method)
        return answers

    def in_order(self, said: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
        """What a member said, with its classes put into the places they have here."""
        assert self.classes is not None
        if self.method == "predict":
            return _places(said, self.classes)
        place = _places(known, self.classes)
        if said.ndim == 1 and len(self.classes) > 2:
            # A decision between the only two classes this member has seen.
            said = np.stack([-said, said], axis=1)
        if said.ndim == 1 or (said.shape[1] == 1 and len(known) == 2):
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
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = np.flatnonzero(classes[place] != labels)
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


def _as_floats(said: NDArray[Any], method: str) -> Floats:
    try:
        answers = said.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{method} gave {said.dtype}, no numbers, such as {said[0]!r}.") from None
    return np.asarray(answers[:, np.newaxis] if answers.ndim == 1 else answers)


def _check_finite(answers: Floats, method: str) -> None:
    bad = np.flatnonzero(~np.isfinite(answers).all(axis=1))
    if bad.size:
        raise ValueError(
            f"{method} gave NaN or infinity in {bad.size} of {len(answers)} rows; the first is "
            f"row {bad[0]} of those asked about: {answers[bad[0]].tolist()}."
        )

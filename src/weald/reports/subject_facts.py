"""What the parts of a report share: the model, its rows, and their unseen predictions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.diagnosis import Diagnosis
from weald.diagnostics.subject import Subject
from weald.number_text import number_text
from weald.theory.arguments import take

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Facts:
    """A model with the rows of its fit, and what was found out about it.

    Attributes
    ----------
    subject : Subject
        The model.
    table, target : table and array
        All rows, and their targets as class indices or floats.
    test : tuple or None
        Test rows and their targets, likewise.
    names : list of str
        Names of the columns.
    found : Diagnosis
        The diagnosis, with predictions of unseen rows.
    importances : float64 [columns] or None
        Importances of the columns.
    measured_by : str
        What the importances are.
    """

    subject: Subject
    table: Any
    target: NDArray[Any]
    test: tuple[Any, NDArray[Any]] | None
    names: list[str]
    found: Diagnosis
    importances: Floats | None
    measured_by: str
    seed: int

    @property
    def classes(self) -> NDArray[Any] | None:
        return self.subject.classes

    @property
    def scored(self) -> Rows:
        """Positions, among the rows looked at, of those with an unseen prediction."""
        return np.flatnonzero(~np.isnan(self.found.predictions[:, 0]))

    @property
    def unseen(self) -> tuple[Rows, NDArray[Any], Floats]:
        """Positions in X, targets and predictions of rows that were predicted unseen."""
        scored = self.scored
        rows = self.found.rows[scored]
        return rows, self.target[rows], self.found.predictions[scored]

    def some_rows(self, n: int) -> Any:
        """At most n rows of the table, drawn at random."""
        order = np.random.default_rng(self.seed).permutation(len(self.target))[:n]
        return take(self.table, np.sort(order))

    def answer(self, prediction: Floats) -> str:
        """A prediction in words."""
        if self.classes is None:
            return number_text(prediction[0])
        best = int(prediction.argmax())
        return f"{self.label(best)} ({100 * prediction[best]:.0f} %)"

    def label(self, target: Any) -> str:
        """A target in words."""
        if self.classes is None:
            return number_text(target)
        return str(self.classes.tolist()[int(target)])

    def ranked_columns(self, n: int) -> list[int]:
        """The most important columns; those that predict best alone, without importances."""
        if self.importances is not None:
            worth = self.importances
        else:
            worth = np.array([np.nan_to_num(one.skill) for one in self.found.columns])
        return [int(i) for i in np.argsort(-worth, kind="stable")[:n]]

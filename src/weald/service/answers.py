"""Answers to requests as JSON and csv."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from weald.csv_text import csv_text
from weald.plain_values import plain


@dataclass(frozen=True, eq=False)
class Attributions:
    """Shapley values: what each column contributes to each output of each row.

    Attributes
    ----------
    scale, method : str
        What the values add up to, and how they were computed.
    outputs : list of str
        Names of the outputs; one without a name for a regression.
    base_values : list of float
        Mean prediction of each output.
    values : list
        Values by row, output and column.
    """

    scale: str
    method: str
    outputs: list[str]
    base_values: list[float]
    values: list[list[list[float]]]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says of some rows, and which model it was.

    Attributes
    ----------
    model : str
        Fingerprint of the model.
    predictions : list
        One per row; a list of several for a model with several outputs.
    columns : list of str
        Names of the columns of attributions.
    classes, probabilities : list or None
        Probabilities by row, in the order of the classes; with several outputs, a list each.
    coverage, limits : float and list or None
        Prediction intervals by row: lower and upper bound.
    attributions : Attributions or None
        Reasons.
    """

    model: str
    predictions: list[Any]
    columns: list[str]
    classes: list[Any] | None = None
    probabilities: list[Any] | None = None
    coverage: float | None = None
    limits: list[list[float]] | None = None
    attributions: Attributions | None = None

    def json(self) -> bytes:
        """The answer as JSON; numbers that are not finite become null."""
        record: dict[str, Any] = {"model": self.model, "predictions": self.predictions}
        if self.probabilities is not None:
            record |= {"classes": self.classes, "probabilities": self.probabilities}
        if self.limits is not None:
            record["intervals"] = {"coverage": self.coverage, "limits": self.limits}
        if self.attributions is not None:
            record["attributions"] = {**vars(self.attributions), "columns": self.columns}
        return as_json(record)

    def csv(self) -> bytes:
        """The answer as csv, one line per row; text is disarmed for spreadsheets."""
        blocks = [*self._blocks()]
        lines: list[Sequence[Any]] = [[name for head, _ in blocks for name in head]]
        for row in range(len(self.predictions)):
            lines.append([cell for _, rows in blocks for cell in rows[row]])
        return csv_text(lines).encode("utf-8", "backslashreplace")

    def _blocks(self) -> Iterator[tuple[list[str], list[Any]]]:
        """Names of columns, and their cells by row."""
        several = bool(self.predictions) and isinstance(self.predictions[0], list)
        if several:
            names = [f"prediction_{i}" for i in range(len(self.predictions[0]))]
            yield names, self.predictions
        else:
            yield ["prediction"], [[one] for one in self.predictions]
        if self.probabilities is not None:
            yield self._probabilities(several)
        if self.limits is not None:
            yield ["low", "high"], self.limits
        if (found := self.attributions) is not None:
            names = [
                f"attribution_{name}_{column}"
                if len(found.outputs) > 1
                else f"attribution_{column}"
                for name in found.outputs
                for column in self.columns
            ]
            yield names, [[cell for output in row for cell in output] for row in found.values]

    def _probabilities(self, several: bool) -> tuple[list[str], list[Any]]:
        assert self.classes is not None and self.probabilities is not None
        if not several:
            return [f"probability_{label}" for label in self.classes], self.probabilities
        names = [f"probability_{i}_{label}" for i, own in enumerate(self.classes) for label in own]
        return names, [[cell for output in row for cell in output] for row in self.probabilities]


def as_json(value: Any) -> bytes:
    """Write a value as JSON; text is ASCII, so that it can be sent whatever it holds."""
    try:
        return _ENCODER.encode(value).encode("ascii")
    except (ValueError, TypeError):  # a number that is not finite, or an unusual label
        return _ENCODER.encode(plain(value)).encode("ascii")


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))

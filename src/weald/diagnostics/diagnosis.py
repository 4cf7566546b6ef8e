"""Result of a diagnosis: numbers, findings, text and HTML."""

import importlib
import textwrap
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.calibration_error import CalibrationError
from weald.diagnostics.copies import Copies
from weald.diagnostics.doubtful_rows import DoubtfulRows
from weald.diagnostics.findings import Estimate, Finding, plain_number
from weald.diagnostics.leaks import ColumnFacts
from weald.diagnostics.page import fragment_of, page_of
from weald.diagnostics.reference import Reference
from weald.diagnostics.trials import LearningCurve, Rounds
from weald.lazy import picture
from weald.theory.correlation import ErrorCorrelation
from weald.theory.decomposed import Decomposition
from weald.theory.pairwise import Diversity

_WIDTH = 100


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What `weald.diagnose` found; prints as text, and as HTML in a notebook.

    Attributes
    ----------
    model : str
        Class of the model.
    loss : str
        "zero_one" or "squared_error": the loss of all errors.
    classes : array or None
        Classes; None for a regressor.
    n_rows, n_columns, n_used : int
        Size of X, and number of rows that were looked at.
    source : str
        How rows were predicted that the model has not seen: "out-of-bag", "cross-validation" or,
        with refit=False, "held-out".
    rows : intp [used rows]
        Positions in X of the rows that were looked at.
    predictions : float64 [used rows, classes or 1]
        Their predictions by models that have not seen them; NaN for rows without one.
    errors : dict of str to Estimate
        Errors of the "training" rows, of unseen rows (under the name `source`), of the "test"
        rows if given, and of a "constant" prediction.
    findings : list of Finding
        Claims, the most urgent first.
    bias_variance : Decomposition or None
        Bias and variance, from refits on bootstrap samples.
    reference : Reference or None
        A default random forest beside the model.
    correlation : ErrorCorrelation or None
        v, c and rho of the base estimators.
    diversity : Diversity or None
        Q, disagreement, double fault and kappa of the base estimators.
    edges : float64 [rounds] or None
        Edges of AdaBoost's weak learners over chance.
    rounds : Rounds or None
        Loss of a booster by round, on rows held out.
    calibration : CalibrationError or None
        Calibration of class probabilities.
    doubtful : DoubtfulRows
        Rows that look mislabelled, or whose target is far from the prediction.
    copies : Copies
        Equal rows.
    columns : list of ColumnFacts
        Every column alone: how well it predicts the target, whether it is an identifier.
    learning_curve : LearningCurve or None
        Error by number of training rows.
    notes : list of str
        What was not measured, and why.
    """

    model: str
    loss: str
    classes: NDArray[Any] | None = field(repr=False)
    n_rows: int
    n_columns: int
    n_used: int
    source: str
    rows: NDArray[np.intp] = field(repr=False)
    predictions: NDArray[np.float64] = field(repr=False)
    errors: dict[str, Estimate]
    findings: list[Finding] = field(repr=False)
    bias_variance: Decomposition | None = field(repr=False)
    reference: Reference | None = field(repr=False)
    correlation: ErrorCorrelation | None = field(repr=False)
    diversity: Diversity | None = field(repr=False)
    edges: NDArray[np.float64] | None = field(repr=False)
    rounds: Rounds | None = field(repr=False)
    calibration: CalibrationError | None = field(repr=False)
    doubtful: DoubtfulRows = field(repr=False)
    copies: Copies = field(repr=False)
    columns: list[ColumnFacts] = field(repr=False)
    learning_curve: LearningCurve | None = field(repr=False)
    notes: list[str] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name; nothing is copied."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def to_pandas(self) -> Any:
        """The findings as a pandas data frame, the most urgent first."""
        return importlib.import_module("pandas").DataFrame(self._findings_by_column())

    def to_polars(self) -> Any:
        """The findings as a polars data frame, the most urgent first."""
        return importlib.import_module("polars").DataFrame(self._findings_by_column())

    def _findings_by_column(self) -> dict[str, list[Any]]:
        names = [one.name for one in fields(Finding)]
        return {name: [getattr(one, name) for one in self.findings] for name in names}

    def plot(self, **kwargs: Any) -> Any:
        """Draw the errors of training, unseen and test rows: `weald.plot.errors`.

        Parameters
        ----------
        **kwargs
            Parameters of that function, such as `ax`.

        Returns
        -------
        axes
            The axes of the picture.
        """
        return picture("errors")(self, **kwargs)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [self.title, ""]
        for heading, rows in self.tables().items():
            width = max(len(name) for name, _ in rows)
            lines += [heading, *(f"  {name:{width}s}  {value}" for name, value in rows), ""]
        lines.append("Findings" if self.findings else "No findings")
        for finding in self.findings:
            head = f"{finding.severity}, {finding.topic}: "
            lines += _wrapped(head + finding.text, "  ", "    ")
            lines += _wrapped(finding.advice, "    → ", "      ")
        for note in self.notes:
            lines += _wrapped(f"Not measured: {note}", "  ", "    ")
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """What was looked at, in one line."""
        task = "regression" if self.classes is None else f"{len(self.classes)} classes"
        used = "" if self.n_used == self.n_rows else f", {self.n_used:,} of them looked at"
        return (
            f"Diagnosis of {self.model}: {task}, {self.n_rows:,} rows{used}, "
            f"{self.n_columns:,} columns"
        )

    def tables(self) -> dict[str, list[tuple[str, str]]]:
        """Numbers by heading, as (name, formatted value)."""
        what = "Squared error" if self.loss == "squared_error" else "Share of wrong predictions"
        found = {what: [(error_name(name), _with_error(one)) for name, one in self.errors.items()]}
        parts, correlation, diversity = self.bias_variance, self.correlation, self.diversity
        if parts is not None and parts.bias_and_noise is not None:
            found[f"Bias and variance, {parts.n_repeats} training sets"] = [
                ("bias and noise", plain_number(parts.bias_and_noise)),
                ("variance, net", plain_number(parts.error - parts.bias_and_noise)),
                ("their sum, the error", plain_number(parts.error)),
            ]
        if correlation is not None:
            found[f"Squared errors of {correlation.n_members} base estimators"] = [
                ("v, of one", plain_number(correlation.v)),
                ("c, of pairs", plain_number(correlation.c)),
                ("rho = c / v", f"{correlation.rho:.3f}"),
                ("of their mean", plain_number(correlation.error(correlation.n_members))),
            ]
        if diversity is not None:
            found[f"Diversity of {diversity.n_members} base estimators"] = [
                ("Q", f"{diversity.q:.3f}"),
                ("disagreement", f"{diversity.disagreement:.3f}"),
                ("double fault", f"{diversity.double_fault:.3f}"),
                ("kappa", f"{diversity.kappa:.3f}"),
            ]
        if self.edges is not None:
            found["Edges of the weak learners"] = [
                ("first", f"{self.edges[0]:.3f}"),
                ("mean", f"{self.edges.mean():.3f}"),
                ("last", f"{self.edges[-1]:.3f}"),
            ]
        if self.calibration is not None:
            found["Probability of the predicted class"] = [
                ("mean", f"{self.calibration.confidence:.3f}"),
                ("right", f"{self.calibration.accuracy:.3f}"),
                ("calibration error", f"{self.calibration.error:.3f}"),
                ("by chance at most", f"{self.calibration.limit:.3f}"),
            ]
        return found

    def to_html(self) -> str:
        """Return a complete HTML page without scripts; all names are escaped."""
        return page_of(self.title, self._fragment())

    def _repr_html_(self) -> str:
        return self._fragment()

    def _fragment(self) -> str:
        return fragment_of(self.title, self.tables(), self.findings, self.notes)


def error_name(name: str) -> str:
    """Rows of an error in words."""
    words = {"training": "training rows", "test": "test rows", "constant": "constant prediction"}
    return words.get(name, name if name == "cross-validation" else f"{name} rows")


def _with_error(one: Estimate) -> str:
    if np.isnan(one.standard_error):
        return plain_number(one.value)
    return f"{plain_number(one.value)} ± {plain_number(one.standard_error)}"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest)

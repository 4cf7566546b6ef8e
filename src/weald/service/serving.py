"""A fitted model that answers requests."""

import contextlib
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from weald.ensembles.predictor import TablePredictor
from weald.errors import ModelFormatError
from weald.explain import shap
from weald.persist.model_file import model_of_bytes
from weald.service.answers import Answer, Attributions
from weald.service.columns import InputColumn
from weald.service.parsing import Asked
from weald.service.refusals import Refused
from weald.service.rows import RequestRows, passes_names_on

# Numbers in an answer; more would need much memory.
_MOST_NUMBERS = 1_000_000

_COVERAGES = (0.001, 0.01, 0.05, 0.1, 0.5, 0.8, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model with all that requests need, made once when it is loaded; it never changes.

    Attributes
    ----------
    kind : str
        Name of its class.
    fingerprint : str
        That of the model; of a model with parts of other libraries, the SHA-256 of its file.
    rows : RequestRows
        Converts rows.
    classes : list or None
        Class labels; a list each for several outputs.
    several : bool
        Whether it predicts several values for a row.
    has_probabilities : bool
        Whether it can be asked for them.
    coverages : tuple of float or None
        Lowest and highest coverage of its prediction intervals, if it has any: extreme ones would
        need more rows than it was fitted on.
    outputs : list of str
        What attributions explain.
    no_reasons : str
        Why there are no attributions; empty if there are.
    predictor : Predictor or None
        Predicts from numbers in microseconds, if the model has such a predictor.
    model : estimator
        The model; without names if it reads tables by itself, because arrays have none.
    """

    kind: str
    fingerprint: str
    rows: RequestRows
    classes: list[Any] | None
    several: bool
    has_probabilities: bool
    coverages: tuple[float, float] | None
    outputs: list[str]
    no_reasons: str
    predictor: Any
    model: Any

    @property
    def columns(self) -> tuple[InputColumn, ...]:
        return self.rows.columns

    def check(self, asked: Asked, max_rows: int) -> None:
        """Refuse what the model cannot do, or what is too much."""
        n = len(asked.rows)
        if n > max_rows:
            raise Refused(413, f"{n:,} rows; at most {max_rows:,} are answered at a time")
        if asked.probabilities and not self.has_probabilities:
            raise Refused(422, f"the model ({self.kind}) has no probabilities")
        if asked.interval is not None:
            self._check_coverage(asked.interval)
        if asked.attributions and self.no_reasons:
            raise Refused(422, f"the model ({self.kind}) has no attributions: {self.no_reasons}")
        numbers = self._numbers_of_a_row(asked)
        if n * numbers > _MOST_NUMBERS:
            raise Refused(
                413,
                f"the answer would have {n * numbers:,} numbers; at most {_MOST_NUMBERS:,} are "
                f"sent, which are {_MOST_NUMBERS // numbers:,} rows",
            )

    def _check_coverage(self, coverage: float) -> None:
        if self.coverages is None:
            raise Refused(422, f"the model ({self.kind}) has no prediction intervals")
        low, high = self.coverages
        if not low <= coverage <= high:
            raise Refused(422, f"'interval' must be between {low} and {high} for this model")

    def _numbers_of_a_row(self, asked: Asked) -> int:
        numbers = 1
        if asked.probabilities and self.classes is not None:
            several = isinstance(self.classes[0], list)
            numbers += sum(map(len, self.classes)) if several else len(self.classes)
        if asked.attributions:
            numbers += len(self.columns) * len(self.outputs)
        return numbers

    def answer(self, asked: Asked) -> Answer:
        """Predict the rows of a request that was checked."""
        if not asked.rows:
            return self._answer_without_rows(asked)
        # Only what the predictor cannot do needs a table.
        needs_table = self.predictor is None or not asked.is_light
        X = self.rows.table(asked.rows) if needs_table else None
        if self.predictor is None:
            predictor, rows = self.model, X
        else:
            predictor, rows = self.predictor, self.rows.numbers(asked.rows)
        shares = limits = reasons = None
        if asked.probabilities:
            shares = _by_row(predictor.predict_proba(rows))
        if asked.interval is not None:
            limits = self.model.predict_interval(X, asked.interval).tolist()
        if asked.attributions:
            reasons = self._reasons(X)
        return self._answer(asked, predictor.predict(rows).tolist(), shares, limits, reasons)

    def _answer(
        self,
        asked: Asked,
        predictions: list[Any],
        probabilities: list[Any] | None,
        limits: list[list[float]] | None,
        attributions: Attributions | None,
    ) -> Answer:
        return Answer(
            self.fingerprint,
            predictions,
            self.rows.called,
            self.classes if asked.probabilities else None,
            probabilities,
            asked.interval,
            limits,
            attributions,
        )

    def _answer_without_rows(self, asked: Asked) -> Answer:
        reasons = None
        if asked.attributions:
            typical = self._reasons(self.rows.table([typical_row(self.columns)]))
            reasons = replace(typical, values=[])
        shares: list[Any] | None = [] if asked.probabilities else None
        limits: list[list[float]] | None = None if asked.interval is None else []
        return self._answer(asked, [], shares, limits, reasons)

    def _reasons(self, X: Any) -> Attributions:
        found = shap(self.model, X, n_jobs=1)
        values = found.values if found.values.ndim == 3 else found.values[:, :, np.newaxis]
        return Attributions(
            found.scale,
            found.method,
            found.output_names or [""],
            np.atleast_1d(found.base_values).tolist(),
            values.transpose(0, 2, 1).tolist(),
        )


def _by_row(shares: Any) -> list[Any]:
    """Probabilities by row; with several outputs there is one array for each of them."""
    if isinstance(shares, list):
        return [list(one) for one in zip(*(share.tolist() for share in shares), strict=True)]
    found: list[Any] = shares.tolist()
    return found


def typical_row(columns: tuple[InputColumn, ...]) -> list[Any]:
    """A row to try a model on."""
    return [one.typical for one in columns]


# ---- loading ----


def load_served(path: Path) -> ServedModel:
    """Load a model from its file and prepare it; its first request finds everything warm."""
    content = path.read_bytes()  # once: the file may be replaced meanwhile
    try:
        model = model_of_bytes(content)
    except ModelFormatError as error:
        raise ModelFormatError(f"{str(path)!r} cannot be loaded: {error}") from error
    return served(model, hashlib.sha256(content).hexdigest())


def served(model: Any, digest: str) -> ServedModel:
    """Prepare a fitted model; `digest` stands for its fingerprint if it has none."""
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)  # requests are predicted in several threads already
    rows = RequestRows(model)
    try:
        predictor = model.predictor()
    except AttributeError:
        predictor = None
    alone = predictor.alone if isinstance(predictor, TablePredictor) else predictor
    plain = model if passes_names_on(model) else _nameless(model)
    X = rows.table([typical_row(rows.columns)])
    outputs, no_reasons = _reasons_of(plain, X)
    classes = getattr(model, "classes_", None)
    return ServedModel(
        kind=type(model).__name__,
        fingerprint=_fingerprint(model, digest),
        rows=rows,
        classes=_listed(classes),
        several=np.ndim(plain.predict(X)) > 1,
        has_probabilities=hasattr(model, "predict_proba"),
        coverages=_coverages(plain, X),
        outputs=outputs,
        no_reasons=no_reasons,
        predictor=alone,
        model=plain,
    )


def _listed(classes: Any) -> list[Any] | None:
    if classes is None:
        return None
    if isinstance(classes, list):
        return [one.tolist() for one in classes]
    found: list[Any] = classes.tolist()
    return found


def _fingerprint(model: Any, digest: str) -> str:
    try:
        return str(model.fingerprint())
    except TypeError:
        return digest


def _nameless(model: Any) -> Any:
    """A view of a model that takes arrays in place of frames without a warning."""
    view = object.__new__(type(model))
    vars(view).update(vars(model))
    vars(view).pop("feature_names_in_", None)
    return view


def _coverages(model: Any, X: Any) -> tuple[float, float] | None:
    """The range of coverages that a model has intervals for, on a grid."""
    found = []
    for coverage in _COVERAGES:
        with contextlib.suppress(AttributeError, ValueError):
            model.predict_interval(X, coverage)
            found.append(coverage)
    return (found[0], found[-1]) if found else None


def _reasons_of(model: Any, X: Any) -> tuple[list[str], str]:
    """What attributions explain, or why there are none."""
    try:
        found = shap(model, X, n_jobs=1)
    except ValueError as error:
        # Of models that are no sums of trees, the values would be sampled.
        return [], str(error).partition(", which requires")[0]
    return found.output_names or [""], ""

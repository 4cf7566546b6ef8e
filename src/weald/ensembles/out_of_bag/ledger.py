"""The out-of-bag ledger: out-of-bag predictions and their errors."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import effective_rows, extreme_exponent
from weald.ensembles.exact_means import exact_means
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.row_losses import RowLoss, loss_degree, names_of, row_losses
from weald.ensembles.out_of_bag.tally import Record
from weald.ensembles.out_of_bag.unscored import unscored_share
from weald.errors import listing

Floats = NDArray[np.float64]

# Half-width of a 95 % confidence band, in standard errors.
_BAND = 1.96


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The out-of-bag error as a function of the number of base estimators.

    Attributes
    ----------
    loss : str
        Name of the loss function.
    n_members : int64 [points]
        Number of base estimators used, from the first on.
    error : float64 [points]
        Mean loss of the rows that are out-of-bag for at least one of them.
    lower, upper : float64 [points]
        The error minus and plus 1.96 standard errors.
    """

    loss: str
    n_members: NDArray[np.int64]
    error: Floats
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Out-of-bag predictions of a bagging ensemble, and errors computed from them.

    Estimates the error of the ensemble on its training rows without a validation set: each row is
    predicted only by the base estimators that did not draw it. Rows that every base estimator drew
    have no prediction and are left out of all errors.

    Attributes
    ----------
    in_bag : InBag
        ``in_bag[k]`` says how often base estimator k drew each row of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import RandomForestClassifier
    >>> cancer = load_breast_cancer()
    >>> forest = RandomForestClassifier(200, oob_score=True, random_state=0)
    >>> ledger = forest.fit(cancer.data, cancer.target).oob_
    >>> ledger.predictions.shape, ledger.unscored.size, int(ledger.in_bag[0].sum())
    ((569, 2), 0, 569)
    >>> round(ledger.error(), 2), round(ledger.error("brier"), 2)
    (0.04, 0.06)
    >>> curve = ledger.curve()
    >>> bool(curve.error[0] > curve.error[-1])
    True
    """

    in_bag: InBag
    _record: Record | None = field(default=None, repr=False)
    _why_none: str = field(default="", repr=False)  # the message if there is no record

    def __repr__(self) -> str:
        if self._record is None:
            return f"<Ledger: {len(self.in_bag)} base estimators, predictions not stored>"
        return (
            f"<Ledger: {len(self.in_bag)} base estimators, {len(self.predictions)} rows, "
            f"{len(self.unscored)} unscored>"
        )

    @property
    def record(self) -> Record:
        """The predictions of the rows of positive weight, in the order of their content."""
        if self._record is None:
            raise ValueError(self._why_none)
        return self._record

    # ---- values per row ----

    @property
    def predictions(self) -> Floats:
        """Out-of-bag predictions of the rows passed to fit: numbers, or class probabilities.

        Shape (rows,) or (rows, classes); NaN for rows that every base estimator drew and for rows
        of weight zero.
        """
        predictions = self._of_rows(self.record.predictions, np.nan)
        return predictions[:, 0] if self.record.classes is None else predictions

    @property
    def std(self) -> Floats:
        """Standard deviation of the out-of-bag predictions; NaN for rows with fewer than two."""
        spreads = self._of_rows(self.record.spreads, np.nan)
        return spreads[:, 0] if self.record.classes is None else spreads

    @property
    def n_out(self) -> NDArray[np.int32]:
        """Number of base estimators for which each row is out-of-bag."""
        return self._of_rows(self.record.n_out, 0)

    @property
    def unscored(self) -> NDArray[np.intp]:
        """Indices of the rows that are out-of-bag for no base estimator of positive weight.

        Rows of weight zero are not included.
        """
        record, place = self.record, self.in_bag.last.place
        is_unscored = self._of_rows(np.isnan(record.predictions[:, 0]), False)
        return np.flatnonzero(is_unscored & (place >= 0))

    @property
    def unscored_weight(self) -> float:
        """Fraction of the total weight in the unscored rows, which no error includes."""
        record = self.record
        return unscored_share(~np.isnan(record.predictions[:, 0]), record.weight)

    def _of_rows(self, values: NDArray[Any], fill: Any) -> NDArray[Any]:
        """Reorder values from the order of content to that of the rows passed to fit."""
        # The place of a row of weight zero is -1, that is the value appended here.
        last = np.full((1, *values.shape[1:]), fill, dtype=values.dtype)
        return np.concatenate([values, last])[self.in_bag.last.place]

    # ---- errors ----

    def error(self, loss: RowLoss | None = None, *, probabilities: bool = False) -> float:
        """The out-of-bag error: the weighted mean loss of the out-of-bag predictions.

        It estimates the error of the whole ensemble, with a small upward bias, since each row is
        predicted by only about one third of the base estimators.

        Parameters
        ----------
        loss : str, callable or None, default=None
            Loss function: "zero_one" (default), "log_loss" or "brier" for classification,
            "squared_error" (default) or "absolute_error" for regression, or a function of
            (y, predictions) that returns one number per row.
        probabilities : bool, default=False
            Whether a callable loss receives class probabilities, in the order of the sorted
            classes, instead of labels.
        """
        losses, weight, exponent = self._losses(loss, probabilities)
        with np.errstate(over="ignore"):
            return float(np.ldexp(exact_means(losses, weight), exponent))

    def standard_error(self, loss: RowLoss | None = None, *, probabilities: bool = False) -> float:
        """Standard error of `error`, over the sampling of the rows.

        Weighted rows count as (Σw)² / Σw² rows of equal weight.

        Parameters
        ----------
        loss : str, callable or None, default=None
            As for `error`.
        probabilities : bool, default=False
            As for `error`.
        """
        losses, weight, exponent = self._losses(loss, probabilities)
        middle = float(exact_means(losses, weight))
        variance = float(exact_means((losses - middle) ** 2, weight))
        found = np.sqrt(variance / effective_rows(weight, len(losses)))
        with np.errstate(over="ignore"):
            return float(np.ldexp(found, exponent))

    def _losses(
        self, loss: RowLoss | None, probabilities: bool
    ) -> tuple[Floats, Floats | None, int]:
        """Losses of rows in units of 2**exponent, row weights, and the exponent.

        The unit keeps squares of extreme numbers within the range of floats.
        """
        record = self.record
        scored = record.scored
        target, predictions, exponent = record.target[scored], record.predictions[scored], 0
        if record.classes is None and (degree := loss_degree(loss)):
            unit = extreme_exponent(target)
            target, predictions = np.ldexp(target, -unit), np.ldexp(predictions, -unit)
            exponent = degree * unit
        losses = row_losses(loss, target, predictions, record.classes, probabilities=probabilities)
        return losses, None if record.weight is None else record.weight[scored], exponent

    def curve(self, loss: str | None = None) -> ErrorCurve:
        """The error of the first 1, 2, ... base estimators, with a band of 1.96 standard errors.

        Parameters
        ----------
        loss : str or None, default=None
            Name of a loss of `error`; callables are not supported, since the curve is recorded
            during fit.
        """
        record, known = self.record, names_of(self.record.classes)
        name = known[0] if loss is None else loss
        if name not in known:
            raise ValueError(
                f"loss must be one of {listing(known)}, whose curves are recorded during fit. Got "
                f"{loss!r} instead; `error` supports any loss."
            )
        error, half = record.means[name], _BAND * record.errors[name]
        return ErrorCurve(name, record.steps, error, error - half, error + half)

"""The out-of-bag ledger: what members say of rows they have not seen, and what follows from it."""

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

# Width of a band in standard errors: nineteen times in twenty it holds the error.
_BAND = 1.96


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The out-of-bag error against the number of members.

    Attributes
    ----------
    loss : str
        What is averaged over the rows.
    n_members : int64 [points]
        The first so many members answered.
    error : float64 [points]
        Mean loss of the rows that at least one of them had not seen.
    lower, upper : float64 [points]
        The error less and plus 1.96 standard errors of that mean.
    """

    loss: str
    n_members: NDArray[np.int64]
    error: Floats
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Ledger:
    """What every member of a bag said of the rows it had not seen.

    It lets a bag be judged by its own training rows, without rows held out: the answer to a row
    comes only from members that have not seen it. Rows that every member has seen have no answer
    and count nowhere.

    Attributes
    ----------
    in_bag : InBag
        ``in_bag[k]`` says how often member k saw each row of the fit.

    Examples
    --------
    >>> from weald import RandomForestClassifier
    >>> from weald.datasets import load_pima
    >>> pima = load_pima()
    >>> forest = RandomForestClassifier(200, oob_score=True, random_state=0)
    >>> ledger = forest.fit(pima.data, pima.target).oob_
    >>> ledger.predictions.shape, ledger.unscored.size, int(ledger.in_bag[0].sum())
    ((768, 2), 0, 768)
    >>> round(ledger.error(), 2), round(ledger.error("brier"), 2)
    (0.24, 0.32)
    >>> curve = ledger.curve()
    >>> bool(curve.error[0] > curve.error[-1])
    True
    """

    in_bag: InBag
    _record: Record | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        if self._record is None:
            return f"<Ledger: {len(self.in_bag)} members, answers not kept>"
        return (
            f"<Ledger: {len(self.in_bag)} members, {len(self.predictions)} rows, "
            f"{len(self.unscored)} unscored>"
        )

    @property
    def record(self) -> Record:
        """The answers, for the rows that have a weight in the order of their content."""
        if self._record is None:
            raise ValueError(
                "The ledger knows who saw which row, but not what was answered: that is worked "
                "out while fitting, and only when asked for. Fit all members at once with "
                "oob_score=True."
            )
        return self._record

    # ---- row by row ----

    @property
    def predictions(self) -> Floats:
        """Mean answers of the members that did not see a row: numbers, or shares of the classes.

        Of the shape (rows,) or (rows, classes), for the rows passed to fit; NaN where every member
        saw the row, and for rows of weight zero.
        """
        answers = self._of_rows(self.record.answers, np.nan)
        return answers[:, 0] if self.record.classes is None else answers

    @property
    def std(self) -> Floats:
        """Standard deviation of the same answers; NaN where fewer than two members gave one."""
        spreads = self._of_rows(self.record.spreads, np.nan)
        return spreads[:, 0] if self.record.classes is None else spreads

    @property
    def n_out(self) -> NDArray[np.int32]:
        """How many members did not see a row."""
        return self._of_rows(self.record.n_out, 0)

    @property
    def unscored(self) -> NDArray[np.intp]:
        """Rows passed to fit that no member left out, or only members without weight.

        Rows of weight zero are none.
        """
        record, place = self.record, self.in_bag.last.place
        no_answer = self._of_rows(np.isnan(record.answers[:, 0]), False)
        return np.flatnonzero(no_answer & (place >= 0))

    @property
    def unscored_weight(self) -> float:
        """The share of all weight that the unscored rows have: errors say nothing of it."""
        record = self.record
        return unscored_share(~np.isnan(record.answers[:, 0]), record.weight)

    def _of_rows(self, values: NDArray[Any], nothing: Any) -> NDArray[Any]:
        """Values of ordered rows for the rows passed to fit."""
        rest = np.full((1, *values.shape[1:]), nothing, dtype=values.dtype)
        return np.concatenate([values, rest])[self.in_bag.last.place]

    # ---- errors ----

    def error(self, loss: RowLoss | None = None, *, probabilities: bool = False) -> float:
        """The out-of-bag error: the mean loss over all rows that some member did not see.

        Rows count by their weights. It is the error of the whole bag, a little too high, for about
        two thirds of the members answer no given row.

        Parameters
        ----------
        loss : str, callable or None, default=None
            "zero_one" (the usual one), "log_loss" or "brier" for classes, "squared_error" (the
            usual one) or "absolute_error" for numbers, or a function of (y, answers) that gives
            one number a row.
        probabilities : bool, default=False
            Whether a function gets shares of the classes, in sorted order, instead of labels.
        """
        losses, weight, exponent = self._losses(loss, probabilities)
        with np.errstate(over="ignore"):
            return float(np.ldexp(exact_means(losses, weight), exponent))

    def standard_error(self, loss: RowLoss | None = None, *, probabilities: bool = False) -> float:
        """Standard error of `error`: how far it may be off because the rows are a sample.

        Weighted rows tell as much as (Σw)² / Σw² rows of equal weight.

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
        """Losses of rows in units of two to an exponent, and what the rows count.

        Squares of extreme numbers would leave the range of floats.
        """
        record = self.record
        scored = record.scored
        target, answers, exponent = record.target[scored], record.answers[scored], 0
        if record.classes is None and (degree := loss_degree(loss)):
            unit = extreme_exponent(target)
            target, answers = np.ldexp(target, -unit), np.ldexp(answers, -unit)
            exponent = degree * unit
        losses = row_losses(loss, target, answers, record.classes, probabilities=probabilities)
        return losses, None if record.weight is None else record.weight[scored], exponent

    def curve(self, loss: str | None = None) -> ErrorCurve:
        """The error of the first 1, 2, ... members, with a band of 1.96 standard errors.

        Parameters
        ----------
        loss : str or None, default=None
            A name that `error` knows; the losses of these were noted while fitting.
        """
        record, known = self.record, names_of(self.record.classes)
        name = known[0] if loss is None else loss
        if name not in known:
            raise ValueError(
                f"The curve is noted while fitting, for {listing(known)}. Got {loss!r} instead; "
                "`error` takes any loss."
            )
        error, off = record.means[name], _BAND * record.errors[name]
        return ErrorCurve(name, record.steps, error, error - off, error + off)

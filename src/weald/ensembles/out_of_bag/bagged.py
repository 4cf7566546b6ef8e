"""What every bag shares, whatever its members: the ledger, the spread, intervals and sets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald.aggregation.spread import deviation
from weald.ensembles.out_of_bag.conformal import (
    Residuals,
    checked_coverage,
    interval_scale,
    jackknife_bounds,
    quantile_shifts,
    set_threshold,
)
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.out_of_bag.ledger import Ledger
from weald.ensembles.out_of_bag.oob_importance import OutOfBagImportance, importance_by_shuffling
from weald.ensembles.out_of_bag.quantile_forest import leaf_quantiles
from weald.ensembles.out_of_bag.row_losses import RowLoss
from weald.ensembles.out_of_bag.tally import Record

Floats = NDArray[np.float64]


class Bagged:
    """An ensemble whose members each answer the question and each leave rows out.

    Attributes
    ----------
    oob_ : Ledger
        What members say of rows they have not seen: predictions, errors, who saw which row.
    """

    _record: Record | None

    def _member_answers(self, X: Any) -> Iterator[Floats]:
        """Answers of all members to a few rows at a time, of the shape (members, rows, width)."""
        raise NotImplementedError

    def _combined_answers(self, X: Any) -> Floats:
        """What the ensemble answers, of the shape (rows, width)."""
        raise NotImplementedError

    def _mean_of(self, answers: Floats) -> Floats:
        """What the ensemble answers where its members answer this, to the bit."""
        raise NotImplementedError

    def _in_bag(self) -> InBag:
        """Who saw what; an AttributeError says why there is no such record."""
        raise NotImplementedError

    @property
    def oob_(self) -> Ledger:
        """The out-of-bag ledger."""
        return Ledger(self._in_bag(), getattr(self, "_record", None))

    def oob_permutation_importance(
        self,
        X: Any,
        y: Any,
        *,
        loss: RowLoss | None = None,
        n_repeats: int = 5,
        random_state: int = 0,
    ) -> OutOfBagImportance:
        """How much worse out-of-bag answers get when the values of a column are shuffled.

        Unlike impurity importance (`feature_importances_`) it is measured on rows that the members
        did not see, so that a column of pure noise gets about 0. Columns that say the same share
        their worth. Needs a fit with oob_score=True.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in their order.
        loss : str, callable or None, default=None
            As for `oob_.error`.
        n_repeats : int, default=5
            How often each column is shuffled.
        random_state : int, default=0
            Keys the shuffling.
        """
        return importance_by_shuffling(
            self, X, y, loss=loss, n_repeats=n_repeats, random_state=random_state
        )

    def member_error_632(self, X: Any, y: Any, *, plus: bool = True, loss: Any = None) -> Any:
        """The .632+ (or .632) error of one member trained on all rows, not of the bag.

        The bag's members stand for the bootstrap samples of the estimate; one more member is fitted
        on all rows. The error of the bag itself is `oob_.error()`.

        Parameters
        ----------
        X, y : table and array
            The rows of the fit, in their order.
        plus : bool, default=True
            Whether overfitting is minded (.632+).
        loss : str, callable or None, default=None
            As for `weald.theory.error_632plus`.

        Returns
        -------
        BootstrapError
            See `weald.theory.error_632plus`.
        """
        from weald.theory import error_632_from_members

        classes = getattr(self, "classes_", None)
        if loss is None:
            loss = "squared_error" if classes is None else "zero_one"
        ledger = self._in_bag()
        if not all(getattr(rule, "has_equal_draws", False) for _, rule in ledger.parts):
            raise ValueError(
                "The .632 estimates are about n draws of n rows with replacement, all rows with "
                "the same probability. This ensemble draws by sample weights, groups or "
                "max_samples, or without replacement: use oob_.error() instead."
            )
        in_bag = ledger.toarray()
        said = np.concatenate(list(self._member_answers(X)), axis=1)
        alone = self._one_on_all_rows(X, y)._combined_answers(X)
        if loss != "log_loss":
            said, alone = _as_answers(said, classes), _as_answers(alone, classes)
        return error_632_from_members(said, in_bag, alone, np.asarray(y), loss=loss, plus=plus)

    def _one_on_all_rows(self, X: Any, y: Any) -> Any:
        """One member, trained on all rows, as a bag of its own."""
        whole = {"n_estimators": 1, "bootstrap": False, "max_samples": None, "oob_score": False}
        known = self.get_params(deep=False)  # type: ignore[attr-defined]
        whole |= {name: value for name, value in {"weights": None}.items() if name in known}
        return clone(self).set_params(**whole).fit(X, y)

    def _with_spread(self, X: Any) -> tuple[Floats, Floats]:
        """The combined answers, and the standard deviation of the members about them.

        Members are asked once: both come from the same answers, a few rows at a time.
        """
        parts = []
        for answers in self._member_answers(X):
            if len(answers) < 2:
                raise ValueError(
                    "One member alone has no spread: return_std needs two members or more."
                )
            mean = self._mean_of(answers)
            parts.append((mean, deviation(answers, mean)))
        means, spreads = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(spreads)


class BaggedRegressor(Bagged):
    """A bag that answers numbers."""

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, method: str = "conformal"
    ) -> Floats:
        """An interval for the target of each row that holds it with a given probability.

        The errors of out-of-bag answers say how wide it must be (so fit with oob_score=True), and
        the disagreement of the members where. Of rows that come as the training rows came, about
        the share `coverage` lies within.

        Parameters
        ----------
        X : table
            As for `predict`.
        coverage : float, default=0.9
            The share of targets that the intervals are to hold.
        method : {"conformal", "jackknife+"}, default="conformal"
            "conformal": the answer plus and minus a quantile of the out-of-bag errors, which are
            measured in units of the members' spread as far as that makes intervals narrower.
            "jackknife+": jackknife+-after-bootstrap, whose coverage is proven to be at least
            2·coverage - 1 whatever the data; its time grows with the number of training rows.

        Returns
        -------
        array, shape (rows, 2)
            Lower and upper bounds.
        """
        coverage = checked_coverage(coverage)
        record = self.oob_.record
        if method == "jackknife+":
            return self._jackknife(X, record, coverage)
        if method != "conformal":
            raise ValueError(
                f"method must be one of 'conformal', 'jackknife+'. Got {method!r} instead."
            )
        scale, factor = interval_scale(Residuals.of(record), coverage)
        if np.isinf(scale.calm):
            centre = self._combined_answers(X)[:, 0]
            half = np.full(len(centre), factor)
        else:
            combined, spread = self._with_spread(X)
            centre, half = combined[:, 0], factor * scale(spread[:, 0])
        return np.stack([centre - half, centre + half], axis=1)

    def _jackknife(self, X: Any, record: Record, coverage: float) -> Floats:
        in_bag = self._in_bag()
        if record.weight is not None:
            raise ValueError(
                "method='jackknife+' is proven for rows of equal weight, and the fit had sample "
                "weights. Use method='conformal'."
            )
        rows = np.flatnonzero(record.scored)
        left_out = np.stack([in_bag.left_out(k)[rows] for k in range(len(in_bag))])
        residuals = np.abs(record.target[rows] - record.answers[rows, 0])
        parts = [
            jackknife_bounds(answers[:, :, 0], left_out, residuals, coverage)
            for answers in self._member_answers(X)
        ]
        return np.concatenate(parts)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: Any = (0.1, 0.5, 0.9),
        *,
        method: str = "residuals",
        X_fit: Any = None,
    ) -> Floats:
        """Quantiles of the target of each row; they never cross.

        Needs a fit with oob_score=True.

        Parameters
        ----------
        X : table
            As for `predict`.
        quantiles : list of floats in (0, 1), default=(0.1, 0.5, 0.9)
            The levels, in any order.
        method : {"residuals", "leaves"}, default="residuals"
            "residuals": the answer plus quantiles of the out-of-bag residuals, in units of the
            members' spread where that helps. "leaves", of trees only: a quantile regression forest,
            quantiles of the training targets in a row's leaves; leaves should hold several rows
            (min_samples_leaf=5).
        X_fit : table or None, default=None
            For "leaves": the table of the fit, its rows in their order.

        Returns
        -------
        array, shape (rows, quantiles)
            In the order of `quantiles`.
        """
        levels = checked_levels(quantiles)
        if method == "leaves":
            return self._leaf_quantiles(X, X_fit, levels)
        if method != "residuals":
            raise ValueError(
                f"method must be one of 'residuals', 'leaves'. Got {method!r} instead."
            )
        scale, shifts = quantile_shifts(Residuals.of(self.oob_.record), levels)
        if np.isinf(scale.calm):
            return np.asarray(self._combined_answers(X) + shifts)
        combined, spread = self._with_spread(X)
        return np.asarray(combined + scale(spread[:, 0])[:, np.newaxis] * shifts)

    def _leaf_quantiles(self, X: Any, X_fit: Any, levels: Floats) -> Floats:
        trees = self._trees_asked()
        if trees is None:
            raise ValueError(
                "method='leaves' asks the leaves of trees that each answer by themselves: forests "
                "and bags of default trees. Take method='residuals'."
            )
        if X_fit is None:
            raise ValueError("method='leaves' needs X_fit, the table of the fit.")
        return leaf_quantiles(trees, X, X_fit, levels)

    def _trees_asked(self) -> Any:
        """The forest whose leaves hold training rows, if there is one."""
        return None


class BaggedClassifier(Bagged):
    """A bag that answers shares of classes."""

    classes_: NDArray[Any]

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """The classes that a row may have: sets that hold the right one with a given probability.

        A class is in the set if its share is at least a threshold, which the out-of-bag shares of
        the right classes decide (so fit with oob_score=True); the most probable class always is.

        Parameters
        ----------
        X : table
            As for `predict_proba`.
        coverage : float, default=0.9
            The share of rows whose class the sets are to hold.

        Returns
        -------
        array of bool, shape (rows, classes)
            Which of `classes_` are in the set.
        """
        least = set_threshold(self.oob_.record, checked_coverage(coverage))
        shares = self._combined_answers(X)
        # The threshold is itself the share of some row: rounding must not put it out of its set.
        chosen = shares >= least - 1e-12
        chosen[np.arange(len(shares)), np.argmax(shares, axis=1)] = True
        return chosen


def _as_answers(shares: Floats, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Numbers, or the labels of the largest shares."""
    if classes is None:
        return shares[..., 0]
    return np.asarray(classes[np.argmax(shares, axis=-1)])


def checked_levels(quantiles: Any) -> Floats:
    """Levels of quantiles as an array."""
    levels = np.asarray(quantiles, dtype=np.float64)
    if levels.ndim != 1 or not levels.size or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"quantiles must be a list of floats in the range (0, 1), such as [0.1, 0.5, 0.9]. Got "
            f"{quantiles!r} instead."
        )
    return levels

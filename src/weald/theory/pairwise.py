"""Diversity of classifiers: how often pairs of them are wrong together."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.theory.arguments import Floats
from weald.theory.results import Report, lines, read_only


@dataclass(frozen=True, eq=False)
class Diversity(Report):
    """Result of `diversity`: means over all pairs of base estimators.

    Attributes
    ----------
    q : float
        Yule's Q: 0 for independent errors, 1 if two are wrong on the same rows, negative if they
        are wrong on different rows.
    disagreement : float
        Share of rows that one of the two predicts correctly and the other does not.
    double_fault : float
        Share of rows that both predict wrongly; no vote of the two can correct them.
    kappa : float
        Agreement in being right or wrong beyond chance: 1 if always, 0 if independent.
    accuracy : float
        Mean accuracy of one base estimator.
    n_members, n_rows : int
        Number of base estimators, and of rows.
    pairs : dict of str to float64 [estimators, estimators]
        The four measures of each pair; NaN where they are undefined, such as Q of two estimators
        without an error.
    """

    q: float
    disagreement: float
    double_fault: float
    kappa: float
    accuracy: float
    n_members: int
    n_rows: int
    pairs: dict[str, Floats] = field(repr=False)

    def __str__(self) -> str:
        return lines(
            f"diversity of {self.n_members} base estimators on {self.n_rows} rows, mean of pairs",
            [
                ("", "Q", self.q, None),
                ("", "disagreement", self.disagreement, None),
                ("", "double fault", self.double_fault, None),
                ("", "kappa", self.kappa, None),
                ("", "accuracy of one", self.accuracy, None),
            ],
            "",
        )


def diversity(predictions: Any, y: Any, in_bag: Any = None) -> Diversity:
    """Measure how different the errors of classifiers are (Kuncheva and Whitaker 2003).

    For each pair, rows are counted by whether the two are right (1) or wrong (0): N11, N10, N01
    and N00. Q = (N11·N00 - N01·N10) / (N11·N00 + N01·N10); the disagreement is (N01 + N10) / N,
    the double fault N00 / N, and kappa 2(N11·N00 - N01·N10) / ((N11 + N10)(N10 + N00) +
    (N11 + N01)(N01 + N00)).

    Parameters
    ----------
    predictions : array, shape (estimators, rows)
        Labels predicted by at least two classifiers.
    y : array, shape (rows,)
        True labels.
    in_bag : array, shape (estimators, rows), or None, default=None
        How often each row is in each estimator's training sample: pairs are compared on rows that
        neither has seen. None means that all rows are unseen.

    Returns
    -------
    Diversity
        Means over all pairs, and the values of each pair.

    Examples
    --------
    Of eight rows the first classifier is right on six, the second on another six:

    >>> from weald.theory import diversity
    >>> right = [[1, 1, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 1, 1, 0]]
    >>> found = diversity(right, [1, 1, 1, 1, 1, 1, 1, 1])
    >>> found.disagreement, found.double_fault
    (0.25, 0.125)
    >>> round(found.q, 4), round(found.kappa, 4)
    (0.6667, 0.3333)
    """
    labels, target = np.asarray(predictions), np.asarray(y)
    if labels.ndim != 2 or len(labels) < 2 or labels.shape[1:] != target.shape or not target.size:
        raise ValueError(
            "predictions must have the shape (estimators, rows), with at least two estimators, "
            f"and y (rows,); got {labels.shape} and {target.shape}."
        )
    is_out = np.ones(labels.shape, dtype=bool) if in_bag is None else np.asarray(in_bag) == 0
    if is_out.shape != labels.shape:
        raise ValueError(
            f"in_bag must have the shape of predictions, {labels.shape}; got {is_out.shape}."
        )
    right = labels == target
    counts = _counts_of_pairs(right & is_out, ~right & is_out)
    measures = _measures(*counts)
    upper = np.triu_indices(len(labels), 1)
    if not np.isfinite(measures["disagreement"][upper]).any():
        raise ValueError(
            "No row is out of bag for two base estimators: there is no pair to compare."
        )
    means = {name: _mean(values[upper]) for name, values in measures.items()}
    return Diversity(
        **means,
        accuracy=float(right[is_out].mean()),
        n_members=len(labels),
        n_rows=int((is_out.sum(axis=0) >= 2).sum()),
        pairs={name: read_only(values) for name, values in measures.items()},
    )


def _counts_of_pairs(
    right: NDArray[np.bool_], wrong: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, Floats]:
    """N11, N10, N01 and N00 of each pair, over the rows that both did not see."""
    a, b = right.astype(np.float64), wrong.astype(np.float64)
    return a @ a.T, a @ b.T, b @ a.T, b @ b.T


def _measures(n11: Floats, n10: Floats, n01: Floats, n00: Floats) -> dict[str, Floats]:
    both, cross = n11 * n00, n01 * n10
    total = n11 + n10 + n01 + n00
    chance = (n11 + n10) * (n10 + n00) + (n11 + n01) * (n01 + n00)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "q": (both - cross) / (both + cross),
            "disagreement": (n01 + n10) / total,
            "double_fault": n00 / total,
            "kappa": 2 * (both - cross) / chance,
        }


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")

"""Scores of survival predictions: concordance, Brier score, with inverse censoring weights."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weald import _native
from weald.data import checked_weights
from weald.survival.curves import StepFunction, censoring_curve
from weald.survival.targets import Floats, Target, read_target, refuse_all_censored


def concordance_index(y: Any, risk: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Harrell's concordance index: the share of comparable pairs that a risk score ranks correctly.

    A pair is comparable if the row with the earlier time had the event then; at the same time, an
    event comes before a censored row. Pairs of equal risk count half. 0.5 is guessing.

    Parameters
    ----------
    y : structured array or data frame
        Events and times, as for `weald.RandomSurvivalForest`.
    risk : array, shape (rows,)
        Risk scores: higher means an earlier event.
    sample_weight : array or None, default=None
        Sample weights; a pair has the product of both.

    Examples
    --------
    >>> from weald.survival import concordance_index, target
    >>> y = target(event=[1, 1, 0, 1], time=[1, 2, 3, 4])
    >>> concordance_index(y, [4.0, 2.0, 3.0, 1.0])
    0.8
    """
    known, scores = _checked(y, risk)
    weight = None if sample_weight is None else checked_weights(sample_weight, len(scores))
    return _refuse_nan(harrell(known, scores, weight))


def harrell(known: Target, risk: Floats, weight: Floats | None) -> float:
    """Harrell's concordance index; NaN if no pair of rows can be compared."""
    own = np.ones(len(risk)) if weight is None else weight / weight.max()
    return _share(known, risk, own, own)


def concordance_index_ipcw(
    y_train: Any, y: Any, risk: ArrayLike, tau: float | None = None
) -> float:
    """Uno's concordance index: pairs weighted by the inverse chance that they were not censored.

    Unlike Harrell's, it does not depend on how the rows were censored.

    Parameters
    ----------
    y_train : structured array or data frame
        Events and times from which the censoring is estimated, usually those of the training rows.
    y, risk
        As for `concordance_index`.
    tau : float or None, default=None
        Only events before this time count; None: all.

    Examples
    --------
    >>> from weald.survival import concordance_index_ipcw, target
    >>> y = target(event=[1, 1, 0, 1], time=[1, 2, 3, 4])
    >>> round(concordance_index_ipcw(y, y, [4.0, 2.0, 3.0, 1.0], tau=4), 3)
    0.8
    """
    known, scores = _checked(y, risk)
    if tau is not None:
        known = known._replace(event=known.event & (known.time < tau))
        refuse_all_censored(known.event, f"y before tau={tau}")
    event, time = known
    free = _free_of_censoring(y_train)(time)
    if (free[event] == 0.0).any():
        raise ValueError(
            "The chance not to be censored is estimated as zero at the time of an event of y: no "
            f"row of y_train was observed for longer than {time[event][free[event] == 0.0].min()}. "
            "Set tau to an earlier time."
        )
    weight = np.divide(1.0, free, out=np.zeros(len(free)), where=event & (free > 0))
    return _refuse_nan(_share(known, scores, weight * weight, np.ones(len(time))))


def brier_score(y_train: Any, y: Any, survival: ArrayLike, times: ArrayLike) -> Floats:
    """Brier score at each time: mean squared error of predicted survival, weighted for censoring.

    Parameters
    ----------
    y_train : structured array or data frame
        Events and times from which the censoring is estimated, usually those of the training rows.
    y : structured array or data frame
        Events and times of the rows that were predicted.
    survival : array, shape (rows, times)
        Predicted chance of each row to have no event until each time.
    times : array
        Times, increasing, within the range of those of `y`.

    Returns
    -------
    array
        A score for each time; 0.25 is that of a prediction of one half.

    Examples
    --------
    >>> from weald.survival import brier_score, target
    >>> y = target(event=[1, 1, 0, 1], time=[1, 2, 3, 4])
    >>> brier_score(y, y, np.full((4, 2), 0.5), [1.5, 2.5]).tolist()
    [0.25, 0.25]
    """
    event, time = read_target(y)
    at = _checked_times(times, time)
    chance = np.asarray(survival, dtype=np.float64)
    if chance.shape != (len(time), len(at)):
        raise ValueError(
            f"survival must have a row for each row of y and a column for each time, the shape "
            f"{(len(time), len(at))}; got the shape {chance.shape}."
        )
    if not ((chance >= 0.0) & (chance <= 1.0)).all():
        raise ValueError("survival must hold chances between 0 and 1.")
    free = _free_of_censoring(y_train)
    own, at_times = free(time)[:, np.newaxis], free(at)[np.newaxis]
    had_event = (time[:, np.newaxis] <= at) & event[:, np.newaxis]
    is_free = time[:, np.newaxis] > at
    # A chance of zero: there is no such row in y_train, and the weight is left out.
    terms = np.divide(chance**2, own, out=np.zeros_like(chance), where=had_event & (own > 0))
    np.divide((1.0 - chance) ** 2, at_times, out=terms, where=is_free & (at_times > 0))
    return np.asarray(terms.mean(axis=0))


def integrated_brier_score(y_train: Any, y: Any, survival: ArrayLike, times: ArrayLike) -> float:
    """Mean of the Brier score over time (trapezoidal rule).

    Parameters
    ----------
    y_train, y, survival, times
        As for `brier_score`, with at least two times.

    Examples
    --------
    >>> from weald.survival import integrated_brier_score, target
    >>> y = target(event=[1, 1, 0, 1], time=[1, 2, 3, 4])
    >>> integrated_brier_score(y, y, np.full((4, 2), 0.5), [1.5, 2.5])
    0.25
    """
    scores, at = brier_score(y_train, y, survival, times), np.asarray(times, dtype=np.float64)
    if len(at) < 2:
        raise ValueError(f"times must hold at least two times to integrate over; got {len(at)}.")
    widths = np.diff(at)
    return float((widths * (scores[1:] + scores[:-1])).sum() / (2.0 * (at[-1] - at[0])))


def _share(known: Target, risk: Floats, of_event: Floats, of_other: Floats) -> float:
    place = np.unique(known.time, return_inverse=True)[1].astype(np.int32)
    rank = np.unique(risk, return_inverse=True)[1].astype(np.int32)
    events = known.event.astype(np.uint8)
    right, tied, pairs = _native.concordance(place, events, rank, of_event, of_other)
    return (right + 0.5 * tied) / pairs if pairs > 0.0 else np.nan


def _refuse_nan(share: float) -> float:
    if np.isnan(share):
        raise ValueError(
            "No pair of rows can be compared: no event is earlier than the time of another row."
        )
    return share


def _checked(y: Any, risk: ArrayLike) -> tuple[Target, Floats]:
    known, scores = read_target(y), np.asarray(risk, dtype=np.float64)
    if scores.shape != known.time.shape:
        raise ValueError(
            f"risk must have one number for each of the {len(known.time)} rows of y; got the shape "
            f"{scores.shape}."
        )
    if np.isnan(scores).any():
        raise ValueError(f"risk contains NaN: row {int(np.isnan(scores).argmax())}.")
    refuse_all_censored(known.event)
    return known, scores


def _free_of_censoring(y_train: Any) -> StepFunction:
    return censoring_curve(*read_target(y_train, "y_train"))


def _checked_times(times: ArrayLike, time: Floats) -> Floats:
    at = np.asarray(times, dtype=np.float64)
    if at.ndim != 1 or not len(at) or not (np.diff(at) > 0).all():
        raise ValueError(f"times must be an array of increasing times; got {times!r}.")
    if not (at[0] >= time.min() and at[-1] < time.max()):
        raise ValueError(
            f"times must lie in the follow-up of y, [{time.min():g}, {time.max():g}); got times "
            f"from {at[0]:g} to {at[-1]:g}. Nothing is known of the rows beyond."
        )
    return at

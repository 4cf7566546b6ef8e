"""Step functions, and the estimates of survival and hazard curves without columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from weald.data import checked_weights
from weald.survival.targets import Flags, Floats, read_target


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A function of time that is constant from each time of `x` to the next.

    Attributes
    ----------
    x : array
        Times of the steps, increasing.
    y : array
        Value from each of these times on.
    start : float
        Value before the first time.

    Examples
    --------
    >>> from weald.survival import StepFunction
    >>> survival = StepFunction(np.array([2.0, 5.0]), np.array([0.8, 0.4]), start=1.0)
    >>> survival([1.0, 2.0, 9.0]).tolist(), float(survival(4.5))
    ([1.0, 0.8, 0.4], 0.8)
    """

    x: Floats
    y: Floats
    start: float = 0.0

    def __call__(self, time: ArrayLike) -> Any:
        """Value at a time, or at each of several; beyond the last step that of the last step."""
        place = np.searchsorted(self.x, np.asarray(time, dtype=np.float64), side="right")
        return np.concatenate([[self.start], self.y])[place]


def kaplan_meier(y: Any, sample_weight: ArrayLike | None = None) -> StepFunction:
    """Kaplan-Meier estimate of the survival function: the share still without the event.

    Parameters
    ----------
    y : structured array or data frame
        Events and times, as for `weald.RandomSurvivalForest`.
    sample_weight : array or None, default=None
        Sample weights.

    Returns
    -------
    StepFunction
        Steps at the distinct times of events.

    Examples
    --------
    >>> from weald.survival import kaplan_meier, target
    >>> curve = kaplan_meier(target([1, 0, 1, 1], [1, 2, 3, 4]))
    >>> curve.x.tolist(), curve.y.tolist()
    ([1.0, 3.0, 4.0], [0.75, 0.375, 0.0])
    """
    event, time = read_target(y)
    times, events, at_risk = risk_table(event, time, sample_weight)
    return StepFunction(times, np.asarray(np.cumprod(1.0 - events / at_risk)), 1.0)


def nelson_aalen(y: Any, sample_weight: ArrayLike | None = None) -> StepFunction:
    """Nelson-Aalen estimate of the cumulative hazard function.

    Parameters
    ----------
    y, sample_weight
        As for `kaplan_meier`.

    Returns
    -------
    StepFunction
        Steps at the distinct times of events.

    Examples
    --------
    >>> from weald.survival import nelson_aalen, target
    >>> nelson_aalen(target([1, 0, 1, 1], [1, 2, 3, 4])).y.tolist()
    [0.25, 0.75, 1.75]
    """
    event, time = read_target(y)
    times, events, at_risk = risk_table(event, time, sample_weight)
    return StepFunction(times, np.cumsum(events / at_risk), 0.0)


def risk_table(
    event: Flags, time: Floats, sample_weight: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats]:
    """Distinct times of events; the weight of the events at each, and of the rows at risk."""
    weight = (
        np.ones(len(time)) if sample_weight is None else checked_weights(sample_weight, len(time))
    )
    times, place = np.unique(time, return_inverse=True)
    n = len(times)
    events: Floats = np.bincount(place[event], weight[event], minlength=n).astype(np.float64)
    ending: Floats = np.bincount(place, weight, minlength=n).astype(np.float64)
    at_risk = np.cumsum(ending[::-1])[::-1]
    is_event = events > 0
    return times[is_event], events[is_event], at_risk[is_event]


def censoring_curve(event: Flags, time: Floats) -> StepFunction:
    """Kaplan-Meier estimate of the chance not to be censored until a time.

    Of events and censorings at the same time, the events came first.
    """
    times, place = np.unique(time, return_inverse=True)
    n = len(times)
    censored = np.bincount(place[~event], minlength=n)
    events = np.bincount(place[event], minlength=n)
    at_risk = np.cumsum(np.bincount(place, minlength=n)[::-1])[::-1] - events
    ratio = np.divide(censored, at_risk, out=np.zeros(n), where=at_risk > 0)
    return StepFunction(times, np.cumprod(1.0 - ratio), 1.0)

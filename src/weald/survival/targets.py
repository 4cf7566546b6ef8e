"""Survival targets: whether the event was seen, and the time of the event or of censoring."""

from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_EXPECTED = (
    "a structured array with a boolean event field and a time field, as by weald.survival.target("
    "event, time) and scikit-survival's Surv, or a data frame with the columns 'event' and 'time'"
)

_RIGHT_ONLY = (
    " Only right-censored times are supported: seen at a time, or not until then; no intervals, "
    "and no events before a time."
)


class Target(NamedTuple):
    """Event indicators and times of rows."""

    event: Flags
    time: Floats

    def structured(self) -> NDArray[Any]:
        """As a structured array."""
        y = np.empty(len(self.time), dtype=[("event", "?"), ("time", "<f8")])
        y["event"], y["time"] = self
        return y


def target(event: ArrayLike, time: ArrayLike) -> NDArray[Any]:
    """Make the structured array that survival models take as y.

    Parameters
    ----------
    event : array, shape (rows,)
        Whether the event was seen: booleans, or numbers 0 and 1. Otherwise the row is censored:
        the event had not happened until `time`, and nothing is known of it afterwards.
    time : array, shape (rows,)
        Time of the event or of censoring, from the start of the observation.

    Returns
    -------
    structured array, shape (rows,)
        The fields "event" and "time".

    Examples
    --------
    >>> from weald.survival import target
    >>> target([1, 0], [3.5, 10])
    array([( True,  3.5), (False, 10. )],
          dtype=[('event', '?'), ('time', '<f8')])
    """
    events = _flags(np.asarray(event), "event")
    times = _times(np.asarray(time), "time")
    if events.shape != times.shape:
        raise ValueError(
            f"event has {len(events)} rows and time has {len(times)}; they must have the same."
        )
    return Target(events, times).structured()


def read_target(y: Any, name: str = "y") -> Target:
    """Read a survival target in any of the accepted forms; `name` is its argument."""
    if y is None:
        raise ValueError(
            f"requires {name} to be passed, but the target {name} is None. Pass {_EXPECTED}."
        )
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        return _of_structured(y, name)
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if not {"event", "time"} <= set(frame.columns):
            raise ValueError(
                f"{name} is a data frame with the columns {', '.join(map(repr, frame.columns))}; "
                f"survival models need {_EXPECTED}.{_RIGHT_ONLY}"
            )
        event, time = frame["event"].to_numpy(), frame["time"].to_numpy()
        return Target(_flags(event, f"{name}['event']"), _times(time, f"{name}['time']"))
    shape = np.shape(y) if isinstance(y, (list, tuple, np.ndarray)) else ()
    got = f"an array of shape {shape}" if shape else type(y).__name__
    raise ValueError(
        f"{name} must say of every row whether the event was seen, and when: {_EXPECTED}. "
        f"Got {got}.{_RIGHT_ONLY}"
    )


def _of_structured(y: NDArray[Any], name: str) -> Target:
    names = y.dtype.names or ()
    if len(names) != 2 or y.ndim != 1:
        raise ValueError(
            f"{name} must be {_EXPECTED}; got the fields {', '.join(map(repr, names))} and the "
            f"shape {y.shape}.{_RIGHT_ONLY}"
        )
    event, time = names
    if y.dtype[event] != np.bool_:
        raise ValueError(
            f"The first field of {name}, {event!r}, says whether the event was seen and must be "
            f"boolean; got {y.dtype[event]}. Use weald.survival.target(event, time), which takes "
            f"0 and 1 too.{_RIGHT_ONLY}"
        )
    return Target(np.ascontiguousarray(y[event]), _times(y[time], f"{name}[{time!r}]"))


def _flags(event: NDArray[Any], name: str) -> Flags:
    if event.ndim != 1:
        raise ValueError(f"{name} must have one entry per row; got the shape {event.shape}.")
    if event.dtype == np.bool_:
        return np.ascontiguousarray(event)
    values = event.tolist()
    bad = [row for row, value in enumerate(values) if not (value == 0 or value == 1)]
    if bad:
        raise ValueError(
            f"{name} must be boolean, or 0 and 1: whether the event was seen; row {bad[0]} has "
            f"{values[bad[0]]!r}. Of several kinds of events, choose one: event = (status == 2)."
            f"{_RIGHT_ONLY}"
        )
    return np.array([bool(value) for value in values], dtype=bool)


def _times(time: NDArray[Any], name: str) -> Floats:
    if time.ndim != 1:
        raise ValueError(f"{name} must have one entry per row; got the shape {time.shape}.")
    if time.dtype.kind in "mM":
        raise TypeError(
            f"{name} holds dates or durations ({time.dtype}); times must be numbers, such as days "
            "since the start of the observation: time / np.timedelta64(1, 'D')."
        )
    try:
        times = np.ascontiguousarray(time, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold a number for each row: {error}.") from error
    bad = np.flatnonzero(~(np.isfinite(times) & (times >= 0.0)))
    if bad.size:
        value = times[bad[0]]
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else "a negative time"
        raise ValueError(
            f"Input {name} contains {what}: row {bad[0]} has {value}. Times are counted from the "
            "start of the observation of a row and must be finite and not negative; correct or "
            "drop the row."
        )
    return times


def refuse_all_censored(event: Flags, name: str = "y") -> None:
    """Raise if no row has an event; there is nothing to learn from then."""
    if not event.any():
        raise ValueError(
            f"All {len(event)} rows of {name} are censored: the event was never seen, so that "
            "nothing can be learnt about its time. Check the event field; True means that the "
            "event was seen."
        )

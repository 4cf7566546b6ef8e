"""The time that is left."""

import math
import time


class Clock:
    """Counts down from a time limit.

    Parameters
    ----------
    seconds : float or None
        The limit; None: there is none.
    """

    def __init__(self, seconds: float | None) -> None:
        self._begin = time.perf_counter()
        self._seconds = math.inf if seconds is None else float(seconds)

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self._seconds)

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begin

    @property
    def left(self) -> float:
        """Seconds until the limit; negative after it."""
        return self._seconds - self.spent

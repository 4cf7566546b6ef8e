"""The time that is left."""

import math
import time

_LONGEST = 1e9

# The rest is for the calibration and the leaderboard.
_SHARE_OF_SEARCH = 0.92

# A search with less than this share of the limit left is over.
_LEAST_SHARE = 0.05


class Clock:
    """Counts down from a time limit.

    Parameters
    ----------
    seconds : float or None
        The limit; None: there is none.
    """

    def __init__(self, seconds: float | None) -> None:
        self._begin = time.perf_counter()
        # Whole numbers may be larger than any float.
        self._seconds = math.inf if seconds is None else float(min(seconds, _LONGEST))

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self._seconds)

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begin

    @property
    def left(self) -> float:
        """Seconds until the end of the search, a little before the limit; negative after it."""
        return _SHARE_OF_SEARCH * self._seconds - self.spent

    @property
    def is_over(self) -> bool:
        """Whether too little is left even for a trial."""
        return self.left < _LEAST_SHARE * self._seconds

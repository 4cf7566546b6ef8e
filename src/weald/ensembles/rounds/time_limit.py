"""An end to a fit by the clock."""

import time

from weald.ensembles.rounds.loop import Stage


class TimeLimit:
    """Ends a fit after the round that is under way when the time is over."""

    reason = "time_limit"

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def before(self, stage: Stage) -> None:
        """A round that has begun is made."""

    def after(self, stage: Stage) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self._end

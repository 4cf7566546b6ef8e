"""Training time limit."""

import time

from weald.ensembles.rounds.loop import Numbered


class TimeLimit:
    """Ends a fit after the round during which the time limit is reached."""

    reason = "time_limit"

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def before(self, stage: Numbered) -> None:
        """Do nothing: a round that has started is completed."""

    def after(self, stage: Numbered) -> bool:
        """Return whether the time limit has been reached."""
        return time.perf_counter() >= self._end

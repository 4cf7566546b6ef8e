"""A progress bar on stderr: rounds, pace, loss, what is left; no library, one line."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from weald.ensembles.rounds.loop import Stage

_LEAST_PAUSE = 0.1  # seconds between two updates
_WIDTH = 24


class Bar:
    """Writes itself over itself while rounds are made; left by any way, it ends its line.

    A carriage return brings it back to the beginning of its line, in terminals and notebooks.

    Parameters
    ----------
    first, end : int
        The rounds made before, and those that there will be at most.
    figures : callable
        Gives the text of the losses; it is asked only when the bar is written.
    """

    reason = "never"

    def __init__(self, first: int, end: int, figures: Callable[[Stage], str]) -> None:
        self._first, self._end = first, end
        self._figures = figures
        self._begin = time.perf_counter()
        self._next = self._begin + _LEAST_PAUSE
        self._stage: Stage | None = None
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._stage is not None:
            self._write(self._stage)
        if self._written:
            self._say("\n")

    def before(self, stage: Stage) -> None:
        """A round is shown when it is made."""

    def after(self, stage: Stage) -> bool:
        """Show a round if the last one shown was a while ago."""
        self._stage = stage
        if time.perf_counter() >= self._next:
            self._write(stage)
            self._next = time.perf_counter() + _LEAST_PAUSE
        return False

    def _write(self, stage: Stage) -> None:
        made = stage.number + 1
        seconds = max(time.perf_counter() - self._begin, 1e-9)
        pace = (made - self._first) / seconds
        filled = _WIDTH * made // self._end
        text = (
            f"round {made}/{self._end} [{'=' * filled}{' ' * (_WIDTH - filled)}] "
            f"{_rate(pace)}{self._figures(stage)}, {_clock((self._end - made) / pace)} left"
        )
        self._say("\r" + text.ljust(self._written))
        self._written = len(text)

    def _say(self, text: str) -> None:
        # A stream that is gone is no reason to lose a fit.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _rate(pace: float) -> str:
    """Rounds a second, or seconds a round.

    >>> _rate(12.34), _rate(0.25)
    ('12.3 rounds/s', '4.0 s/round')
    """
    return f"{pace:.1f} rounds/s" if pace >= 1.0 else f"{1 / pace:.1f} s/round"


def _clock(seconds: float) -> str:
    """A time to wait, as people say it.

    >>> _clock(4.2), _clock(75), _clock(7300)
    ('4 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

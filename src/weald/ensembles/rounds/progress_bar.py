"""A one-line progress bar on stderr: rounds, speed, loss and remaining time."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from weald.ensembles.rounds.loop import Numbered

_MIN_INTERVAL = 0.1  # seconds between two updates
_WIDTH = 24


class Bar:
    """Progress bar of a fit; a context manager that terminates its line on exit.

    It is redrawn in place with a carriage return, which works in terminals and notebooks.

    Parameters
    ----------
    first, end : int
        Index of the first round, and the number of rounds at the end of the fit.
    figures : callable
        Returns the losses after a round as text; called only when the bar is drawn.
    """

    reason = "never"

    def __init__(self, first: int, end: int, figures: Callable[[Numbered], str]) -> None:
        self._first, self._end = first, end
        self._figures = figures
        self._begin = time.perf_counter()
        self._next = self._begin + _MIN_INTERVAL
        self._stage: Numbered | None = None
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
            self._print("\n")

    def before(self, stage: Numbered) -> None:
        """Do nothing: rounds are shown once completed."""

    def after(self, stage: Numbered) -> bool:
        """Redraw the bar, unless it was drawn just now."""
        self._stage = stage
        if time.perf_counter() >= self._next:
            self._write(stage)
            self._next = time.perf_counter() + _MIN_INTERVAL
        return False

    def _write(self, stage: Numbered) -> None:
        done = stage.number + 1
        seconds = max(time.perf_counter() - self._begin, 1e-9)
        pace = (done - self._first) / seconds
        filled = _WIDTH * done // self._end
        text = (
            f"round {done}/{self._end} [{'=' * filled}{' ' * (_WIDTH - filled)}] "
            f"{_rate(pace)}{self._figures(stage)}, {_clock((self._end - done) / pace)} left"
        )
        self._print("\r" + text.ljust(self._written))
        self._written = len(text)

    def _print(self, text: str) -> None:
        # A closed stderr must not abort the fit.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _rate(pace: float) -> str:
    """Format a speed, as rounds per second or seconds per round.

    >>> _rate(12.34), _rate(0.25)
    ('12.3 rounds/s', '4.0 s/round')
    """
    return f"{pace:.1f} rounds/s" if pace >= 1.0 else f"{1 / pace:.1f} s/round"


def _clock(seconds: float) -> str:
    """Format a duration.

    >>> _clock(4.2), _clock(75), _clock(7300)
    ('4 s', '1 min 15 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

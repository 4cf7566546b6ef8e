"""A line on stderr that tells how far a table in parts was read."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

_MIN_INTERVAL = 0.1  # seconds between two lines of progress


class ProgressLine:
    """A line that is written over; a context manager that ends it on exit.

    Parameters
    ----------
    is_shown : bool
        Whether to show anything.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._written, self._after = 0, time.perf_counter() + _MIN_INTERVAL

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._written:
            _print("\n")

    def show(self, text: str) -> None:
        """Write a text, unless one was written just now."""
        if not self._is_shown or time.perf_counter() < self._after:
            return
        self._after = time.perf_counter() + _MIN_INTERVAL
        _print("\r" + text.ljust(self._written))
        self._written = len(text)


def _print(text: str) -> None:
    # A closed stderr must not abort the fit.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()

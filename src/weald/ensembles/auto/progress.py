"""Progress of the search on stderr."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

# Called with "model 2/11: network" and the best score so far (-inf: none).
Show = Callable[[str, float], None]
_show: ContextVar[Show | None] = ContextVar("_show", default=None)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Let a function show the progress of searches in this context, instead of a line on stderr."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


class Progress:
    """A line on stderr that is redrawn: what is being trained, and the best score.

    Parameters
    ----------
    n_models : int
        Number of models in the portfolio.
    metric : str
        Name of the score.
    is_shown : bool
        Whether anything is written.
    """

    def __init__(self, n_models: int, metric: str, *, is_shown: bool) -> None:
        self._n_models, self._metric, self._is_shown = n_models, metric, is_shown
        self._number, self._written = 0, 0

    def begins(self, name: str, score: float) -> None:
        """A model is being trained."""
        self._report(f"model {self._number + 1}/{self._n_models}: {name}", score)

    def ends(self, name: str, score: float) -> None:
        """A model was trained, failed or was left out."""
        self._number += 1
        self._report(f"model {self._number}/{self._n_models}: {name}", score)

    def close(self) -> None:
        """End the line."""
        if self._written:
            self._print("\n")

    def _report(self, text: str, score: float) -> None:
        show = _show.get()
        if show is not None:
            show(text, score)
        elif self._is_shown:
            best = f", best {self._metric} {score:.4g}" if math.isfinite(score) else ""
            self._print("\r" + (text + best).ljust(self._written))
            self._written = len(text + best)

    def _print(self, text: str) -> None:
        # A closed stderr must not abort the fit.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

"""Progress of the search on stderr."""

import math
import sys
from contextlib import suppress


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
        self._write(f"model {self._number + 1}/{self._n_models}: {name}{self._best(score)}")

    def ends(self, name: str, score: float) -> None:
        """A model was trained, failed or was left out."""
        self._number += 1
        self._write(f"model {self._number}/{self._n_models}: {name}{self._best(score)}")

    def close(self) -> None:
        """End the line."""
        if self._written:
            self._print("\n")

    def _best(self, score: float) -> str:
        return f", best {self._metric} {score:.4g}" if math.isfinite(score) else ""

    def _write(self, text: str) -> None:
        if self._is_shown:
            self._print("\r" + text.ljust(self._written))
            self._written = len(text)

    def _print(self, text: str) -> None:
        # A closed stderr must not abort the fit.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()

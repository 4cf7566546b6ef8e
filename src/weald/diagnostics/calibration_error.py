"""How far probabilities are from what happens."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BINS = 15
_SIMULATIONS = 200


@dataclass(frozen=True)
class CalibrationError:
    """Calibration of the probability of the predicted class.

    Attributes
    ----------
    error : float
        Expected calibration error: mean over rows of the distance between the mean probability
        and the share of right predictions in bins of equally many rows.
    limit : float
        What 99 of 100 perfectly calibrated models with these probabilities stay below.
    confidence, accuracy : float
        Mean probability of the predicted class, and share of right predictions.
    n : int
        Number of rows.
    """

    error: float
    limit: float
    confidence: float
    accuracy: float
    n: int

    @property
    def gap(self) -> float:
        """Confidence minus accuracy: positive if the model is too sure of itself."""
        return self.confidence - self.accuracy


def calibration_error(
    probabilities: Floats, codes: NDArray[np.intp], seed: int
) -> CalibrationError:
    """Measure the calibration of class probabilities, and what chance alone would give.

    Parameters
    ----------
    probabilities : float64 [rows, classes]
        For rows that the model was not fitted on.
    codes : intp [rows]
        True classes.
    seed : int
        Seed of the simulated outcomes.

    Examples
    --------
    >>> sure = np.tile([0.9, 0.1], (1000, 1))
    >>> truth = (np.arange(1000) % 4 == 0).astype(np.intp)  # three quarters are class 0
    >>> found = calibration_error(sure, truth, 0)
    >>> round(found.error, 2), round(found.gap, 2), found.error > found.limit
    (0.15, 0.15, True)
    """
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == codes
    order = np.argsort(confidence, kind="stable")
    confidence, is_right = confidence[order], is_right[order]
    n_bins = max(1, min(_BINS, len(codes) // 10))
    bins = np.arange(len(codes)) * n_bins // len(codes)
    # Outcomes of a model whose probabilities are right.
    rng = np.random.default_rng(seed)
    chance = [
        _error(rng.random(len(codes)) < confidence, confidence, bins) for _ in range(_SIMULATIONS)
    ]
    return CalibrationError(
        error=_error(is_right, confidence, bins),
        limit=float(np.quantile(chance, 0.99)),
        confidence=float(confidence.mean()),
        accuracy=float(is_right.mean()),
        n=len(codes),
    )


def _error(is_right: NDArray[np.bool_], confidence: Floats, bins: NDArray[np.intp]) -> float:
    gaps = np.bincount(bins, weights=is_right - confidence)
    return float(np.abs(gaps).sum() / len(bins))

"""Slow and obviously right twins of binning: cuts and codes."""

import itertools
import math
from collections.abc import Sequence

import numpy as np


def cut_between(a: float, b: float) -> float:
    middle = a / 2 + b / 2
    return middle if math.isfinite(middle) and a <= middle < b else a


def cuts_of_column(values, mass, max_bins: int) -> list[float]:
    """Where to cut a column: between all distinct values, or into bins of about equal mass."""
    mass_of: dict[float, int] = {}
    for value, count in zip(np.asarray(values, dtype=np.float64).tolist(), mass, strict=True):
        if not math.isnan(value) and count > 0:
            mass_of[value + 0.0] = mass_of.get(value, 0) + int(count)
    distinct = sorted(mass_of)
    if len(distinct) <= max_bins:
        return [cut_between(a, b) for a, b in itertools.pairwise(distinct)]
    return _cuts_by_mass(distinct, [mass_of[value] for value in distinct], max_bins)


def _cuts_by_mass(values: list[float], mass: list[int], max_bins: int) -> list[float]:
    """A heavy value holds the mass of an even bin and has a bin of its own; the light ones share
    what is left of bins and mass, greedily from below."""
    total = sum(mass)
    heavy = [m * max_bins >= total for m in mass]
    light_bins = max_bins - sum(heavy)
    light_mass = sum(m for m, is_heavy in zip(mass, heavy, strict=True) if not is_heavy)

    def fair_share() -> int:
        return light_mass // light_bins if light_bins else total

    cuts: list[float] = []
    in_bin, enough = 0, fair_share()
    for i in range(len(values) - 1):
        if len(cuts) == max_bins - 1:
            break
        in_bin += mass[i]
        if heavy[i]:
            closes = True
        else:
            light_mass -= mass[i]
            closes = light_bins > 0 and (in_bin >= enough or heavy[i + 1])
        if closes:
            cuts.append(cut_between(values[i], values[i + 1]))
            in_bin = 0
            if not heavy[i]:
                light_bins -= 1
                enough = fair_share()
    return cuts


def codes_of_column(values, cuts: Sequence[float]) -> list[int]:
    """0 for missing values, else one more than the number of cuts below."""
    return [
        0 if math.isnan(value) else 1 + sum(cut < value for cut in cuts)
        for value in np.asarray(values, dtype=np.float64).tolist()
    ]

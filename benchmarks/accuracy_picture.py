"""Critical-difference diagram of the mean ranks of the accuracy benchmark."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import matplotlib as mpl
import numpy as np

from accuracy_summary import Standing, critical_distance

mpl.use("Agg")
import matplotlib.pyplot as plt

OURS = "#0072B2"


def joined(ranks: np.ndarray, distance: float) -> list[tuple[float, float]]:
    """Longest ranges of mean ranks (at least two systems) no wider than the critical distance."""
    ordered = np.sort(ranks)
    ranges: list[tuple[float, float]] = []
    for low in ordered:
        high = ordered[ordered <= low + distance][-1]
        if high > low and (not ranges or high > ranges[-1][1]):
            ranges.append((float(low), float(high)))
    return ranges


def draw(found: Standing, name: str, file: Path) -> None:
    """Critical-difference diagram: mean ranks, bars join systems that do not differ."""
    n_tables, n_systems = found.errors.shape
    distance = critical_distance(n_systems, n_tables)
    order = np.argsort(found.ranks, kind="stable")
    half = -(-n_systems // 2)
    figure, axes = plt.subplots(figsize=(8, 1.6 + 0.35 * half), layout="constrained")
    axes.plot([1, n_systems], [0, 0], color="black", linewidth=1)
    for tick in range(1, n_systems + 1):
        axes.plot([tick, tick], [0, 0.15], color="black", linewidth=1)
        axes.text(tick, 0.25, str(tick), ha="center", va="bottom")
    axes.plot([1, 1 + distance], [1.1, 1.1], color="black", linewidth=2)
    axes.text(1 + distance / 2, 1.2, f"critical distance {distance:.2f}", ha="center", va="bottom")
    ranges = joined(found.ranks, distance)
    for level, (low, high) in enumerate(ranges, 1):
        axes.plot([low - 0.03, high + 0.03], [-0.25 * level] * 2, color="#777777", linewidth=4)
    top = -0.25 * len(ranges) - 0.6
    for place, system in enumerate(order):
        is_left = place < half
        edge, side = (0.8, "right") if is_left else (n_systems + 0.2, "left")
        height = top - 0.6 * (place if is_left else n_systems - 1 - place)
        colour = OURS if system == 0 else "black"
        rank = found.ranks[system]
        axes.plot([rank, rank, edge], [0, height, height], color=colour, linewidth=1)
        label = f" {fill(found.systems[system], 36)} ({rank:.2f}) "
        axes.text(edge, height, label, ha=side, va="center", color=colour)
    axes.set_title(f"Mean rank of the error, {name}: {n_tables} tables (Nemenyi test, level 0.05)")
    axes.set(xlim=(-0.6, n_systems + 1.6), ylim=(top - 0.6 * half, 1.8))
    axes.axis("off")
    figure.savefig(file, dpi=110)
    plt.close(figure)

"""Draws how time grows: one panel an axis, one line a system, both scales logarithmic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# Okabe and Ito's colours, told apart by colour-blind readers, each with a marker of its own.
STYLES = {
    "weald": ("#0072B2", "o"),
    "lightgbm": ("#CC79A7", "D"),
    "lightgbm-quantised": ("#E69F00", "s"),
    "xgboost": ("#009E73", "^"),
    "catboost": ("#56B4E9", "v"),
    "sklearn-hgb": ("#000000", "P"),
}


def draw(known: Mapping[str, Any], axes: Mapping[str, Any], file: Path) -> Path:
    """Draw the axes that have been measured; the last panel is the legend."""
    names = [name for name in axes if name in known]
    columns = min(3, len(names) + 1)
    lines = -(-(len(names) + 1) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(4.2 * columns, 3.6 * lines), squeeze=False, layout="constrained"
    )
    flat = list(panels.flat)
    for panel, name in zip(flat, names, strict=False):
        draw_axis(panel, axes[name], known[name])
    for panel in flat[len(names) :]:
        panel.axis("off")
    handles = {
        line.get_label(): line
        for panel in flat[: len(names)]
        for line in panel.get_lines()
        if not line.get_label().startswith("_")
    }
    first = known[names[0]]
    where = f"{first['machine']['cpu']}, {first['threads']} threads"
    flat[-1].legend(handles.values(), handles.keys(), loc="center", frameon=False, title=where)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return file


def draw_axis(panel: Any, growth: Any, found: Mapping[str, Any]) -> None:
    """One panel: time against the axis, with a dotted line of proportional growth."""
    points = found["points"]
    for system, seconds in found["seconds"].items():
        colour, marker = STYLES.get(system, ("#777777", "x"))
        label = f"{system} {found['versions'][system]}".removesuffix(" unknown")
        panel.plot(points, seconds, color=colour, marker=marker, label=label)
    ours = next(iter(found["seconds"].values()))
    # Through the largest point, where constant costs matter least; for threads through one.
    end, power = (0, -1) if growth.axis == "threads" else (-1, 1)
    if ours[end] is not None:
        ideal = [ours[end] * (at / points[end]) ** power for at in points]
        panel.plot(points, ideal, color="#777777", linestyle=":", label="proportional")
    panel.set(xscale="log", yscale="log", xlabel=growth.axis, ylabel="seconds of a fit")
    panel.set_xticks(points, [short(at) for at in points])
    panel.minorticks_off()
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    fixed = [f"{short(count)} {what}" for what, count in growth.size.items()]
    fixed += [f"{growth.trees} trees"] if growth.axis != "trees" else []
    panel.set_title(f"{growth.table}: {', '.join(fixed)}", fontsize="medium")
    panel.grid(True, which="major", color="#dddddd", linewidth=0.6)


def short(number: int) -> str:
    """4000000 as 4M, 30000 as 30k."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return str(number)

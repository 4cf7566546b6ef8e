"""What the pictures of the examples share: colours, ending, command line."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

Result = TypeVar("Result")

# Okabe and Ito's colours, which are told apart with any colour vision; print keeps the contrast.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"

# Backends that write files and have no window.
FOR_FILES = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}


def run(
    compute: Callable[[], Result],
    draw: Callable[[Result], Figure],
    describe: Callable[[Result], str],
    name: str,
    arguments: Sequence[str] | None = None,
) -> None:
    """Compute, say what came out, and show the picture or save it where --out says."""
    parser = argparse.ArgumentParser(description=compute.__doc__)
    parser.add_argument("--out", type=Path, help="save the picture in this file (.png, .svg, .pdf)")
    out = parser.parse_args(arguments).out
    result = compute()
    print(describe(result))
    figure = draw(result)
    # Without a display matplotlib itself falls back to Agg.
    if out is None and matplotlib.get_backend().lower() not in FOR_FILES:
        plt.show()
    else:
        out = out or Path(f"{name}.png")
        save(figure, out)
        print(f"picture: {out}")
    plt.close(figure)


def save(figure: Figure, out: Path) -> None:
    """Write the file; a PNG of at most 128 colours, which is a third of the size."""
    figure.savefig(out, dpi=100)
    if out.suffix.lower() == ".png":
        with Image.open(out) as picture:
            small = picture.convert("RGB").quantize(128)
        small.save(out, optimize=True)


def grid(low: Sequence[float], high: Sequence[float], n: int = 200) -> tuple[np.ndarray, ...]:
    """Points that cover a rectangle: both coordinates as square arrays, and all points as rows."""
    first, second = np.meshgrid(*(np.linspace(a, b, n) for a, b in zip(low, high, strict=True)))
    return first, second, np.column_stack([first.ravel(), second.ravel()])


def shade(axes: Axes, first: np.ndarray, second: np.ndarray, is_positive: np.ndarray) -> None:
    """Colour the two sides of a decision and draw the boundary between them."""
    side = is_positive.reshape(first.shape).astype(float)
    axes.contourf(first, second, side, levels=[-0.5, 0.5, 1.5], colors=[ORANGE, BLUE], alpha=0.18)
    axes.contour(first, second, side, levels=[0.5], colors=["black"], linewidths=0.9)

"""What all pictures share: colours, axes, and labels that stay readable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from weald.number_text import number_text

# Okabe and Ito's colours, which are told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, YELLOW, GREY = "#56B4E9", "#E69F00", "#F0E442", "#767676"
CLASS_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER, YELLOW, GREY)
INK, PALE, FAINT = "#222222", "#D9D9D9", "#F4F4F4"

# Box of text that crosses lines.
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}

# Settings of figures made here. They hold while a picture is drawn and change nothing afterwards.
_LIGHT = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "auto",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.edgecolor": "#999999",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "text.usetex": False,
}


# Losses in words, for axes.
_LOSSES = {
    "zero_one": "share of wrong predictions",
    "log_loss": "log loss",
    "brier": "Brier score",
    "squared_error": "squared error",
    "absolute_error": "absolute error",
}


def loss_text(loss: str) -> str:
    """Name of a loss in words.

    >>> loss_text("zero_one"), loss_text("my_loss")
    ('share of wrong predictions', 'my loss')
    """
    return _LOSSES.get(loss, loss.replace("_", " "))


def pyplot() -> Any:
    """Import matplotlib's pyplot, or raise an ImportError that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "weald.plot needs matplotlib, which cannot be imported "
            f"({error}). Install it: pip install 'weald[plot]'."
        ) from error
    return plt


@contextmanager
def drawing(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Iterator[Any]:
    """Yield the axes to draw on: those given, or those of a new figure in the style of weald.

    Parameters
    ----------
    ax
        Axes given by the user, or None.
    size
        Width and height of a new figure in inches.
    """
    plt = pyplot()
    import matplotlib

    if ax is not None:
        yield checked_axes(ax)
        _write_out_numbers(ax)
        return
    with matplotlib.rc_context(_LIGHT):
        axes = plt.subplots(figsize=size, layout="constrained")[1]
        yield axes
        _write_out_numbers(axes)


@contextmanager
def drawing_several(
    axes: Any, n: int, size: tuple[float, float], **shared: bool
) -> Iterator[list[Any]]:
    """Yield n axes side by side: those given, or those of a new figure."""
    plt = pyplot()
    import matplotlib

    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != n:
            raise ValueError(f"ax must hold {n} axes, one for each picture; got {len(given)}.")
        made = [checked_axes(one) for one in given]
        yield made
    else:
        with matplotlib.rc_context(_LIGHT):
            figure = plt.figure(figsize=size, layout="constrained")
            made = list(figure.subplots(1, n, squeeze=False, **shared)[0])
            yield made
    for one in made:
        _write_out_numbers(one)


def _write_out_numbers(axes: Any) -> None:
    """Write large numbers beside the axes in full, instead of a factor such as 1e6."""
    from matplotlib.ticker import ScalarFormatter

    for axis in (axes.xaxis, axes.yaxis):
        is_plain = type(axis.get_major_formatter()) is ScalarFormatter
        if is_plain and np.abs(axis.get_view_interval()).max() >= 10_000:
            axis.set_major_formatter(tick_text)


def tick_text(value: float, place: int | None = None) -> str:
    """Number beside an axis, for matplotlib's formatters."""
    return number_text(value, 6)


def checked_axes(ax: Any) -> Any:
    """Return the axes, or raise TypeError for anything else."""
    if not (hasattr(ax, "plot") and hasattr(ax, "set_xlabel")):
        raise TypeError(
            "ax must be axes of matplotlib, such as those of plt.subplots(), or None for a new "
            f"figure; got {type(ax).__name__}."
        )
    return ax


def light_grid(axes: Any) -> None:
    """Draw faint horizontal lines behind everything else."""
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)


def legend_above(axes: Any) -> None:
    """Put the legend above the axes, where it hides nothing: two entries a line if they fit."""
    texts = axes.get_legend_handles_labels()[1]
    inches = axes.get_position().width * axes.figure.get_size_inches()[0]
    fits = len(texts) > 1 and 2 * (0.5 + 0.075 * max(map(len, texts))) <= inches
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    axes.legend(ncols=2 if fits else 1, frameon=False, **place)


def colours_of(n: int) -> list[Any]:
    """Colours of n classes: distinct up to eight, then a sequence from dark to light."""
    if n <= len(CLASS_COLOURS):
        return list(CLASS_COLOURS[:n])
    import matplotlib

    return list(matplotlib.colormaps["cividis"](np.linspace(0, 1, n)))


def low_to_high() -> Any:
    """Colour map from blue over grey to orange, for the values of a column."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weald", [BLUE, "#C9C3D0", ORANGE])


def plain(text: object) -> str:
    r"""Return text that matplotlib shows as it is: a dollar begins no formula.

    >>> plain("price in $, tax in $")
    'price in \\$, tax in \\$'
    """
    return " ".join(str(text).replace("$", r"\$").split())


def shortened(text: object, width: int = 28) -> str:
    """Leave out the middle of long text, because names often differ at both ends.

    >>> shortened("mean_of_the_previous_twelve_months_in_eur", 20)
    'mean_of_the_…_in_eur'
    """
    whole = " ".join(str(text).split())
    if len(whole) <= width:
        return whole
    ending = (width - 1) * 2 // 5
    return f"{whole[: width - 1 - ending]}…{whole[len(whole) - ending :]}"


def label(text: object, width: int = 28) -> str:
    """Short text as matplotlib shows it."""
    return plain(shortened(text, width))


def labels(texts: Sequence[object], width: int = 28) -> list[str]:
    """Short labels of several things, distinct if the full ones are.

    >>> labels(["x" * 40 + "a" + "y" * 40, "x" * 40 + "b" + "y" * 40], 12)
    ['xxxxxxx…yyyy', 'xxxxxxx…yy 2']
    """
    found: list[str] = []
    taken: set[str] = set()
    for text in texts:
        short, number = shortened(text, width), 1
        while short in taken:
            number += 1
            ending = f" {number}"
            short = shortened(text, width)[: width - len(ending)] + ending
        taken.add(short)
        found.append(plain(short))
    return found

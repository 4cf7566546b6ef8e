"""What all pictures share: colours, axes, and labels that stay readable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

# Okabe and Ito's colours, which are told apart with any colour vision.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, YELLOW, GREY = "#56B4E9", "#E69F00", "#F0E442", "#767676"
CLASS_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER, YELLOW, GREY)
INK, PALE, FAINT = "#222222", "#D9D9D9", "#F4F4F4"

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
        return
    with matplotlib.rc_context(_LIGHT):
        yield plt.subplots(figsize=size, layout="constrained")[1]


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
        yield [checked_axes(one) for one in given]
        return
    with matplotlib.rc_context(_LIGHT):
        made = plt.subplots(1, n, figsize=size, layout="constrained", squeeze=False, **shared)[1]
        yield list(made[0])


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

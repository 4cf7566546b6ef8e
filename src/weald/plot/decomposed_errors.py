"""Errors, and their bias and variance, as bars."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weald.diagnostics.diagnosis import Diagnosis, error_name
from weald.number_text import number_text
from weald.plot.style import (
    AMBER,
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY,
    drawing,
    labels,
    loss_text,
    plain,
)
from weald.theory.decomposed import Decomposition, ZeroOneDecomposition

# Parts of the error from the bottom up: attribute, label, colour.
_SQUARED = (
    ("noise", "noise", GREY),
    ("bias_and_noise", "bias² and noise", BLUE),
    ("bias_squared", "bias²", BLUE),
    ("variance", "variance", ORANGE),
)
_ZERO_ONE = (
    ("noise_effect", "noise, net effect", GREY),
    ("bias_and_noise", "bias and noise", BLUE),
    ("bias", "bias", BLUE),
    ("variance_unbiased", "variance that harms", ORANGE),
    ("variance_biased", "variance that helps", AMBER),
)


def bias_variance(decompositions: Any, *, ax: Any = None) -> Any:
    """Draw bias, variance and noise of one model or several as stacked bars.

    Parameters
    ----------
    decompositions : result of `weald.theory.bias_variance`, or a dict of them by name
        What to draw; all of the same loss.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture. Points mark the error, with two standard errors. For 0/1 loss,
        variance on biased rows lowers the error and is drawn below zero.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> rows = X[::2], y[::2], X[1::2], y[1::2]
    >>> found = {
    ...     f"depth {depth}": weald.theory.bias_variance(
    ...         weald.DecisionTreeRegressor(max_depth=depth), *rows, n_repeats=10, random_state=0
    ...     )
    ...     for depth in (1, 3, 8)
    ... }
    >>> ax = weald.plot.bias_variance(found)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['bias² and noise', 'variance', 'error']
    >>> plt.close()
    """
    if isinstance(decompositions, Decomposition):
        decompositions = {"": decompositions}
    found = _checked(decompositions)
    of_classes = isinstance(next(iter(found.values())), ZeroOneDecomposition)
    parts = _ZERO_ONE if of_classes else _SQUARED
    with drawing(ax, (1.8 + 1.1 * max(3, len(found)), 4.2)) as axes:
        for name, text, colour in parts:
            _draw_part(axes, found, name, text, colour, parts)
        errors = [one.error for one in found.values()]
        doubts = [2 * one.standard_errors["error"] for one in found.values()]
        axes.errorbar(
            range(len(found)), errors, doubts, fmt="o", color=INK, markersize=4, label="error",
            capsize=3, elinewidth=1,
        )  # fmt: skip
        axes.set_xticks(range(len(found)), labels(list(found), 18))
        axes.set_xlim(-0.7, len(found) - 0.3)
        loss = next(iter(found.values())).loss
        axes.set_ylabel("share of wrong predictions" if loss == "zero_one" else "squared error")
        axes.axhline(0, color="#999999", linewidth=0.8)
        axes.tick_params(axis="x", length=0)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def errors(diagnosis: Diagnosis, *, ax: Any = None) -> Any:
    """Draw the errors of a diagnosis: of training rows, unseen rows and a constant prediction.

    Lines are two standard errors. A training error far below the others says that the model has
    learnt its rows by heart; errors near that of the constant say that it has learnt little.

    Parameters
    ----------
    diagnosis : result of `weald.diagnose`
        What to draw.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = weald.DecisionTreeRegressor().fit(X, y)
    >>> ax = weald.plot.errors(weald.diagnose(tree, X, y, n_repeats=3))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['training rows', 'cross-validation', 'constant prediction']
    >>> plt.close()
    """
    if not isinstance(diagnosis, Diagnosis):
        raise TypeError(
            f"weald.plot.errors takes the result of weald.diagnose; got {type(diagnosis).__name__}."
        )
    found = diagnosis.errors
    colours = {"training": SKY, "constant": GREY}
    with drawing(ax, (6.4, 1.3 + 0.4 * len(found))) as axes:
        for place, (name, one) in enumerate(found.items()):
            half = 0.0 if np.isnan(one.standard_error) else 2 * one.standard_error
            axes.barh(
                place, one.value, 0.6, color=colours.get(name, BLUE), xerr=half or None, ecolor=INK
            )
            axes.annotate(
                number_text(one.value, 3), (max(0.0, one.value + half), place), xytext=(4, 0),
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
        axes.set_yticks(range(len(found)), [error_name(name) for name in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlabel(loss_text(diagnosis.loss))
        axes.set_title(plain(diagnosis.model))
        axes.margins(x=0.15)
        axes.tick_params(axis="y", length=0)
    return axes


def _draw_part(
    axes: Any,
    found: Mapping[str, Any],
    name: str,
    text: str,
    colour: str,
    parts: tuple[tuple[str, str, str], ...],
) -> None:
    """Draw one part of every bar on top of those before it; what helps is below zero."""
    is_first, hatch = True, "//" if name == "variance_biased" else None
    for place, one in enumerate(found.values()):
        height = getattr(one, name, None)
        if height is None:
            continue
        below = [getattr(one, other, None) or 0.0 for other, _, _ in parts]
        names = [other for other, _, _ in parts]
        bottom = sum(max(0.0, part) for part in below[: names.index(name)])
        if name == "variance_biased":
            height, bottom = -height, 0.0
        axes.bar(
            place, height, 0.6, bottom=bottom, color=colour,
            label=text if is_first else None, hatch=hatch, edgecolor="white", linewidth=0.6,
        )  # fmt: skip
        is_first = False


def _checked(decompositions: Any) -> dict[str, Any]:
    is_dict = isinstance(decompositions, Mapping) and len(decompositions) > 0
    values = list(decompositions.values()) if is_dict else []
    if not values or not all(isinstance(one, Decomposition) for one in values):
        raise TypeError(
            "weald.plot.bias_variance takes a result of weald.theory.bias_variance, or a dict of "
            f"them by name; got {type(decompositions).__name__}."
        )
    losses = sorted({one.loss for one in values})
    if len(losses) > 1:
        raise ValueError(f"All decompositions must be of one loss; got {', '.join(losses)}.")
    return {str(name): one for name, one in decompositions.items()}

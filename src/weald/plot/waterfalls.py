"""The attributions of one row (SHAP values), and how they add up to its prediction."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text, signed_text, value_text
from weald.parameters import Whole
from weald.plot.attributions import Attributions
from weald.plot.style import BEHIND, BLUE, ORANGE, drawing, labels, plain, shortened
from weald.theory.arguments import check

Floats = NDArray[np.float64]


def shap_waterfall(
    explanation: Any,
    row: int = 0,
    *,
    max_num_features: int = 10,
    output: int | str | None = None,
    ax: Any = None,
) -> Any:
    """Draw how the SHAP values of one row add up to its prediction.

    Parameters
    ----------
    explanation : result of `weald.explain.shap`
        Or any object with `values`, `base_values`, `data` and `feature_names`.
    row : int, default=0
        Position of the row.
    max_num_features : int, default=10
        Number of columns to draw; the others are added up.
    output : int, str or None, default=None
        Which output, by position or name, if there are several; None means the second of two.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> import weald
    >>> from types import SimpleNamespace
    >>> X = np.array([[1.0, -2.0]])
    >>> found = SimpleNamespace(
    ...     values=X * [3.0, 1.0], base_values=10.0, data=X, feature_names=["a", "b"]
    ... )
    >>> ax = weald.plot.shap_waterfall(found, 0)
    >>> [tick.get_text() for tick in ax.get_yticklabels()], ax.get_title()
    (['a = 1', 'b = -2'], 'prediction: 11 = 10 + 1')
    >>> plt.close()
    """
    check("weald.plot.shap_waterfall", Whole(1), max_num_features=max_num_features)
    found = Attributions.of(explanation, output, "weald.plot.shap_waterfall")
    n_rows = len(found.values)
    if not Whole(-n_rows, n_rows - 1).admits(row):
        raise ValueError(f"There is no row {row!r}: the explanation has {n_rows} rows.")
    row = int(row) % n_rows
    steps = _steps(found, row, int(max_num_features))
    base = float(found.base[row])
    total = float(found.values[row].sum())
    with drawing(ax, (7.0, 1.2 + 0.36 * len(steps))) as axes:
        at = base
        for place, (_, value) in enumerate(steps):
            _draw_step(axes, place, at, value)
            at += value
        axes.axvline(base, color="#999999", linewidth=1, linestyle=":", zorder=0)
        axes.axvline(at, color="#999999", linewidth=1, zorder=0)
        axes.set_yticks(range(len(steps)), labels([name for name, _ in steps], 40))
        axes.set_ylim(len(steps) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        _set_limits(axes, np.cumsum([base, *(value for _, value in steps)]), steps)
        axes.set_xlabel(plain(f"{found.what}, from the mean (dotted) to that of the row"))
        axes.set_title(plain(f"{found.what}: {_sum_text(base, total)}"))
    return axes


def _sum_text(base: float, total: float) -> str:
    """Prediction = mean + contributions; a rounding error beside them is no number.

    >>> _sum_text(206_000.0, -8604.2), _sum_text(0.1, -0.1 + 1e-17)
    ('197,396 = 206,000 - 8604', '0 = 0.1 - 0.1')
    """
    prediction = base + total
    if abs(prediction) < 1e-12 * (abs(base) + abs(total)):
        prediction = 0.0
    sign = "+" if total >= 0 else "-"
    return f"{number_text(prediction)} = {number_text(base)} {sign} {number_text(abs(total))}"


def _set_limits(axes: Any, path: Floats, steps: list[tuple[str, float]]) -> None:
    """Leave room for the numbers beside the bars."""
    longest = max(len(signed_text(value, 3)) for _, value in steps)
    inches = 0.8 * axes.get_position().width * axes.figure.get_size_inches()[0]
    share = min(0.3, (longest * 0.075 + 0.1) / inches)
    span = float(np.ptp(path)) or 1.0
    room = span * share / (1 - 2 * share)
    axes.set_xlim(path.min() - room, path.max() + room)


def _steps(found: Attributions, row: int, most: int) -> list[tuple[str, float]]:
    """Columns by absolute value, with the value of the row; the rest is one step."""
    values = found.values[row]
    order = np.argsort(-np.abs(values), kind="stable")
    kept, rest = order[:most], order[most:]
    if len(rest) == 1:
        kept, rest = order, rest[:0]
    steps = []
    for i in kept:
        column = found.column(int(i))
        name = shortened(found.names[i], 22)
        steps.append(
            (name if column is None else f"{name} = {_shown(column[row])}", float(values[i]))
        )
    if len(rest):
        steps.append((f"{len(rest)} other columns", float(values[rest].sum())))
    return steps


def _shown(value: Any) -> str:
    return shortened(value_text(value), 20)


def _draw_step(axes: Any, place: int, at: float, value: float) -> None:
    colour = ORANGE if value >= 0 else BLUE
    axes.barh(place, value, left=at, color=colour, height=0.62)
    # Beside its bar a number may cross the lines of the mean and of the prediction: it hides them.
    axes.annotate(
        plain(signed_text(value, 3)), (at + value, place), xytext=(4 if value >= 0 else -4, 0),
        textcoords="offset points", va="center", ha="left" if value >= 0 else "right", fontsize=8,
        bbox=BEHIND,
    )  # fmt: skip
    if place:
        axes.plot([at, at], [place - 0.69, place - 0.31], color="#999999", linewidth=0.8)

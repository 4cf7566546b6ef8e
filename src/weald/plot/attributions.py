"""Attributions of predictions (SHAP values): of many rows, of one column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.errors import listing
from weald.number_text import value_text
from weald.parameters import Whole
from weald.plot.columns import as_numbers, column_number, column_of
from weald.plot.style import (
    BEHIND,
    BLUE,
    CLASS_COLOURS,
    GREY,
    ORANGE,
    drawing,
    label,
    labels,
    light_grid,
    low_to_high,
    plain,
    shortened,
)
from weald.theory.arguments import check

Floats = NDArray[np.float64]

# Number of points of a column in a beeswarm; more would only overlap.
_MOST_POINTS = 2000

# Points of a dependence.
_POINT = {"s": 14, "linewidth": 0, "alpha": 0.75}


@dataclass(frozen=True, eq=False)
class Attributions:
    """Attributions of one output, with the values of the columns.

    Attributes
    ----------
    values : float64 [rows, columns]
        Attributions.
    base : float64 [rows]
        Prediction without any column.
    data : table or None
        Values of the columns.
    names : list of str
        Names of the columns.
    what : str
        What the values add up to.
    """

    values: Floats
    base: Floats
    data: Any
    names: list[str]
    what: str

    @classmethod
    def of(cls, explanation: Any, output: int | str | None, asked_by: str) -> "Attributions":
        """Read an object with `values`, `base_values`, `data` and `feature_names`."""
        for name in ("values", "base_values", "data", "feature_names"):
            if not hasattr(explanation, name):
                raise TypeError(
                    f"{asked_by} takes the result of weald.explain.shap, or any object with "
                    f"values, base_values, data and feature_names; {type(explanation).__name__} "
                    f"has no {name}."
                )
        values = np.asarray(explanation.values, dtype=np.float64)
        base = np.asarray(explanation.base_values, dtype=np.float64)
        if values.ndim not in (2, 3) or values.shape[0] == 0 or values.shape[1] == 0:
            raise ValueError(
                f"{asked_by}: values must have the shape (rows, columns) or (rows, columns, "
                f"outputs); got {values.shape}."
            )
        outputs = list(getattr(explanation, "output_names", None) or [])
        what = str(getattr(explanation, "scale", "prediction"))
        if values.ndim == 3:
            chosen = _output(values.shape[2], output, outputs, asked_by)
            values = values[:, :, chosen]
            base = base[..., chosen] if base.ndim else base
            what += f" of {shortened(outputs[chosen], 16)}" if chosen < len(outputs) else ""
        elif output is not None and output != 0 and [output] != outputs:
            raise ValueError(f"{asked_by}: output={output!r}, but values have one output.")
        names = explanation.feature_names
        if names is None:
            names = [f"column {i}" for i in range(values.shape[1])]
        names = [str(name) for name in names]
        if len(names) != values.shape[1]:
            raise ValueError(
                f"{asked_by}: there are {len(names)} feature_names for {values.shape[1]} columns."
            )
        base = np.broadcast_to(base.reshape(-1) if base.ndim else base, (len(values),))
        return cls(values, base, explanation.data, names, what)

    def column(self, number: int) -> NDArray[Any] | None:
        """Values of a column; None if there are none."""
        return None if self.data is None else column_of(self.data, number)


def _output(n: int, output: int | str | None, names: list[str], asked_by: str) -> int:
    if isinstance(output, str):
        if output not in names:
            raise ValueError(f"There is no output {output!r}. The outputs are {listing(names)}.")
        return names.index(output)
    if output is None and n <= 2:
        return n - 1  # the only one, or the second class
    if output is None or not Whole(0, n - 1).admits(output):
        raise ValueError(
            f"{asked_by}: values have {n} outputs; set output to one of 0 to {n - 1}. Got "
            f"{output!r}."
        )
    return int(output)


def shap_summary(
    explanation: Any, *, max_num_features: int = 15, output: int | str | None = None, ax: Any = None
) -> Any:
    """Draw the SHAP values of many rows, one line of points for each column (a beeswarm).

    Columns are ordered by their mean absolute SHAP value. Colours are the values of the column,
    by rank: blue is low, orange is high, grey is missing or not a number.

    Parameters
    ----------
    explanation : result of `weald.explain.shap`
        Or any object with `values`, `base_values`, `data` and `feature_names`.
    max_num_features : int, default=15
        Number of columns to draw.
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
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = SimpleNamespace(  # those of the model 3a + b
    ...     values=X * [3.0, 1.0], base_values=0.0, data=X, feature_names=["a", "b"]
    ... )
    >>> ax = weald.plot.shap_summary(found)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['a', 'b']
    >>> plt.close()
    """
    check("weald.plot.shap_summary", Whole(1), max_num_features=max_num_features)
    found = Attributions.of(explanation, output, "weald.plot.shap_summary")
    rows = np.arange(len(found.values))
    if len(rows) > _MOST_POINTS:
        rows = np.random.default_rng(0).permutation(len(rows))[:_MOST_POINTS]
    order = np.argsort(-np.abs(found.values).mean(axis=0), kind="stable")[: int(max_num_features)]
    with drawing(ax, (7.0, 1.1 + 0.38 * len(order))) as axes:
        for place, column in enumerate(order):
            values = found.values[rows, column]
            _draw_swarm(axes, place, values, _ranks(found.column(int(column)), rows))
        axes.axvline(0, color="#999999", linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(order)), labels([found.names[i] for i in order]))
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(plain(f"SHAP value (effect on the {found.what})"))
        light_grid(axes)
        if found.data is not None:
            _colour_bar(axes)
        if len(order) < len(found.names):
            axes.set_title(f"The {len(order)} strongest of {len(found.names)} columns")
    return axes


def _ranks(values: NDArray[Any] | None, rows: NDArray[Any]) -> Floats | None:
    """Rank of each value between 0 and 1, NaN if missing; None for text."""
    numbers = None if values is None else as_numbers(np.asarray(values)[rows])
    if numbers is None:
        return None
    found = np.full(len(numbers), np.nan)
    known = np.isfinite(numbers)
    levels, place = np.unique(numbers[known], return_inverse=True)
    counts = np.bincount(place, minlength=len(levels))
    middle = np.cumsum(counts) - counts / 2.0
    found[known] = middle[place] / max(1, known.sum())
    return found


def _draw_swarm(axes: Any, place: int, values: Floats, ranks: Floats | None) -> None:
    """Points beside each other where values are equal: high stacks are many rows."""
    height = _offsets(values)
    known = np.zeros(len(values), dtype=bool) if ranks is None else np.isfinite(ranks)
    style = {"s": 9, "linewidth": 0, "alpha": 0.85, "rasterized": len(values) > 500}
    axes.scatter(values[~known], place + height[~known], color=GREY, **style)
    if ranks is not None and known.any():
        axes.scatter(
            values[known], place + height[known], c=ranks[known], cmap=low_to_high(), vmin=0,
            vmax=1, **style,
        )  # fmt: skip


def _offsets(values: Floats) -> Floats:
    """Offset of each point from the middle of its line, by its rank among its neighbours."""
    low, high = float(values.min()), float(values.max())
    bins = np.minimum(((values - low) / ((high - low) or 1.0) * 60).astype(np.intp), 59)
    order = np.lexsort((np.arange(len(values)), bins))
    counts = np.bincount(bins, minlength=60)
    begins = np.cumsum(counts) - counts
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - begins[bins[order]]
    # 0, 1, -1, 2, -2 ...: from the middle to both sides.
    side = np.where(rank % 2 == 1, 1.0, -1.0) * np.ceil(rank / 2)
    return np.asarray(0.38 * side / max(6.0, float(np.ceil(counts.max() / 2))))


def _colour_bar(axes: Any) -> None:
    from matplotlib.cm import ScalarMappable

    bar = axes.figure.colorbar(
        ScalarMappable(cmap=low_to_high()), ax=axes, aspect=40, pad=0.02, ticks=[0, 1]
    )
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("value of the column", labelpad=-8)
    bar.outline.set_visible(False)


def shap_dependence(
    explanation: Any,
    feature: Any,
    *,
    color_by: Any = None,
    output: int | str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the SHAP values of one column against its values.

    Points that do not lie on one line show interactions; `color_by` shows with which column.
    Categories are ordered by their mean SHAP value; the twenty most frequent are drawn.

    Parameters
    ----------
    explanation : result of `weald.explain.shap`
        Or any object with `values`, `base_values`, `data` and `feature_names`.
    feature : str or int
        Name or position of the column.
    color_by : str, int or None, default=None
        Column that colours the points. Numbers and dates: blue is low, orange is high. Categories:
        one colour each for the most frequent seven, grey for the others. No effect if `feature` is
        a column of categories.
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
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = SimpleNamespace(
    ...     values=X * [3.0, 1.0], base_values=0.0, data=X, feature_names=["a", "b"]
    ... )
    >>> ax = weald.plot.shap_dependence(found, "a")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('a', 'SHAP value of a')
    >>> plt.close()
    """
    asked_by = "weald.plot.shap_dependence"
    found = Attributions.of(explanation, output, asked_by)
    column = column_number(feature, found.names)
    other = None if color_by is None else column_number(color_by, found.names, "color_by")
    across = found.column(column)
    if across is None:
        raise ValueError(f"{asked_by} needs the values of the columns; data of the result is None.")
    numbers = as_numbers(across)
    with drawing(ax) as axes:
        if numbers is None:
            _by_category(axes, _words(across), found.values[:, column])
        else:
            shade = None if other is None else found.column(other)
            title = f"coloured by {label(found.names[other or 0])}"
            _by_number(axes, across, numbers, found.values[:, column], shade, title)
        axes.axhline(0, color="#999999", linewidth=0.8, zorder=0)
        name = label(found.names[column])
        axes.set(xlabel=name, ylabel=f"SHAP value of {name}")
    return axes


def _words(values: NDArray[Any]) -> NDArray[Any]:
    """Categories as text."""
    return np.array([value_text(value) for value in values.tolist()], dtype=str)


def _by_number(
    axes: Any,
    across: NDArray[Any],
    numbers: Floats,
    values: Floats,
    shade: NDArray[Any] | None,
    title: str,
) -> None:
    """Points along a column of numbers or dates, coloured by another column."""
    place = across if across.dtype.kind == "M" else numbers
    known = np.isfinite(numbers)
    if shade is None:
        axes.scatter(place[known], values[known], color=BLUE, **_POINT)
    elif as_numbers(shade) is None:
        _draw_categories(axes, place[known], values[known], _words(shade)[known])
    else:
        ranks = _ranks(shade, np.arange(len(values)))
        assert ranks is not None
        _draw_ranked(axes, place[known], values[known], ranks[known])
        _colour_bar(axes)
    if shade is not None:
        axes.set_title(title)
    if not known.all():
        _mark_missing(axes, values[~known])


def _draw_ranked(axes: Any, x: NDArray[Any], y: Floats, ranks: Floats) -> None:
    """Points coloured from low to high; grey where the rank is not known."""
    has_rank = np.isfinite(ranks)
    axes.scatter(x[~has_rank], y[~has_rank], color=GREY, **_POINT)
    colours = {"cmap": low_to_high(), "vmin": 0, "vmax": 1}
    axes.scatter(x[has_rank], y[has_rank], c=ranks[has_rank], **colours, **_POINT)


def _draw_categories(axes: Any, x: NDArray[Any], y: Floats, words: NDArray[Any]) -> None:
    """Points in one colour for each of the most frequent categories."""
    levels, counts = np.unique(words, return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")[: len(CLASS_COLOURS) - 1]]
    rest = ~np.isin(words, frequent)
    for level, colour, name in zip(
        frequent, CLASS_COLOURS, labels(list(frequent), 16), strict=False
    ):
        own = words == level
        axes.scatter(x[own], y[own], color=colour, label=name, **_POINT)
    if rest.any():
        name = f"{len(levels) - len(frequent)} others"
        axes.scatter(x[rest], y[rest], color=GREY, label=name, **_POINT)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _mark_missing(axes: Any, values: Floats) -> None:
    """The mean SHAP value of rows without a value as a line."""
    mean = float(values.mean())
    axes.axhline(mean, color=ORANGE, linestyle="--", linewidth=1)
    n = len(values)
    axes.annotate(
        f"missing ({n:,} row{'' if n == 1 else 's'})", (0.99, mean),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8, bbox=BEHIND,
    )  # fmt: skip


def _by_category(axes: Any, across: NDArray[Any], values: Floats) -> None:
    """Categories by their mean, at most twenty, with the spread of their points."""
    names, place, counts = np.unique(across, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:20])
    means = np.bincount(place, weights=values) / counts
    kept = kept[np.argsort(means[kept], kind="stable")]
    for spot, level in enumerate(kept):
        own = values[place == level]
        axes.scatter(spot + _offsets(own) * 0.9, own, s=10, color=BLUE, linewidth=0, alpha=0.5)
        axes.plot([spot - 0.35, spot + 0.35], [means[level]] * 2, color=ORANGE, linewidth=2)
    shown = labels([names[level] for level in kept], 16)
    turned = sum(map(len, shown)) > 45
    axes.set_xticks(
        range(len(kept)), shown, rotation=40 if turned else 0, ha="right" if turned else "center"
    )

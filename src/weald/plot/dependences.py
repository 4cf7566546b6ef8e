"""Predictions against one column or two: partial dependence and accumulated effects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.tables import names_of_columns
from weald.errors import listing
from weald.explain.accumulated import AccumulatedEffects
from weald.explain.checks import check_model, checked_table
from weald.explain.dependence import PartialDependence
from weald.explain.dependence import partial_dependence as computed
from weald.explain.grids import GridColumn
from weald.explain.pairs import PairDependence, pair_dependence
from weald.number_text import value_text
from weald.parameters import NoneOr, OneOf, Whole
from weald.plot.columns import as_numbers, column_number
from weald.plot.style import (
    BLUE,
    CLASS_COLOURS,
    GREY,
    ORANGE,
    drawing_several,
    label,
    labels,
    light_grid,
    plain,
    shortened,
    tick_text,
)
from weald.theory.arguments import check

Floats = NDArray[np.float64]
_FUNCTION = "weald.plot.partial_dependence"

# Number of lines of single rows; more would be one grey area.
_MOST_LINES = 200

# Number of values of each of two columns, and of categories.
_PAIR_POINTS, _MOST_CATEGORIES = 20, 20

_Result = PartialDependence | AccumulatedEffects | PairDependence


def partial_dependence(
    model: Any,
    X: Any = None,
    features: Any = None,
    *,
    kind: str = "average",
    target: Any = None,
    n_points: int = 50,
    n_rows: int | None = 1000,
    ax: Any = None,
) -> Any:
    """Draw the mean prediction as a function of one column or of two.

    One picture per entry of `features`. Unlike scikit-learn's `PartialDependenceDisplay` it takes
    every table that the model takes, and columns of numbers, dates, text and categories.

    Parameters
    ----------
    model : fitted model, or results
        Any estimator of scikit-learn's kind. Or a result of `weald.explain.partial_dependence` or
        `weald.explain.accumulated_effects`, or a list of them; without X and features.
    X : table
        Rows to average over.
    features : list of column names or positions, or of pairs of them
        What to draw.
    kind : {"average", "individual", "both"}, default="average"
        The mean, one line for each row, or both. Pairs have the mean only.
    target : label, name of an output, or None, default=None
        Class or output to draw. None: the second of two classes; of up to eight, all of them.
    n_points : int, default=50
        Number of values of the column; of pairs, at most 20 of each column; of categories, the 20
        most frequent.
    n_rows : int or None, default=1000
        Number of rows to average over, evenly spaced; None means all.
    ax : axes, list of axes or None, default=None
        Axes to draw on, one for each entry of `features`; None makes a figure.

    Returns
    -------
    array of axes
        One for each entry of `features`. Marks at the lower edge are the values of the column that
        were set.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_diabetes
    >>> diabetes = load_diabetes(as_frame=True)
    >>> model = weald.RandomForestRegressor(20, random_state=0)
    >>> model = model.fit(diabetes.data, diabetes.target)
    >>> axes = weald.plot.partial_dependence(model, diabetes.data, ["bmi", "s5"])
    >>> [ax.get_xlabel() for ax in axes]
    ['bmi', 's5']
    >>> plt.close()
    """
    check(_FUNCTION, OneOf(("average", "individual", "both")), kind=kind)
    check(_FUNCTION, Whole(2), n_points=n_points)
    check(_FUNCTION, NoneOr(Whole(1)), n_rows=n_rows)
    found = _given(model)
    if found is None:
        if X is None or features is None:
            raise TypeError(f"{_FUNCTION} needs X and features, unless the model is a result.")
        check_model(model)
        found = _computed(model, X, features, kind, int(n_points), n_rows)
    elif X is not None or features is not None:
        raise TypeError(f"{_FUNCTION} takes results without X and features.")
    size = (3.4 * len(found) + 0.8, 3.4)
    shared = not any(isinstance(one, PairDependence) for one in found)
    with drawing_several(ax, len(found), size, sharey=shared) as axes:
        for result, one in zip(found, axes, strict=True):
            outputs = _outputs(result, target)
            if isinstance(result, PairDependence):
                _draw_pair(one, result, outputs)
            else:
                # Pictures beside each other share the axis if all of them are of one column.
                is_first = one is axes[0] or not shared or ax is not None
                _draw(one, result, outputs, kind, is_first=is_first, is_last=one is axes[-1])
    return np.array(axes, dtype=object)


def _given(model: Any) -> list[Any] | None:
    """Results, if they are any."""
    results = list(model) if isinstance(model, (list, tuple)) else [model]
    if results and all(isinstance(one, (PartialDependence, AccumulatedEffects)) for one in results):
        return results
    return None


def _computed(
    model: Any, X: Any, features: Any, kind: str, n_points: int, n_rows: int | None
) -> list[_Result]:
    X = checked_table(model, X)
    names = names_of_columns(model, X)
    entries = [features] if isinstance(features, (str, int, np.integer)) else list(features)
    if not entries:
        raise ValueError(f"features must name at least one column; got {features!r}.")
    own = "average" if kind == "average" else "individual"
    found: list[_Result] = []
    for entry in entries:
        if not isinstance(entry, (tuple, list)):
            column = column_number(entry, names, "features")
            most = n_points
            if not GridColumn.of(model, X, column).is_ordered:
                most = min(n_points, _MOST_CATEGORIES)
            found.append(computed(model, X, column, kind=own, n_points=most, n_rows=n_rows))
            continue
        if len(entry) != 2 or kind != "average":
            raise ValueError(
                f"features must be columns or pairs of them, pairs with kind='average'; got "
                f"{entry!r} with kind={kind!r}."
            )
        first, second = (column_number(one, names, "features") for one in entry)
        most = min(n_points, _PAIR_POINTS)
        found.append(pair_dependence(model, X, (first, second), n_points=most, n_rows=n_rows))
    return found


def _outputs(result: _Result, target: Any) -> list[int]:
    """Numbers of the outputs to draw."""
    names = result.output_names
    values = result.effects if isinstance(result, AccumulatedEffects) else result.average
    is_pair = isinstance(result, PairDependence)
    n = values.shape[-1] if is_pair or values.ndim == 2 else 1
    if target is not None:
        if str(target) not in names:
            raise ValueError(f"There is no output {target!r}. The outputs are {listing(names)}.")
        return [names.index(str(target)) if n > 1 else 0]
    if n <= 2:
        return [n - 1]
    if n > len(CLASS_COLOURS) or is_pair:
        raise ValueError(f"There are {n} outputs; set target to one of {listing(names)}.")
    return list(range(n))


def _draw(
    axes: Any, result: Any, outputs: list[int], kind: str, *, is_first: bool, is_last: bool
) -> None:
    """One line for each output; categories are points beside each other."""
    is_effect = isinstance(result, AccumulatedEffects)
    grid = result.edges if is_effect else result.grid
    values = result.effects if is_effect else result.average
    values = values.reshape(len(grid), -1)
    numbers = as_numbers(np.asarray(grid))
    x = np.arange(len(grid)) if numbers is None else np.asarray(grid)
    if kind != "average":
        _draw_rows(axes, x, result, outputs)
    if kind != "individual":
        style = "o" if numbers is None else "-"
        for k in outputs:
            colour = CLASS_COLOURS[k] if len(outputs) > 1 else BLUE if kind == "average" else ORANGE
            name = label(result.output_names[k], 20) if len(outputs) > 1 else None
            axes.plot(x, values[:, k], style, color=colour, linewidth=2, label=name)
            if is_effect:
                half = 2 * result.standard_error.reshape(len(grid), -1)[:, k]
                band = values[:, k] - half, values[:, k] + half
                axes.fill_between(x, *band, color=colour, alpha=0.15, linewidth=0)
    if numbers is None:
        _name_ticks(axes.xaxis, grid)
        axes.margins(x=0.1)
    else:
        _few_dates(axes, x)
        floor = axes.get_xaxis_transform()
        axes.plot(x, np.zeros(len(x)), "|", color=GREY, transform=floor, markersize=6)
    axes.set_xlabel(label(result.column))
    if is_first:
        axes.set_ylabel(_scale(result, outputs, is_effect))
    light_grid(axes)
    if len(outputs) > 1 and is_last:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _few_dates(axes: Any, x: NDArray[Any]) -> None:
    """Dates side by side without overlap."""
    if x.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=5)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _scale(result: Any, outputs: list[int], is_effect: bool) -> str:
    scale = f"effect on the {result.scale}" if is_effect else f"mean {result.scale}"
    if len(result.output_names) > 1 and len(outputs) == 1:
        scale += f" of {shortened(result.output_names[outputs[0]], 20)}"
    return plain(scale)


def _draw_rows(axes: Any, x: NDArray[Any], result: Any, outputs: list[int]) -> None:
    """Thin lines of single rows (ICE)."""
    individual = getattr(result, "individual", None)
    if individual is None:
        raise ValueError(
            "The result has no lines of single rows: compute it with kind='individual', or draw "
            "kind='average'."
        )
    if len(outputs) > 1:
        raise ValueError(
            f"Lines of single rows are drawn of one output; set target to one of "
            f"{listing(result.output_names)}."
        )
    lines = individual.reshape(*individual.shape[:2], -1)[..., outputs[0]]
    shown = np.linspace(0, len(lines) - 1, min(len(lines), _MOST_LINES)).astype(int)
    axes.plot(x, lines[shown].T, color=GREY, linewidth=0.4, alpha=0.6)


def _draw_pair(axes: Any, result: PairDependence, outputs: list[int]) -> None:
    """A cell for each pair of values; numbers keep their distances."""
    places = []
    for grid in result.grids:
        is_number = grid.dtype.kind == "M" or as_numbers(grid) is not None
        places.append(grid if is_number and len(grid) > 1 else np.arange(len(grid)))
    drawn = axes.pcolormesh(
        *places, result.average[:, :, outputs[0]].T, cmap="cividis", shading="nearest",
        rasterized=True,
    )  # fmt: skip
    for axis, grid, place in zip((axes.xaxis, axes.yaxis), result.grids, places, strict=True):
        if place is not grid:
            _name_ticks(axis, grid)
    axes.set(xlabel=label(result.columns[0]), ylabel=label(result.columns[1]))
    axes.figure.colorbar(drawn, ax=axes, label=_scale(result, outputs, False), format=tick_text)


def _name_ticks(axis: Any, grid: Sequence[Any] | NDArray[Any]) -> None:
    """Write categories beside an axis, slanting if they are long."""
    shown = labels([value_text(value) for value in grid], 16)
    turned = axis.axis_name == "x" and sum(map(len, shown)) > 30
    axis.set_ticks(
        range(len(shown)), shown, rotation=40 if turned else 0,
        **({"ha": "right"} if turned else {}),
    )  # fmt: skip

"""Decision boundaries in two columns, of an ensemble and of its first base estimators."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.base_estimators import base_estimators_of
from weald.diagnostics.subject import Subject
from weald.diagnostics.tables import names_of_columns
from weald.number_text import number_text
from weald.parameters import Whole
from weald.plot.columns import as_numbers, column_number, column_of
from weald.plot.style import BEHIND, PALE, colours_of, drawing_several, label, labels, tick_text
from weald.theory.arguments import check, table_of

Floats = NDArray[np.float64]
_FUNCTION = "weald.plot.decision_boundary"

# Number of rows drawn as points.
_MOST_POINTS = 1000


def decision_boundary(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[Any] = (0, 1),
    n_estimators: int | Sequence[int] | None = None,
    grid_resolution: int = 120,
    ax: Any = None,
) -> Any:
    """Draw what a model predicts over two columns, with the rows of X as points.

    Unlike scikit-learn's `DecisionBoundaryDisplay` it takes models of any number of columns: the
    others are held at their median, or most frequent value, in X. With ``n_estimators=[1, 100]``
    the first base estimator is drawn beside the mean of the first hundred.

    Parameters
    ----------
    model : fitted classifier or regressor
        Classes are drawn as areas, numbers as contours.
    X : table
        Rows that set the range of the two columns and the values of the others.
    y : array or None, default=None
        Labels or numbers of the rows, drawn as points.
    features : pair of column names or positions, default=(0, 1)
        The two columns, which must be numbers.
    n_estimators : int, list of int or None, default=None
        Number of base estimators or boosting rounds, counted from the first; None means all.
    grid_resolution : int, default=120
        Number of points along each axis that are predicted.
    ax : axes, list of axes or None, default=None
        Axes to draw on, as many as there are pictures; None makes a figure.

    Returns
    -------
    axes, or array of axes
        An array if `n_estimators` is a list.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.3, random_state=0)
    >>> bag = weald.BaggingClassifier(n_estimators=100, random_state=0).fit(X, y)
    >>> axes = weald.plot.decision_boundary(bag, X, y, n_estimators=[1, 100])
    >>> [ax.get_title() for ax in axes]
    ['1 base estimator', '100 base estimators']
    >>> plt.close()
    """
    check(_FUNCTION, Whole(10, 2000), grid_resolution=grid_resolution)
    subject = Subject.of(model, _FUNCTION)
    table = table_of(X)
    if table.shape[0] == 0:
        raise ValueError(f"{_FUNCTION} needs rows; X has none (shape={tuple(table.shape)}).")
    names = names_of_columns(model, table)
    pair = _pair(features, names)
    sizes = _sizes(n_estimators)
    parts = [_Part(subject, size, _Filled(table, pair)) for size in sizes]
    points = np.column_stack([_numbers(table, column, names) for column in pair])
    target = None if y is None else subject.target(table, y)
    with drawing_several(ax, len(parts), (4.4 * len(parts) + 0.4, 4.2)) as axes:
        grid = _Grid.around(points, int(grid_resolution))
        for part, one in zip(parts, axes, strict=True):
            _draw(one, part, grid)
            if target is not None:
                _draw_points(one, points, target, subject.classes)
            one.set(xlabel=label(names[pair[0]]), ylabel=label(names[pair[1]]), title=part.title)
            one.set(xlim=grid.across[[0, -1]], ylim=grid.up[[0, -1]])
        if target is not None and subject.classes is not None and len(subject.classes) <= 20:
            axes[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    several = n_estimators is not None and np.ndim(n_estimators) > 0
    return np.array(axes, dtype=object) if several else axes[0]


def _pair(features: Any, names: list[str]) -> tuple[int, int]:
    if isinstance(features, str) or np.ndim(features) != 1 or len(features) != 2:
        raise ValueError(f"features must be a pair of columns, such as (0, 1); got {features!r}.")
    first, second = (column_number(one, names, "features") for one in features)
    if first == second:
        raise ValueError(f"features must be two different columns; got {features!r}.")
    return first, second


def _sizes(n_estimators: Any) -> list[int | None]:
    if n_estimators is None:
        return [None]
    sizes = [n_estimators] if np.ndim(n_estimators) == 0 else list(n_estimators)
    if not sizes or not all(Whole(1).admits(size) for size in sizes):
        raise ValueError(
            f"n_estimators must be an int of at least 1, a list of them, or None; got "
            f"{n_estimators!r}."
        )
    return [int(size) for size in sizes]


def _numbers(table: Any, column: int, names: list[str]) -> Floats:
    values = column_of(table, column)
    numbers = as_numbers(values) if values.dtype.kind not in "mM" else None
    if numbers is None:
        raise ValueError(
            f"{_FUNCTION} draws columns of numbers; column {names[column]!r} holds "
            f"{values.dtype}. Choose another one by features."
        )
    if not np.isfinite(numbers).any():
        raise ValueError(f"Column {names[column]!r} has no finite value to draw.")
    return numbers


class _Filled:
    """Makes tables of all columns from two of them; the others hold a typical value."""

    def __init__(self, table: Any, pair: tuple[int, int]) -> None:
        self._pair = pair
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        self._frame = frame if isinstance(frame, nw.DataFrame) else None
        self._table, self._n = table, table.shape[1]

    def __call__(self, points: Floats) -> Any:
        columns: dict[int, Any] = {place: points[:, i] for i, place in enumerate(self._pair)}
        if self._frame is None:
            whole = np.empty((len(points), self._n), dtype=self._dtype())
            for i in range(self._n):
                whole[:, i] = columns[i] if i in columns else self._typical(i)
            return whole
        frame = self._frame
        space = nw.get_native_namespace(frame)
        made = [
            nw.new_series(name, columns[i], nw.Float64(), native_namespace=space)
            if i in columns
            else frame[:, i][[self._typical_row(i)] * len(points)]
            for i, name in enumerate(frame.columns)
        ]
        return nw.from_dict({one.name: one for one in made}).to_native()

    def _dtype(self) -> Any:
        kind = getattr(self._table, "dtype", np.dtype(float))
        return kind if kind.kind in "fOU" else np.float64

    def _typical(self, column: int) -> Any:
        return column_of(self._table, column)[self._typical_row(column)]

    def _typical_row(self, column: int) -> int:
        """Row whose value is the (lower) median, or the most frequent one."""
        values = column_of(self._table, column)
        numbers = as_numbers(values)
        if numbers is not None:
            known = np.flatnonzero(np.isfinite(numbers))
            order = known[np.argsort(numbers[known], kind="stable")]
            return int(order[(len(order) - 1) // 2]) if len(order) else 0
        _, first, counts = np.unique(values.astype(str), return_index=True, return_counts=True)
        return int(first[np.argmax(counts)])


@dataclass(frozen=True, eq=False)
class _Part:
    """The first base estimators of an ensemble (None: all of it), predicting from two columns."""

    subject: Subject
    size: int | None
    filled: _Filled

    def predict(self, points: Floats) -> NDArray[Any]:
        """Class indices, or numbers."""
        predictions = self._predictions(self.filled(points))
        return predictions[:, 0] if self.subject.classes is None else predictions.argmax(axis=1)

    def _predictions(self, table: Any) -> Floats:
        subject, size = self.subject, self.size
        if size is None:
            return subject.predict(table)
        of_classes = subject.classes is not None
        name = "staged_predict_proba" if of_classes else "staged_predict"
        if hasattr(subject.model, name):
            *_, last = itertools.islice(getattr(subject.model, name)(table), size)
            return np.asarray(last, dtype=float).reshape(table.shape[0], -1)
        found = base_estimators_of(subject)
        if found is None:
            raise ValueError(
                f"n_estimators={size} needs an ensemble; {subject.name} has no base estimators "
                "that predict the target, nor staged predictions. Leave n_estimators=None."
            )
        if size > found.n:
            raise ValueError(
                f"n_estimators={size} is more than the {found.n} base estimators of {subject.name}."
            )
        return np.asarray(found.predict(table)[:size].mean(axis=0))

    @property
    def title(self) -> str:
        if self.size is None:
            return self.subject.name
        is_boosted = hasattr(self.subject.model, "staged_predict")
        what = "round" if is_boosted else "base estimator"
        return f"{self.size} {what}" + ("" if self.size == 1 else "s")


class _Grid(NamedTuple):
    """Values along both axes whose pairs are predicted."""

    across: Floats
    up: Floats

    @classmethod
    def around(cls, points: Floats, resolution: int) -> "_Grid":
        low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
        margin = 0.05 * np.where(high > low, high - low, 1.0)
        across, up = (
            np.linspace(*ends, resolution) for ends in zip(low - margin, high + margin, strict=True)
        )
        return cls(across, up)


def _draw(axes: Any, part: _Part, grid: _Grid) -> None:
    """Predict a grid and colour it; scikit-learn's display takes models of two columns only."""
    across, up = np.meshgrid(*grid)
    predicted = part.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    classes = part.subject.classes
    if classes is None:
        _draw_numbers(axes, across, up, predicted)
        return
    axes.pcolormesh(
        across,
        up,
        predicted,
        cmap=_colour_map(len(classes)),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        alpha=0.28,
        shading="nearest",
        rasterized=True,
        linewidth=0,
    )


def _draw_numbers(axes: Any, across: Floats, up: Floats, predicted: Floats) -> None:
    low, high = float(predicted.min()), float(predicted.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        axes.set_facecolor(PALE)
        text = f"{number_text(low)} everywhere"
        axes.annotate(text, (0.02, 0.98), xycoords="axes fraction", va="top", bbox=BEHIND, zorder=5)
        return
    surface = axes.contourf(across, up, predicted, levels=12, cmap="cividis")
    axes.figure.colorbar(surface, ax=axes, label="prediction", shrink=0.85, format=tick_text)


def _colour_map(n: int) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap(colours_of(n))


def _draw_points(axes: Any, points: Floats, target: Any, classes: Any) -> None:
    shown = np.arange(len(points))
    if len(points) > _MOST_POINTS:
        shown = np.random.default_rng(0).permutation(len(points))[:_MOST_POINTS]
    style = {"s": 14, "linewidth": 0.4, "edgecolor": "white"}
    if classes is None:
        axes.scatter(*points[shown].T, c=target[shown], cmap="cividis", **style)
        return
    colours = colours_of(len(classes))
    for k, name in enumerate(labels([str(one) for one in classes.tolist()], 16)):
        own = points[shown[target[shown] == k]]
        axes.scatter(*own.T, color=colours[k], label=name, **style)

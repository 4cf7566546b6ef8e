"""Survival curves: predicted for some rows, and estimated of groups."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.plot.style import GREY, colours_of, drawing, labels, legend_above, light_grid
from weald.survival import kaplan_meier, nelson_aalen

# Number of rows whose curves can be told apart.
_MOST_ROWS = 12


def survival_curves(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    names: Any = None,
    hazard: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the predicted survival functions of some rows.

    Parameters
    ----------
    model : fitted survival model
        A model with `predict_survival_function`.
    X : table
        Rows, at most 12.
    y : structured array, data frame or None, default=None
        Events and times of any rows, such as the training rows, whose Kaplan-Meier estimate (with
        hazard=True, Nelson-Aalen estimate) is drawn beside them.
    names : sequence of str or None, default=None
        Names of the rows; None: their numbers.
    hazard : bool, default=False
        Whether to draw cumulative hazard functions instead.
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
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = weald.survival.target(np.ones(200), rng.exponential(np.exp(-X[:, 0])))
    >>> forest = weald.RandomSurvivalForest(20).fit(X, y)
    >>> ax = weald.plot.survival_curves(forest, [[-1, 0], [1, 0]], y, names=["low", "high"])
    >>> [line.get_label() for line in ax.get_lines()]
    ['low', 'high', 'all rows of y']
    >>> plt.close()
    """
    name = f"predict_{'cumulative_hazard' if hazard else 'survival'}_function"
    if not hasattr(model, name):
        raise TypeError(
            f"weald.plot.survival_curves draws models with {name}, such as RandomSurvivalForest "
            f"and BoostedTreesSurvival; got {type(model).__name__}."
        )
    check_is_fitted(model)
    functions = getattr(model, name)(X)
    n = len(functions)
    if not 1 <= n <= _MOST_ROWS:
        raise ValueError(
            f"X must have between 1 and {_MOST_ROWS} rows, whose curves can be told apart; it has "
            f"{n}. Draw some of them, such as X[:5]."
        )
    shown = [f"row {i}" for i in range(n)] if names is None else list(names)
    if len(shown) != n:
        raise ValueError(f"names must have a name for each of the {n} rows; got {len(shown)}.")
    with drawing(ax) as axes:
        for function, text, colour in zip(functions, labels(shown), colours_of(n), strict=True):
            _draw(axes, function, label=text, color=colour)
        if y is not None:
            estimate = nelson_aalen(y) if hazard else kaplan_meier(y)
            _draw(axes, estimate, label="all rows of y", color=GREY, linestyle="--")
        axes.set_xlabel("time")
        axes.set_ylabel("cumulative hazard" if hazard else "chance to have no event until then")
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0, top=None if hazard else 1.02)
        light_grid(axes)
        legend_above(axes)
    return axes


def _draw(axes: Any, function: Any, **style: Any) -> None:
    times = np.concatenate([[0.0], function.x])
    axes.step(times, function(times), where="post", linewidth=1.6, **style)

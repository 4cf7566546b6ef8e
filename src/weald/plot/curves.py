"""Error against the number of base estimators or rounds, and against the number of rows."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.base_estimators import BaseEstimators, base_estimators_of
from weald.diagnostics.subject import Subject
from weald.ensembles.out_of_bag.row_losses import names_of, row_losses
from weald.number_text import number_text
from weald.parameters import Jobs, NoneOr, OneOf
from weald.plot.style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    drawing,
    label,
    legend_above,
    light_grid,
    loss_text,
)
from weald.theory.arguments import check, table_of, take
from weald.theory.fitting import check_estimator_like

Floats = NDArray[np.float64]

# Number of rows that staged predictions are computed for; the curve of more looks the same.
_MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class _Curve:
    """One line of the picture."""

    name: str
    loss: str
    steps: NDArray[Any]
    values: Floats
    band: tuple[Floats, Floats] | None = None
    is_judge: bool = False  # whether its minimum is marked


def training_curve(
    model: Any, X: Any = None, y: Any = None, *, loss: str | None = None, ax: Any = None
) -> Any:
    """Draw the error against the number of base estimators or boosting rounds.

    All curves that the model recorded are drawn: the losses of the training, validation and
    out-of-bag rows of a booster, the exponential loss of AdaBoost's training rows, the out-of-bag
    error of a forest or bag (with a band of 1.96 standard errors). With X and y, the error of these
    rows is added, from staged predictions or from the mean of the first base estimators.

    Parameters
    ----------
    model : fitted ensemble
        An ensemble of weald or scikit-learn.
    X, y : table and array, or None
        Rows that the model was not fitted on.
    loss : str or None, default=None
        "zero_one", "log_loss" or "brier" for classifiers, "squared_error" or "absolute_error" for
        regressors. None draws what the model recorded, and the error of X in the same loss.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture.

    See Also
    --------
    learning_curve : The error against the number of training rows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(50, oob_score=True, random_state=0)
    >>> ax = weald.plot.training_curve(forest.fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> [line.get_label() for line in ax.get_lines()][:2]
    ['out-of-bag rows', 'rows of X']
    >>> plt.close()
    """
    subject = Subject.of(model, "weald.plot.training_curve")
    known = names_of(subject.classes)
    check("weald.plot.training_curve", NoneOr(OneOf(known)), loss=loss)
    curves = _recorded(model, loss)
    if X is not None:
        curves.append(_of_rows(subject, X, y, loss or _loss_of(curves, subject)))
    if not curves:
        raise ValueError(
            f"{subject.name} has no curve to draw: pass X and y, or fit a booster with a "
            "validation set, or a forest with oob_score=True."
        )
    colours = {"training rows": BLUE, "validation rows": ORANGE, "out-of-bag rows": GREEN}
    with drawing(ax) as axes:
        one_loss = len({curve.loss for curve in curves}) == 1
        others = itertools.cycle((PINK, SKY, AMBER, GREY))  # of further validation sets
        for curve in curves:
            name = curve.name if one_loss else f"{curve.name} ({loss_text(curve.loss)})"
            colour = colours.get(curve.name) or next(others)
            name = label(name, 40)
            if curve.is_judge:
                name = f"{name}: {_mark_least(axes, curve, colour)}"
            axes.plot(curve.steps, curve.values, color=colour, label=name)
            if curve.band is not None:
                axes.fill_between(curve.steps, *curve.band, color=colour, alpha=0.15, linewidth=0)
        is_boosted = hasattr(model, "staged_predict")
        axes.set_xlabel("boosting rounds" if is_boosted else "base estimators")
        axes.set_ylabel(loss_text(curves[0].loss) if one_loss else "loss")
        light_grid(axes)
        legend_above(axes)
    return axes


def _mark_least(axes: Any, curve: _Curve, colour: str) -> str:
    """Mark the least error, and return it in words."""
    least = int(np.nanargmin(curve.values))
    x, y = float(curve.steps[least]), float(curve.values[least])
    axes.plot(x, y, "o", color=colour, markersize=5, label="_least")
    return f"least {number_text(y, 3)} after {number_text(x)}"


# ---- what models recorded ----


def _recorded(model: Any, loss: str | None) -> list[_Curve]:
    curves = _out_of_bag(model, loss)
    return curves if loss is not None else [*_history(model), *curves]


def _history(model: Any) -> list[_Curve]:
    """Losses per round: `history_`, or the attributes of weald and scikit-learn."""
    is_adaboost = hasattr(model, "estimator_errors_")
    name = "exponential_loss" if is_adaboost else str(getattr(model, "loss", "loss"))
    history = getattr(model, "history_", None)
    if history is not None:
        return list(_of_history(history, name))
    found = [
        ("training rows", "train_loss_", 1.0, 0),
        ("validation rows", "validation_loss_", 1.0, 0),
    ]
    if not hasattr(model, "train_loss_"):
        # scikit-learn: losses from the first round on; histogram boosting has scores instead.
        sign = -1.0 if hasattr(model, "validation_score_") else 1.0
        first = 0 if sign < 0 else 1
        found = [
            ("training rows", "train_score_", sign, first),
            ("validation rows", "validation_score_", sign, first),
            ("out-of-bag rows", "oob_scores_", sign, first),
        ]
    curves = []
    for label_, attribute, factor, first in found:
        values = getattr(model, attribute, None)
        if values is not None and np.size(values) > 1:
            curves.append(_numbered(label_, name, factor * np.asarray(values, dtype=float), first))
    return curves


def _of_history(history: Any, loss: str) -> Iterator[_Curve]:
    """Losses of a table of curves, named by their rows: "train loss", "validation loss" ..."""
    columns = dict(history.items() if isinstance(history, Mapping) else _columns_of(history))
    words = {"train": "training rows", "oob": "out-of-bag rows"}
    for name, values in columns.items():
        rows, _, what = str(name).replace("_", " ").rpartition(" ")
        series = np.asarray(values)
        if what == "loss" and rows and series.ndim == 1 and len(series) > 1:
            values = series.astype(float)
            if not np.isnan(values).all():  # a user's loss may have derivatives only
                yield _numbered(words.get(rows, f"{rows} rows"), loss, values, 0)


def _columns_of(history: Any) -> list[tuple[Any, Any]]:
    return [(name, history[name]) for name in getattr(history, "columns", ())]


def _numbered(name: str, loss: str, values: Floats, first: int) -> _Curve:
    steps = np.arange(first, first + len(values))
    return _Curve(name, loss, steps, values, None, name != "training rows")


def _out_of_bag(model: Any, loss: str | None) -> list[_Curve]:
    ledger = _ledger_of(model)
    if ledger is None:
        return []
    curve = ledger.curve(loss)
    band = (np.maximum(curve.lower, 0.0), curve.upper)
    return [_Curve("out-of-bag rows", curve.loss, curve.n_members, curve.error, band)]


def _ledger_of(model: Any) -> Any:
    """The out-of-bag ledger, if it has the predictions of more than a few base estimators."""
    if getattr(model, "_record", None) is None or hasattr(model, "staged_predict"):
        return None
    return model.oob_


# ---- error of given rows ----


def _loss_of(curves: list[_Curve], subject: Subject) -> str:
    """The loss of the recorded curves if it is known here, else the usual one of the model."""
    known = names_of(subject.classes)
    if curves and curves[0].loss in known:
        return curves[0].loss
    is_boosted = hasattr(subject.model, "staged_predict_proba")
    is_adaboost = hasattr(subject.model, "estimator_errors_")
    return "log_loss" if is_boosted and not is_adaboost else known[0]


def _of_rows(subject: Subject, X: Any, y: Any, loss: str) -> _Curve:
    target = subject.target(X, y)
    found = None if _has_stages(subject) else base_estimators_of(subject)
    width = 1 if subject.classes is None else len(subject.classes)
    most = _MOST_ROWS if found is None else min(_MOST_ROWS, found.rows_at_once(width))
    if len(target) > most:
        rows = np.sort(np.random.default_rng(0).permutation(len(target))[:most])
        X, target = take(table_of(X), rows), target[rows]
    errors = [
        float(row_losses(loss, target, predictions, subject.classes).mean())
        for predictions in _stages(subject, found, X)
    ]
    # The best number of averaged base estimators is chance; that of boosting rounds is not.
    is_judge = hasattr(subject.model, "staged_predict")
    return _Curve(
        "rows of X", loss, np.arange(1, len(errors) + 1), np.array(errors), None, is_judge
    )


def _has_stages(subject: Subject) -> bool:
    of_classes = subject.classes is not None
    return hasattr(subject.model, "staged_predict_proba" if of_classes else "staged_predict")


def _stages(subject: Subject, found: BaseEstimators | None, X: Any) -> Iterator[Floats]:
    """Predictions of the first 1, 2, ... rounds or base estimators, (rows, classes or 1)."""
    model = subject.model
    if found is not None:
        sums = itertools.accumulate(found.predict(X))
        yield from (total / (k + 1) for k, total in enumerate(sums))
    elif not _has_stages(subject):
        raise TypeError(
            f"{subject.name} has neither staged predictions nor base estimators that predict the "
            "target, so there is no error after each of them."
        )
    elif subject.classes is not None:
        yield from (np.asarray(shares, dtype=float) for shares in model.staged_predict_proba(X))
    else:
        yield from (np.asarray(one, dtype=float)[:, np.newaxis] for one in model.staged_predict(X))


# ---- error against the number of rows ----


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    train_sizes: Any = (0.1, 0.33, 0.55, 0.78, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw the score against the number of training rows, by cross-validation.

    Drawn by scikit-learn's `LearningCurveDisplay`; parts of the training rows are drawn at random,
    with a fixed seed. Curves that still rise at the right say that more rows would help; curves
    that meet at a low score, that a more flexible model would.

    Parameters
    ----------
    estimator : estimator
        Any estimator of scikit-learn's kind; it is cloned and fitted on each part.
    X, y : table and array
        All rows.
    train_sizes : array, default=(0.1, 0.33, 0.55, 0.78, 1.0)
        Shares or numbers of the training rows.
    cv : int or splitter, default=5
        Folds.
    scoring : str, callable or None, default=None
        Score; None means that of the estimator, accuracy or R².
    n_jobs : int or None, default=None
        Number of processes.
    ax : axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    axes
        The axes of the picture.

    See Also
    --------
    training_curve : The error against the number of base estimators or rounds.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import weald
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = weald.DecisionTreeClassifier(max_depth=3)
    >>> ax = weald.plot.learning_curve(tree, X, y, train_sizes=(0.5, 1.0), cv=3)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('training rows', 'score')
    >>> plt.close()
    """
    from sklearn.model_selection import LearningCurveDisplay

    check_estimator_like("weald.plot.learning_curve", estimator)
    check("weald.plot.learning_curve", Jobs(), n_jobs=n_jobs)
    with drawing(ax) as axes:
        display = LearningCurveDisplay.from_estimator(
            estimator,
            X,
            y,
            train_sizes=np.asarray(train_sizes),
            cv=cv,
            scoring=scoring,
            n_jobs=n_jobs,
            shuffle=True,
            random_state=0,
            score_type="both",
            ax=axes,
        )
        for line, band, colour, name in zip(
            display.lines_,
            display.fill_between_,
            (BLUE, ORANGE),
            ("training", "left-out"),
            strict=True,
        ):
            line.set(color=colour, marker="o", markersize=4, label=f"{name} rows")
            band.set(color=colour, alpha=0.15, linewidth=0)
        axes.set(xlabel="training rows", ylabel="score" if scoring is None else str(scoring))
        light_grid(axes)
        legend_above(axes)
    return axes

"""Pictures that scikit-learn's displays draw, in the style of weald."""

from typing import Any

import numpy as np

from weald.diagnostics.subject import Subject
from weald.parameters import NoneOr, OneOf, Whole
from weald.plot.style import (
    BLUE,
    GREY,
    drawing,
    label,
    labels,
    legend_above,
)
from weald.theory.arguments import check


def confusion_matrix(
    model: Any,
    X: Any,
    y: Any,
    *,
    normalize: str | None = None,
    max_classes: int = 20,
    ax: Any = None,
) -> Any:
    """Draw how often each class was predicted for rows of each class.

    Drawn by scikit-learn's `ConfusionMatrixDisplay`. With more than `max_classes` classes, those
    with the most errors are drawn and all others are added up.

    Parameters
    ----------
    model : fitted classifier
        Any classifier.
    X, y : table and array
        Rows that the model was not fitted on, and their labels.
    normalize : {"true", "pred", "all"} or None, default=None
        Show shares of the rows of a class, of those predicted as it, or of all; None shows counts.
    max_classes : int, default=20
        Number of classes to draw.
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
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = weald.RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = weald.plot.confusion_matrix(model, X[1::2], y[1::2])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.texts][0]
    ('predicted', '25')
    >>> plt.close()
    """
    check(
        "weald.plot.confusion_matrix", NoneOr(OneOf(("true", "pred", "all"))), normalize=normalize
    )
    check("weald.plot.confusion_matrix", Whole(2), max_classes=max_classes)
    from sklearn.metrics import ConfusionMatrixDisplay
    from sklearn.metrics import confusion_matrix as counted

    subject = _classifier(model, "weald.plot.confusion_matrix")
    assert subject.classes is not None
    target = subject.target(X, y)
    predicted = subject.predict(X).argmax(axis=1)
    names = [str(label) for label in subject.classes.tolist()]
    if len(names) > max_classes:
        target, predicted, names = most_confused(target, predicted, names, int(max_classes))
    counts = counted(target, predicted, labels=np.arange(len(names)), normalize=normalize)
    n, width = len(names), max(len(label(name, 16)) for name in names)
    size = (2.2 + 0.09 * width + 0.42 * n, 1.6 + 0.42 * n + (0.07 * width if n > 4 else 0.0))
    with drawing(ax, size) as axes:
        display = ConfusionMatrixDisplay(counts, display_labels=labels(names, 16))
        display.plot(
            ax=axes,
            cmap="Blues",
            colorbar=False,
            values_format=",d" if normalize is None else ".2f",
            xticks_rotation="vertical" if n > 4 and width > 3 else "horizontal",
            text_kw={"fontsize": 8},
        )
        axes.set(xlabel="predicted", ylabel="true")
        for side in axes.spines.values():
            side.set_visible(False)
        axes.tick_params(length=0)
    return axes


def most_confused(
    target: Any, predicted: Any, names: list[str], most: int
) -> tuple[Any, Any, list[str]]:
    """Keep the classes with the most errors; join all others."""
    is_wrong = target != predicted
    errors = np.bincount(target[is_wrong], minlength=len(names))
    errors += np.bincount(predicted[is_wrong], minlength=len(names))
    kept = np.sort(np.argsort(-errors, kind="stable")[: most - 1])
    place = np.full(len(names), most - 1)
    place[kept] = np.arange(most - 1)
    others = f"{len(names) - most + 1} others"
    return place[target], place[predicted], [*(names[i] for i in kept), others]


def calibration(model: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Any:
    """Draw how often predicted probabilities come true.

    Points on the diagonal are calibrated; below it the model is too sure of itself. Drawn by
    scikit-learn's `CalibrationDisplay`. For two classes it is the probability of the second; for
    more, the probability of the predicted class and the share of rows where it is right. Bars
    count the rows of each probability.

    Parameters
    ----------
    model : fitted classifier
        Any classifier with `predict_proba`.
    X, y : table and array
        Rows that the model was not fitted on, and their labels.
    n_bins : int, default=10
        Number of points; each is the mean of equally many rows.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = weald.RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = weald.plot.calibration(model, X[1::2], y[1::2])
    >>> ax.get_xlabel()
    'predicted probability of 1'
    >>> plt.close()
    """
    check("weald.plot.calibration", Whole(2), n_bins=n_bins)
    from sklearn.calibration import CalibrationDisplay

    subject = _classifier(model, "weald.plot.calibration")
    if not subject.has_probabilities:
        raise TypeError(
            f"weald.plot.calibration needs probabilities; {subject.name} has no predict_proba. "
            "sklearn.calibration.CalibratedClassifierCV adds them to any classifier."
        )
    assert subject.classes is not None
    target, shares = subject.target(X, y), subject.predict(X)
    if len(subject.classes) == 2:
        is_true, share = target == 1, shares[:, 1]
        name = f"of {label(subject.classes[1], 20)}"
    else:
        is_true, share = shares.argmax(axis=1) == target, shares.max(axis=1)
        name = "of the predicted class"
    with drawing(ax, (5.2, 4.8)) as axes:
        CalibrationDisplay.from_predictions(
            is_true.astype(int),
            share,
            n_bins=min(int(n_bins), len(target)),
            strategy="quantile",
            name=subject.name,
            ax=axes,
            color=BLUE,
            pos_label=1,
        )
        counts, edges = np.histogram(share, bins=20, range=(0, 1))
        widths = np.diff(edges)
        heights = 0.15 * counts / counts.max()
        axes.bar(edges[:-1], heights, widths, align="edge", color=GREY, alpha=0.35, linewidth=0)
        axes.set(
            xlabel=f"predicted probability {name}",
            ylabel="share of rows where it is true",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )
        axes.lines[0].set(color=GREY, linewidth=1, label="calibrated")
        legend_above(axes)
    return axes


def _classifier(model: Any, asked_by: str) -> Subject:
    subject = Subject.of(model, asked_by)
    if subject.classes is None:
        raise TypeError(f"{asked_by} takes a classifier; {subject.name} predicts numbers.")
    return subject

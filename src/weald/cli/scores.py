"""Scores of predictions on rows that the model has not seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of some rows beside their targets."""

    target: Array
    predictions: Array
    probabilities: Array | None
    classes: Array | None

    @property
    def knows_all(self) -> bool:
        """Whether the model knows every class among the targets."""
        return self.classes is not None and bool(np.isin(self.target, self.classes).all())


@dataclass(frozen=True)
class Metric:
    """A score by name, and whether more of it is better."""

    name: str
    more_is_better: bool
    of: Callable[[Predicted], float]


def _accuracy(found: Predicted) -> float:
    return float(np.mean(found.predictions == found.target))


def _balanced_accuracy(found: Predicted) -> float:
    right = found.predictions == found.target
    return float(np.mean([right[found.target == one].mean() for one in np.unique(found.target)]))


def _log_loss(found: Predicted) -> float:
    if found.probabilities is None or not found.knows_all:
        return math.nan
    if len(found.probabilities[0]) == 1:
        return 0.0  # the only class has probability 1, and log_loss refuses a single label
    from sklearn.metrics import log_loss

    return float(log_loss(found.target, found.probabilities, labels=found.classes))


def _roc_auc(found: Predicted) -> float:
    """Area under the ROC curve; for several classes the mean of each against the rest."""
    if found.probabilities is None or not found.knows_all or found.classes is None:
        return math.nan
    if len(np.unique(found.target)) < len(found.classes) or len(found.classes) < 2:
        return math.nan  # a class without rows has no curve
    from sklearn.metrics import roc_auc_score

    if len(found.classes) == 2:
        positive = found.target == found.classes[1]
        return float(roc_auc_score(positive, found.probabilities[:, 1]))
    areas = [
        roc_auc_score(found.target == one, found.probabilities[:, i])
        for i, one in enumerate(found.classes)
    ]
    return float(np.mean(areas))


def _rmse(found: Predicted) -> float:
    return math.sqrt(float(np.mean((found.predictions - found.target) ** 2)))


def _mae(found: Predicted) -> float:
    return float(np.mean(np.abs(found.predictions - found.target)))


def _r2(found: Predicted) -> float:
    spread = float(np.sum((found.target - found.target.mean()) ** 2))
    rest = float(np.sum((found.predictions - found.target) ** 2))
    return 1 - rest / spread if spread > 0 else math.nan


# The first is the one that methods are compared by.
_CLASSIFICATION = (
    Metric("log_loss", False, _log_loss),
    Metric("accuracy", True, _accuracy),
    Metric("balanced_accuracy", True, _balanced_accuracy),
    Metric("roc_auc", True, _roc_auc),
)
_REGRESSION = (Metric("rmse", False, _rmse), Metric("mae", False, _mae), Metric("r2", True, _r2))
METRIC_NAMES = tuple(one.name for one in (*_CLASSIFICATION, *_REGRESSION))


def metrics_of(task: str) -> dict[str, Metric]:
    """Metrics of a task by name."""
    return {one.name: one for one in (_CLASSIFICATION if task == "classification" else _REGRESSION)}


def metric_of(task: str, name: str | None) -> Metric:
    """The metric of a name; by default the first one of the task."""
    known = metrics_of(task)
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise click.UsageError(f"--metric {name} is not for {task}, which has {', '.join(known)}")
    return known[name]


def predicted(model: Any, X: Any, y: Any) -> Predicted:
    """Predict rows whose targets are known."""
    is_classifier = hasattr(model, "classes_")
    has_probabilities = is_classifier and hasattr(model, "predict_proba")
    target = np.asarray(y)
    return Predicted(
        target=target if is_classifier else target.astype(np.float64),
        predictions=np.asarray(model.predict(X)),
        probabilities=np.asarray(model.predict_proba(X)) if has_probabilities else None,
        classes=np.asarray(model.classes_) if is_classifier else None,
    )


def scores_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """All scores of a model by name; NaN where a score is not defined for these rows."""
    found = predicted(model, X, y)
    task = "regression" if found.classes is None else "classification"
    return {name: metric.of(found) for name, metric in metrics_of(task).items()}


def score_text(value: float) -> str:
    """Format a score.

    >>> score_text(0.98123), score_text(29610.4), score_text(float("nan"))
    ('0.9812', '29,610', 'not defined')
    """
    return "not defined" if math.isnan(value) else number_text(value)

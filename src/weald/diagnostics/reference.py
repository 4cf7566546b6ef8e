"""A default random forest beside the model: what a flexible model gets out of the columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.findings import Estimate
from weald.diagnostics.subject import Subject
from weald.diagnostics.trials import estimate_of
from weald.diagnostics.unseen import Sample, Unseen, quiet
from weald.ensembles.labels import class_numbers
from weald.ensembles.out_of_bag.row_losses import row_losses

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """Errors of the model and of a default random forest, both on rows they have not seen.

    Attributes
    ----------
    model, reference : Estimate
        Error of the model, and of the forest.
    gap : Estimate
        Error of the model minus that of the forest, row by row.
    predictions : float64 [rows, classes or 1]
        Out-of-bag predictions of the forest; NaN for rows without one.
    """

    model: Estimate
    reference: Estimate
    gap: Estimate
    predictions: Floats = field(repr=False)


def reference_of(subject: Subject, sample: Sample, unseen: Unseen, seed: int) -> Reference:
    """Fit a default forest on the sample and compare it with the model, out of bag."""
    predictions = _forest_predictions(subject, sample, seed)
    both = unseen.scored & ~np.isnan(predictions[:, 0])
    own, other = (
        row_losses(None, sample.target[both], one[both], subject.classes)
        for one in (unseen.predictions, predictions)
    )
    return Reference(estimate_of(own), estimate_of(other), estimate_of(own - other), predictions)


def _forest_predictions(subject: Subject, sample: Sample, seed: int) -> Floats:
    from weald.ensembles import RandomForestClassifier, RandomForestRegressor

    kind: Any = RandomForestRegressor if subject.classes is None else RandomForestClassifier
    with quiet():
        forest = kind(oob_score=True, random_state=seed)
        forest.fit(sample.table, sample.labels, groups=sample.groups)
    found: Floats = forest.oob_.predictions
    if subject.classes is None:
        return found[:, np.newaxis]
    whole = np.zeros((sample.n, len(subject.classes)))
    whole[:, class_numbers(forest.classes_, subject.classes)] = found
    return np.where(np.isnan(found[:, :1]), np.nan, whole)


def better_predictions(
    subject: Subject, sample: Sample, unseen: Unseen, reference: Reference | None
) -> Floats:
    """Predictions for unseen rows by the model or by the forest, whichever has the lower loss.

    A model that is often wrong and always sure would put all its errors down to the labels.
    """
    if reference is None:
        return unseen.predictions
    both = unseen.scored & ~np.isnan(reference.predictions[:, 0])
    loss = "squared_error" if subject.classes is None else "log_loss"
    own, other = (
        row_losses(loss, sample.target[both], one[both], subject.classes).mean()
        for one in (unseen.predictions, reference.predictions)
    )
    return unseen.predictions if own <= other else reference.predictions

"""Out-of-bag predictions of the base estimators of bagging."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data import extreme_exponent
from weald.ensembles.bagging.bag_fitting import BagTask
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.members.members import Outcome
from weald.ensembles.out_of_bag.enough import BATCH, Enough
from weald.ensembles.out_of_bag.row_losses import row_losses
from weald.ensembles.out_of_bag.tally import Record, Tally, recorded

Floats = NDArray[np.float64]


def oob_record(
    tasks: list[BagTask],
    outcomes: list[Outcome],
    rows: BagRows,
    classes: NDArray[Any] | None,
    weights: Floats,
) -> Record:
    """The out-of-bag results of the base estimators."""
    place = np.full(rows.sample.n, -1, dtype=np.intp)
    place[rows.ordered.index] = np.arange(rows.ordered.n)
    width = None if classes is None else len(classes)
    by_estimator = [
        (place[task.oob_rows], as_probabilities(outcome.predictions, width))
        for task, outcome in zip(tasks, outcomes, strict=True)
    ]
    return recorded(
        [(slice(0, rows.ordered.n), by_estimator)],
        rows.target.astype(np.float64),
        classes,
        rows.weight,
        n_members=len(tasks),
        member_weights=weights,
    )


def as_probabilities(predicted: Floats, n_classes: int | None) -> Floats:
    """Votes for class indices as one-hot probabilities; other predictions unchanged."""
    if n_classes is None or predicted.shape[1] == n_classes != 1:
        return predicted
    return (
        np.eye(n_classes)[predicted[:, 0].astype(np.intp)]
        if n_classes > 1
        else np.ones_like(predicted)
    )


def oob_results(
    tasks: list[BagTask], outcomes: list[Outcome], rows: BagRows, n_classes: int | None
) -> list[tuple[NDArray[Any], Floats, Floats | None]]:
    """Targets, predictions and weights of the out-of-bag rows of each base estimator."""
    weight = rows.sample.weight
    return [
        (
            rows.sample.y[task.oob_rows],
            as_probabilities(outcome.predictions, n_classes),
            None if weight is None else weight[task.oob_rows],
        )
        for task, outcome in zip(tasks, outcomes, strict=True)
    ]


Fitted = tuple[list[BagTask], list[Outcome]]


def fitted_until_enough(
    fitted: Callable[[range], Fitted], rows: BagRows, classes: NDArray[Any] | None
) -> Fitted:
    """Fit batches of base estimators until more would not lower the out-of-bag error further."""
    tasks: list[BagTask] = []
    outcomes: list[Outcome] = []
    enough, width = Enough(), 1 if classes is None else len(classes)
    tally = Tally(rows.sample.n, width)
    weight = rows.sample.weight
    # The stopping rule does not depend on the unit, which is chosen so that squares stay finite.
    exponent = extreme_exponent(rows.sample.y) if classes is None else 0
    while True:
        more = fitted(range(len(tasks), len(tasks) + BATCH))
        for task, outcome in zip(*more, strict=True):
            n_classes = None if classes is None else width
            predicted = as_probabilities(outcome.predictions, n_classes)
            tally.add(task.oob_rows, np.ldexp(predicted, -exponent))
        tasks, outcomes = tasks + more[0], outcomes + more[1]
        scored = np.flatnonzero(tally.n_out > 0)
        target = rows.sample.y[scored]
        target = target if classes is not None else np.ldexp(target, -exponent)
        losses = row_losses(None, target, tally.means[scored], classes)
        if enough.says(len(tasks), losses, None if weight is None else weight[scored]):
            return tasks, outcomes

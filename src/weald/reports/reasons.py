"""Reasons for predictions of single rows, and importances of models that have none."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import explain
from weald.diagnostics.subject import Subject
from weald.diagnostics.unseen import quiet
from weald.ensembles.out_of_bag.oob_importance import with_column_from
from weald.ensembles.out_of_bag.row_losses import row_losses
from weald.theory.arguments import take

Floats = NDArray[np.float64]

# Sampled orders of columns, for models whose values are not exact.
_SAMPLES = 20
_LEAST_ROWS = 10
_SHUFFLED_ROWS, _SHUFFLED_COLUMNS = 500, 300


def reasons_of(model: Any, rows: Any, background: Any) -> Any:
    """Return SHAP values of some rows."""
    given = {"background": background} if rows.shape[0] < _LEAST_ROWS else {}
    with quiet():  # exact values need no samples, and say so
        return explain.shap(model, rows, n_samples=_SAMPLES, random_state=0, **given)


def importances_of(
    subject: Subject, table: Any, target: NDArray[Any], seed: int
) -> tuple[Floats | None, str]:
    """Importances of the columns, and what they are: the model's own, or by shuffling."""
    own = getattr(subject.model, "feature_importances_", None)
    if own is not None and np.shape(own) == (table.shape[1],):
        return np.asarray(own, dtype=np.float64), "the share of each column in the gain of splits"
    if table.shape[1] > _SHUFFLED_COLUMNS:
        return None, ""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(target))[:_SHUFFLED_ROWS])
    some, goal = take(table, rows), target[rows]

    def error(part: Any) -> float:
        losses = row_losses(_loss(subject), goal, subject.predict(part), subject.classes)
        return float(losses.mean())

    before = error(some)
    found = [
        error(with_column_from(some, column, rng.permutation(len(rows)))) - before
        for column in range(table.shape[1])
    ]
    text = f"the increase of the {_loss(subject).replace('_', ' ')} when the column is shuffled"
    return np.maximum(found, 0.0), f"{text}, on rows of the fit"


def _loss(subject: Subject) -> str:
    if subject.classes is None:
        return "squared_error"
    return "log_loss" if subject.has_probabilities else "zero_one"

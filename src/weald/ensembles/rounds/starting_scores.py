"""Scores before the first round: offsets given by the user, and the best constants beside them."""

import numpy as np

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Training
from weald.losses import Loss, base_scores_given


def fitted_base(loss: Loss, training: Training) -> Floats:
    """Constant scores that minimise the loss of the training rows, given their offsets."""
    rows = training.rows
    offset = offset_scores(loss, rows)
    return base_scores_given(loss, training.y, rows.weight, training.train_copies, offset)


def starting_scores(loss: Loss, rows: Rows, base: Floats) -> Floats:
    """Scores of shape (scores, rows) before the first round."""
    start = np.repeat(base[:, np.newaxis], rows.n, axis=1)
    offset = offset_scores(loss, rows)
    return start if offset is None else start + offset


def offset_scores(loss: Loss, rows: Rows) -> Floats | None:
    """Offsets of shape (scores, rows) in the units of the fit; None: there are none."""
    if rows.offset is None:
        return None
    # With a log link, scaling the target only shifts the base score.
    exponent = 0 if loss.has_log_link else rows.target_exponent
    return np.ascontiguousarray(np.ldexp(rows.offset.T, -exponent))

"""Boosting of several targets: what it supports, and its rows in units of the targets' spreads."""

from dataclasses import replace
from typing import Any

import numpy as np

from weald.data import Rows, ValidationRows, validation_vectors, vector_rows
from weald.losses import TargetLosses, target_losses


def rows_of_targets(
    model: Any, X: object, y: Any, sample_weight: object
) -> tuple[Rows, TargetLosses]:
    """Return the rows with every target divided by its standard deviation, and the loss."""
    _check_supported(model, np.shape(y)[1])
    rows = vector_rows(model, X, y, sample_weight).with_moderate_target()
    loss = _loss_kept(model, rows.n_outputs)
    if loss is None:
        loss = target_losses(rows.target, rows.weight, model._n_threads)
        scales = np.ldexp(loss.scales, rows.target_exponent)
        loss = replace(loss, scales=tuple(scales.tolist()))
    own = np.ldexp(loss.scales, -rows.target_exponent)
    return replace(rows, y=rows.target / own, target_exponent=0), loss


def validation_of_targets(
    model: Any, given: tuple[Any, Any, object], loss: TargetLosses
) -> ValidationRows | None:
    """Return the validation sets with targets in the same units; None if none is given.

    `given` are X_val, y_val and sample_weight_val.
    """
    validation = validation_vectors(model, *given, loss.n_scores)
    if validation is None:
        return None
    with np.errstate(over="ignore"):
        return replace(validation, target=validation.target / np.array(loss.scales))


def takes_several(model: Any) -> bool:
    """Whether the parameters of a regressor allow several targets."""
    return not _refused(model)


def refuse_offsets(offset: object, offset_val: object) -> None:
    """Raise for offsets, which are of one target."""
    if offset is not None or offset_val is not None:
        raise ValueError(
            "offset is not supported with several targets. Subtract it from y, which is the same "
            "for squared errors, or fit one model per target."
        )


def _check_supported(model: Any, n_targets: int) -> None:
    for what in _refused(model)[:1]:
        raise ValueError(
            f"{what} supports one target; y has {n_targets} columns. Only "
            "loss='squared_error' without that supports several. Change it, or fit one model per "
            "target: sklearn.multioutput.MultiOutputRegressor(BoostedTreesRegressor(...))."
        )


def _refused(model: Any) -> list[str]:
    """The parameters that allow one target only."""
    found = []
    if not (isinstance(model.loss, str) and model.loss == "squared_error"):
        found.append(f"loss={model.loss!r}")
    if model.monotonic_cst is not None and model.multi_output == "vector_leaves":
        found.append("monotonic_cst with multi_output='vector_leaves'")
    if model.l1_regularization > 0:
        found.append(f"l1_regularization={model.l1_regularization!r}")
    if isinstance(model.target_statistics, (bool, np.bool_)) and model.target_statistics:
        found.append("target_statistics=True")
    return found


def _loss_kept(model: Any, n_targets: int) -> TargetLosses | None:
    """The loss of the fit that a warm start continues, whose units stay."""
    if not model.warm_start or not hasattr(model, "_state"):
        return None
    if model.n_outputs_ != n_targets:
        raise ValueError(
            f"warm_start continues a fit of {model.n_outputs_} targets; y has {n_targets}. Set "
            "warm_start=False to fit from scratch."
        )
    kept: TargetLosses = model._fitted_loss
    return kept

"""Right-censored survival times: targets, estimates of curves, and scores of predictions."""

from weald.survival.curves import StepFunction, kaplan_meier, nelson_aalen
from weald.survival.scores import (
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    integrated_brier_score,
)
from weald.survival.targets import target

__all__ = [
    "StepFunction",
    "brier_score",
    "concordance_index",
    "concordance_index_ipcw",
    "integrated_brier_score",
    "kaplan_meier",
    "nelson_aalen",
    "target",
]

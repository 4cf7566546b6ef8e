"""Loss functions: those built into the core, and user-defined ones (`user`)."""

from weald.losses.base_scores import base_scores_given
from weald.losses.builtin import BuiltinLoss
from weald.losses.choosing import (
    Loss,
    LossChoice,
    class_loss,
    refuse_targets,
    takes_positive_only,
)
from weald.losses.pinball_start import leaning
from weald.losses.quantiles import QuantileLosses, pinball_saved, quantile_losses
from weald.losses.ranking import Gains, RankingLoss
from weald.losses.roots import NotFiniteError, best_step
from weald.losses.targets import TargetLosses, target_losses
from weald.losses.units import scaled, times_power, unit_of_losses, units_of
from weald.losses.user import UserLoss

__all__ = [
    "BuiltinLoss",
    "Gains",
    "Loss",
    "LossChoice",
    "NotFiniteError",
    "QuantileLosses",
    "RankingLoss",
    "TargetLosses",
    "UserLoss",
    "base_scores_given",
    "best_step",
    "class_loss",
    "leaning",
    "pinball_saved",
    "quantile_losses",
    "refuse_targets",
    "scaled",
    "takes_positive_only",
    "target_losses",
    "times_power",
    "unit_of_losses",
    "units_of",
]

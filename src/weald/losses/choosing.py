"""Selection of a loss by the `loss` parameter of an estimator."""

from dataclasses import dataclass

from weald import _native
from weald.losses.builtin import BuiltinLoss, Floats
from weald.losses.survival import AftLoss, CoxLoss
from weald.losses.user import UserLoss
from weald.parameters import OneOf

Loss = BuiltinLoss | UserLoss | CoxLoss | AftLoss


@dataclass(frozen=True)
class LossChoice:
    """Constraint on a `loss` parameter: a name, or a user-defined loss with certain methods."""

    limit: OneOf
    methods: tuple[str, ...]

    @property
    def expected(self) -> str:
        methods = " or ".join(f"{name}(y, score)" for name in self.methods)
        return f"{self.limit.expected} or an object with the method {methods}"

    def admits(self, value: object) -> bool:
        if isinstance(value, (str, type)):
            return self.limit.admits(value)
        return any(callable(getattr(value, method, None)) for method in self.methods)


def refuse_targets(loss: Loss, y: Floats, name: str = "y") -> None:
    """Raise ValueError if a target is outside the domain of the loss; `name` is its argument.

    >>> import numpy as np
    >>> refuse_targets(BuiltinLoss("gamma", 1, 1), np.array([1.0, 0.0]))
    Traceback (most recent call last):
    ValueError: loss='gamma' requires strictly positive y; got 0.0 (1 of 2 rows)...
    """
    if not loss.has_log_link:
        return
    is_strict = loss.targets == "positive"
    what = f"{'strictly positive' if is_strict else 'non-negative'} {name}"
    admitted = y > 0 if is_strict else y >= 0
    if not admitted.all():
        raise ValueError(
            f"loss={loss.name!r} requires {what}; got {y[~admitted][0]} "
            f"({int((~admitted).sum())} of {len(y)} rows). Drop or correct these rows, or choose "
            "another loss such as 'squared_error'."
        )


def class_loss(loss: object, n_classes: int, n_threads: int) -> Loss:
    """Return the loss of a classifier, with one score for two classes, else one per class."""
    n_scores = n_classes if n_classes > 2 else 1
    if not isinstance(loss, str):
        return UserLoss(loss, n_scores, n_threads, of_classes=True)
    builtin = BuiltinLoss(loss, n_scores, n_threads)
    if n_scores > 1 and not builtin.has_many_scores:
        raise ValueError(
            f"loss={loss!r} is only suitable for a binary classification problem, and y has "
            f"{n_classes} classes. Only binary classification is supported. The type of the target "
            "is multiclass. Use loss='log_loss'."
        )
    return builtin


def takes_positive_only(loss: object) -> bool:
    """Whether a `loss` parameter names a loss for positive or non-negative targets."""
    return (
        isinstance(loss, str) and loss in _native.losses() and BuiltinLoss(loss, 1, 1).has_log_link
    )

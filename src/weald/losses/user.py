"""User-defined losses.

A loss is an object with one of these methods; `y` and `score` are read-only arrays over the rows.
Results must not include sample weights, which weald applies itself.

``gradient_hessian(y, score)``
    Returns two arrays: the first and second derivative of the loss with respect to the score, the
    latter non-negative. Sufficient for all boosting methods.
``gradient(y, score)``
    Returns the first derivative only: sufficient for GradientBoosting.

Optional methods:

``loss(y, score)``
    Returns the loss of each row, for early stopping, `train_score_` and `oob_improvement_`.
``link(score)``
    Returns the prediction for a score; for a classifier, the probability of the second class. The
    default is the score itself for regression, and its logistic function (softmax for several
    scores) for classification.

`score` has the shape (rows,), or (rows, classes) for three or more classes; so have the results of
`gradient` and `gradient_hessian`. For classifiers, `y` holds class codes: 0 is ``classes_[0]``.

Examples
--------
Log-cosh, a smooth approximation of the absolute error:

>>> import numpy as np
>>> from weald import GradientBoostingRegressor
>>> class LogCosh:
...     def gradient(self, y, score):
...         return np.tanh(score - y)
>>> x = np.linspace(0, 6, 400)[:, np.newaxis]
>>> model = GradientBoostingRegressor(loss=LogCosh()).fit(x, np.sin(x[:, 0]))
>>> round(model.score(x, np.sin(x[:, 0])), 2)
1.0
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.losses.builtin import BuiltinLoss, Copies, Floats
from weald.losses.roots import NotFiniteError, best_step
from weald.returned import numbers_returned


@dataclass(frozen=True)
class UserLoss:
    """Adapts a user-defined loss to the interface of `BuiltinLoss`, and checks its results."""

    loss: Any
    n_scores: int
    n_threads: int
    of_classes: bool

    refines_leaves = False
    is_smooth = True
    targets = "numbers"
    has_log_link = False
    is_reported_twice = False
    degrees = (0.0, 0.0, 0.0)  # unknown, so that limits are not rescaled

    @property
    def name(self) -> str:
        return type(self.loss).__name__

    @property
    def hessian_is_one(self) -> bool:
        return not self.has_hessian

    @property
    def of_exponents(self) -> bool:
        return self.of_classes

    @property
    def has_hessian(self) -> bool:
        return hasattr(self.loss, "gradient_hessian")

    @property
    def has_loss(self) -> bool:
        return hasattr(self.loss, "loss")

    def base_scores(self, y: Floats, weight: Floats | None, copies: Copies) -> Floats:
        """Return the constant at which gradients sum to zero; zeros for several scores."""
        if self.n_scores > 1:
            return np.zeros(self.n_scores)
        zero, one = np.zeros((1, len(y))), np.ones((1, len(y)))
        return np.array([best_step(self, y, zero, one, weight, copies)])

    def of_rows(self, index: NDArray[np.intp]) -> Self:
        """Return the loss of some of the rows."""
        return self

    def without_rows(self) -> Self:
        """Return the loss without what it holds of the rows of a fit: nothing."""
        return self

    def at(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> Self:
        return self

    def gradients(
        self, y: Floats, scores: Floats, weight: Floats | None, gradient: Floats, hessian: Floats
    ) -> bool:
        """Compute, check and weight the derivatives; False if the hessian is 1 everywhere."""
        if self.has_hessian:
            result = self.loss.gradient_hessian(_read_only(y), self._shown(scores))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise ValueError(
                    f"gradient_hessian of the loss {self.name} must return two arrays, the "
                    f"gradient and the hessian; got {type(result).__name__}."
                )
            gradient[:] = self._checked(result[0], "gradient_hessian", "gradient", scores)
            hessian[:] = self._checked(result[1], "gradient_hessian", "hessian", scores)
            if (hessian < 0).any():
                row = int(np.argmax((hessian < 0).any(axis=0)))
                raise ValueError(
                    f"gradient_hessian of the loss {self.name} returned a negative hessian: "
                    f"{hessian[:, row].min()} in row {row}. Return an upper bound of it, or 1."
                )
        else:
            result = self.loss.gradient(_read_only(y), self._shown(scores))
            gradient[:] = self._checked(result, "gradient", "gradient", scores)
            hessian[:] = 1.0
        if weight is not None:
            gradient *= weight
            hessian *= weight
        return self.has_hessian or weight is not None

    def mean(self, y: Floats, scores: Floats, weight: Floats | None, copies: Copies) -> float:
        """Mean loss, weighted by weights and copies."""
        result = self.loss.loss(_read_only(y), self._shown(scores))
        values = numbers_returned(result, f"loss of the loss {self.name}")
        if values.shape != (len(y),):
            raise ValueError(
                f"loss of the loss {self.name} must return one number per row, of the shape "
                f"({len(y)},); got the shape {values.shape}."
            )
        self._refuse_nan(values, "loss", "loss")
        mass = np.ones(len(y)) if weight is None else weight
        return _native.exact_total(values * mass, copies) / _native.exact_total(mass, copies)

    def predictions(self, scores: Floats) -> Floats:
        """Convert scores of shape (rows, n_scores) to predictions or probabilities."""
        if not hasattr(self.loss, "link"):
            return self._logistic.predictions(scores) if self.of_classes else scores
        shown = scores[:, 0] if self.n_scores == 1 else scores
        linked = numbers_returned(
            self.loss.link(_read_only(shown)), f"link of the loss {self.name}"
        )
        if linked.shape != shown.shape:
            raise ValueError(
                f"link of the loss {self.name} must return the shape of its argument, "
                f"{shown.shape}; got the shape {linked.shape}."
            )
        self._refuse_nan(linked, "link", "prediction")
        linked = linked.reshape(scores.shape)
        if self.of_classes and self.n_scores == 1:
            return np.column_stack([1.0 - linked, linked])
        return linked

    def capped(self, steps: Floats, rate: float) -> Floats:
        return steps

    def leaf_steps(
        self,
        gradient: Floats,
        hessian: Floats,
        copies: Copies,
        leaf_of_row: NDArray[np.int32],
        n_leaves: int,
        rate: float,
        l2: float = 0.0,
    ) -> Floats:
        """Return the Newton step of each leaf."""
        # As for squared error, steps are not clipped: a safe bound is unknown.
        plain = BuiltinLoss("squared_error", 1, self.n_threads)
        return plain.leaf_steps(gradient, hessian, copies, leaf_of_row, n_leaves, rate, l2)

    @property
    def _logistic(self) -> BuiltinLoss:
        return BuiltinLoss("log_loss", self.n_scores, self.n_threads)

    def _shown(self, scores: Floats) -> Floats:
        return _read_only(scores[0] if self.n_scores == 1 else np.ascontiguousarray(scores.T))

    def _checked(self, result: object, method: str, what: str, scores: Floats) -> Floats:
        values = numbers_returned(result, f"{method} of the loss {self.name}")
        n_scores, n_rows = scores.shape
        expected = (n_rows,) if n_scores == 1 else (n_rows, n_scores)
        if values.shape != expected:
            raise ValueError(
                f"{method} of the loss {self.name} must return a {what} of the shape of `score`, "
                f"{expected}; got the shape {values.shape}."
            )
        self._refuse_nan(values, method, what)
        return values.T

    def _refuse_nan(self, values: Floats, method: str, what: str) -> None:
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
            raise NotFiniteError(
                f"{method} of the loss {self.name} returned a {what} that is not finite: "
                f"{values[row]} in row {row} of the training rows. Check the formula for extreme "
                "scores, or use a smaller learning_rate."
            )


def _read_only(values: Floats) -> Floats:
    """Return a read-only view, which a user's method cannot change."""
    view = values.view()
    view.flags.writeable = False
    return view

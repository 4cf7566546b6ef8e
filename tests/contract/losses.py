"""Every loss of the core, with valid targets, and its derivatives."""

import numpy as np
import pytest

from weald import _native
from weald.losses import BuiltinLoss

EVERY_LOSS = _native.losses()

FACTS = {name: _native.loss_facts(name) for name in EVERY_LOSS}
CASES = [
    (name, n)
    for name in EVERY_LOSS
    for n in ([1, 2, 3, 7] if FACTS[name]["has_many_scores"] else [1])
]
every_case = pytest.mark.parametrize(("name", "n_scores"), CASES)
REFINED = [name for name in EVERY_LOSS if FACTS[name]["refines_leaves"]]
every_refined = pytest.mark.parametrize("name", REFINED)

# A new loss with a parameter needs a value here.
PARAMETERS = {"quantile": 0.3, "huber": 1.25, "tweedie": 1.4}


def loss_of(name: str, n_scores: int, n_threads: int = 1) -> BuiltinLoss:
    return BuiltinLoss(name, n_scores, n_threads, PARAMETERS.get(name, 0.0))


def targets_of(name: str, n_scores: int, n: int, seed: int = 0) -> np.ndarray:
    """Valid targets of the loss; class probabilities are stored class by class."""
    rng = np.random.default_rng(seed)
    kind = FACTS[name]["targets"]
    if kind == "classes":
        return rng.integers(0, max(2, n_scores), n).astype(np.float64)
    if kind == "shares":
        shares = rng.dirichlet(np.ones(max(2, n_scores)), n)
        shares[::5] = np.eye(shares.shape[1])[rng.integers(0, shares.shape[1], len(shares[::5]))]
        return shares[:, 1] if n_scores == 1 else np.ascontiguousarray(shares.T).ravel()
    if kind == "numbers":
        return rng.normal(size=n) * 3
    amounts = rng.exponential(size=n) * 3
    return amounts if kind == "positive" else np.where(rng.random(n) < 0.3, 0.0, amounts)


def some(y: np.ndarray, n_scores: int, name: str, index) -> np.ndarray:
    """Targets of the rows `index`."""
    if FACTS[name]["targets"] != "shares" or n_scores == 1:
        return y[index]
    return np.ascontiguousarray(y.reshape(n_scores, -1)[:, index]).ravel()


def derivatives(loss: BuiltinLoss, y, scores, weight=None) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = np.full_like(scores, np.nan), np.full_like(scores, np.nan)
    if not loss.gradients(y, scores, weight, gradient, hessian):
        hessian[:] = 1.0
    return gradient, hessian


def loss_of_row(loss: BuiltinLoss, y: np.ndarray, scores: np.ndarray, row: int) -> float:
    own = some(y, loss.n_scores, loss.name, [row])
    return loss.mean(own, np.ascontiguousarray(scores[:, row : row + 1]), None, None)

"""Sums are integers: on heavy-tailed data a boosted model is as good as one with double sums."""

import numpy as np
import pytest

from native import double_sums
from weald import _native
from weald.data import Rows, bin_rows
from weald.losses import BuiltinLoss
from weald.trees import TreeGrower, TreeLimits

N, ROUNDS, RATE = 400, 100, 0.1
LEAVES, LEAST = 8, 5


def heavy_table(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_cauchy((N, 3)).round(3)


# Every loss with one score, and the log loss of many classes.
CASES = [*((name, 1) for name in _native.losses()), ("log_loss", 3)]


def target_of(loss: str, n_scores: int, table: np.ndarray, seed: int) -> np.ndarray:
    """A target for the loss: the more extreme the better."""
    rng = np.random.default_rng(seed + 100)
    signal = np.arctan(table[:, 0]) + np.sign(table[:, 1])
    kind = _native.loss_facts(loss)["targets"]
    if kind in ("classes", "shares"):
        # The last class is rare.
        edges = [2.5] if n_scores == 1 else np.linspace(0.0, 2.5, n_scores - 1)
        return np.searchsorted(edges, signal + rng.normal(size=N)).astype(np.float64)
    if kind == "numbers":
        return signal + rng.standard_cauchy(N) ** 3
    return np.exp(signal) * np.abs(rng.standard_cauchy(N))


PARAMETERS = {"quantile": 0.8, "huber": 2.0, "tweedie": 1.5}


def random_weights(seed: int) -> np.ndarray:
    """Weights over eight orders of magnitude."""
    return np.exp(np.random.default_rng(seed + 200).normal(size=N) * 3)


def boosted_loss(loss: BuiltinLoss, y, weight, answer_of) -> float:
    """Training loss after all rounds of a booster whose trees come from `answer_of(g, h)`."""
    base = loss.base_scores(y, weight, None)
    scores = np.repeat(base[:, np.newaxis], N, axis=1)
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    for _ in range(ROUNDS):
        if not loss.gradients(y, scores, weight, gradient, hessian):
            hessian[:] = 1.0
        for k in range(len(scores)):
            answer = answer_of(gradient[k].copy(), hessian[k].copy())
            scores[k] += RATE * loss.capped(answer, RATE)
    return loss.mean(y, scores, weight, None)


@pytest.mark.parametrize(("name", "n_scores"), CASES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_training_loss_is_that_of_double_sums(name: str, n_scores: int, is_weighted: bool) -> None:
    table = heavy_table(0)
    y = target_of(name, n_scores, table, 0)
    weight = random_weights(0) if is_weighted else None
    loss = BuiltinLoss(name, n_scores, 1, PARAMETERS.get(name, 0.0))
    binned = bin_rows(Rows(table, y), max_bins=64, n_threads=1)
    codes = np.column_stack([binned.codes_of(column) for column in range(3)]).astype(np.int64)

    def twin(g, h):
        return double_sums.grow(
            codes, binned.n_bins, g, h, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST
        )

    theirs = boosted_loss(loss, y, weight, twin)
    # The promise of the design: within 0.1 % after 100 rounds. Where gradients and hessians are of
    # one size (exponential loss) many splits gain exactly the same, and doubles choose by chance.
    near = 0.05 if name == "exponential" else 1e-3
    for cells in ("automatic", "wide"):
        limits = TreeLimits(
            max_leaf_nodes=LEAVES, min_samples_leaf=LEAST, min_gain=0.0, cells=cells
        )
        grower = TreeGrower(binned, "newton", limits, n_threads=1)

        def core(g, h, grower=grower):
            tree = grower.on_sums(g[np.newaxis], h, None)
            return tree.value[tree.leaf_of_row, 0]

        ours = boosted_loss(loss, y, weight, core)
        assert ours <= theirs * (1 + near), cells
        assert ours == pytest.approx(theirs, rel=near), cells

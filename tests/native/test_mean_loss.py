"""The mean loss of many rows, computed by vectors, is that of the rows one by one."""

import math

import numpy as np
import pytest

from native.instructions import run_with
from native.test_loss_at import loss_of, targets_of
from weald import _native
from weald.losses import BuiltinLoss

# Several vectors and a rest; more than two blocks, so that threads share them.
SIZES = [1, 7, 8, 9, 31, 17_001]


def rows_of(loss: BuiltinLoss, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    if loss.n_scores == 1:
        y = targets_of(loss, rng, n)
    elif loss.targets == "classes":
        y = rng.integers(0, loss.n_scores, n).astype(float)
    else:
        y = rng.dirichlet(np.ones(loss.n_scores), n).T.ravel()
    return y, 3 * rng.normal(size=(loss.n_scores, n))


def all_losses() -> list[BuiltinLoss]:
    losses = [loss_of(name) for name in _native.losses()]
    return losses + [BuiltinLoss(one.name, 3, 1) for one in losses if one.has_many_scores]


def mean(loss: BuiltinLoss, n: int, n_threads: int = 1) -> float:
    y, scores = rows_of(loss, n)
    return _native.mean_loss(loss.name, loss.parameter, y, scores, None, None, n_threads)


@pytest.mark.parametrize("loss", all_losses(), ids=lambda loss: f"{loss.name}-{loss.n_scores}")
def test_many_rows(loss: BuiltinLoss) -> None:
    for n in SIZES:
        y, scores = rows_of(loss, n)
        of_row = y.reshape(-1, n)
        alone = [
            loss.mean(np.ascontiguousarray(of_row[:, i]), scores[:, i : i + 1].copy(), None, None)
            for i in range(min(n, 500))
        ]
        some = of_row[:, :500].ravel(), scores[:, :500].copy()
        assert loss.mean(*some, None, None) == pytest.approx(
            math.fsum(alone) / len(alone), rel=1e-14
        )
        assert mean(loss, n, 2) == mean(loss, n)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_bits_by_all_instructions(instructions: str) -> None:
    expected = [mean(loss, n) for loss in all_losses() for n in SIZES]
    run_with(
        instructions,
        "from native.test_mean_loss import SIZES, all_losses, mean\n"
        f"assert [mean(loss, n) for loss in all_losses() for n in SIZES] == {expected!r}",
    )

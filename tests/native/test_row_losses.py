"""Losses of rows: the same bits by all instruction sets, for any number of rows."""

import hashlib

import numpy as np
import pytest

from native.instructions import assert_same_digest
from native.test_loss_at import loss_of, targets_of
from weald import _native
from weald.losses import BuiltinLoss

# Less than a vector, a block of 64 rows and a few more, and more than a thread's share.
SIZES = [1, 7, 64, 65, 1000, 20_000]


def means() -> list[float]:
    """Mean losses of all losses, of one and several classes, weighted or not."""
    found = []
    for name in _native.losses():
        loss = loss_of(name)
        for n in SIZES:
            rng = np.random.default_rng(n)
            y, scores, weight = targets_of(loss, rng, n), rng.normal(size=(1, n)) * 5, rng.random(n)
            found += [loss.mean(y, scores, own, None) for own in (None, weight)]
    for n in SIZES:
        rng = np.random.default_rng(n)
        y, scores = rng.integers(0, 5, n).astype(np.float64), rng.normal(size=(5, n)) * 5
        found.append(BuiltinLoss("log_loss", 5, 1).mean(y, scores, None, None))
    return found


def digest() -> str:
    return hashlib.sha256(np.array(means()).tobytes()).hexdigest()


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_same_bits_by_all_instructions(instructions: str) -> None:
    assert_same_digest(instructions, "test_row_losses", digest())


@pytest.mark.parametrize("n", SIZES)
def test_several_classes_have_the_formula(n: int) -> None:
    rng = np.random.default_rng(n)
    y, scores = rng.integers(0, 4, n), rng.normal(size=(4, n)) * 10
    own = np.log(np.exp(scores - scores.max(axis=0)).sum(axis=0)) + scores.max(axis=0)
    expected = (own - scores[y, np.arange(n)]).mean()
    found = BuiltinLoss("log_loss", 4, 2).mean(y.astype(np.float64), scores, None, None)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)

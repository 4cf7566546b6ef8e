"""Combiners: non-negative sums and products, mixtures, greedy selection, exact means."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, nnls

from weald.ensembles.combining.greedy import GreedySelection
from weald.ensembles.combining.nonnegative import (
    NonNegativeProduct,
    NonNegativeSum,
    mixture_weights,
)
from weald.ensembles.combining.quadratic import nonnegative_minimum
from weald.ensembles.exact_means import exact_means


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.0, 1.0, 5.0]))
def test_nonnegative_minimum_against_scipy(seed: int, n: int, common: float) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(40, n)) + common * rng.normal(size=(40, 1))
    if n > 2:
        A[:, 1] = A[:, 0]
    b = A @ rng.normal(size=n) + rng.normal(size=40)
    x = nonnegative_minimum(A.T @ A, A.T @ b)
    assert (x >= 0).all()
    best = nnls(A, b)[1]
    assert np.linalg.norm(A @ x - b) == pytest.approx(best, rel=1e-7, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.lists(st.integers(1, 5), min_size=20, max_size=20),
)
def test_exact_means(terms: list, copies: list) -> None:
    values, weight = np.array(terms), np.array(copies[: len(terms)], dtype=float)
    expected = sum(Fraction(t) * int(w) for t, w in zip(terms, weight, strict=True)) / int(
        weight.sum()
    )
    got = float(exact_means(values, weight))
    near = 1e-12 * max(1.0, np.abs(values).max())
    assert got == pytest.approx(float(expected), abs=near)
    order = np.argsort(-values, kind="stable")
    assert float(exact_means(values[order], weight[order])) == got
    repeated = np.repeat(values, weight.astype(int))
    assert float(exact_means(repeated, None)) == pytest.approx(got, abs=near)
    for scale in (4.0, 2.0**900, 2.0**-900):
        assert float(exact_means(values, weight * scale)) == got


def mixture(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of three base estimators of different quality, and random classes."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=(n, 3)) * 2
    truth = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(3, p=p) for p in truth])
    said = []
    for noise in (0.3, 1.0, 3.0):
        logs = odds + noise * rng.normal(size=odds.shape)
        said.append(np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True))
    return np.stack(said), y


def test_mixture_weights_against_scipy() -> None:
    said, y = mixture()
    likely = said[:, np.arange(len(y)), y]

    def loss(weights: np.ndarray) -> float:
        return float(-np.log(weights @ likely).mean())

    found = minimize(
        loss,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-12},
    )
    weights = mixture_weights(said, y, None)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    assert loss(weights) <= found.fun + 1e-8
    assert weights == pytest.approx(found.x, abs=2e-3)


def test_equal_base_estimators_have_equal_weights() -> None:
    said, y = mixture()
    weights = mixture_weights(said[[0, 0, 2]], y, None)
    assert weights[0] == pytest.approx(weights[1], rel=1e-4)
    weights = NonNegativeProduct().fit(said[[0, 0, 2]], y, None).weights_
    assert weights[0] == pytest.approx(weights[1], rel=1e-6)


def test_a_product_for_two_classes_is_a_logistic_model_of_log_odds() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(3, 3000))
    y = (
        rng.random(3000) < 1 / (1 + np.exp(-(odds[0] * 0.8 + odds[1] * 0.4 - odds[2] * 0.3)))
    ).astype(int)
    said = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=2)
    model = NonNegativeProduct().fit(said, y, None)
    sign = 2 * y - 1

    def loss(w: np.ndarray) -> float:
        return float(np.log1p(np.exp(-sign * (w @ odds))).mean() + 5e-4 * (w**2).sum())

    found = minimize(loss, np.full(3, 1 / 3), bounds=[(0, None)] * 3, options={"ftol": 1e-14})
    assert model.weights_ == pytest.approx(found.x, abs=2e-4)
    assert model.weights_[2] == 0
    chance = 1 / (1 + np.exp(-(model.weights_ @ odds)))
    assert model.combine(said)[:, 1] == pytest.approx(chance, abs=1e-9)


def test_perfect_base_estimators_get_finite_weights() -> None:
    y = np.arange(100) % 2
    said = np.stack([np.eye(2)[y], np.full((100, 2), 0.5)])
    model = NonNegativeProduct().fit(said, y, None)
    assert np.isfinite(model.weights_).all() and model.weights_.max() < 10
    assert mixture_weights(said, y, None)[0] > 0.99
    # And those that are always wrong none.
    wrong = np.stack([np.eye(2)[1 - y], np.full((100, 2), 0.5)])
    assert NonNegativeProduct().fit(wrong, y, None).weights_[0] == 0
    assert mixture_weights(wrong, y, None)[1] > 0.99


def test_nonnegative_sum_does_not_depend_on_the_unit() -> None:
    rng = np.random.default_rng(0)
    said = rng.normal(size=(3, 200, 1))
    y = 0.7 * said[0, :, 0] + 0.4 * said[1, :, 0] - said[2, :, 0] + rng.normal(size=200) / 9
    weights = NonNegativeSum().fit(said, y, None).weights_
    expected = nnls(said[:, :, 0].T, y)[0]
    assert weights == pytest.approx(expected, abs=1e-6)
    for power in (-900, 300, 900):
        scaled = NonNegativeSum().fit(np.ldexp(said, power), np.ldexp(y, power), None).weights_
        assert np.array_equal(scaled, weights)
    assert np.isfinite(NonNegativeSum().fit(said * 0, y * 0, None).weights_).all()


# ---- greedy selection ----


def greedy_by_hand(said: np.ndarray, y: np.ndarray, n_steps: int) -> np.ndarray:
    chosen: list[int] = []
    scored: list[tuple[float, list[int]]] = []
    for _ in range(n_steps):
        losses = [
            float(np.mean((np.mean([*said[chosen], member], axis=0) - y) ** 2)) for member in said
        ]
        least = min(losses)
        ties = [i for i, loss in enumerate(losses) if loss <= least]
        chosen.append(max(ties, key=lambda i: (chosen.count(i), -i)))
        scored.append((losses[chosen[-1]], list(chosen)))
    best = min(scored, key=lambda pair: pair[0])[1]
    return np.bincount(best, minlength=len(said)) / len(best)


@pytest.mark.parametrize("seed", range(4))
def test_greedy_selection_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=80)
    said = y + rng.normal(size=(5, 80)) * np.array([0.5, 0.7, 1, 2, 4])[:, np.newaxis]
    model = GreedySelection("squared_error", n_steps=25).fit(said[:, :, np.newaxis], y, None)
    assert model.weights_ == pytest.approx(greedy_by_hand(said, y, 25), abs=1e-12)


def test_greedy_selection_stops_at_its_best_step() -> None:
    y = np.linspace(-1, 1, 50)
    said = np.stack([y, y + 1])[:, :, np.newaxis]
    assert GreedySelection("squared_error").fit(said, y, None).weights_.tolist() == [1, 0]


def test_bagging_reduces_overfitting_of_greedy_selection() -> None:
    """Many base estimators of pure noise and few rows: bagging spreads the weight."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    said = rng.normal(size=(60, 30, 1))
    fresh, truth = rng.normal(size=(60, 5000, 1)), rng.normal(size=5000)

    def error(model: GreedySelection) -> float:
        return float(np.mean((model.fit(said, y, None).combine(fresh)[:, 0] - truth) ** 2))

    guarded, plain = GreedySelection("squared_error"), GreedySelection("squared_error", share=1.0)
    assert error(guarded) < error(plain)
    assert (guarded.weights_ > 0).sum() > (plain.weights_ > 0).sum()
    assert guarded.weights_.sum() == pytest.approx(1)
    assert math.isclose(GreedySelection("squared_error").fit(said, y, None).weights_.sum(), 1)


def test_combiners_do_not_depend_on_the_order_of_rows_and_the_scale_of_weights() -> None:
    said, y = mixture(300)
    # The least probability that counts in a product goes by the number of rows: have none as small.
    said = np.maximum(said, 0.01)
    rng = np.random.default_rng(1)
    order, counts = rng.permutation(300), rng.integers(1, 4, 300)
    weight = counts.astype(float)
    for fit in (
        lambda *a: NonNegativeProduct().fit(*a).weights_,
        lambda *a: GreedySelection("log_loss").fit(*a).weights_,
        mixture_weights,
    ):
        found = fit(said, y, weight)
        assert np.array_equal(fit(said[:, order], y[order], weight[order]), found)
        assert np.array_equal(fit(said, y, weight * 4), found)
        repeated = fit(np.repeat(said, counts, axis=1), np.repeat(y, counts), None)
        assert repeated == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_weighted_rows_count_by_effective_sample_size() -> None:
    said, y = mixture(300)
    weight = np.random.default_rng(1).integers(1, 4, 300).astype(float)
    n_rows = weight.sum() ** 2 / (weight**2).sum()
    for scale in (1.0, 4.0):
        model = NonNegativeProduct().fit(said, y, weight * scale)
        assert model.least_ == pytest.approx(0.5 / n_rows, rel=1e-15)
    assert NonNegativeProduct().fit(said, y, None).least_ == 0.5 / 300

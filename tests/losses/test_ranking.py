"""Losses of rankings beside plain Python, finite differences and scikit-learn's measures."""

import hashlib
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.metrics import ndcg_score as sklearn_ndcg

from native.instructions import run_with
from weald import _native
from weald.losses import RankingLoss
from weald.losses.ranking import ALL_PLACES, RANKINGS, measures

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # sizes, labels, scores


def queries(seed: int = 0, sizes: list[int] | None = None, *, ties: bool = False) -> Rows:
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 5, 8, 9, 17, 40] if sizes is None else sizes
    y = rng.integers(0, 5, sum(sizes)) * (rng.random(sum(sizes)) < 0.7)
    scores = rng.normal(size=sum(sizes)) * 3
    return np.array(sizes), y.astype(float), np.round(scores) if ties else scores


def made(
    name: str,
    sizes: np.ndarray,
    y: np.ndarray,
    k: int = 4,
    n_threads: int = 1,
    pairwise_weight: float = 0.0,
) -> RankingLoss:
    loss = RankingLoss.made(name, k, None, n_threads, pairwise_weight=pairwise_weight)
    return loss.of_queries(sizes, y)


def derivatives(
    loss: RankingLoss, y: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    gradient, hessian = np.full((1, len(y)), 7.0), np.full((1, len(y)), 7.0)
    assert loss.gradients(y, scores[np.newaxis], weight, gradient, hessian)
    return gradient[0], hessian[0]


# ---- plain Python ----


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def dcg(gains: list[float], k: int) -> float:
    return sum(gain / math.log2(2 + place) for place, gain in enumerate(gains[:k]))


def precision(relevant: list[float]) -> float:
    found, total = 0, 0.0
    for place, one in enumerate(relevant, 1):
        if one:
            found += 1
            total += found / place
    return total / found if found else 0.0


def exchanged(values: list[float], i: int, j: int) -> list[float]:
    values = list(values)
    values[i], values[j] = values[j], values[i]
    return values


def plain_lambdas(
    gains: np.ndarray, scores: np.ndarray, k: int, change: Callable[[list[float], int, int], float]
) -> tuple[np.ndarray, np.ndarray]:
    """LambdaMART of one query: each pair of which one row is among the first k."""
    n = len(gains)
    order = sorted(range(n), key=lambda i: (-scores[i], i))
    by_place = [float(gains[i]) for i in order]
    gradient, hessian, slopes = np.zeros(n), np.zeros(n), 0.0
    for i, j in itertools.combinations(range(n), 2):
        if i >= k or by_place[i] == by_place[j]:
            continue
        better, worse = (i, j) if by_place[i] > by_place[j] else (j, i)
        better, worse = order[better], order[worse]
        gap = scores[better] - scores[worse]
        size = abs(change(by_place, i, j)) / (0.01 + abs(gap))
        wrong = sigmoid(-gap)
        gradient[better] -= size * wrong
        gradient[worse] += size * wrong
        for row in (better, worse):
            hessian[row] += size * wrong * (1 - wrong)
        slopes += 2 * size * wrong
    factor = math.log2(1 + slopes) / slopes if slopes else 1.0
    return gradient * factor, hessian * factor


def plain_ndcg(y: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    gains = 2**y - 1
    ideal = dcg(sorted(gains, reverse=True), k) or 1.0

    def change(by_place: list[float], i: int, j: int) -> float:
        # Pairs are weighed by all discounts: the truncation chooses pairs and the ideal only.
        n = len(by_place)
        return (dcg(by_place, n) - dcg(exchanged(by_place, i, j), n)) / ideal

    return plain_lambdas(gains, scores, k, change)


def plain_map(y: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    def change(by_place: list[float], i: int, j: int) -> float:
        return precision(by_place) - precision(exchanged(by_place, i, j))

    return plain_lambdas((y > 0).astype(float), scores, k, change)


@pytest.mark.parametrize("k", [1, 4, 100])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("name", "plain"), [("ndcg", plain_ndcg), ("map", plain_map)])
def test_lambdas(name: str, plain: Callable[..., Rows], ties: bool, k: int) -> None:
    sizes, y, scores = queries(ties=ties)
    gradient, hessian = derivatives(made(name, sizes, y, k), y, scores)
    begin = 0
    for size in sizes:
        own = slice(begin, begin + size)
        expected = plain(y[own], scores[own], k)
        np.testing.assert_allclose(gradient[own], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hessian[own], expected[1], rtol=1e-9, atol=1e-12)
        begin += size
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize(("name", "plain"), [("ndcg", plain_ndcg), ("map", plain_map)])
def test_the_pairwise_loss_is_added(name: str, plain: Callable[..., Rows]) -> None:
    """A query's mean logistic loss of the pairs of different gains, times its weight."""
    sizes, y, scores = queries(9)
    found = derivatives(made(name, sizes, y, 4, pairwise_weight=2.5), y, scores)
    gains = y if name == "ndcg" else (y > 0).astype(float)
    begin = 0
    for size in sizes:
        own = slice(begin, begin + size)
        expected = plain(y[own], scores[own], 4)
        better = gains[own, np.newaxis] > gains[np.newaxis, own]
        wrong = 1 / (1 + np.exp(scores[own, np.newaxis] - scores[np.newaxis, own])) * better
        curved = wrong * (1 - wrong)
        weight = 2.5 / max(1, better.sum())
        expected[0][:] += weight * (wrong.sum(axis=0) - wrong.sum(axis=1))
        expected[1][:] += weight * (curved.sum(axis=0) + curved.sum(axis=1))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[own], other, rtol=1e-9, atol=1e-12)
        begin += size
    plain_ones = derivatives(made(name, sizes, y, 4), y, scores)
    assert np.abs(found[0] - plain_ones[0]).max() > 0.1


@pytest.mark.parametrize("name", ["pairwise", "xendcg"])
def test_the_pairwise_loss_is_added_to_no_smooth_loss(name: str) -> None:
    sizes, y, scores = queries(9)
    plain, other = (
        derivatives(made(name, sizes, y, pairwise_weight=weight), y, scores) for weight in (0, 2.5)
    )
    np.testing.assert_array_equal(plain, other)


def plain_loss(name: str, y: np.ndarray, scores: np.ndarray) -> float:
    if name == "xendcg":
        shares = (2**y - 0.5) / (2**y - 0.5).sum()
        log_sum = math.log(sum(math.exp(one) for one in scores))
        return float(
            sum(share * (log_sum - one) for share, one in zip(shares, scores, strict=True))
        )
    pairs = [
        math.log1p(math.exp(scores[j] - scores[i]))
        for i, j in itertools.permutations(range(len(y)), 2)
        if y[i] > y[j]
    ]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("name", ["pairwise", "xendcg"])
def test_smooth_losses(name: str) -> None:
    """The mean loss is that of plain Python, and the gradients are its finite differences."""
    sizes, y, scores = queries(3, [2, 6, 11, 20])
    y[:2] = [0, 2]
    loss = made(name, sizes, y)
    parts = np.split(np.arange(len(y)), np.cumsum(sizes)[:-1])
    expected = np.mean([plain_loss(name, y[part], scores[part]) for part in parts])
    assert loss.mean(y, scores[np.newaxis], None, None) == pytest.approx(expected, rel=1e-12)
    gradient, hessian = derivatives(loss, y, scores)
    for row in range(len(y)):
        step = np.zeros(len(y))
        step[row] = 1e-4
        low, high = (
            loss.mean(y, (scores + sign * step)[np.newaxis], None, None) for sign in (-1, 1)
        )
        middle = loss.mean(y, scores[np.newaxis], None, None)
        # The mean is over four queries, the gradient is of their sum.
        assert 4 * (high - low) / 2e-4 == pytest.approx(gradient[row], rel=1e-5, abs=1e-8)
        assert 4 * (high - 2 * middle + low) / 1e-8 == pytest.approx(
            hessian[row], rel=1e-2, abs=1e-5
        )


@pytest.mark.parametrize("name", RANKINGS)
def test_gradients_sum_to_zero(name: str) -> None:
    sizes, y, scores = queries(1)
    gradient, hessian = derivatives(made(name, sizes, y), y, scores)
    sums = np.add.reduceat(gradient, np.cumsum(sizes) - sizes)
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    assert (hessian >= 0).all()


@pytest.mark.parametrize("name", RANKINGS)
def test_scores_far_apart(name: str) -> None:
    """No derivative overflows, and the best row, which is last, is pulled up."""
    y = np.array([2.0, 0.0, 1.0])
    scores = np.array([-1e9, 0.0, 1e9])
    gradient, hessian = derivatives(made(name, np.array([3]), y), y, scores)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert gradient[0] < 0
    assert np.isfinite(made(name, np.array([3]), y).mean(y, scores[np.newaxis], None, None))


@pytest.mark.parametrize("name", RANKINGS)
def test_queries_without_a_choice(name: str) -> None:
    """Queries of one row, or of equal labels, have no gradient and no loss."""
    sizes, y, scores = np.array([1, 3, 2]), np.array([3.0, 1, 1, 1, 0, 1]), np.arange(6.0)
    loss = made(name, sizes, y)
    gradient, hessian = derivatives(loss, y, scores)
    assert not gradient[:4].any()
    assert not hessian[:4].any()
    assert gradient[4:].all()
    alone = made(name, np.array([2]), y[4:])
    expected = alone.mean(y[4:], scores[np.newaxis, 4:], None, None)
    assert loss.mean(y, scores[np.newaxis], None, None) == expected


@pytest.mark.parametrize("name", RANKINGS)
def test_weights_and_used_queries(name: str) -> None:
    sizes, y, scores = queries(2, [4, 9, 6])
    weight = np.repeat([1.0, 3.0, 0.5], sizes)
    loss = made(name, sizes, y)
    plain, heavy = derivatives(loss, y, scores), derivatives(loss, y, scores, weight)
    for one, other in zip(plain, heavy, strict=True):
        np.testing.assert_allclose(one * weight, other, rtol=1e-15)
    copies = np.repeat([1, 0, 1], sizes)
    used = derivatives(loss.at(y, scores[np.newaxis], None, copies), y, scores)
    for one, other in zip(plain, used, strict=True):
        np.testing.assert_array_equal(np.where(copies, one, 0.0), other)
    each = [loss.of_rows(np.flatnonzero(weight == w)) for w in (1.0, 3.0, 0.5)]
    parts = [np.flatnonzero(weight == w) for w in (1.0, 3.0, 0.5)]
    means = [
        one.mean(y[part], scores[np.newaxis, part], None, None)
        for one, part in zip(each, parts, strict=True)
    ]
    expected = np.average(means, weights=[1.0, 3.0, 0.5])
    assert loss.mean(y, scores[np.newaxis], weight, None) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", RANKINGS)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    sizes, y, scores = queries(5, [30] * 400)
    one, two = (
        derivatives(made(name, sizes, y, n_threads=n, pairwise_weight=2.0), y, scores)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def digest() -> str:
    """Of the derivatives of all losses."""
    sizes, y, scores = queries(4, [1, 7, 8, 9, 15, 16, 17, 100])
    whole = hashlib.sha256()
    for name, weight in itertools.product(RANKINGS, (0.0, 2.0)):
        for one in derivatives(made(name, sizes, y, 10, pairwise_weight=weight), y, scores):
            whole.update(one.tobytes())
    return whole.hexdigest()


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_bits_do_not_depend_on_instructions(instructions: str) -> None:
    code = f"from losses.test_ranking import digest; assert digest() == {digest()!r}"
    run_with(instructions, code)


# ---- measures ----


def of_queries(
    name: str, sizes: np.ndarray, y: np.ndarray, scores: np.ndarray, k: int
) -> np.ndarray:
    first = np.concatenate([[0], np.cumsum(sizes)])
    gains = 2**y - 1 if name == "ndcg" else (y > 0).astype(float)
    return measures(name, first, gains, scores, k, 1)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [1, 3, 10, ALL_PLACES])
def test_ndcg_is_that_of_scikit_learn(ties: bool, k: int) -> None:
    sizes, y, scores = queries(7, [2, 5, 30, 11], ties=ties)
    y[:2] = [0, 1]
    values = of_queries("ndcg", sizes, y, scores, k)
    for value, part in zip(values, np.split(np.arange(len(y)), np.cumsum(sizes)[:-1]), strict=True):
        expected = sklearn_ndcg([2 ** y[part] - 1], [scores[part]], k=None if k > 99 else k)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_is_that_of_scikit_learn(ties: bool) -> None:
    sizes, y, scores = queries(8, [2, 5, 30, 11], ties=ties)
    y[:2] = [0, 1]
    values = of_queries("map", sizes, y, scores, ALL_PLACES)
    for value, part in zip(values, np.split(np.arange(len(y)), np.cumsum(sizes)[:-1]), strict=True):
        assert value == pytest.approx(average_precision_score(y[part] > 0, scores[part]), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_reciprocal_rank_is_the_mean_over_orders_of_ties(k: int) -> None:
    y, scores = np.array([0.0, 1, 0, 1, 0, 0]), np.array([3.0, 2, 2, 2, 2, 1])
    orders = [(0, *middle, 5) for middle in itertools.permutations((1, 2, 3, 4))]
    places = [1 + next(i for i, row in enumerate(order) if y[row]) for order in orders]
    expected = np.mean([1 / place if place <= k else 0.0 for place in places])
    value = of_queries("mrr", np.array([6]), y, scores, k)[0]
    assert value == pytest.approx(expected, rel=1e-14)


def test_average_precision_of_the_first_places() -> None:
    y, scores = np.array([1.0, 0, 1, 1, 0]), -np.arange(5.0)
    assert of_queries("map", np.array([5]), y, scores, 3)[0] == pytest.approx((1 + 2 / 3) / 3)
    assert of_queries("map", np.array([5]), y, scores, 1)[0] == 1.0


def test_no_measure_without_a_relevant_row() -> None:
    for name in ("ndcg", "map", "mrr"):
        assert np.isnan(of_queries(name, np.array([2]), np.zeros(2), np.arange(2.0), 5)[0])

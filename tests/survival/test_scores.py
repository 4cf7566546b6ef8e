"""Curves and scores: values of scikit-survival 0.28 on a small table, and plain definitions."""

import numpy as np
import pytest

from weald.survival import (
    brier_score,
    concordance_index,
    concordance_index_ipcw,
    integrated_brier_score,
    kaplan_meier,
    nelson_aalen,
    target,
)

TIME = np.array([5, 3, 8, 8, 2, 9, 3, 6, 7, 1.0])
EVENT = np.array([1, 1, 0, 1, 1, 0, 0, 1, 0, 1], dtype=bool)
RISK = np.array([0.5, 0.8, 0.2, 0.3, 0.8, 0.1, 0.6, 0.4, 0.9, 0.7])
Y = target(EVENT, TIME)
SURVIVAL = np.array(
    [
        [0.9, 0.5],
        [0.4, 0.2],
        [0.95, 0.8],
        [0.9, 0.7],
        [0.3, 0.1],
        [0.99, 0.9],
        [0.5, 0.4],
        [0.8, 0.5],
        [0.6, 0.3],
        [0.2, 0.1],
    ]
)


def test_values_of_scikit_survival():
    assert concordance_index(Y, RISK) == pytest.approx(0.7857142857142857, rel=1e-14)
    assert concordance_index_ipcw(Y, Y, RISK, 8) == pytest.approx(0.7786532951289398, rel=1e-14)
    scores = brier_score(Y, Y, SURVIVAL, [3, 6])
    assert scores == pytest.approx([0.05763666666666667, 0.1385], rel=1e-14)
    integrated = integrated_brier_score(Y, Y, SURVIVAL, [3, 6])
    assert integrated == pytest.approx(0.09806833333333333, rel=1e-14)


def test_same_as_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics")
    rng = np.random.default_rng(0)
    for _ in range(20):
        time, event = rng.integers(1, 25, 60).astype(float), rng.random(60) < 0.6
        risk, y = rng.integers(0, 8, 60) / 4, target(event, time)
        theirs = metrics.concordance_index_censored(event, time, risk)[0]
        assert concordance_index(y, risk) == pytest.approx(theirs)


def pairs_by_definition(time, event, risk, weight):
    right = total = 0.0
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                own = weight[i] * weight[j]
                right += own * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
                total += own
    return right / total


@pytest.mark.parametrize("n_values", [3, 1000])
def test_concordance_by_definition(n_values):
    rng = np.random.default_rng(n_values)
    time, event = rng.integers(0, 20, 80).astype(float), rng.random(80) < 0.5
    risk, weight = rng.integers(0, n_values, 80).astype(float), rng.random(80) + 0.1
    y = target(event, time)
    expected = pairs_by_definition(time, event, risk, np.ones(80))
    assert concordance_index(y, risk) == pytest.approx(expected, rel=1e-12)
    expected = pairs_by_definition(time, event, risk, weight)
    assert concordance_index(y, risk, weight) == pytest.approx(expected, rel=1e-12)
    assert concordance_index(y, -risk) == pytest.approx(1 - concordance_index(y, risk))


def test_weights_are_repetitions():
    weight = np.arange(1, 11)
    again = np.repeat(np.arange(10), weight)
    # Copies of an event are not comparable with each other, as events at one time are not.
    assert concordance_index(Y, RISK, weight) == pytest.approx(
        concordance_index(Y[again], RISK[again])
    )
    assert kaplan_meier(Y, weight).y == pytest.approx(kaplan_meier(Y[again]).y)
    assert nelson_aalen(Y, weight).y == pytest.approx(nelson_aalen(Y[again]).y)


def test_curves():
    curve = kaplan_meier(Y)
    assert curve.x.tolist() == [1, 2, 3, 5, 6, 8]
    at_risk, events = [10, 9, 8, 6, 5, 3], np.ones(6)
    assert curve.y == pytest.approx(np.cumprod(1 - events / at_risk))
    assert curve([0, 3.5, 100]) == pytest.approx([1, curve.y[2], curve.y[-1]])
    assert nelson_aalen(Y)(100) == pytest.approx(np.sum(events / at_risk))


def test_without_censoring_the_brier_score_is_the_squared_error():
    y = target(np.ones(10), TIME)
    times = [2.5, 6.5]
    expected = ((TIME[:, np.newaxis] > times) - SURVIVAL) ** 2
    assert brier_score(y, y, SURVIVAL, times) == pytest.approx(expected.mean(axis=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concordance_index(target(np.zeros(3), [1, 2, 3]), [1, 2, 3]), "All 3 rows of y"),
        (lambda: concordance_index(Y, RISK[:3]), "one number for each of the 10 rows"),
        (lambda: concordance_index(Y, np.full(10, np.nan)), "risk contains NaN: row 0"),
        (lambda: concordance_index(target([0, 1], [1, 2]), [1, 2]), "No pair of rows"),
        (lambda: concordance_index_ipcw(Y, Y, RISK, 1), "All 10 rows of y before tau=1"),
        (lambda: brier_score(Y, Y, SURVIVAL, [3, 9]), r"follow-up of y, \[1, 9\)"),
        (lambda: brier_score(Y, Y, SURVIVAL, [3, 3]), "increasing times"),
        (lambda: brier_score(Y, Y, SURVIVAL[:, :1], [3, 6]), r"the shape \(10, 2\)"),
        (lambda: brier_score(Y, Y, SURVIVAL + 1, [3, 6]), "between 0 and 1"),
        (lambda: integrated_brier_score(Y, Y, SURVIVAL[:, :1], [3]), "at least two times"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()

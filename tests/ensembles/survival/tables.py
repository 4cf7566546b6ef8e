"""Tables with survival targets, and the log-rank statistic by its definition."""

import numpy as np

from weald.survival import target


def hazards_table(n=300, n_columns=4, seed=0, *, missing=0.0):
    """Exponential times whose hazard depends on the first column, censored at random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(n, n_columns)) / 8.0
    times = rng.exponential(np.exp(-0.6 * X[:, 0] + 2.0))
    ends = rng.exponential(4.0, n)
    y = target(times <= ends, np.ceil(20 * np.minimum(times, ends)) / 4)
    return np.where(rng.random(X.shape) < missing, np.nan, X), y


def log_rank(y, is_left, weight=None):
    """Observed minus expected events on the left, squared, by their variance."""
    event, time = y["event"], y["time"]
    weight = np.ones(len(y)) if weight is None else weight
    difference = variance = 0.0
    for at in np.unique(time[event]):
        risk, events = time >= at, (time == at) & event
        n, d = weight[risk].sum(), weight[events].sum()
        n_left, d_left = weight[risk & is_left].sum(), weight[events & is_left].sum()
        difference += d_left - d * n_left / n
        variance += d * (1 - d / n) * n_left * (n - n_left) / n**2
    return difference**2 / variance if variance > 1e-12 else 0.0

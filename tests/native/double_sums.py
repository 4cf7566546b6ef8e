"""Boosting with plain double sums: what fixed-point histograms must come close to."""

import math

import numpy as np


def best_split(codes, n_bins, rows, g, h, min_samples_leaf: int):
    """The best newton split of a node; (gain, column, code). No missing values, no penalty."""
    best = (0.0, -1, -1)
    total_g, total_h = g[rows].sum(), h[rows].sum()
    for column, bins in enumerate(n_bins):
        code = codes[rows, column]
        left_g = np.cumsum(np.bincount(code, g[rows], bins + 1))[1:-1]
        left_h = np.cumsum(np.bincount(code, h[rows], bins + 1))[1:-1]
        count = np.cumsum(np.bincount(code, minlength=bins + 1))[1:-1]
        right_g, right_h = total_g - left_g, total_h - left_h
        allowed = (count >= min_samples_leaf) & (len(rows) - count >= min_samples_leaf)
        allowed &= (left_h > 0) & (right_h > 0)
        if not allowed.any():
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = 0.5 * (left_g**2 / left_h + right_g**2 / right_h - total_g**2 / total_h)
        gain = np.where(allowed, gain, -math.inf)
        if gain.max() > best[0]:
            best = (float(gain.max()), column, int(gain.argmax()) + 1)
    return best


def grow(codes, n_bins, g, h, *, max_leaf_nodes: int, min_samples_leaf: int) -> np.ndarray:
    """Prediction of a best-first tree for every row."""
    leaves = [np.arange(len(g))]
    found = [best_split(codes, n_bins, leaves[0], g, h, min_samples_leaf)]
    while len(leaves) < max_leaf_nodes:
        at = max(range(len(leaves)), key=lambda i: found[i][0])
        _, column, code = found[at]
        if column < 0:
            break
        rows = leaves[at]
        goes_left = codes[rows, column] <= code
        for part in (rows[goes_left], rows[~goes_left]):
            leaves.append(part)
            found.append(best_split(codes, n_bins, part, g, h, min_samples_leaf))
        del leaves[at], found[at]
    answer = np.zeros(len(g))
    for rows in leaves:
        answer[rows] = -g[rows].sum() / h[rows].sum()
    return answer

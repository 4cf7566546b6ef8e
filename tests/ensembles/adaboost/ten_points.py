"""The worked example of ten points, and noisy tasks that stumps cannot fit perfectly."""

import numpy as np

X10 = np.array(
    [(1, 5), (2, 2), (3, 1), (4, 6), (6, 8), (6, 5), (7, 9), (8, 7), (9, 8), (10, 2)], dtype=float
)
Y10 = np.array([1, 1, -1, -1, 1, -1, 1, 1, -1, -1])


def noisy_task(seed: int, n: int = 80, n_classes: int = 2):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1)
    number = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, np.argsort(np.argsort(number)) * n_classes // n

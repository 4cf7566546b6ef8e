"""Criteria and constraints of trees beside scikit-learn's: CPU seconds, interleaved, best of three.

    python studies/tree_criteria.py [rows]

One thread. The error beside is that on rows not learnt from.
"""

import sys
import time

import numpy as np
import sklearn
import sklearn.ensemble
from sklearn.metrics import mean_absolute_error

import weald

SETTINGS = [
    ("squared_error", {}),
    ("squared_error, rising", {"monotonic_cst": [1] + [0] * 9}),
    ("poisson", {"criterion": "poisson"}),
    ("absolute_error", {"criterion": "absolute_error"}),
]


def main(n: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, 10))
    y = rng.poisson(np.exp(X[:, 0] + 0.5 * np.sin(3 * X[:, 1]))).astype(float)
    train, test = slice(n), slice(n, 2 * n)
    versions = f"weald {weald.__version__}, scikit-learn {sklearn.__version__}"
    print(f"{versions}; {n} rows, 10 columns, 5 trees, max_features=0.5, one thread")
    print(f"{'setting':24} {'weald s':>8} {'theirs s':>9} {'ratio':>6} {'error':>7} {'theirs':>7}")
    for name, setting in SETTINGS:
        best, errors = [np.inf, np.inf], [0.0, 0.0]
        for _ in range(3):
            for i, library in enumerate((weald, sklearn.ensemble)):
                model = library.RandomForestRegressor(
                    5, max_features=0.5, min_samples_leaf=5, n_jobs=1, random_state=0, **setting
                )
                began = time.process_time()
                model.fit(X[train], y[train])
                best[i] = min(best[i], time.process_time() - began)
                errors[i] = mean_absolute_error(y[test], model.predict(X[test]))
        ratio = best[0] / best[1]
        print(
            f"{name:24} {best[0]:8.3f} {best[1]:9.3f} {ratio:6.2f} "
            f"{errors[0]:7.4f} {errors[1]:7.4f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

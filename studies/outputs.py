"""Forests of several outputs beside scikit-learn's: python studies/outputs.py [rows] [trees].

Interleaved fits, the median of three; what is timed is the fit, what stands beside it the score on
rows held out (R², or the share of labels that are right, mean over the outputs).
"""

import sys
import time
from typing import Any

import numpy as np
import sklearn
import sklearn.ensemble

import weald

N_JOBS = 2
ROUNDS = 3


def task(n: int, n_outputs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    signal = X[:, :n_outputs] + X[:, 1 : n_outputs + 1] * X[:, 2 : n_outputs + 2]
    numbers = signal + rng.normal(size=signal.shape)
    return X, numbers, np.digitize(numbers, [-1.0, 0.0, 1.0])


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    began = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - began


def quality(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    said = model.predict(X)
    if hasattr(model, "classes_"):
        return float((said == y).mean())
    return float(model.score(X, y))


def main(n: int, n_trees: int) -> None:
    print(f"weald {weald.__version__}, scikit-learn {sklearn.__version__}, {N_JOBS} threads")
    print(f"{n} rows x 20 columns, {n_trees} trees, seeds 0 .. {ROUNDS - 1}, else defaults")
    print("max_features: 0.5 (numbers), 'sqrt' (classes) for both")
    print("| forest | outputs | scikit-learn s | weald s | ratio | scikit-learn | weald |")
    print("|---|---|---|---|---|---|---|")
    for n_outputs in (2, 8):
        X, numbers, labels = task(n + n // 4, n_outputs)
        for name in ("RandomForest", "ExtraTrees"):
            for kind, y in (("Regressor", numbers), ("Classifier", labels)):
                seconds: dict[str, list[float]] = {"theirs": [], "ours": []}
                scores: dict[str, list[float]] = {"theirs": [], "ours": []}
                for seed in range(ROUNDS):
                    for who, module in (("theirs", sklearn.ensemble), ("ours", weald)):
                        model = getattr(module, name + kind)(
                            n_trees,
                            max_features=0.5 if kind == "Regressor" else "sqrt",
                            n_jobs=N_JOBS,
                            random_state=seed,
                        )
                        seconds[who].append(timed(model, X[:n], y[:n]))
                        scores[who].append(quality(model, X[n:], y[n:]))
                theirs, ours = (float(np.median(seconds[who])) for who in ("theirs", "ours"))
                print(
                    f"| {name}{kind} | {n_outputs} | {theirs:.2f} | {ours:.2f} "
                    f"| {ours / theirs:.2f} | {np.mean(scores['theirs']):.3f} "
                    f"| {np.mean(scores['ours']):.3f} |"
                )


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], "10000", "50"][:2]))

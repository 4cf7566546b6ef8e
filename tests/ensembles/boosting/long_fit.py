"""A fit of a second that saves every round to the given file; prints its fingerprint."""

import sys

import numpy as np

from weald import BoostedTreesClassifier
from weald.ensembles.boosted_trees import checkpoint


def long_fit(file: str | None = None) -> str:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = np.digitize(X[:, 0] * X[:, 1] + rng.normal(size=2000), [-1, 1])
    model = BoostedTreesClassifier(
        quality="fast",
        n_estimators=60,
        subsample=0.7,
        early_stopping=True,
        n_iter_no_change=99,
        random_state=0,
        n_jobs=1,
        checkpoint=file,
    )
    return model.fit(X, y).fingerprint()


if __name__ == "__main__":
    checkpoint.INTERVAL = checkpoint._COST_RATIO = 0.0
    print("ready", flush=True)
    print(long_fit(sys.argv[1]), flush=True)

"""Sizes of saved models beside pickles and the files of the peers, and time to load them.

Processor time, the least of five. Prints a table in Markdown. Options: --trees 100.
"""

import argparse
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import sklearn.ensemble
import xgboost

import weald


def least_time(read: Callable[[], Any]) -> float:
    """Milliseconds of processor time."""
    times = []
    for _ in range(5):
        begin = time.process_time()
        read()
        times.append(time.process_time() - begin)
    return 1000 * min(times)


def unpickled(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def run(n_trees: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    y = X[:, 0] * X[:, 1] + rng.normal(size=5000)
    same = {"n_estimators": n_trees, "random_state": 0}
    booster = weald.BoostedTreesRegressor(
        quality="fast", n_bags=None, early_stopping=False, n_estimators=n_trees
    ).fit(X, y)
    forest = weald.RandomForestRegressor(min_samples_leaf=1, **same).fit(X, y)
    folder = Path(tempfile.mkdtemp())
    rows: list[tuple[str, Path, Callable[[Path], Any]]] = []

    def add(name: str, suffix: str, write: Callable[[Path], Any], read: Any) -> None:
        path = folder / f"{len(rows)}.{suffix}"
        write(path)
        rows.append((name, path, read))

    def add_pickle(name: str, model: Any) -> None:
        add(name, "pickle", lambda path: path.write_bytes(pickle.dumps(model)), unpickled)

    add("booster: weald, save", "weald", booster.save, weald.load)
    add_pickle("booster: weald, pickle", booster)
    theirs = lightgbm.LGBMRegressor(verbose=-1, **same).fit(X, y)
    add(
        "booster: LightGBM, text",
        "txt",
        theirs.booster_.save_model,
        lambda path: lightgbm.Booster(model_file=path),
    )
    leaves = {"max_leaves": 31, "grow_policy": "lossguide", "max_depth": 0}
    other = xgboost.XGBRegressor(**leaves, **same).fit(X, y)
    for suffix in ("json", "ubj"):
        add(
            f"booster: XGBoost, {suffix}",
            suffix,
            other.save_model,
            lambda path: xgboost.Booster(model_file=path),
        )
    third = catboost.CatBoostRegressor(n_trees, verbose=False, random_seed=0, depth=5).fit(X, y)
    add(
        "booster: CatBoost, cbm (32 leaves)",
        "cbm",
        lambda path: third.save_model(str(path)),
        lambda path: catboost.CatBoostRegressor().load_model(str(path)),
    )
    add("forest: weald, save", "weald", forest.save, weald.load)
    add_pickle("forest: weald, pickle", forest)
    peer = sklearn.ensemble.RandomForestRegressor(max_features=1 / 3, **same).fit(X, y)
    add_pickle("forest: scikit-learn, pickle", peer)
    print(f"{n_trees} trees, 5000 rows, 10 columns\n\n| model | kB | load, ms |\n|---|---|---|")
    for name, path, read in rows:
        took = least_time(lambda path=path, read=read: read(path))
        print(f"| {name} | {path.stat().st_size / 1000:.0f} | {took:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=100)
    run(parser.parse_args().trees)

"""Models to serve, and a service that most tests share."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald
from service.running import Running


def trips(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with all kinds of columns, and names that need escaping."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "city": rng.choice(["Bonn", "Köln", "<b>Ulm</b>"], n),
            "km": rng.normal(40, 20, n).round(1),
            "when": pd.date_range("2024-01-01", periods=n, freq="7h"),
            "zone": rng.integers(1, 4, n),
        }
    )
    X["zone"] = X["zone"].astype("category")
    late = np.where((X.city == "Bonn") ^ (X.km > 45) ^ (X.when.dt.hour > 17), "=late", "on time")
    return X, late


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with classes.weald, numbers.weald and plain.weald."""
    folder = tmp_path_factory.mktemp("served")
    X, late = trips()
    settings = {"quality": "fast", "n_estimators": 20, "random_state": 0}
    weald.BoostedTreesClassifier(**settings).fit(X, late).save(folder / "classes.weald")
    target = X.km * 2 + (X.city == "Bonn") * 30
    forest = weald.RandomForestRegressor(n_estimators=20, oob_score=True, random_state=0)
    forest.fit(X, target).save(folder / "numbers.weald", oob=True)
    plain = X[["km"]].to_numpy()
    weald.BoostedTreesRegressor(**settings).fit(plain, target).save(folder / "plain.weald")
    return folder


@pytest.fixture(scope="session")
def service(models: Path) -> Iterator[Running]:
    """The classifier, served with limits that are quickly reached."""
    options = ["--max-body", "0.125", "--max-rows", "500", "--timeout", "1.5"]
    with Running(models / "classes.weald", *options) as one:
        yield one

"""Shapley values of public models against the sum over all coalitions of columns.

The twin knows nothing of trees: it predicts rows mixed from the explained and the background rows.
"""

from collections.abc import Callable
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest

import weald
from weald.explain import shap

pd = pytest.importorskip("pandas")

COLUMNS = ("size", "city", "when", "grade")


def table(n: int = 240) -> Any:
    """Numbers, text, dates and ordered categories, some missing."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.15, np.nan, rng.normal(size=n)),
            "city": pd.Series(rng.choice(list("abcdef"), n)).where(rng.random(n) > 0.1),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "grade": pd.Categorical(rng.choice(list("xyz"), n), list("xyz"), ordered=True),
        }
    )


def target(X: Any, n_classes: int) -> np.ndarray:
    score = (
        X["size"].fillna(-1).to_numpy()
        + 1.5 * X["city"].isin(["a", "d"]).to_numpy()
        + X["when"].dt.month.to_numpy() / 6 * (X["grade"] == "x").to_numpy()
    )
    if not n_classes:
        return score
    return np.argsort(np.argsort(score)) * n_classes // len(score)


def coalitions(predict: Callable[[Any], np.ndarray], row: Any, background: Any) -> np.ndarray:
    """Shapley values of one row, (columns, outputs), by their definition."""
    m = len(COLUMNS)

    def worth(known: tuple[int, ...]) -> np.ndarray:
        mixed = background.copy()
        for i in known:
            value = pd.concat([row[COLUMNS[i]]] * len(mixed), ignore_index=True)
            mixed[COLUMNS[i]] = value.to_numpy() if i == 0 else value.array
        return predict(mixed).reshape(len(mixed), -1).mean(axis=0)

    worths = {known: worth(known) for k in range(m + 1) for known in combinations(range(m), k)}
    values = np.zeros((m, len(worths[()])))
    for known, value in worths.items():
        for i in set(range(m)) - set(known):
            share = factorial(len(known)) * factorial(m - len(known) - 1) / factorial(m)
            values[i] += share * (worths[tuple(sorted((*known, i)))] - value)
    return values


TREE = weald.DecisionTreeClassifier(max_depth=3)
MODELS = {
    "boosted trees": (weald.BoostedTreesRegressor(n_estimators=8, min_samples_leaf=5), 0),
    "boosted trees, 2 classes": (weald.BoostedTreesClassifier(n_estimators=8, n_bags=None), 2),
    "boosted trees, 3 classes": (weald.BoostedTreesClassifier(n_estimators=5, n_bags=2), 3),
    "gradient boosting": (weald.GradientBoostingRegressor(n_estimators=8), 0),
    "gradient boosting, 3 classes": (weald.GradientBoostingClassifier(n_estimators=4), 3),
    "forest": (weald.RandomForestRegressor(5, random_state=0), 0),
    "forest, 3 classes": (weald.RandomForestClassifier(5, random_state=0), 3),
    "extra trees, 3 classes": (weald.ExtraTreesClassifier(5, random_state=0), 3),
    "tree": (weald.DecisionTreeRegressor(max_depth=4), 0),
    "option tree": (weald.OptionTreeClassifier(max_depth=3, voting="soft"), 3),
    "AdaBoost of stumps": (weald.AdaBoostClassifier(n_estimators=6), 2),
    "AdaBoost of trees, 3 classes": (weald.AdaBoostClassifier(TREE, n_estimators=4), 3),
    "bag": (weald.BaggingClassifier(TREE, 4, random_state=0), 3),
    "bag on drawn columns": (
        weald.BaggingRegressor(
            weald.DecisionTreeRegressor(max_depth=4), 4, max_features=3, random_state=0
        ),
        0,
    ),
    "votes": (weald.VotingClassifier([("a", TREE), ("b", TREE)], voting="soft"), 3),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_against_a_background(name: str) -> None:
    model, n_classes = MODELS[name]
    X = table()
    model.fit(X, target(X, n_classes))
    rows, background = X[:4].reset_index(drop=True), X[100:112].reset_index(drop=True)
    explained = shap(model, rows, background=background)
    assert explained.is_exact
    if not n_classes:
        predict = model.predict
    elif explained.scale == "probability":
        predict = model.predict_proba
    else:
        predict = model.decision_function
    values = explained.values.reshape(4, len(COLUMNS), -1)
    expected = [coalitions(predict, rows[i : i + 1], background) for i in range(4)]
    assert values == pytest.approx(np.array(expected), abs=1e-6)
    assert np.abs(values).max() > 0.01

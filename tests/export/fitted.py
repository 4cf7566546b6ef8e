"""Fitted models of every kind that can be exported, with rows to predict."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn import ensemble

import weald

N = 240


@cache
def rows() -> np.ndarray:
    """float32 values with ties and missing values, in float64."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)).astype(np.float32).astype(np.float64)
    X[:, 3] = rng.integers(0, 4, N)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@cache
def score() -> np.ndarray:
    X = np.nan_to_num(rows())
    return X[:, 0] + X[:, 1] ** 2 - X[:, 3] / 2 + np.isnan(rows()[:, 2])


@cache
def new_rows() -> np.ndarray:
    """Rows of the fit, their neighbours among the float32 numbers, and extreme ones."""
    X = rows().astype(np.float32)
    up, down = np.nextafter(X, np.float32(9)), np.nextafter(X, np.float32(-9))
    extreme = np.array([[np.nan] * 4, [np.inf] * 4, [-np.inf] * 4, [0.0] * 4], np.float32)
    return np.vstack([X, up, down, extreme]).astype(np.float64)


def numbers() -> np.ndarray:
    return score()


def counts() -> np.ndarray:
    return np.exp(score() / 3).round(2)


def two() -> np.ndarray:
    return np.array(["no", "yes"])[(score() > 0).astype(int)]


def three() -> np.ndarray:
    return np.digitize(score(), [-0.5, 1.0]) + 5


def several() -> np.ndarray:
    return np.stack([score(), -(score() ** 2)], axis=1)


def two_targets() -> np.ndarray:
    return np.stack([score() > 0, np.digitize(score(), [0.0, 1.0])], axis=1).astype(int)


def shares() -> np.ndarray:
    odds = np.exp(np.stack([score(), -score(), np.zeros(N)], axis=1) / 3)
    return odds / odds.sum(axis=1, keepdims=True)


def one() -> np.ndarray:
    return np.full(N, 3)


@dataclass(frozen=True)
class Subject:
    """A model to fit, and its target."""

    model: Any
    target: Callable[[], np.ndarray]
    n_targets: int = 1


QUICK = {"quality": "fast", "n_estimators": 8}

SUBJECTS = {
    "boosted": Subject(weald.BoostedTreesRegressor(**QUICK), numbers),
    "boosted, five": Subject(weald.BoostedTreesRegressor(n_estimators=5, n_bags=5), numbers),
    "boosted, symmetric": Subject(
        weald.BoostedTreesRegressor(**QUICK, growth="symmetric"), numbers
    ),
    "boosted, poisson": Subject(weald.BoostedTreesRegressor(**QUICK, loss="poisson"), counts),
    "boosted, gamma": Subject(weald.BoostedTreesRegressor(**QUICK, loss="gamma"), counts),
    "boosted, quantiles": Subject(
        weald.BoostedTreesRegressor(**QUICK, loss="quantile", quantile=[0.2, 0.5, 0.9]), numbers
    ),
    "boosted, one quantile": Subject(
        weald.BoostedTreesRegressor(**QUICK, loss="quantile", quantile=0.7), numbers
    ),
    "boosted, two classes": Subject(weald.BoostedTreesClassifier(**QUICK), two),
    "boosted, five of two classes": Subject(
        weald.BoostedTreesClassifier(n_estimators=5, n_bags=5), two
    ),
    "boosted, exponential": Subject(weald.BoostedTreesClassifier(**QUICK, loss="exponential"), two),
    "boosted, three classes": Subject(
        weald.BoostedTreesClassifier(**QUICK, multi_class="tree_per_class"), three
    ),
    "boosted, vector leaves": Subject(
        weald.BoostedTreesClassifier(**QUICK, multi_class="vector_leaves"), three
    ),
    "boosted, one class": Subject(weald.BoostedTreesClassifier(**QUICK), one),
    "gradient": Subject(weald.GradientBoostingRegressor(n_estimators=8), numbers),
    "gradient, huber": Subject(
        weald.GradientBoostingRegressor(n_estimators=8, loss="huber"), numbers
    ),
    "gradient, two classes": Subject(weald.GradientBoostingClassifier(n_estimators=8), two),
    "gradient, three classes": Subject(weald.GradientBoostingClassifier(n_estimators=8), three),
    "gradient, kl": Subject(weald.GradientBoostingClassifier(n_estimators=8, loss="kl"), shares),
    "forest": Subject(weald.RandomForestRegressor(7, random_state=0), numbers),
    "forest, several": Subject(weald.RandomForestRegressor(7, random_state=0), several),
    "forest, two classes": Subject(weald.RandomForestClassifier(7, random_state=0), two),
    "forest, three classes": Subject(weald.RandomForestClassifier(7, random_state=0), three),
    "forest, two targets": Subject(
        weald.RandomForestClassifier(7, random_state=0), two_targets, n_targets=2
    ),
    "forest, one class": Subject(weald.RandomForestClassifier(7, random_state=0), one),
    "extra trees": Subject(weald.ExtraTreesRegressor(7, random_state=0), numbers),
    "extra trees, three": Subject(weald.ExtraTreesClassifier(7, random_state=0), three),
    "tree": Subject(weald.DecisionTreeRegressor(), numbers),
    "tree, three classes": Subject(weald.DecisionTreeClassifier(max_depth=4), three),
    "tree, a leaf": Subject(weald.DecisionTreeRegressor(min_samples_leaf=N), numbers),
    "adaboost, half-log": Subject(weald.AdaBoostClassifier(n_estimators=9), two),
    "adaboost, log": Subject(weald.AdaBoostClassifier(n_estimators=9, form="log"), two),
    "adaboost, m1": Subject(weald.AdaBoostClassifier(n_estimators=9, form="m1"), two),
    "adaboost, samme of two": Subject(weald.AdaBoostClassifier(n_estimators=9, form="samme"), two),
    "adaboost, samme of three": Subject(
        weald.AdaBoostClassifier(n_estimators=9, form="samme"), three
    ),
    "imported": Subject(
        ensemble.HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5), three
    ),
    "imported, gamma": Subject(
        ensemble.HistGradientBoostingRegressor(max_iter=8, loss="gamma"), counts
    ),
}


@cache
def fitted(name: str) -> Any:
    """The fitted model of a subject; those of scikit-learn are imported."""
    subject = SUBJECTS[name]
    model = subject.model.fit(rows(), subject.target())
    return weald.from_sklearn(model) if name.startswith("imported") else model


def expected(model: Any, X: Any) -> np.ndarray:
    """Predictions, or probabilities of the classes of all targets, shape (rows, outputs)."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(X)).reshape(len(X), -1)
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):
        return np.concatenate(probabilities, axis=1)
    return np.asarray(probabilities)


def has_same_bits(model: Any) -> bool:
    """Whether predictions are sums or means, without exp."""
    is_scored = hasattr(model, "decision_function") or getattr(model, "link_", "")
    return not is_scored and getattr(model, "loss", "") not in {"poisson", "gamma"}


@cache
def of_categories() -> tuple[Any, Any, np.ndarray]:
    """A table with categories, ordered ones and numbers; a forest; the table as codes."""
    import pandas as pd

    rng, n = np.random.default_rng(1), 1500
    city = rng.choice([f"city {i:02}" for i in range(80)], n)
    size = pd.Categorical(rng.choice(["s", "m", "l"], n), ["s", "m", "l"], ordered=True)
    X = pd.DataFrame({"city": city, "size": size, "km": rng.normal(size=n)})
    y = 5.0 * rng.normal(size=80)[X["city"].str[5:].astype(int)] + X["km"] + size.codes
    X.loc[rng.random(n) < 0.1, "city"] = None
    model = weald.BoostedTreesRegressor(**QUICK, min_samples_leaf=5).fit(X[:1200], y[:1200])
    assert (np.diff(model.forest_.first_word) == 2).any()
    X.loc[n - 50 :, "city"] = "unseen"
    codes = weald.export.category_codes(model)
    coded = [X[name].map(codes[name]).astype(float).to_numpy() for name in ("city", "size")]
    return model, X, np.column_stack([*coded, X["km"]])


@cache
def of_short_sets(missing_left: bool) -> tuple[Any, np.ndarray]:
    """An imported tree whose set has fewer words than its column has categories; codes."""
    from weald.data import ColumnPlan
    from weald.data.columns import Category
    from weald.ensembles.imported.foreign_trees import ForeignTree, forest_of
    from weald.ensembles.imported.imported import imported_model

    tree = ForeignTree(
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.zeros(3, dtype=int),
        threshold=np.zeros(3),
        missing_left=np.array([missing_left, False, False]),
        value=np.array([[0.0], [1.0], [2.0]]),
        weight=np.ones(3),
        gain=np.zeros(3),
        levels_left={0: [0, 3, 63]},
    )
    plan = ColumnPlan((Category(tuple(range(100))),))
    model = imported_model(forest_of([tree], [0], [0.0], 1), link="", source="test", plan=plan)
    return model, np.append(np.arange(100.0), np.nan)[:, np.newaxis]

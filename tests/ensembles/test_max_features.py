"""Column subsampling per tree, level or node: number of columns and reproducibility."""

import numpy as np
import pytest
from sklearn.base import clone

from contract.subjects import settings
from weald import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

BOTH = [BoostedTreesRegressor, GradientBoostingRegressor]


def task(n: int = 400, n_columns: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 200, (n, n_columns)).astype(np.float64)
    return X, X[:, 0] + 2 * X[:, 1] + X[:, 2:].sum(axis=1) / 4 + rng.integers(0, 40, n)


def columns_by_depth(forest, tree: int) -> dict[int, set[int]]:
    """Columns of the splits at each depth of a tree."""
    found: dict[int, set[int]] = {}
    stack = [(int(forest.first_node[tree]), 0)]
    while stack:
        node, depth = stack.pop()
        if forest.feature[node] < 0:
            continue
        found.setdefault(depth, set()).add(int(forest.feature[node]))
        first = int(forest.first_node[tree])
        stack += [(node + 1, depth + 1), (first + int(forest.right[node]), depth + 1)]
    return found


@pytest.mark.parametrize("growth", ["best_first", "depth_wise", "symmetric"])
@pytest.mark.parametrize("exact", [False, True])
def test_a_tree_or_a_level_keeps_to_its_columns(growth: str, exact: bool) -> None:
    if growth == "symmetric" and exact:
        pytest.skip("symmetric growth is on bins")
    X, y = task()
    for sampling in ("tree", "level"):
        model = BoostedTreesRegressor(
            quality="fast",
            max_features=3,
            feature_sampling=sampling,
            growth=growth,
            exact=exact,
            n_estimators=8,
            random_state=3,
        ).fit(X, y)
        used = [columns_by_depth(model.forest_, tree) for tree in range(8)]
        if sampling == "tree":
            assert all(len(set().union(*one.values())) <= 3 for one in used)
        else:
            assert all(len(columns) <= 3 for one in used for columns in one.values())
            assert any(len(set().union(*one.values())) > 3 for one in used)
        assert len({frozenset(set().union(*one.values())) for one in used}) > 1


def test_nodes_draw_by_themselves() -> None:
    X, y = task()
    model = BoostedTreesRegressor(
        quality="fast", max_features=1, n_estimators=8, random_state=3
    ).fit(X, y)
    used = [columns_by_depth(model.forest_, tree) for tree in range(8)]
    assert any(len(columns) > 1 for one in used for columns in one.values())
    # Every column is drawn a twelfth of the time.
    counts = np.bincount(model.forest_.feature[model.forest_.feature >= 0], minlength=12)
    assert counts.min() > 0 and counts.max() < 3 * counts.mean()


@pytest.mark.parametrize("estimator", BOTH)
def test_all_columns_is_the_same_as_no_draws(estimator) -> None:
    X, y = task()
    free = settings(estimator, quality="fast")
    plain = estimator(n_estimators=5, **free).fit(X, y).fingerprint()
    for everything in (12, 1.0, 100):
        model = estimator(n_estimators=5, max_features=everything, random_state=1, **free)
        assert model.fit(X, y).fingerprint() == plain


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("more", [{}, {"exact": True}, {"subsample": 0.5}])
def test_same_model_for_any_threads_and_order_of_rows(estimator, more) -> None:
    X, y = task()
    model = estimator(max_features="sqrt", n_estimators=6, random_state=5, **more)
    prints = {model.set_params(n_jobs=jobs).fit(X, y).fingerprint() for jobs in (1, 2, 5)}
    order = np.random.default_rng(0).permutation(len(X))
    prints.add(model.fit(X[order], y[order]).fingerprint())
    assert len(prints) == 1
    assert model.set_params(random_state=6).fit(X, y).fingerprint() not in prints


@pytest.mark.parametrize("estimator", [BoostedTreesClassifier, GradientBoostingClassifier])
def test_the_trees_of_classes_draw_apart(estimator) -> None:
    X, y = task()
    classes = np.argsort(np.argsort(y)) * 3 // len(y)
    free = settings(estimator, quality="fast")
    model = estimator(max_features=1, n_estimators=4, random_state=0, n_jobs=1, **free)
    model.fit(X, classes)
    roots = model.forest_.feature[model.forest_.first_node[:-1]]
    assert len(set(roots.tolist())) > 3
    again = clone(model).set_params(n_jobs=3).fit(X, classes)
    assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("estimator", BOTH)
def test_looks_on_past_columns_that_cannot_be_cut(estimator) -> None:
    X, y = task()
    X = np.column_stack([np.ones((len(X), 40)), X[:, 0], np.ones((len(X), 40))])
    model = estimator(max_features=1, n_estimators=5, max_depth=2, random_state=0).fit(X, y)
    assert np.all(np.diff(model.forest_.first_node) == 7)
    # A tree that drew only constants stays a leaf.
    if estimator is BoostedTreesRegressor:
        model.set_params(feature_sampling="tree").fit(X, y)
        assert (np.diff(model.forest_.first_node) == 1).any()


def test_warm_start_draws_as_a_single_fit() -> None:
    X, y = task()
    whole = GradientBoostingRegressor(n_estimators=8, max_features=0.3, random_state=2).fit(X, y)
    part = GradientBoostingRegressor(
        n_estimators=3, max_features=0.3, random_state=2, warm_start=True
    ).fit(X, y)
    assert part.set_params(n_estimators=8).fit(X, y).fingerprint() == whole.fingerprint()


@pytest.mark.parametrize(
    ("wanted", "n"), [("sqrt", 3), ("log2", 3), ("third", 4), (0.5, 6), (5, 5), (None, 12)]
)
def test_how_many(wanted, n: int) -> None:
    X, y = task(60)
    model = GradientBoostingRegressor(max_features=wanted, n_estimators=1).fit(X, y)
    assert model.max_features_ == n


def test_settings_that_contradict_are_refused() -> None:
    X, y = task(60)
    with pytest.raises(ValueError, match="feature_sampling='level' or 'tree'"):
        BoostedTreesRegressor(quality="fast", max_features=2, growth="symmetric").fit(X, y)
    with pytest.raises(ValueError, match="max_features=2 is a parameter of weald's own trees"):
        GradientBoostingRegressor(
            max_features=2, estimator=BoostedTreesRegressor(quality="fast")
        ).fit(X, y)

"""Monotone columns and groups of columns, proven on random models."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.data import ColumnPlan
from weald.ensembles.rounds.constraints import groups_of


def task(seed: int, n: int = 300, n_columns: int = 4, missing: float = 0.0):
    """A target that goes up and down along every column, so that constraints bite."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)).round(2)
    y = (np.sin(3 * X) * [2, 1.5, 1, 1]).sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n) / 2
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def falls_most(model, X: np.ndarray, column: int, direction: int, seed: int = 0) -> float:
    """Largest violation of a monotonic constraint, with the other columns fixed."""
    rng = np.random.default_rng(seed)
    base = X[rng.integers(len(X), size=60)].repeat(80, axis=0)
    grid = np.sort(np.concatenate([rng.normal(size=76) * 1.5, [-np.inf, -9.0, 9.0, np.inf]]))
    base[:, column] = np.tile(grid, 60)
    answers = model.decision_function if hasattr(model, "classes_") else model.predict
    steps = np.diff(answers(base).reshape(60, 80), axis=1) * direction
    return float(-steps.min())


WAYS = {
    "bins": {},
    "exact": {"exact": True},
    "symmetric": {"growth": "symmetric", "max_leaf_nodes": 32},
    "depth-wise": {"growth": "depth_wise", "max_leaf_nodes": None, "max_depth": 5},
    "drawn": {"subsample": 0.7, "max_features": 2},
    "early stopping": {"early_stopping": True, "n_estimators": 60},
    "penalties": {"l1_regularization": 1.0, "l2_regularization": 2.0, "min_gain": 0.2},
    "pruned": {"min_gain": 0.5, "prune": "after"},
}
LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]


def assert_monotone(model, X, y, free: bool = True) -> None:
    """All directions hold with the constraint; without it they do not."""
    cst = [1, -1, 0, 1]
    model.set_params(monotonic_cst=cst, random_state=0, min_samples_leaf=3).fit(X, y)
    for column, direction in enumerate(cst):
        if direction:
            assert falls_most(model, X, column, direction) <= 0.0
    assert falls_most(model, X, 2, 1) > 0.0 and falls_most(model, X, 2, -1) > 0.0
    if free:
        model.set_params(monotonic_cst=None).fit(X, y)
        assert falls_most(model, X, 0, 1) > 0.0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_predictions_are_monotonic(way: str, missing: float) -> None:
    X, y = task(len(way), missing=missing)
    parameters = {"n_estimators": 30, "learning_rate": 0.3, **WAYS[way]}
    assert_monotone(BoostedTreesRegressor(quality="fast", **parameters), X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_numbers(loss: str) -> None:
    X, y = task(5, missing=0.1)
    if loss in ("poisson", "gamma", "tweedie"):
        y = np.exp(y / 2)
    more = {"quantile": 0.3} if loss == "quantile" else {}
    model = BoostedTreesRegressor(
        quality="fast", loss=loss, n_estimators=25, learning_rate=0.5, **more
    )
    assert_monotone(model, X, y)


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_two_classes(loss: str) -> None:
    X, y = task(6, missing=0.1)
    model = BoostedTreesClassifier(quality="fast", loss=loss, n_estimators=25, learning_rate=0.5)
    assert_monotone(model, X, np.where(y > 0, "yes", "no"))


def test_steps_that_are_capped_stay_monotone() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = np.where(X[:, 0] > 1, 1e9, 0.0) * (X[:, 1] > 0) + np.abs(X[:, 2])
    model = BoostedTreesRegressor(
        quality="fast",
        loss="poisson",
        n_estimators=40,
        learning_rate=1.0,
        min_samples_leaf=2,
        monotonic_cst=[-1, 1, 0, 0],
    ).fit(X, y)
    assert falls_most(model, X, 0, -1) <= 0.0 and falls_most(model, X, 1, 1) <= 0.0


def test_wide_cells_and_weights() -> None:
    X, y = task(8, n=500)
    weight = np.random.default_rng(0).exponential(size=500) ** 4
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=30, min_samples_leaf=2, monotonic_cst={0: 1, 3: -1}
    ).fit(X, y * 1e6, weight)
    assert falls_most(model, X, 0, 1) <= 0.0 and falls_most(model, X, 3, -1) <= 0.0


def test_a_constraint_that_the_data_keep_changes_nothing() -> None:
    X = np.arange(200.0)[:, np.newaxis]
    plain, held = (
        BoostedTreesRegressor(quality="fast", n_estimators=5, monotonic_cst=cst).fit(
            X, X[:, 0] ** 2
        )
        for cst in (None, [1])
    )
    assert held.predict(X) == pytest.approx(plain.predict(X), rel=1e-12)
    opposite = BoostedTreesRegressor(quality="fast", n_estimators=5, monotonic_cst=[-1]).fit(
        X, X[:, 0] ** 2
    )
    assert np.ptp(opposite.predict(X)) == 0.0


def test_negated_columns_and_constraints_give_the_same_predictions() -> None:
    X, y = task(9)
    one = BoostedTreesRegressor(quality="fast", n_estimators=10, monotonic_cst=[1, 0, -1, 0]).fit(
        X, y
    )
    other = BoostedTreesRegressor(quality="fast", n_estimators=10, monotonic_cst=[-1, 0, 1, 0]).fit(
        X, -y
    )
    assert other.predict(X) == pytest.approx(-one.predict(X), rel=1e-9, abs=1e-9)


# ---- groups ----


def paths_of(forest) -> list[set[int]]:
    """The columns on the path to each leaf."""
    found = []
    for tree in range(forest.n_trees):
        first = int(forest.first_node[tree])
        stack: list[tuple[int, set[int]]] = [(first, set())]
        while stack:
            node, used = stack.pop()
            if forest.feature[node] < 0:
                found.append(used)
                continue
            used = used | {int(forest.feature[node])}
            stack += [(node + 1, used), (first + int(forest.right[node]), used)]
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("groups", [[{0, 1}, [1, 2]], "pairwise", "no_interactions", [[3]]])
def test_only_columns_of_one_group_meet(way: str, groups) -> None:
    X, y = task(1, n_columns=4, missing=0.1)
    model = BoostedTreesRegressor(
        quality="fast", interaction_cst=groups, n_estimators=10, min_samples_leaf=3, random_state=0
    )
    model.set_params(**{**WAYS[way], "n_estimators": 10}).fit(X, y)
    admitted = groups_of(groups, ColumnPlan.of_numbers(4), None)
    met = paths_of(model.forest_)
    assert all(any(used <= set(group) for group in admitted) for used in met)
    assert max(map(len, met)) == max(map(len, admitted))


def test_without_interactions_the_model_is_a_sum_of_columns() -> None:
    X, y = task(2)
    model = BoostedTreesRegressor(
        quality="fast", interaction_cst="no_interactions", n_estimators=20
    ).fit(X, y)
    a, b, both = X[:50].copy(), X[:50].copy(), X[:50].copy()
    a[:, 0], b[:, 1] = 2.0, -1.0
    both[:, 0], both[:, 1] = 2.0, -1.0
    start = model.predict(X[:50])
    expected = (model.predict(a) - start) + (model.predict(b) - start)
    assert model.predict(both) - start == pytest.approx(expected, abs=1e-9)


def test_one_group_of_all_columns_is_no_constraint() -> None:
    X, y = task(3)
    plain = BoostedTreesRegressor(quality="fast", n_estimators=5).fit(X, y).fingerprint()
    for groups in ([[0, 1, 2, 3]], [[-1, 0], [0, 1, 2, 3]]):
        model = BoostedTreesRegressor(quality="fast", n_estimators=5, interaction_cst=groups)
        assert model.fit(X, y).fingerprint() == plain
    zeros = BoostedTreesRegressor(
        quality="fast", n_estimators=5, monotonic_cst=np.zeros(4, dtype=int)
    )
    assert zeros.fit(X, y).fingerprint() == plain


# ---- names, categories, errors ----


def test_columns_by_name_and_of_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = task(4)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    one = BoostedTreesRegressor(
        quality="fast",
        n_estimators=8,
        monotonic_cst={"a": 1, "c": -1},
        interaction_cst=[["a", "b"], {"c"}],
    ).fit(frame, y)
    other = BoostedTreesRegressor(
        quality="fast", n_estimators=8, monotonic_cst=[1, 0, -1, 0], interaction_cst=[[0, 1], [2]]
    ).fit(X, y)
    assert one.fingerprint() == other.fingerprint()
    frame["when"] = pandas.date_range("2020-01-01", periods=len(frame), freq="D")
    frame["kind"] = np.where(X[:, 0] > 0, "x", "y")
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=8, interaction_cst=[["when", "a"]]
    ).fit(frame, y)
    owner = model._plan.owner
    for used in paths_of(model.forest_):
        inputs = {int(owner[column]) for column in used}
        assert inputs <= {0, 4} or inputs <= {1, 2, 3, 5}
    for name, what in (("when", "dates"), ("kind", "categories")):
        with pytest.raises(ValueError, match=f"column '{name}', which holds {what}"):
            BoostedTreesRegressor(quality="fast", monotonic_cst={name: 1}).fit(frame, y)


def test_what_cannot_be_is_refused() -> None:
    X, y = task(4)
    with pytest.raises(ValueError, match="monotonic_cst has 2 entries, but X has 4 columns"):
        BoostedTreesRegressor(quality="fast", monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst names 'a', but X has no column names"):
        BoostedTreesRegressor(quality="fast", monotonic_cst={"a": 1}).fit(X, y)
    with pytest.raises(ValueError, match="interaction_cst has the position 4"):
        BoostedTreesRegressor(quality="fast", interaction_cst=[[0, 4]]).fit(X, y)
    classes = np.argsort(np.argsort(y)) * 3 // len(y)
    with pytest.raises(ValueError, match="got 3 classes"):
        BoostedTreesClassifier(quality="fast", monotonic_cst=[1, 0, 0, 0]).fit(X, classes)
    with pytest.raises(ValueError, match="prune='after'"):
        BoostedTreesRegressor(quality="fast", growth="symmetric", prune="after", min_gain=1.0).fit(
            X, y
        )


@pytest.mark.parametrize("way", WAYS)
def test_same_model_for_any_threads_and_order_of_rows(way: str) -> None:
    X, y = task(7, missing=0.1)
    model = BoostedTreesRegressor(
        quality="fast",
        n_estimators=6,
        monotonic_cst=[1, 0, -1, 0],
        interaction_cst="pairwise",
        random_state=0,
    )
    model.set_params(**{**WAYS[way], "n_estimators": 6})
    prints = {model.set_params(n_jobs=jobs).fit(X, y).fingerprint() for jobs in (1, 3)}
    order = np.random.default_rng(0).permutation(len(X))
    prints.add(model.fit(X[order], y[order]).fingerprint())
    assert len(prints) == 1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_leaves_of_all_rows_keep_the_directions(loss: str) -> None:
    """After early stopping on held-out rows the leaves are refitted, with the penalties."""
    X, y = task(11, missing=0.1)
    y = np.exp(np.nan_to_num(X[:, 0] - X[:, 1]) + y / 4)
    model = BoostedTreesRegressor(
        quality="fast",
        loss=loss,
        early_stopping=True,
        learning_rate=0.3,
        min_samples_leaf=3,
        random_state=0,
        l1_regularization=0.5,
        monotonic_cst=[1, -1, 0, 0],
    ).fit(X, y)
    assert model.n_estimators_ >= 1
    assert falls_most(model, X, 0, 1) <= 0.0 and falls_most(model, X, 1, -1) <= 0.0
    # Every row is in the weights: the hessians of all rows of the first tree's root.
    if loss == "squared_error":
        assert model.forest_.weight[0] == len(X)


def test_several_quantiles_at_once() -> None:
    X, y = task(12)
    model = BoostedTreesRegressor(
        quality="fast",
        loss="quantile",
        quantile=[0.2, 0.5, 0.8],
        n_estimators=15,
        monotonic_cst=[1, 0, 0, -1],
    ).fit(X, y)
    rng = np.random.default_rng(0)
    base = X[rng.integers(len(X), size=40)].repeat(50, axis=0)
    for column, direction in ((0, 1), (3, -1)):
        moved = base.copy()
        moved[:, column] = np.tile(np.sort(rng.normal(size=50)), 40)
        steps = np.diff(model.predict(moved).reshape(40, 50, 3), axis=1) * direction
        assert steps.min() >= 0.0


def test_bags_of_boosters_keep_the_directions() -> None:
    X, y = task(13)
    model = BoostedTreesRegressor(
        quality="fast",
        n_bags=3,
        n_estimators=10,
        random_state=0,
        monotonic_cst=[1, 0, 0, -1],
        max_features=3,
    ).fit(X, y)
    assert falls_most(model, X, 0, 1) <= 0.0 and falls_most(model, X, 3, -1) <= 0.0

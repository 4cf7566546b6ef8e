"""Rotation forests: rotations against naive code, mixed tables, bad input, inspection."""

import numpy as np
import pytest

from ensembles.forests.naive_rotation import naive_rotation
from weald import (
    DecisionTreeClassifier,
    RandomForestClassifier,
    RotationForestClassifier,
    RotationForestRegressor,
    _native,
)
from weald.aggregation import disagreement
from weald.datasets import load_optdigits
from weald.trees import ForestLimits

EVERY_KIND = [RotationForestClassifier, RotationForestRegressor]
every_kind = pytest.mark.parametrize("kind", EVERY_KIND)


def table(n: int = 200, n_columns: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns of different scales, and classes separated by an oblique line."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    X *= 2.0 ** rng.integers(-1, 2, n_columns)
    y = (X[:, 0] - X[:, 1] + 0.5 * X[:, 2] > 0).astype(int) + (X[:, 3] > X[:, 4])
    return X + 5.0, y


def fitted(kind: type = RotationForestClassifier, n_trees: int = 5, **parameters):
    X, y = table()
    return kind(n_trees, random_state=3, **parameters).fit(X, y), X, y


# ---- the rotation ----


@every_kind
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"subset_size": 2},
        {"subset_size": 5},
        {"n_subsets": 3},
        {"n_subsets": 1},
        {"sample_fraction": 0.2},
        {"replace": False, "sample_fraction": 0.5},
        {"scale": "range"},
        {"scale": "deviation", "subset_size": 4},
    ],
)
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
def test_rotations_are_those_of_naive_code(kind, parameters: dict, weights: str) -> None:
    X, y = table()
    rng = np.random.default_rng(1)
    weight = {"none": None, "whole": rng.integers(0, 4, 200), "fractional": rng.random(200)}[
        weights
    ]
    model = kind(3, random_state=7, n_jobs=1, **parameters).fit(X, y, weight)
    for tree in range(3):
        expected = naive_rotation(model, X, y, weight, tree)
        assert model.rotations_.matrix(tree) == pytest.approx(expected, abs=1e-9)


@every_kind
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_rotations_are_orthogonal_and_block_diagonal(kind, size: int) -> None:
    model, _, _ = fitted(kind, subset_size=size)
    for tree in range(5):
        R = model.rotations_.matrix(tree)
        assert pytest.approx(np.eye(8), abs=1e-14) == R.T @ R
        # Every component has the columns of one subset, and subsets are disjoint.
        owners = [frozenset(np.flatnonzero(R[:, c]).tolist()) for c in range(8)]
        blocks = [owners[begin : begin + size] for begin in range(0, 8, size)]
        seen = [frozenset().union(*block) for block in blocks]
        assert sum(len(columns) for columns in seen) == 8
        assert frozenset().union(*seen) == frozenset(range(8))
    assert len({model.rotations_.matrix(tree).tobytes() for tree in range(5)}) == 5 or size == 8


def test_components_come_by_falling_variance_with_the_largest_entry_positive() -> None:
    model, X, _ = fitted(RotationForestRegressor, subset_size=4, replace=False, sample_fraction=1.0)
    for tree in range(5):
        R = model.rotations_.matrix(tree)
        variance = (X @ R).var(axis=0)
        assert (np.diff(variance[:4]) < 0).all() and (np.diff(variance[4:]) < 0).all()
        assert (R[np.abs(R).argmax(axis=0), np.arange(8)] > 0).all()


def test_trees_split_the_uncentred_table_times_the_rotation() -> None:
    model, X, _ = fitted()
    for tree in range(5):
        rotated, forest = X @ model.rotations_.matrix(tree), model.forest_.tree(tree)
        # Another order of summation may move a row at a threshold to the other side.
        assert (forest.apply(rotated, n_threads=1)[:, 0] == model._leaves(X)[:, tree]).mean() > 0.99
    # Grown until pure on all rows.
    assert model.score(X, table()[1]) == 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_principal_axes_are_eigenvectors(n: int) -> None:
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-3, 4, n)
    covariance = half @ half.T
    axes = _native.principal_axes(covariance)
    assert axes.T @ axes == pytest.approx(np.eye(n), abs=1e-13)
    inside = axes.T @ covariance @ axes
    assert inside == pytest.approx(np.diag(np.diag(inside)), abs=1e-12 * np.abs(inside).max())
    assert (np.diff(np.diag(inside)) <= 1e-9 * inside[0, 0]).all()


@pytest.mark.parametrize("rank", [0, 1])
def test_axes_of_flat_data_are_still_orthogonal(rank: int) -> None:
    direction = np.array([1.0, -2.0, 2.0]) / 3
    axes = _native.principal_axes(rank * np.outer(direction, direction))
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-15)
    if rank == 0:
        assert np.array_equal(axes, np.eye(3))
    else:
        assert np.abs(axes[:, 0]) == pytest.approx(np.abs(direction))


# ---- parameters ----


@every_kind
def test_subset_size_and_n_subsets_exclude_each_other(kind) -> None:
    with pytest.raises(ValueError, match="Both subset_size=3 and n_subsets=2 are given"):
        fitted(kind, subset_size=3, n_subsets=2)


@every_kind
def test_three_columns_by_default(kind) -> None:
    assert fitted(kind)[0].rotations_.first_of_block.tolist() == [0, 3, 6, 8]
    assert fitted(kind)[0].fingerprint() == fitted(kind, subset_size=3)[0].fingerprint()
    assert fitted(kind, n_subsets=3)[0].rotations_.first_of_block.tolist() == [0, 3, 6, 8]
    assert fitted(kind, n_subsets=99)[0].rotations_.first_of_block.tolist() == list(range(9))


@every_kind
def test_out_of_bag_needs_a_bootstrap(kind) -> None:
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        fitted(kind, oob_score=True)
    with pytest.raises(ValueError, match="no in-bag counts"):
        fitted(kind)[0].in_bag_counts(0)


@pytest.mark.parametrize("scale", ["range", "deviation"])
def test_scaled_columns_may_be_in_any_unit(scale: str) -> None:
    """Equal up to the random draws, which depend on the content of rows."""
    X, y = table(400)
    grown = np.random.default_rng(0).permutation(400) < 300
    units = 10.0 ** np.arange(-4, 4)

    def score(unit: np.ndarray, scale: str | None) -> float:
        model = RotationForestClassifier(30, random_state=0, scale=scale)
        return model.fit(X[grown] * unit, y[grown]).score(X[~grown] * unit, y[~grown])

    assert abs(score(units, scale) - score(np.ones(8), scale)) < 0.05


# ---- out-of-bag ----


def test_out_of_bag_predictions_are_those_of_trees_that_did_not_draw_the_row() -> None:
    X, y = table(120)
    model = RotationForestClassifier(30, bootstrap=True, oob_score=True, random_state=1).fit(X, y)
    sums, counts = np.zeros((120, 3)), np.zeros(120)
    for number, tree in enumerate(model.estimators_):
        out = model.in_bag_counts(number) == 0
        sums[out] += tree.predict_proba(X[out])
        counts[out] += 1
    expected = sums / counts[:, np.newaxis]
    assert model.oob_decision_function_ == pytest.approx(expected)
    assert model.oob_score_ == pytest.approx((expected.argmax(axis=1) == y).mean())


def test_out_of_bag_regression_on_categories() -> None:
    X, y = table(150)
    X[:, 2] = np.round(X[:, 2]) % 7
    model = RotationForestRegressor(
        40, bootstrap=True, oob_score=True, categorical_features=[2], random_state=0
    ).fit(X, y)
    out = np.array([model.in_bag_counts(k) == 0 for k in range(40)])
    each = np.array([tree.predict(X) for tree in model.estimators_])
    expected = (each * out).sum(axis=0) / out.sum(axis=0)
    assert model.oob_prediction_ == pytest.approx(expected)


@every_kind
def test_out_of_bag_rows_do_not_enter_the_rotation(kind) -> None:
    X, y = table()
    model = kind(4, bootstrap=True, random_state=0).fit(X, y)
    for tree in range(4):
        seen = model.in_bag_counts(tree)
        expected = naive_rotation(model, X, y, seen, tree)
        assert model.rotations_.matrix(tree) == pytest.approx(expected, abs=1e-9)


# ---- uncertainty, importances, single trees ----


def test_deviations_are_those_of_the_trees() -> None:
    model, X, _ = fitted()
    shares, std = model.predict_proba(X, return_std=True)
    each = np.array([tree.predict_proba(X) for tree in model.estimators_])
    assert np.array_equal(shares, model.predict_proba(X))
    assert std == pytest.approx(disagreement(each), abs=1e-12)
    model, X, _ = fitted(RotationForestRegressor, max_depth=3)
    means, std = model.predict(X, return_std=True)
    each = np.array([tree.predict(X) for tree in model.estimators_])
    assert means == pytest.approx(each.mean(axis=0))
    assert std == pytest.approx(disagreement(each), abs=1e-12) and std.max() > 0
    with pytest.raises(ValueError, match="requires at least two trees"):
        fitted(n_trees=1)[0].predict_proba(X, return_std=True)


def test_importances_distribute_the_gain_by_squared_loadings() -> None:
    model, _, _ = fitted()
    expected = []
    for tree in range(5):
        forest = model.forest_.tree(tree)
        gains = np.bincount(forest.feature[forest.feature >= 0], minlength=8).astype(float) * 0
        np.add.at(gains, forest.feature[forest.feature >= 0], forest.gain[forest.feature >= 0])
        expected.append(model.rotations_.matrix(tree) ** 2 @ gains / gains.sum())
    shares = model.feature_importances_
    assert shares == pytest.approx(np.mean(expected, axis=0))
    assert shares.sum() == pytest.approx(1.0) and shares[:5].sum() > 0.6


def test_importances_of_uninformative_columns() -> None:
    X, y = table()
    X = np.column_stack([np.full(200, 3.0), X, np.full(200, np.nan)])
    shares = RotationForestClassifier(5, random_state=0).fit(X, y).feature_importances_
    assert shares.shape == (10,) and shares.sum() == pytest.approx(1.0)
    assert shares[0] == shares[9] == 0


@every_kind
def test_single_trees_predict(kind) -> None:
    model, X, _ = fitted(kind)
    scores = model._scores(X)
    alone = [tree._scores(X) for tree in model.estimators_]
    assert scores == pytest.approx(np.mean(alone, axis=0))
    assert [tree.rotations_.order.shape for tree in model.estimators_] == [(1, 8)] * 5


# ---- accuracy ----


def test_oblique_lines_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6)) @ rng.normal(size=(6, 6))
    y = (X @ np.array([1, -1, 1, -1, 1, -1]) > 0).astype(int)
    rotated = RotationForestClassifier(60, random_state=0).fit(X[:600], y[:600])
    plain = RandomForestClassifier(60, random_state=0).fit(X[:600], y[:600])
    assert rotated.score(X[600:], y[600:]) > plain.score(X[600:], y[600:])


def test_digits() -> None:
    train, test = load_optdigits(part="train"), load_optdigits(part="test")
    model = RotationForestClassifier(30, random_state=0).fit(train.data[:1500], train.target[:1500])
    tree = DecisionTreeClassifier().fit(train.data[:1500], train.target[:1500])
    assert model.score(test.data, test.target) > tree.score(test.data, test.target) + 0.1


# ---- missing values, infinities, categories ----


def test_a_missing_value_counts_as_the_mean() -> None:
    X, y = table()
    holes = X.copy()
    holes[::3, 1] = np.nan
    model = RotationForestRegressor(5, random_state=0).fit(holes, y)
    assert model.rotations_.centre[1] == pytest.approx(np.nanmean(holes[:, 1]), rel=1e-15)
    assert model.rotations_.flagged.tolist() == [1]
    # A column without missing values in the fit has no indicator: missing ones become its mean.
    row, filled = X[:1].copy(), X[:1].copy()
    row[0, 4], filled[0, 4] = np.nan, model.rotations_.centre[4]
    assert np.array_equal(model.predict(row), model.predict(filled))


@every_kind
def test_missingness_is_informative(kind) -> None:
    X, _ = table()
    is_missing = np.random.default_rng(0).random(200) < 0.5
    X[is_missing, 2] = np.nan
    model = kind(5, max_leaf_nodes=2, random_state=0).fit(X, is_missing.astype(int))
    assert np.array_equal(np.round(model.predict(X)), is_missing)
    assert model.text().splitlines()[0] == "column 2 is not missing?"
    assert model.feature_importances_.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]


@every_kind
def test_infinities_keep_their_axis(kind) -> None:
    X, _ = table()
    X[:, 1] = np.resize([-np.inf, -1e308, 0.0, 1e308, np.inf], 200)
    model = kind(5, random_state=0).fit(X, np.resize([0, 1, 0, 1, 0], 200))
    assert model.rotations_.kept.tolist() == [1]
    assert np.array_equal(np.round(model.predict(X)), np.resize([0, 1, 0, 1, 0], 200))
    # Infinities that occur only in prediction count as very large numbers.
    plain, X, _ = fitted(kind)
    wild = X[:3].copy()
    wild[0], wild[1, 2], wild[2, :2] = np.inf, -np.inf, (np.inf, -np.inf)
    assert np.isfinite(plain._scores(wild)).all()
    wild[1, 2] = -1e200
    large = plain._scores(wild)[1]
    wild[1, 2] = -np.inf
    assert np.array_equal(plain._scores(wild)[1], large)


@every_kind
def test_categories_are_split_in_sets(kind) -> None:
    pandas = pytest.importorskip("pandas")
    X, _ = table()
    city = np.array(["Bonn", "Köln", "Ulm", "Rom"])[np.arange(200) % 4]
    y = np.isin(city, ["Bonn", "Rom"]).astype(int)
    frame = pandas.DataFrame(X).assign(city=city).rename(columns=str)
    model = kind(5, random_state=0).fit(frame, y)
    assert np.array_equal(np.round(model.predict(frame)), y)
    assert model.text().splitlines()[0] in {
        f"city {words}?" for words in ("not in {Köln, Ulm}", "not in {Bonn, Rom}")
    }
    assert model.feature_importances_.tolist() == [0.0] * 8 + [1.0]
    assert [tree.predict(frame).tolist() for tree in model.estimators_] == [y.tolist()] * 5
    row = frame.iloc[3].to_dict()
    assert model.predictor().predict(row) == model.predict(frame)[3]


def test_only_categorical_columns() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.choice(list("xyz"), 90), "b": rng.choice(list("uvw"), 90)})
    y = ((frame["a"] == "x") ^ (frame["b"] == "v")).to_numpy().astype(int)
    model = RotationForestClassifier(5, random_state=0).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.rotations_.loading.shape == (5, 0)


# ---- small and rank-deficient tables ----


@every_kind
def test_flat_tables(kind) -> None:
    y = np.arange(20) % 2
    for X in (np.full((20, 3), 2.0), np.full((20, 3), np.nan), np.full((20, 2), np.inf)):
        model = kind(3, random_state=0).fit(X, y)
        assert (model.forest_.feature < 0).all()
        assert model._scores(X) == pytest.approx(0.5)
        assert not model.feature_importances_.any()
        assert np.isfinite(model._scores(np.zeros((2, X.shape[1])))).all()


@every_kind
def test_constant_columns_are_in_no_subset(kind) -> None:
    X, y = table()
    wide = np.column_stack([X[:, :3], np.full(200, 7.0), X[:, 3:]])
    model = kind(3, random_state=0).fit(wide, y)
    assert model.rotations_.rotated.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    wide[:, 3] = np.nan
    assert np.isfinite(model._scores(wide)).all()


@every_kind
def test_fewer_columns_than_a_subset(kind) -> None:
    X, y = table(60)
    for n_columns in (1, 2):
        model = kind(4, random_state=0).fit(X[:, :n_columns], y)
        assert model.rotations_.loading.shape == (4, n_columns**2)
        assert np.isfinite(model._scores(X[:, :n_columns])).all()
    assert (kind(4, random_state=0).fit(X[:, :1], y).rotations_.loading == 1).all()


def test_classes_of_one_row() -> None:
    """The axes of a single row are the columns themselves; those of all rows are not."""
    X = table(6)[0][:, :3]
    model = RotationForestClassifier(40, random_state=0).fit(X, np.arange(6))
    assert np.array_equal(model.predict(X), np.arange(6))
    rotations = [model.rotations_.matrix(tree) for tree in range(40)]
    are_axes = [np.array_equal(np.sort(R, axis=0)[2], np.ones(3)) for R in rotations]
    assert 0 < sum(are_axes) < 40
    for R in rotations:
        assert pytest.approx(np.eye(3), abs=1e-14) == R.T @ R


@every_kind
def test_columns_of_any_size(kind) -> None:
    X, y = table()
    for power in (-1000, -300, 140):
        scaled = np.ldexp(X, power)
        model = kind(5, random_state=0).fit(scaled, y)
        R = model.rotations_.matrix(0)
        assert pytest.approx(np.eye(8), abs=1e-13) == R.T @ R
        assert np.abs(R).max() < 1  # not merely the columns
        assert np.round(model.predict(scaled)) == pytest.approx(y)


# ---- inspection ----


def test_text_shows_the_combinations() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ np.array([[3.0, 3.0], [-1.0, 1.0]])
    y = (X[:, 0] < X[:, 1]).astype(int)
    model = RotationForestClassifier(
        1, replace=False, sample_fraction=1.0, max_leaf_nodes=2, random_state=0
    ).fit(X, y)
    first = model.text().splitlines()[0]
    assert "·column 0" in first and "·column 1" in first and first.endswith("?")
    assert " - " in first or first.startswith("-")


def test_fingerprint_covers_the_rotation() -> None:
    model, _, _ = fitted()
    before = model.fingerprint()
    loading = model.rotations_.loading.copy()
    loading[0, 0] = np.nextafter(loading[0, 0], 2)
    object.__setattr__(model.rotations_, "loading", loading)
    assert model.fingerprint() != before


def test_damaged_arrays_are_refused() -> None:
    model, _, _ = fitted()
    arrays = {**vars(model.rotations_), **model.forest_.native_arrays()}
    for name, value in {
        "order": model.rotations_.order + 1,
        "loading": model.rotations_.loading[:, 1:],
        "rotated": np.array([0, 1, 2, 3, 4, 5, 6, 8], dtype=np.int32),
        "centre": model.rotations_.centre[1:],
        "first_of_block": np.array([0, 9]),
        "kept": np.array([1], dtype=np.int32),
        "feature": model.forest_.feature + 9,
    }.items():
        with pytest.raises(ValueError, match="must|out of range|damaged"):
            _native.RotationPredictor(**{**arrays, name: np.ascontiguousarray(value)})


def test_wrong_arguments_are_refused_at_the_border() -> None:
    X, y = table(20)
    index, levels = np.arange(20), np.zeros(8, dtype=np.int64)
    right: dict = {"table": X, "index": index, "mass": None, "n_levels": levels}
    right |= {"scale": "none", "known": None, "n_threads": 1}
    one, number = np.zeros(1, dtype=np.int32), np.zeros(1)
    for wrong, words in [
        ({"index": np.arange(1, 21)}, "index must contain row indices"),
        ({"mass": np.ones(3, dtype=np.int64)}, "one entry per row"),
        ({"n_levels": levels[1:]}, "one entry per column"),
        ({"n_levels": levels - 1}, "at most 65535 levels"),
        ({"scale": "size"}, "scale must be"),
        ({"known": (one + 8, number, number, one, one)}, "column index out of range"),
        ({"known": (one, number, number[1:], one, one)}, "same length"),
        ({"known": (one[1:], number[1:], number[1:], one[1:], one[1:])}, "at least one column"),
        ({"n_threads": 0}, "n_threads"),
    ]:
        with pytest.raises(ValueError, match=words):
            _native.RotationTable(**{**right, **wrong})
    ready = _native.RotationTable(X, index, None, levels, "none", None, 1)
    right = {
        "table": ready,
        "params": ForestLimits(criterion="gini", max_features=1).native(0, 1),
        "bootstrap": None,
        "first_of_block": np.array([0, 3, 6, 8]),
        "sample_fraction": 0.75,
        "replace": True,
        "weight": None,
        "values": None,
        "classes": y.astype(np.int32),
        "n_classes": 3,
        "mass": None,
        "first": 0,
        "n_trees": 1,
        "oob_sums": None,
        "oob_counts": None,
    }
    assert len(_native.grow_rotation_forest(**right)) == 1
    for wrong, words in [
        ({"first_of_block": np.array([0, 3])}, "blocks must begin at 0 and end"),
        ({"first_of_block": np.array([0, 3, 3, 8])}, "no block may be empty"),
        ({"sample_fraction": 0.0}, "sample_fraction"),
        ({"sample_fraction": np.nan}, "sample_fraction"),
        ({"classes": y.astype(np.int32) + 1}, "classes must be in"),
        ({"classes": None}, "either values or classes"),
        ({"n_trees": 0}, "n_trees"),
        ({"mass": np.zeros(20, dtype=np.int64)}, "at least one row"),
        ({"oob_sums": np.zeros((20, 3))}, "passed together"),
    ]:
        with pytest.raises(ValueError, match=words):
            _native.grow_rotation_forest(**{**right, **wrong})

"""Random survival forests: splits, leaves, curves, out-of-bag predictions."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ensembles.survival.tables import hazards_table, log_rank
from weald import RandomSurvivalForest
from weald.survival import concordance_index, kaplan_meier, nelson_aalen, target


def one_tree(**parameters):
    wanted = {"n_estimators": 1, "bootstrap": False, "max_features": None, **parameters}
    return RandomSurvivalForest(**wanted)


def best_by_definition(X, y, least, weight=None):
    """The largest log-rank statistic of all splits, with its column and left side."""
    best = (0.0, -1, None)
    for column in range(X.shape[1]):
        for value in np.unique(X[:, column])[:-1]:
            left = X[:, column] <= value
            if min(left.sum(), (~left).sum()) >= least:
                statistic = log_rank(y, left, weight)
                if statistic > best[0] * (1 + 1e-9):
                    best = (statistic, column, left)
    return best


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("least", [1, 12])
def test_root_split_is_the_best_by_definition(seed, least):
    X, y = hazards_table(80, 3, seed)
    tree = one_tree(max_depth=1, min_samples_leaf=least).fit(X, y).forest_
    statistic, column, left = best_by_definition(X, y, least)
    assert tree.feature[0] == column
    assert ((X[:, column] <= tree.threshold[0]) == left).all()
    assert tree.gain[0] == pytest.approx(statistic, rel=1e-9)


def test_every_split_is_the_best_by_definition():
    X, y = hazards_table(120, 3, seed=7)
    model = one_tree(min_samples_leaf=5, min_samples_split=10).fit(X, y)
    frame = model.trees_to_frame("pandas").set_index("node")
    here = {0: np.ones(len(X), dtype=bool)}
    n_splits = 0
    for node, row in frame.iterrows():
        rows = here[node]
        best = best_by_definition(X[rows], y[rows], 5)
        if np.isnan(row["threshold"]):
            is_small = rows.sum() < 10 or not y["event"][rows].any()
            assert is_small or best[1] < 0
            continue
        n_splits += 1
        column = int(row["feature"].removeprefix("column "))
        assert (column, row["gain"]) == (best[1], pytest.approx(best[0], rel=1e-9))
        left = X[:, column] <= row["threshold"]
        here[row["left"]], here[row["right"]] = rows & left, rows & ~left
    assert n_splits >= 5


def test_weights_enter_the_statistic_and_the_leaves():
    X, y = hazards_table(80, 3, seed=3)
    weight = np.random.default_rng(3).random(80) + 0.2
    model = one_tree(max_depth=1, min_samples_leaf=10).fit(X, y, sample_weight=7.0 * weight)
    statistic, column, left = best_by_definition(X, y, 10, weight)
    assert model.forest_.feature[0] == column
    # The statistic is in the unit of the weights.
    assert model.forest_.gain[0] == pytest.approx(7.0 * statistic, rel=1e-9)
    hazard = model.predict_cumulative_hazard_function(X[left][:1])[0]
    expected = nelson_aalen(y[left], weight[left])
    assert hazard(model.unique_times_) == pytest.approx(expected(model.unique_times_))


def test_weights_are_repetitions():
    X, y = hazards_table(60, 3, seed=4)
    weight = np.random.default_rng(4).integers(1, 4, 60)
    again = np.repeat(np.arange(60), weight)
    limits = {"min_samples_split": 2, "min_samples_leaf": 1, "max_depth": 3}
    weighted = one_tree(**limits).fit(X, y, sample_weight=weight)
    repeated = one_tree(**limits).fit(X[again], y[again])
    assert (weighted.forest_.feature == repeated.forest_.feature).all()
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), rel=1e-9)


def test_leaves_hold_the_estimates_of_their_rows():
    X, y = hazards_table(150, 3, seed=5)
    model = one_tree(min_samples_leaf=20, min_samples_split=40).fit(X, y)
    leaves = model.apply(X)[:, 0]
    assert len(np.unique(leaves)) > 2
    times = model.unique_times_
    survival = model.predict_survival_function(X, return_array=True)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        assert survival[rows] == pytest.approx(
            np.tile(kaplan_meier(y[rows])(times), (rows.sum(), 1))
        )
        assert hazard[rows] == pytest.approx(np.tile(nelson_aalen(y[rows])(times), (rows.sum(), 1)))
    assert model.predict(X) == pytest.approx(hazard.sum(axis=1))


def test_predictions_are_means_of_the_trees():
    X, y = hazards_table()
    model = RandomSurvivalForest(20).fit(X, y)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)
    assert model.predict(X) == pytest.approx(hazard.sum(axis=1))
    assert (np.diff(hazard, axis=1) >= -1e-12).all()
    survival = model.predict_survival_function(X, return_array=True)
    assert survival.min() >= 0.0
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    functions = model.predict_survival_function(X[:3])
    for function, row in zip(functions, survival, strict=False):
        assert (function(model.unique_times_) == row).all()
        assert function(0.0) == 1.0


def test_survival_never_falls_below_zero():
    X, y = hazards_table(400)
    y["event"] = True  # the curve of a leaf ends at zero
    model = RandomSurvivalForest(50).fit(X, y)
    last = model.predict_survival_function(X, return_array=True)[:, -1]
    assert last.min() == 0.0
    assert last.max() < 1e-12


def test_curves_at_other_times():
    X, y = hazards_table()
    model = RandomSurvivalForest(10).fit(X, y)
    times = np.array([0.0, 1.3, 2.0, 1e6])
    at_times = model.predict_survival_function(X[:5], return_array=True, times=times)
    functions = model.predict_survival_function(X[:5])
    assert (at_times == [function(times) for function in functions]).all()


def test_out_of_bag_predictions():
    X, y = hazards_table(2500)
    model = RandomSurvivalForest(60, min_samples_leaf=3, oob_score=True).fit(X, y)
    assert model.oob_prediction_.shape == (2500,)
    assert np.isfinite(model.oob_prediction_).all()
    assert model.oob_score_ == concordance_index(y, model.oob_prediction_)
    X_new, y_new = hazards_table(2500, seed=99)
    assert model.oob_score_ == pytest.approx(model.score(X_new, y_new), abs=0.02)
    assert model.score(X, y) > model.oob_score_ + 0.03  # training rows look too good


def test_rows_of_weight_zero_do_not_exist():
    X, y = hazards_table(200)
    weight = np.ones(200)
    weight[::5] = 0.0
    seen = weight > 0
    model = RandomSurvivalForest(10, oob_score=True).fit(X, y, sample_weight=weight)
    without = RandomSurvivalForest(10, oob_score=True).fit(X[seen], y[seen])
    assert model.fingerprint() == without.fingerprint()
    assert np.isnan(model.oob_prediction_[~seen]).all()
    assert (model.oob_prediction_[seen] == without.oob_prediction_).all()


def test_missing_values_go_to_the_better_side():
    rng = np.random.default_rng(0)
    n = 400
    x = np.where(rng.random(n) < 0.4, np.nan, rng.random(n))
    times = rng.exponential(np.where(np.isnan(x), 0.2, 2.0))
    y = target(np.ones(n), times)
    model = one_tree(max_depth=1).fit(x[:, np.newaxis], y)
    assert model.forest_.threshold[0] == np.inf  # all values against the missing ones
    assert not model.forest_.missing_left[0]
    risk = model.predict([[np.nan], [0.5]])
    assert risk[0] > 2 * risk[1]


def test_categories_are_parted_in_the_best_sets():
    rng = np.random.default_rng(1)
    levels, n = np.array(list("abcdef")), 600
    names = rng.choice(levels, n)
    times = rng.exponential(np.where(np.isin(names, ["b", "e"]), 0.3, 1.0))
    ends = rng.exponential(1.5, n)
    y = target(times <= ends, np.minimum(times, ends))
    X = pd.DataFrame({"name": pd.Categorical(names)})
    model = one_tree(max_depth=1).fit(X, y)
    risk = model.predict(pd.DataFrame({"name": pd.Categorical(levels)}))
    assert (risk[[1, 4]] > 2 * risk[[0, 2, 3, 5]].max()).all()
    every = (set(some) for k in range(1, 6) for some in itertools.combinations(levels, k))
    best = max(log_rank(y, np.isin(names, list(some))) for some in every)
    assert model.forest_.gain[0] == pytest.approx(best, rel=1e-9)
    unknown = model.predict(pd.DataFrame({"name": ["z"]}))[0]
    assert unknown in risk


def test_many_levels():
    rng = np.random.default_rng(2)
    names = np.array([f"level {i}" for i in rng.integers(0, 400, 3000)])
    y = target(np.ones(3000), rng.exponential(1.0, 3000))
    X = pd.DataFrame({"name": pd.Categorical(names), "x": rng.random(3000)})
    model = RandomSurvivalForest(3, min_samples_leaf=50).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("max_bins", [4, 1000])
def test_number_of_bins(max_bins):
    X, y = np.random.default_rng(0).random((600, 2)), hazards_table(600)[1]
    X[:, 0] += 1.0 / (1.0 + y["time"])
    model = RandomSurvivalForest(5, max_bins=max_bins).fit(X, y)
    thresholds = model.forest_.threshold[model.forest_.feature == 0]
    assert (len(np.unique(thresholds)) <= 3) == (max_bins == 4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bootstrap": False, "oob_score": True}, "oob_score=True needs bootstrap=True"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples=0.5 needs bootstrap=True"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_features": 0.0}, "max_features"),
        ({"min_samples_split": 1}, "min_samples_split"),
    ],
)
def test_refuses_parameters(parameters, message):
    X, y = hazards_table(50)
    with pytest.raises(ValueError, match=message):
        RandomSurvivalForest(**parameters).fit(X, y)


def test_warns_of_a_default_that_allows_no_split():
    X, y = hazards_table(20)
    with pytest.warns(UserWarning, match="min_samples_leaf=12 of RandomSurvivalForest allows no"):
        RandomSurvivalForest(3).fit(X, y)


def test_max_samples_draws_fewer_rows():
    X, y = hazards_table(200)
    model = RandomSurvivalForest(5, max_samples=0.25, oob_score=True).fit(X, y)
    assert (model.forest_.weight[model.forest_.first_node[:-1]] == 50).all()

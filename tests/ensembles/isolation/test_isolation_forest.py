"""Isolation forests: against a naive twin, scikit-learn's scores, and what the method promises."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.metrics import roc_auc_score

import weald
from ensembles.isolation.naive_isolation import BOOTSTRAP, PASTE, Twin, drawn, key_of
from ensembles.isolation.naive_isolation import mean_path_length as naive_length
from weald import IsolationForest, _native
from weald.data import unlabelled_rows
from weald.resampling import ordered_rows


def eighths(n: int, n_columns: int, seed: int, missing: float = 0.0) -> np.ndarray:
    """Small multiples of 1/8: sums and differences are exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 20, (n, n_columns)) / 8
    return np.where(rng.random(X.shape) < missing, np.nan, X)


@pytest.mark.parametrize(
    ("parameters", "weighted"),
    [
        ({}, False),
        ({"bootstrap": True}, False),
        ({"bootstrap": True}, True),
        ({}, True),
        ({"max_features": 2}, False),
        ({"max_samples": 5}, False),
        ({"max_samples": 1.0}, False),
    ],
)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_trees_are_those_of_the_naive_twin(parameters, weighted, missing):
    X = eighths(60, 4, seed=1, missing=missing)
    X[:, 3] = np.where(np.isnan(X[:, 3]), np.nan, np.abs(X[:, 3] * 8) % 5)
    X[30:40] = X[:10]  # copies
    weight = np.random.default_rng(2).integers(1, 5, 60).astype(float) if weighted else None
    parameters = {"max_samples": 32, **parameters}
    model = IsolationForest(
        n_estimators=5, random_state=7, categorical_features=[3], **parameters
    ).fit(X, sample_weight=weight)
    rows = unlabelled_rows(IsolationForest(categorical_features=[3]), X, weight)
    order = ordered_rows(rows, n_threads=1).index
    mass = None if weight is None else weight[order].astype(int).tolist()
    n_draws, replace = model.max_samples_, parameters.get("bootstrap", False)
    twin = Twin(
        seed=7,
        n_levels=[0, 0, 0, 5],
        max_features=parameters.get("max_features", 4),
        max_depth=int(np.ceil(np.log2(n_draws))),
    )
    lengths = np.zeros(60)
    for tree in range(5):
        key = key_of(7, tree, BOOTSTRAP if replace else PASTE)
        places = drawn(60, n_draws, replace, mass, key)
        root = twin.grow([X[order[place]] for place in places], tree)
        own = model.forest_.tree(tree).predict(X, n_threads=1)[:, 0]
        assert own.tolist() == [root.length(row) for row in X]
        assert model.forest_.tree(tree).weight[0] == root.n_rows == n_draws
        lengths += own
    expected = -(2.0 ** -(lengths / 5 / naive_length(n_draws)))
    assert np.allclose(model.score_samples(X), expected, rtol=1e-14)


def test_every_subset_is_equally_likely():
    draws = _native.RowDraws(5, None, 2, False, 3)
    pairs = [tuple(draws.draw(member)[0].tolist()) for member in range(20_000)]
    counts = pd.Series(pairs).value_counts()
    assert len(counts) == 10
    assert (np.abs(counts - 2000) < 6 * np.sqrt(2000 * 0.9)).all()


def test_draws_without_replacement_follow_the_weights():
    """First draws in proportion to mass; the second among the others likewise."""
    mass = np.array([1, 2, 5], dtype=np.int64)
    draws = _native.RowDraws(3, mass, 2, False, 0)
    left_out = [3 - sum(draws.draw(member)[0].tolist()) for member in range(20_000)]
    share = np.bincount(left_out, minlength=3) / 20_000
    p = mass / mass.sum()
    expected = [
        sum(p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if {i, j, k} == {0, 1, 2})
        for k in range(3)
    ]
    assert np.abs(share - expected).max() < 0.015


@pytest.mark.parametrize("n", [1, 2, 3, 5, 256, 100_000])
def test_mean_path_length_is_that_of_scikit_learn(n):
    from sklearn.ensemble._iforest import _average_path_length

    assert abs(_native.mean_path_length(n) - _average_path_length([n])[0]) < 2**-24
    assert _native.mean_path_length(n) == naive_length(n)


def test_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:20] += 5
    ours, theirs = [
        np.mean([kind(random_state=i).fit(X).score_samples(X) for i in range(12)], axis=0)
        for kind in (IsolationForest, sklearn.ensemble.IsolationForest)
    ]
    assert np.abs(ours - theirs).max() < 0.015
    assert abs(ours.mean() - theirs.mean()) < 0.003


def test_contamination_is_the_share_of_anomalies_in_training():
    X = np.random.default_rng(1).normal(size=(500, 3))
    model = IsolationForest(contamination=0.1, random_state=0).fit(X)
    assert (model.predict(X) == -1).sum() == 50
    assert np.array_equal(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert np.array_equal(model.fit_predict(X), model.predict(X))


def test_rows_that_cannot_be_told_apart_are_no_anomalies():
    """Their score is exactly -0.5: sums of path lengths have no rounding."""
    for n, n_estimators in ((1, 100), (2, 7), (100, 33), (300, 100)):
        X = np.full((n, 3), 0.1)
        model = IsolationForest(n_estimators=n_estimators, random_state=0).fit(X)
        assert (model.score_samples(X + 1) == -0.5).all()
        assert (model.predict(X) == 1).all()


def test_infinities_are_isolated():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0, 0], X[1, 1] = np.inf, -np.inf
    scores = IsolationForest(random_state=0).fit(X).score_samples(X)
    assert set(np.argsort(scores)[:2]) == {0, 1}


def test_a_rare_category_is_an_anomaly():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "kind": rng.choice(["a", "b", "c"], 400)})
    frame.loc[5, "kind"] = "d"
    scores = IsolationForest(random_state=0).fit(frame).score_samples(frame)
    assert (scores < scores[5]).mean() < 0.1


def test_a_missing_value_is_no_anomaly_by_itself():
    """It goes where other rows go; if it is the only difference, it is isolated."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    X[:200, 0] = np.nan
    scores = IsolationForest(random_state=0).fit(X).score_samples(X)
    assert abs(roc_auc_score(np.arange(2000) < 200, -scores) - 0.5) < 0.12
    alone = np.zeros((300, 2))
    alone[0, 0] = np.nan
    scores = IsolationForest(random_state=0, max_samples=300).fit(alone).score_samples(alone)
    assert scores[0] < -0.7 and (scores[1:] == scores[1]).all()


def test_weights_say_which_rows_are_drawn():
    """Rows of great weight are the normal ones."""
    X = np.concatenate([np.random.default_rng(0).normal(c, 1, (300, 2)) for c in (0, 8)])
    for bootstrap in (False, True):
        weight = np.repeat([1000.0, 1.0], 300)
        model = IsolationForest(random_state=0, bootstrap=bootstrap).fit(X, sample_weight=weight)
        scores = model.score_samples(X)
        assert scores[300:].max() < np.median(scores[:300])
        zero = IsolationForest(random_state=0, bootstrap=bootstrap)
        zero.fit(X, sample_weight=np.repeat([2.0, 0.0], 300))
        only = IsolationForest(random_state=0, bootstrap=bootstrap).fit(X[:300])
        assert zero.fingerprint() == only.fingerprint()


def test_a_whole_weight_is_a_number_of_copies_with_bootstrap():
    X = eighths(50, 3, seed=0, missing=0.1)
    weight = np.arange(50) % 3 + 1
    model = IsolationForest(bootstrap=True, max_samples=40, random_state=0)
    weighted = model.fit(X, sample_weight=weight).fingerprint()
    assert model.fit(np.repeat(X, weight, axis=0)).fingerprint() == weighted


def test_warm_start_adds_trees():
    X = eighths(100, 3, seed=0)
    model = IsolationForest(n_estimators=4, random_state=0, warm_start=True).fit(X)
    first = model.estimators_[0]
    model.set_params(n_estimators=10).fit(X)
    assert model.estimators_[0] is first and len(model.estimators_) == 10
    whole = IsolationForest(n_estimators=10, random_state=0).fit(X)
    assert model.fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match="grown on 100 rows each, and max_samples='auto' gives 90"):
        model.set_params(n_estimators=12).fit(X[:90])
    with pytest.raises(ValueError, match="fit on 3 columns; got 2"):
        model.fit(X[:, :2])
    with pytest.raises(ValueError, match="must be larger or equal to the 10"):
        model.set_params(n_estimators=5).fit(X)


def test_verbose_logs_the_number_of_trees(caplog):
    IsolationForest(n_estimators=3, verbose=1, random_state=0).fit(eighths(20, 2, seed=0))
    assert caplog.messages == ["3 trees, each of 20 rows"]


def test_explanations_add_up_to_path_lengths():
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[0, 2] = 9.0
    model = IsolationForest(random_state=0).fit(X)
    found = weald.explain.shap(model, X[:5])
    mean = model.forest_.predict(X[:5], n_threads=1)[:, 0] / 100
    assert np.allclose(found.values.sum(axis=1) + found.base_values, mean)
    assert found.values[0].argmin() == 2 and "path length" in repr(found)


def test_text_and_tables_of_trees():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 9.0], "b": [1.0, 1.0, 1.0, 1.0]})
    model = IsolationForest(n_estimators=2, random_state=0).fit(X)
    assert "path length" in model.text() and "a <=" in model.text() and "rows" in model.text()
    assert set(model.trees_to_frame("pandas")["feature"]) <= {"a", None, ""} | {np.nan}
    assert model.importances("count").tolist()[1] == 0.0
    with pytest.raises(AttributeError, match="splits of an isolation forest are random"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(AttributeError, match="splits of an isolation forest are random"):
        model.named_importances()


def test_what_needs_a_target_refuses_it():
    model = IsolationForest(n_estimators=2).fit([[1.0], [2.0]])
    with pytest.raises(TypeError, match="IsolationForest finds anomalies without one"):
        weald.diagnose(model, [[1.0], [2.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="cannot be exported: it does not predict a sum of trees"):
        weald.export.to_python(model)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"contamination": 0.0}, r"one of 'auto' or a float in the range \(0.0, 0.5\]"),
        ({"contamination": 0.6}, r"one of 'auto' or a float in the range \(0.0, 0.5\]"),
        ({"contamination": "many"}, "one of 'auto'"),
        ({"max_samples": 0}, r"an int in the range \[1"),
        ({"max_samples": 1.5}, r"a float in the range \(0.0, 1.0\]"),
        ({"max_features": 0.0}, r"a float in the range \(0.0, 1.0\]"),
        ({"n_estimators": 0}, r"an int in the range \[1"),
    ],
)
def test_wrong_parameters(wrong, expected):
    with pytest.raises(ValueError, match=expected):
        IsolationForest(**wrong).fit([[1.0], [2.0]])

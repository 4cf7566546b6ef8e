"""BoostedTreesRanker: queries, draws of whole queries, validation, scikit-learn's tools."""

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

import weald
from weald import BoostedTreesRanker
from weald.ensembles.boosted_trees import auto_settings
from weald.explain import shap
from weald.losses.ranking import RANKINGS
from weald.ranking import map_score, mrr_score, ndcg_score

FAST = {"quality": "fast", "n_estimators": 10, "n_jobs": 1}


@cache
def table(n: int = 60, size: int = 15, seed: int = 0) -> tuple[np.ndarray, ...]:
    """X, labels and queries, whose rows are adjacent."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n * size, 5))
    X[:, 4] = np.round(X[:, 4])
    relevance = X[:, 0] + X[:, 1] * (X[:, 4] > 0) + 0.5 * rng.normal(size=n * size)
    y = np.clip(np.round(relevance), 0, 4)
    for one in (X, y):
        one.flags.writeable = False
    return X, y, np.repeat(np.arange(n), size)


def fitted(X: Any = None, y: Any = None, qid: Any = None, **parameters: Any) -> BoostedTreesRanker:
    if X is None:
        X, y, qid = table()
    return BoostedTreesRanker(**{**FAST, **parameters}).fit(X, y, qid=qid)


@pytest.mark.parametrize("loss", RANKINGS)
def test_it_ranks_new_queries(loss: str) -> None:
    X, y, qid = table()
    new_X, new_y, new_qid = table(seed=1)
    model = BoostedTreesRanker(loss=loss, n_jobs=1).fit(X, y, qid=qid)
    guess = ndcg_score(new_y, np.zeros(len(new_y)), qid=new_qid)
    best = ndcg_score(new_y, new_X[:, 0] + new_X[:, 1] * (new_X[:, 4] > 0), qid=new_qid)
    assert guess < 0.7 < best - 0.06 < model.score(new_X, new_y, qid=new_qid) < 1
    assert model.early_stopping_
    assert model.n_bags_ == 5


def same(one: BoostedTreesRanker, other: BoostedTreesRanker) -> bool:
    return one.fingerprint() == other.fingerprint()


DRAWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "drawn": {"subsample": 0.5, "max_features": 0.5},
    "held out": {"early_stopping": True, "validation_fraction": 0.2},
    "folds": {"n_bags": 3, "early_stopping": True},
    "symmetric": {"growth": "symmetric", "max_leaf_nodes": 8},
    "of both growths": {"quality": "default", "n_bags": 3, "early_stopping": True},
    "LambdaMART alone": {"pairwise_weight": 0.0},
}


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("loss", RANKINGS)
def test_only_the_content_of_queries_counts(loss: str, draws: str) -> None:
    """Not the order of rows, nor that of queries, nor labels, nor group beside qid, nor threads."""
    X, y, qid = table()
    parameters = {"loss": loss, **DRAWS[draws]}
    model = fitted(**parameters)
    order = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"query {(7 * q) % 60}" for q in qid])
    assert same(model, fitted(X[order], y[order], names[order], **parameters, n_jobs=2))
    by_size = BoostedTreesRanker(**{**FAST, **parameters})
    assert same(model, by_size.fit(X[::-1], y[::-1], group=[15] * 60))


def test_rows_that_are_equal() -> None:
    """Ties of scores are broken by the content of rows; equal rows are exchangeable."""
    X, y, qid = table()
    X, y = np.round(X), np.minimum(y, 1)
    order = np.random.default_rng(3).permutation(len(y))
    for draws in ({}, {"n_bags": 2, "early_stopping": True}):
        assert same(fitted(X, y, qid, **draws), fitted(X[order], y[order], qid[order], **draws))
    twice = np.concatenate([qid, qid + 100]), np.concatenate([X, X]), np.concatenate([y, y])
    model = fitted(twice[1], twice[2], twice[0], n_bags=2, early_stopping=True)
    order = np.random.default_rng(4).permutation(2 * len(y))
    other = fitted(
        *(one[order] for one in (twice[1], twice[2], twice[0])), n_bags=2, early_stopping=True
    )
    assert same(model, other)


def test_whole_queries_are_left_out() -> None:
    """A query's labels do not move the scores by the boosters that leave it out."""
    X, y, qid = table()
    model = BoostedTreesRanker(n_bags=3, n_estimators=5, n_jobs=1).fit(X, y, qid=qid)
    for booster in range(3):
        left_out = model._folds.left_out(booster)
        place = model._folds.place
        of_rows = left_out[place]
        assert 0 < of_rows.sum() < len(y)
        assert all(len(set(of_rows[qid == q])) == 1 for q in range(60))


def test_weights_of_queries_and_of_rows() -> None:
    X, y, qid = table()
    of_query = np.random.default_rng(5).integers(1, 4, 60).astype(float)
    model = BoostedTreesRanker(**FAST).fit(X, y, of_query, qid=qid)
    of_rows = BoostedTreesRanker(**FAST).fit(X, y, 8 * of_query[qid], qid=qid)
    assert same(model, of_rows)
    assert not same(model, fitted())
    # A query of weight 0 is left out, and so is a row.
    without = of_query * (np.arange(60) >= 20)
    kept = qid >= 20
    model = BoostedTreesRanker(**FAST).fit(X, y, without, qid=qid)
    assert same(
        model, BoostedTreesRanker(**FAST).fit(X[kept], y[kept], without[20:], qid=qid[kept])
    )
    some = (np.arange(len(y)) % 4 > 0).astype(float)
    kept = some > 0
    model = BoostedTreesRanker(**FAST).fit(X, y, some, qid=qid)
    assert same(model, fitted(X[kept], y[kept], qid[kept]))


def test_weight_of_a_query_is_that_of_as_many_queries() -> None:
    X, y, qid = table()
    model = BoostedTreesRanker(**FAST, min_samples_leaf=1, loss="ndcg")
    weighted = model.fit(X, y, np.where(np.arange(60) < 30, 2.0, 1.0), qid=qid).predict(X)
    rows = np.concatenate([np.arange(len(y)), np.flatnonzero(qid < 30)])
    copies = np.concatenate([qid, 100 + qid[qid < 30]])
    repeated = model.fit(X[rows], y[rows], qid=copies).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def trees_of(model: BoostedTreesRanker, booster: int) -> list[np.ndarray]:
    forest = model._boosters_of(model.forest_)[booster]
    return [forest.feature, forest.threshold, forest.value]


def test_every_other_booster_is_of_symmetric_trees() -> None:
    fixed = {"n_bags": 4, "max_features": 0.5}
    model = fitted(**fixed)
    # Of symmetric trees columns are drawn by level, whatever was set for the others.
    symmetric = fitted(**fixed, growth="symmetric", feature_sampling="level")
    best_first = fitted(**fixed, growth="best_first")
    for booster in range(4):
        own = trees_of(model, booster)
        for one, other in zip(
            own, trees_of((symmetric, best_first)[booster % 2], booster), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(trees_of(model, 0)[0], trees_of(best_first, 0)[0])


def test_one_booster_is_of_best_first_trees() -> None:
    assert same(fitted(), fitted(growth="best_first"))


@pytest.mark.parametrize(
    "settings", [{"exact": True}, {"max_bins": 300}, {"prune": "after", "min_gain": 1e-6}]
)
def test_settings_that_symmetric_trees_do_not_support(settings: dict[str, Any]) -> None:
    own = {**settings, "n_bags": 2}
    assert same(fitted(**own), fitted(**own, growth="best_first"))


def test_boosters_on_folds_by_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, qid = table()
    n_bags = {}
    for most in (len(y), len(y) - 1):
        monkeypatch.setattr(auto_settings, "RANKED_FOLD_ROWS", most)
        for quality in ("fast", "default"):
            model = BoostedTreesRanker(n_jobs=1, quality=quality, time_limit=0.1)
            n_bags[most, quality] = model.fit(X, y, qid=qid).n_bags_
    assert n_bags == {
        (900, "fast"): None,
        (900, "default"): 5,
        (899, "fast"): None,
        (899, "default"): None,
    }


def test_validation_sets() -> None:
    X, y, qid = table()
    new_X, new_y, new_qid = table(seed=1)
    model = BoostedTreesRanker(n_jobs=1, n_bags=None, metrics=["ndcg@5", "map", "mrr@3"])
    model.fit(X, y, X_val=new_X, y_val=new_y, qid=qid, qid_val=new_qid)
    assert model.stopped_by_ == "early_stopping"
    curves, n = model.history_, model.n_estimators_
    scores = model.predict(new_X)
    assert curves["validation loss"][n] == pytest.approx(
        1 - ndcg_score(new_y, scores, qid=new_qid, k=100)
    )
    assert curves["validation ndcg@5"][n] == ndcg_score(new_y, scores, qid=new_qid, k=5)
    assert curves["validation map"][n] == map_score(new_y, scores, qid=new_qid)
    assert curves["validation mrr@3"][n] == mrr_score(new_y, scores, qid=new_qid, k=3)
    assert curves["validation loss"].argmin() <= n
    # The rows of the validation set in any order, and several sets of them.
    order = np.random.default_rng(6).permutation(len(new_y))
    shuffled = clone(model).fit(
        X, y, X_val=new_X[order], y_val=new_y[order], qid=qid, qid_val=new_qid[order]
    )
    assert same(model, shuffled)
    sets = {"new": new_X[order], "half": new_X[:300]}
    several = clone(model).fit(
        X,
        y,
        qid=qid,
        X_val=sets,
        y_val={"new": new_y[order], "half": new_y[:300]},
        qid_val={"new": new_qid[order], "half": new_qid[:300]},
    )
    assert same(model, several)
    assert "half mrr@3" in several.history_


def test_scoring_decides_when_to_stop() -> None:
    model = fitted(
        quality="default", n_estimators=60, n_bags=None, early_stopping=True, scoring="map@5"
    )
    assert model.validation_score_.argmax() == model.n_estimators_


def test_weights_of_the_validation_set() -> None:
    X, y, qid = table()
    weight = np.random.default_rng(7).random(60)
    model = BoostedTreesRanker(**FAST, loss="map", metrics=["ndcg@5"])
    model.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid, sample_weight_val=weight)
    expected = ndcg_score(y, model.predict(X), qid=qid, k=5, sample_weight=weight)
    assert model.history_["validation ndcg@5"][-1] == pytest.approx(expected, rel=1e-12)
    assert model.history_["validation loss"][-1] == pytest.approx(
        1 - map_score(y, model.predict(X), qid=qid, sample_weight=weight[qid]), rel=1e-12
    )


def test_offsets_are_scores_to_start_from() -> None:
    X, y, qid = table()
    first = fitted(X[:, :2], y, qid)
    start = first.predict(X[:, :2])
    model = BoostedTreesRanker(**FAST).fit(X, y, qid=qid, offset=start)
    both = model.score(X, y, qid=qid, offset=start)
    assert both > first.score(X[:, :2], y, qid=qid)
    np.testing.assert_array_equal(model.predict(X, offset=start), model.predict(X) + start)
    # A constant does not change a ranking.
    smooth = BoostedTreesRanker(**FAST, loss="pairwise")
    expected = smooth.fit(X, y, qid=qid).predict(X)
    moved = smooth.fit(X, y, qid=qid, offset=np.full(len(y), 2.0)).predict(X)
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-12)


def test_copies_and_files(tmp_path: Any) -> None:
    X, y, qid = table()
    model = BoostedTreesRanker(n_jobs=1, label_gain=[0, 1, 2, 3, 4]).fit(X, y, qid=qid)
    model.save(tmp_path / "ranker.weald")
    copies = [pickle.loads(pickle.dumps(model)), weald.load(tmp_path / "ranker.weald")]
    copies.append(clone(model).fit(X, y, qid=qid))
    for copy in copies:
        assert same(model, copy)
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.score(X, y, qid=qid, k=3) == model.score(X, y, qid=qid, k=3)
    again = BoostedTreesRanker(
        **model.get_params(),
    ).set_params(**model.auto_settings_)
    assert same(model, again.fit(X, y, qid=qid))


def test_rounds() -> None:
    X, y, qid = table()
    model = fitted()
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_array_equal(stages[3], model.truncate(4).predict(X))
    np.testing.assert_array_equal(stages[3], model.predict(X, n_rounds=4))
    longer = BoostedTreesRanker(**{**FAST, "n_estimators": 4}, warm_start=True).fit(X, y, qid=qid)
    assert same(model, longer.set_params(n_estimators=10).fit(X, y, qid=qid))


def test_checkpoint(tmp_path: Any) -> None:
    X, y, qid = table()
    path = tmp_path / "rounds.npz"
    BoostedTreesRanker(**{**FAST, "n_estimators": 10}, checkpoint=path).fit(X, y, qid=qid)
    assert same(fitted(), fitted(checkpoint=path))


def test_explanations_and_predictors() -> None:
    X, y, qid = table()
    model = fitted()
    values = shap(model, X[:7])
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, model.predict(X[:7]))
    assert model.feature_importances_.argmax() == 0
    np.testing.assert_array_equal(model.predictor().predict(X), model.predict(X))
    mean, std = BoostedTreesRanker(n_jobs=1).fit(X, y, qid=qid).predict(X, return_std=True)
    assert mean.shape == std.shape == (len(y),)
    assert (std > 0).any()


def test_containers() -> None:
    X, y, qid = table()
    plain = fitted()
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = fitted(frame, pd.Series(y, index=range(7, 907)), pd.Series(qid))
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    assert same(plain, fitted(sparse.csr_matrix(X), y.tolist(), qid.tolist()))
    frame["level"] = pd.Categorical(np.array(list("xyz"))[np.arange(len(y)) % 3])
    assert fitted(frame, y, qid).predict(frame).shape == y.shape
    mixed = [("a", int(q)) if q % 2 else float(q) for q in qid]
    labels = np.empty(len(mixed), dtype=object)
    labels[:] = mixed
    assert same(plain, fitted(X, y, labels))


def test_the_tools_of_scikit_learn_pass_on_queries() -> None:
    X, y, qid = table()
    order = np.random.default_rng(8).permutation(len(y))
    X, y, qid = X[order], y[order], qid[order]
    params, model = {"qid": qid, "groups": qid}, BoostedTreesRanker(**FAST)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(model, X, y, params=params, cv=GroupKFold(3))
        scorer = make_scorer(ndcg_score).set_score_request(qid=True)
        same_scores = cross_val_score(model, X, y, params=params, cv=GroupKFold(3), scoring=scorer)
        search = GridSearchCV(model, {"truncation_level": [5, 50]}, cv=GroupKFold(3))
        search.fit(X, y, **params)
    np.testing.assert_array_equal(scores, same_scores)
    assert (scores > 0.8).all()
    assert search.best_estimator_.score(X, y, qid=qid) > 0.8
    train, test = next(GroupKFold(3).split(X, y, qid))
    alone = clone(model).fit(X[train], y[train], qid=qid[train])
    assert alone.score(X[test], y[test], qid=qid[test]) == scores[0]


def test_loss_pairwise_takes_any_numbers() -> None:
    X, y, qid = table()
    model = fitted(X, -0.5 * y, qid, loss="pairwise")
    other = fitted(X, -y, qid, loss="pairwise")
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="labels are grades of relevance"):
        model.score(X, -0.5 * y, qid=qid)


def test_no_ledger_of_single_rows() -> None:
    X, y, qid = table()
    model = BoostedTreesRanker(n_bags=2, n_estimators=3).fit(X, y, qid=qid)
    with pytest.raises(AttributeError, match="no out-of-bag ledger"):
        _ = model.oob_
    assert not hasattr(model, "oob_permutation_importance")


# ---- bad input ----


def fit(**arguments: Any) -> BoostedTreesRanker:
    X, y, qid = table()
    parameters = arguments.pop("parameters", {})
    given = {"X": X, "y": y, **arguments}
    if "group" not in given and "qid" not in given:
        given["qid"] = qid
    return BoostedTreesRanker(**FAST, **parameters).fit(**given)


def labels(**changes: float) -> np.ndarray:
    y = table()[1].copy()
    for row, value in changes.items():
        y[int(row[1:])] = value
    return y


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no queries": ({"qid": None}, "needs group, the number of rows .* got neither"),
    "both": ({"group": [15] * 60, "qid": table()[2]}, "got both"),
    "too few": ({"group": [15] * 59}, "group adds up to 885 rows in 59 queries, but y has 900"),
    "labels as sizes": ({"group": table()[2] + 1}, "labels of queries are passed as qid"),
    "labels from 0 on": ({"group": table()[2]}, "at position 0; .* are passed as qid"),
    "no rows": ({"group": [15] * 59 + [15, 0]}, "group holds 0 at position 60"),
    "negative": ({"group": [-15, 30] + [15] * 59}, "group holds -15 at position 0"),
    "half a row": ({"group": [7.5, 7.5] + [15] * 59}, "group holds 7.5 at position 0"),
    "missing size": ({"group": [np.nan] + [15] * 59}, "group holds nan at position 0"),
    "text": ({"group": ["15"] * 60}, "must be an array of the numbers of rows"),
    "no sizes": ({"group": []}, "must be an array of the numbers of rows"),
    "short labels": ({"qid": table()[2][:-1]}, "one label for each of the 900 rows of y"),
    "missing label": ({"qid": [None, *table()[2][1:]]}, "row 0 has none"),
    "NaN label": ({"qid": np.where(table()[2] == 1, np.nan, table()[2])}, "row 15 has none"),
    "single rows": ({"group": [1] * 900}, "No query has rows of different labels"),
    "equal labels": ({"y": np.ones(900)}, "No query has rows of different labels"),
    "negative grade": ({"y": labels(_3=-1)}, "y holds -1 in row 3; labels are grades"),
    "half a grade": ({"y": labels(_4=1.5)}, "y holds 1.5 in row 4; labels are whole grades"),
    "large grade": ({"y": labels(_5=31)}, "y holds the label 31 in row 5, but the gain"),
    "no gain": ({"parameters": {"label_gain": [0, 1]}}, "label_gain has 2 entries, for the labels"),
    "NaN": ({"y": labels(_6=np.nan)}, "Input y contains NaN"),
    "short y": ({"y": table()[1][:-1], "qid": table()[2][:-1]}, "inconsistent numbers of samples"),
    "short weights": (
        {"sample_weight": np.ones(899)},
        r"per row, \(900,\), or one per query, \(60,\)",
    ),
    "negative weight of a query": ({"sample_weight": -np.ones(60)}, "Negative values"),
    "queries of no set": ({"qid_val": [1]}, "qid_val is given without X_val and y_val"),
    "set without queries": ({"X_val": table()[0], "y_val": table()[1]}, "needs group_val"),
    "short set": (
        {"X_val": table()[0], "y_val": table()[1], "group_val": [899]},
        "group_val adds up to 899 rows in 1 queries, but y_val has 900 rows",
    ),
    "bad labels of a set": (
        {"X_val": table()[0], "y_val": -table()[1], "qid_val": table()[2]},
        "y_val holds -1 in row",
    ),
    "equal labels of a set": (
        {
            "X_val": table()[0],
            "y_val": np.ones(900),
            "qid_val": table()[2],
            "parameters": {"early_stopping": True},
        },
        "no query has rows of different labels",
    ),
    "gains": ({"parameters": {"label_gain": [1, 0]}}, "that do not decrease"),
    "loss": ({"parameters": {"loss": "lambdarank"}}, "'ndcg', 'map', 'pairwise', 'xendcg'"),
    "scoring": ({"parameters": {"scoring": "r2"}}, "'ndcg@10'"),
    "metrics": ({"parameters": {"metrics": "ndcg"}}, "a list of 'loss'"),
    "weight": ({"parameters": {"pairwise_weight": -1.0}}, "The .pairwise_weight. parameter of"),
    "place": ({"parameters": {"scoring": "ndcg@0"}}, "'ndcg@10'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    arguments, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        fit(**arguments)


BAD_SCORES: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({"qid": None}, "got neither"),
    "lengths": ({"y_score": np.arange(3.0)}, "y_true has 4 rows and y_score has 3"),
    "NaN": ({"y_score": [1.0, 2, 3, np.nan]}, "y_score: Input y contains NaN"),
    "k": ({"k": 0}, "k must be an int of at least 1"),
    "labels": ({"y_true": [0, 1, -1, 0]}, "y_true holds -1 in row 2"),
    "shape": ({"y_true": [[0, 1], [1, 0]]}, "one number per row"),
}


@pytest.mark.parametrize("case", BAD_SCORES)
@pytest.mark.parametrize("score", [ndcg_score, map_score, mrr_score])
def test_bad_input_of_measures(score: Callable[..., float], case: str) -> None:
    changes, message = BAD_SCORES[case]
    good = {"y_true": [0, 1, 1, 0], "y_score": [1.0, 2, 3, 4], "qid": [1, 1, 2, 2]}
    with pytest.raises(ValueError, match=message):
        score(**{**good, **changes})
    with pytest.warns(UserWarning, match="No query has a relevant row"):
        assert score(np.zeros(4), good["y_score"], qid=good["qid"]) == 0.0


def test_measures_of_queries_anywhere() -> None:
    """Labels in any order, weights per query or row, queries without a relevant row left out."""
    y, scores, qid = [1, 0, 0, 2, 0, 0], [3.0, 1, 2, 4, 9, 5], ["b", "a", "b", "a", "a", "c"]
    b, a = 1.0, (3 / np.log2(3)) / 3
    assert ndcg_score(y, scores, qid=qid) == pytest.approx((a + b) / 2)
    assert ndcg_score(y, scores, qid=qid, sample_weight=[1, 3, 9]) == pytest.approx((b + 3 * a) / 4)
    of_rows = [1, 3, 1, 3, 3, 9]
    assert mrr_score(y, scores, qid=qid, sample_weight=of_rows) == pytest.approx((1 + 1.5) / 4)
    assert map_score(y, scores, qid=qid, k=1) == pytest.approx(0.5)
    assert ndcg_score(y, scores, qid=qid, label_gain=[0, 1, 1]) == pytest.approx((b + a) / 2)

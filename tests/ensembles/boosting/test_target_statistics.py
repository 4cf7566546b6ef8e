"""Target statistics of categories: their definition, that nothing leaks, every use of a model."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

import weald
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.level_statistics import SMOOTHING
from weald.errors import WealdWarning

pd = pytest.importorskip("pandas")

QUICK: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
FEW_ROUNDS: dict[str, Any] = {**QUICK, "n_estimators": 6, "n_bags": 5, "min_samples_leaf": 5}


def sample(n_levels: int = 120, n_each: int = 8, seed: int = 0, noise: float = 1.0) -> Any:
    """Rows of a city with an effect, a number with an effect, and a target."""
    rng = np.random.default_rng(seed)
    level = rng.permutation(np.repeat(np.arange(n_levels), n_each))
    x = rng.integers(0, 20, len(level)) / 4.0
    effect = np.random.default_rng(99).normal(size=n_levels) * 2
    y = effect[level] + x + noise * rng.normal(size=len(level))
    return pd.DataFrame({"city": [f"c{i:03d}" for i in level], "x": x}), np.round(y, 3)


X, Y = sample()
NEW, NEW_Y = sample(seed=1)
TWO = (np.median(Y) < Y).astype(int)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))

TASKS = [
    pytest.param(BoostedTreesRegressor, Y, {}, id="squared_error"),
    pytest.param(BoostedTreesRegressor, np.round(np.exp(Y / 4)), {"loss": "poisson"}, id="counts"),
    pytest.param(BoostedTreesRegressor, Y, {"loss": "absolute_error"}, id="absolute_error"),
    pytest.param(BoostedTreesClassifier, TWO, {}, id="two classes"),
    pytest.param(BoostedTreesClassifier, THREE, {}, id="vector leaves"),
    pytest.param(BoostedTreesClassifier, THREE, {"multi_class": "tree_per_class"}, id="trees"),
]
every_task = pytest.mark.parametrize(("estimator", "y", "given"), TASKS)


def answers(model: Any, table: Any) -> np.ndarray:
    return model.predict_proba(table) if hasattr(model, "classes_") else model.predict(table)


def smoothed(city: Any, y: np.ndarray, weight: np.ndarray, used: np.ndarray, all_used: Any) -> Any:
    """Mean of y by city over the rows `used`, smoothed towards the mean over `all_used`."""
    own = SMOOTHING * weight[all_used].sum() / all_used.sum()
    prior = (weight * y)[all_used].sum() / weight[all_used].sum()

    def of(level: Any) -> float:
        of_level = used & ((city == level) | (pd.isna(city) & pd.isna(level)))
        return ((weight * y)[of_level].sum() + own * prior) / (weight[of_level].sum() + own)

    return of


def encodings(estimator: Any, table: Any, y: np.ndarray, given: dict[str, Any], **metadata: Any):
    """A fitted model, and the tables and targets on which its boosters are trained."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        made = BoostedTreesRegressor._boosters

        def boosters(self: Any, training: Any, trainings: Any, *rest: Any) -> Any:
            seen.extend(trainings)
            return made(self, training, trainings, *rest)

        patch.setattr("weald.ensembles.boosted_trees.boosted_base.BoostedTrees._boosters", boosters)
        model = estimator(**given).fit(table, y, **metadata)
    tables = [np.column_stack(one.rows.table.columns) for one in seen]
    return model, tables, [one.rows.target for one in seen]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_rows_are_encoded_by_the_definition(estimator: Any, weighted: bool) -> None:
    """Rows a booster trains on by its other folds; rows it leaves out, and new ones, by all."""
    table = X.copy()
    table.loc[:20, "city"] = None
    weight = np.random.default_rng(3).integers(1, 4, len(Y)) / 2 if weighted else np.ones(len(Y))
    y = Y if estimator is BoostedTreesRegressor else TWO
    model, tables, _ = encodings(estimator, table, y, FEW_ROUNDS, sample_weight=weight)
    city, folds = table["city"].to_numpy(), model._folds
    fold = folds.fold[0][folds.place]
    new = model._plan.read(weald.data.read_columns(NEW))
    tables = [table[folds.place] for table in tables]
    for k in range(5):
        outside = fold != k
        of_all = smoothed(city, y, weight, outside, outside)
        for j in range(5):
            own = smoothed(city, y, weight, outside & (fold != j), outside) if j != k else of_all
            rows = np.flatnonzero(fold == j)[:15]
            assert tables[k][rows, 1] == pytest.approx([own(city[row]) for row in rows])
        expected = [of_all(level) for level in NEW["city"][:40]]
        assert new[1 + k][:40] == pytest.approx(expected)


def test_one_booster_encodes_training_rows_by_other_folds_and_the_rest_by_all() -> None:
    """Of one booster with a validation set."""
    y = Y + np.arange(len(Y)) * 1e-6  # all differ
    given = {**QUICK, "n_estimators": 5}
    model, (table,), (target,) = encodings(
        BoostedTreesRegressor, X, y, given, X_val=NEW, y_val=NEW_Y
    )
    city, everyone = X["city"].to_numpy(), np.ones(len(y), dtype=bool)
    of_all = smoothed(city, y, np.ones(len(y)), everyone, everyone)
    new = model._plan.read(weald.data.read_columns(NEW))
    expected = [of_all(level) for level in NEW["city"]]
    assert new[1] == pytest.approx(expected)
    assert table[len(y) :, 1] == pytest.approx(expected)
    # Rows of one city have at most five encodings; none of them uses all of its rows.
    city_of_target = dict(zip(y.tolist(), city.tolist(), strict=True))
    trained = np.array([city_of_target[one] for one in target[: len(y)].tolist()])
    for level in np.unique(city)[:20]:
        found = np.unique(table[: len(y)][trained == level, 1])
        assert 2 <= len(found) <= 5
        assert abs(found - of_all(level)).min() > 1e-9


@pytest.mark.parametrize("n_bags", [5, None])
def test_folds_do_not_tell_targets(n_bags: Any) -> None:
    """Rows that are equal but for the target: the other folds must not lack just that target."""
    rng = np.random.default_rng(0)
    share = rng.beta(1, 1, 300)

    def draw() -> Any:
        level = rng.integers(0, 300, 3000)
        return pd.DataFrame({"city": [f"c{i}" for i in level]}), rng.random(3000) < share[level]

    (table, y), (new, new_y) = draw(), draw()
    model = BoostedTreesClassifier(n_bags=n_bags, n_estimators=30, **QUICK).fit(table, y)
    assert model.score(new, new_y) > 0.68


def test_groups_are_never_in_their_own_statistic() -> None:
    """The city of a group occurs in no other group: nothing is known of it."""
    groups = X["city"].to_numpy()
    _, tables, _ = encodings(BoostedTreesRegressor, X, Y, FEW_ROUNDS, groups=groups)
    assert all(len(np.unique(table[:, 1])) == 1 for table in tables)
    given = {**QUICK, "early_stopping": True, "n_bags": None, "n_estimators": 5}
    _, (table,), _ = encodings(BoostedTreesRegressor, X, Y, given, groups=groups)
    assert len(np.unique(table[:, 1])) == 1


# ---- accuracy ----


def test_levels_of_few_rows_are_used() -> None:
    """500 levels of 8 rows: as good as smoothed means of the levels, computed without folds."""
    table, y = sample(500, 8)
    new, new_y = sample(500, 8, seed=1)
    model = BoostedTreesRegressor(**QUICK).fit(table, y)
    with pytest.warns(WealdWarning, match="500 categories, of which 500 are treated as missing"):
        without = BoostedTreesRegressor(target_statistics=False, **QUICK).fit(table, y)
    encoder = TargetEncoder(target_type="continuous", smooth=SMOOTHING)
    columns = ColumnTransformer([("city", encoder, ["city"])], remainder="passthrough")
    peer = make_pipeline(columns, BoostedTreesRegressor(**QUICK))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer.fit(table, y)
    ours, theirs = model.score(new, new_y), peer.score(new, new_y)
    assert ours > theirs - 0.02
    assert ours > without.score(new, new_y) + 0.3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("estimator", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_noise_is_not_learned(estimator: Any, seed: int) -> None:
    """500 levels of 8 rows that say nothing: the model is no better on held-out rows than a
    constant, says so, and is hardly worse on new rows."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"city": [f"c{i}" for i in rng.permutation(np.arange(4000) % 500)]})
    new = pd.DataFrame({"city": [f"c{i}" for i in rng.integers(0, 500, 4000)]})
    y, new_y = rng.normal(size=(2, 4000))
    if estimator is BoostedTreesClassifier:
        y, new_y = y > 0, new_y > 0
    model = estimator(**QUICK).fit(table, y)
    assert model.n_estimators_ <= 15
    losses = model.validation_loss_
    assert losses[model.n_estimators_] > losses[0] * 0.995
    if estimator is BoostedTreesRegressor:
        assert model.score(new, new_y) > -0.005
    else:
        share = model.predict_proba(new)[np.arange(4000), new_y.astype(int)]
        assert -np.log(share).mean() < np.log(2) + 0.003


def test_out_of_bag_error_is_that_of_new_rows() -> None:
    table, y = sample(500, 8)
    new, new_y = sample(500, 8, seed=1)
    model = BoostedTreesRegressor(**QUICK).fit(table, y)
    oob = np.square(model.oob_.predictions - y)
    fresh = np.square(model.predict(new) - new_y)
    spread = np.sqrt(oob.var() / len(oob) + fresh.var() / len(fresh))
    # A booster that leaves a row out knows four fifths of its city's rows.
    assert -3 * spread < oob.mean() - fresh.mean() < 3 * spread + 0.08 * fresh.mean()
    # Predictions of the training rows know their targets: they are better than those of new rows.
    assert np.square(model.predict(table) - y).mean() < fresh.mean() - 3 * spread


# ---- invariances ----


@every_task
def test_order_threads_and_containers(estimator: Any, y: Any, given: Any) -> None:
    kept = {**FEW_ROUNDS, **given}
    expected = estimator(**kept).fit(X, y).fingerprint()
    order = np.random.default_rng(0).permutation(len(y))
    assert estimator(**kept).fit(X.iloc[order], y[order]).fingerprint() == expected
    assert estimator(**{**kept, "n_jobs": 2}).fit(X, y).fingerprint() == expected
    as_category = X.astype({"city": "category"})
    assert estimator(**kept).fit(as_category, y).fingerprint() == expected
    for library in ("polars", "pyarrow"):
        module = pytest.importorskip(library)
        columns = {name: X[name].tolist() for name in X}
        frame = module.DataFrame(columns) if library == "polars" else module.table(columns)
        assert estimator(**kept).fit(frame, y).fingerprint() == expected


@pytest.mark.parametrize("n_bags", [5, 2, None])
def test_rows_that_differ_in_a_rare_level_only_may_change_places(n_bags: Any) -> None:
    table = X.assign(x=0.0)
    y = np.round(Y)
    model = BoostedTreesRegressor(**{**FEW_ROUNDS, "n_bags": n_bags})
    expected = model.fit(table, y).fingerprint()
    order = np.random.default_rng(1).permutation(len(y))
    assert model.fit(table.iloc[order], y[order]).fingerprint() == expected


@pytest.mark.parametrize("n_bags", [5, None])
def test_only_ratios_of_weights_matter(n_bags: Any) -> None:
    weight = np.random.default_rng(0).integers(1, 9, len(Y)).astype(float)
    model = BoostedTreesRegressor(**{**FEW_ROUNDS, "n_bags": n_bags}, min_child_weight=0.0)
    expected = model.fit(X, Y, weight).predict(NEW)
    for scale in (2.0**-40, 2.0**30, 2.0**900):
        assert model.fit(X, Y, weight * scale).predict(NEW) == pytest.approx(expected, rel=1e-9)
    equal = model.fit(X, Y).fingerprint()
    assert model.fit(X, Y, np.full(len(Y), 0.1)).fingerprint() == equal


def test_rows_without_weight_do_not_matter() -> None:
    weight = np.ones(len(Y) + 50)
    weight[-50:] = 0.0
    extra = pd.DataFrame({"city": [f"new{i}" for i in range(50)], "x": 1.0})
    table, y = pd.concat([X, extra], ignore_index=True), np.append(Y, np.full(50, 1e6))
    model = BoostedTreesRegressor(**FEW_ROUNDS)
    expected = model.fit(X, Y).fingerprint()
    assert model.fit(table, y, weight).fingerprint() == expected


def test_fits_of_numbers_and_of_few_levels_have_none() -> None:
    numbers = X[["x"]]
    few = X.assign(city="town " + X["city"].str[-1:])
    for table in (numbers, few):
        models = [
            BoostedTreesRegressor(target_statistics=wanted, **FEW_ROUNDS).fit(table, Y)
            for wanted in (True, False)
        ]
        assert models[0].fingerprint() == models[1].fingerprint()


# ---- predictions ----


@every_task
def test_unseen_and_missing_levels(estimator: Any, y: Any, given: Any) -> None:
    """An unseen level has the overall mean; missing values have a mean of their own."""
    table = X.copy()
    table.loc[y >= np.quantile(y, 0.85), "city"] = None
    model = estimator(**{**FEW_ROUNDS, **given}).fit(table, y)
    of = [answers(model, X[:1].assign(city=one)) for one in ("Atlantis", "Lemuria", None)]
    assert np.array_equal(of[0], of[1])
    assert not np.array_equal(of[0], of[2])


def test_a_fast_predictor_reads_rows() -> None:
    model = BoostedTreesRegressor(**QUICK).fit(X, Y)
    alone, expected = model.predictor(), model.predict(NEW[:30])
    rows = NEW[:30].to_dict("records")
    assert [float(alone.predict(row)) for row in rows] == expected.tolist()
    assert [float(alone.predict(list(row.values()))) for row in rows] == expected.tolist()
    assert np.array_equal(alone.predict(NEW[:30]), expected)
    for city in ("Atlantis", None):
        row = {"city": city, "x": 1.0}
        assert (
            float(alone.predict(row))
            == model.predict(pd.DataFrame([row]).astype({"city": "str"} if city else object))[0]
        )


@every_task
def test_files_and_pickles(estimator: Any, y: Any, given: Any, tmp_path: Any) -> None:
    model = estimator(**{**FEW_ROUNDS, **given}).fit(X, y)
    model.save(tmp_path / "model.weald")
    for other in (weald.load(tmp_path / "model.weald"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        assert np.array_equal(answers(other, NEW), answers(model, NEW))


def test_a_model_of_other_statistics_has_another_fingerprint() -> None:
    model = BoostedTreesRegressor(**FEW_ROUNDS).fit(X, Y)
    arrays = model._fingerprint_arrays()
    assert arrays["column_means_0"].shape == (5, 1, 122)
    assert len(arrays["column_known_0"]) == 120


@every_task
def test_shapley_values_add_up(estimator: Any, y: Any, given: Any) -> None:
    model = estimator(**{**FEW_ROUNDS, **given}).fit(X, y)
    for background in (None, X[:20]):
        explained = weald.explain.shap(model, NEW[:10], background=background)
        scores = model._scores(NEW[:10]).reshape(10, -1)
        values = explained.values.reshape(10, 2, -1)
        assert values.sum(axis=1) + explained.base_values == pytest.approx(scores)
        assert np.abs(values[:, 0]).max() > 0


def test_names_of_columns() -> None:
    model = BoostedTreesRegressor(**FEW_ROUNDS).fit(X, Y)
    names = set(model.trees_to_frame("pandas")["feature"].dropna())
    assert names <= {"city", "x", *(f"city (mean of y, booster {k})" for k in range(1, 6))}
    assert len(names) > 3
    of_first = model.trees_to_frame("pandas").query("tree % 5 == 0")["feature"].dropna()
    assert set(of_first) <= {"city", "x", "city (mean of y, booster 1)"}
    one = BoostedTreesClassifier(**{**FEW_ROUNDS, "n_bags": None}).fit(X, np.array(["a", "b"])[TWO])
    assert "city (share of b)" in set(one.trees_to_frame("pandas")["feature"].dropna())
    assert model.importances("count").shape == (2,)


# ---- continued fits ----


@every_task
def test_a_warm_start_equals_one_fit(estimator: Any, y: Any, given: Any) -> None:
    kept = {**FEW_ROUNDS, **given}
    once = estimator(**kept).fit(X, y)
    twice = estimator(**{**kept, "n_estimators": 3, "warm_start": True}).fit(X, y)
    twice.set_params(n_estimators=6).fit(X, y)
    assert twice.fingerprint() == once.fingerprint()


def test_a_warm_start_on_other_rows_is_refused() -> None:
    model = BoostedTreesRegressor(**{**FEW_ROUNDS, "n_estimators": 3, "warm_start": True})
    model.fit(X, Y)
    with pytest.raises(ValueError, match="target statistics of other rows"):
        model.set_params(n_estimators=6).fit(X, Y + 1.0)


@pytest.mark.parametrize("n_bags", [5, None])
def test_an_interrupted_fit_resumes(n_bags: Any, tmp_path: Any) -> None:
    kept = {**FEW_ROUNDS, "n_bags": n_bags}
    expected = BoostedTreesRegressor(**kept).fit(X, Y).fingerprint()
    kept["checkpoint"] = tmp_path / "fit.npz"
    BoostedTreesRegressor(**{**kept, "n_estimators": 3}).fit(X, Y)
    assert BoostedTreesRegressor(**kept).fit(X, Y).fingerprint() == expected
    with pytest.raises(ValueError, match="other data"):
        BoostedTreesRegressor(**kept).fit(X, Y + 1.0)


# ---- together with other parameters ----


@pytest.mark.parametrize("growth", ["best_first", "depth_wise", "symmetric"])
def test_monotonic_constraints_by_name(growth: str) -> None:
    table = X.assign(z=np.random.default_rng(5).normal(size=len(X)))[["city", "z", "x"]]
    model = BoostedTreesRegressor(monotonic_cst={"x": -1}, growth=growth, **FEW_ROUNDS)
    model.fit(table, Y)
    rows = pd.concat([table[:50].assign(x=value) for value in np.arange(0.0, 5.0, 0.5)])
    predicted = model.predict(rows).reshape(-1, 50)
    assert (np.diff(predicted, axis=0) <= 1e-12).all()
    with pytest.raises(ValueError, match="constrains column 'city', which holds categories"):
        BoostedTreesRegressor(monotonic_cst={"city": 1}).fit(table, Y)


def test_interaction_constraints_by_name() -> None:
    """City and x may not meet on a path: effects add up."""
    table = X.assign(z=np.random.default_rng(5).normal(size=len(X)))[["city", "z", "x"]]
    y = Y * (1 + table["x"].to_numpy())
    model = BoostedTreesRegressor(interaction_cst=[["city", "z"], ["x"]], **FEW_ROUNDS)
    model.fit(table, y)
    cells = pd.DataFrame(
        [{"city": city, "z": 0.0, "x": x} for city in ("c001", "c050") for x in (0.5, 4.0)]
    )
    (a, b), (c, d) = model.predict(cells).reshape(2, 2)
    assert b - a == pytest.approx(d - c)


@pytest.mark.parametrize("given", [{"exact": True}, {"max_bins": 1000}, {"max_features": 1}])
def test_every_search(given: dict[str, Any]) -> None:
    model = BoostedTreesRegressor(**{**FEW_ROUNDS, "n_estimators": 40}, **given).fit(X, Y)
    assert model.score(NEW, NEW_Y) > 0.3


def test_a_scorer_and_callbacks_of_rounds() -> None:
    model = BoostedTreesRegressor(scoring="r2", metrics=["neg_mean_absolute_error"], **QUICK)
    model.fit(X, Y)
    assert model.validation_score_[model.n_estimators_] == pytest.approx(
        1 - np.square(model.oob_.predictions - Y).sum() / np.square(Y - Y.mean()).sum(), abs=0.05
    )


def test_the_best_quality_deals_twice() -> None:
    model = BoostedTreesRegressor(quality="best", **QUICK, time_limit=0.5).fit(X, Y)
    assert model.n_bags_ == 10
    assert model._plan.n_columns == 12


# ---- when there are none ----


def test_when_there_are_none() -> None:
    many = np.arange(len(Y)) % 11
    cases = [
        (BoostedTreesRegressor(**FEW_ROUNDS), Y, {}, True),
        (BoostedTreesRegressor(quality="fast", **FEW_ROUNDS), Y, {}, False),
        (BoostedTreesRegressor(quality="fast", target_statistics=True, **QUICK), Y, {}, True),
        (BoostedTreesRegressor(target_statistics=False, **FEW_ROUNDS), Y, {}, False),
        (BoostedTreesRegressor(**FEW_ROUNDS), Y, {"offset": np.ones(len(Y))}, False),
        (BoostedTreesClassifier(**FEW_ROUNDS), TWO, {"offset": np.ones(len(Y))}, False),
        (BoostedTreesClassifier(**FEW_ROUNDS), many, {}, False),
        (BoostedTreesClassifier(target_statistics=True, **FEW_ROUNDS), many, {}, True),
    ]
    for model, y, metadata, expected in cases:
        model.fit(X, y, **metadata)
        assert model.target_statistics_ is expected
        assert model.auto_settings_["target_statistics"] is expected
        assert model._plan.has_statistics is expected
        assert not expected or model.feature_importances_[0] > 0
    with pytest.raises(ValueError, match="target_statistics=True cannot be combined with offset"):
        BoostedTreesRegressor(target_statistics=True).fit(X, Y, offset=np.ones(len(Y)))


def test_without_statistics_a_fit_is_what_it_would_be() -> None:
    """Also if that is known only after the table was read: of 300 levels, those of 10 rows stay."""
    table, y = sample(300, 12)
    table["city"] = np.where(np.arange(len(y)) < 400, "rare" + table["city"], table["city"])
    zeros = np.zeros(len(y))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        models = [
            BoostedTreesRegressor(**FEW_ROUNDS, **given).fit(table, y, offset=zeros)
            for given in ({}, {"target_statistics": False})
        ]
    assert models[0].fingerprint() == models[1].fingerprint()
    assert len({str(one.message) for one in found}) == 1


def test_a_single_class() -> None:
    model = BoostedTreesClassifier(**QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, np.ones(len(Y)))
    assert model.predict(NEW[:3]).tolist() == [1.0, 1.0, 1.0]


def test_exported_forms_refuse_statistics() -> None:
    model = BoostedTreesRegressor(**FEW_ROUNDS).fit(X, Y)
    with pytest.raises(ValueError, match="it splits target statistics of 'city'"):
        weald.export.to_c(model)


@pytest.mark.parametrize(
    "estimator",
    [
        "RandomForestRegressor",
        "DecisionTreeRegressor",
        "GradientBoostingRegressor",
        "BoostedTreesRegressor",
    ],
)
def test_dropped_levels_are_reported(estimator: str) -> None:
    table, y = sample(500, 8)
    given = {} if estimator.startswith("Decision") else {"target_statistics": False}
    with pytest.warns(WealdWarning, match=r"Column 'city' has 500 categories.*100% of the rows"):
        getattr(weald, estimator)(**given).fit(table, y)
    mostly = pd.concat([table[:100], table[:1].sample(4000, replace=True, random_state=0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(weald, estimator)(**given).fit(mostly, np.arange(4100) % 7)

"""Shapley values through the public function: every estimator, container and bad input."""

import signal
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import weald
from contract.subjects import (
    EVERY_ESTIMATOR,
    EVERY_VARIANT,
    quick,
    table,
    task,
    variant_id,
    variants_of,
)
from weald.errors import WealdWarning
from weald.explain import shap

# Predictions of these are no sums of trees, whatever their parameters.
SAMPLED = (
    weald.AdaBoostRegressor,
    weald.RotationForestClassifier,
    weald.RotationForestRegressor,
)


def on_scale(model: Any, X: Any, scale: str) -> np.ndarray:
    """Predictions of the model on the scale of an explanation."""
    if scale == "prediction":
        return np.asarray(model.predict(X))
    if scale == "probability":
        predicted = model.predict_proba(X)
        return np.hstack(predicted) if isinstance(predicted, list) else predicted
    if is_classifier(model):
        return np.asarray(model.decision_function(X))
    if "log of the prediction" in scale:
        return np.log(model.predict(X))
    assert "quantiles" in scale
    return model._scores(X)


def assert_adds_up(model: Any, X: Any, explained: Any) -> None:
    """Values plus base values are the predictions."""
    expected = on_scale(model, X, explained.scale)
    assert explained.predictions == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert explained.values.shape[:2] == (len(expected), 4)


@pytest.mark.parametrize(("estimator", "variant"), EVERY_VARIANT, ids=variant_id)
def test_values_of_every_estimator_add_up(estimator: type, variant: str) -> None:
    X, y = task(estimator, missing=0.1, variant=variant)
    if variant in ("medians", "rising") and not hasattr(estimator, "_random_cuts"):
        X = np.nan_to_num(X)
    model = quick(estimator, **variants_of(estimator)[variant])
    model.fit(X, y)
    explained = shap(model, X[:40], **({"n_samples": 4} if estimator in SAMPLED else {}))
    assert_adds_up(model, X[:40], explained)
    mixed = ("Voting", "Stacking", "AutoEnsemble")  # not always sums of trees
    is_mixed = estimator.__name__.startswith(mixed)
    if estimator in SAMPLED:
        assert not explained.is_exact
    elif not is_mixed and "Blending" not in estimator.__name__:
        assert explained.is_exact
        assert explained.standard_error is None
        background = shap(model, X[:5], background=X[50:70])
        assert_adds_up(model, X[:5], background)
        mean = on_scale(model, X[50:70], explained.scale).mean(axis=0)
        assert background.base_values == pytest.approx(mean, rel=1e-9, abs=1e-9)


FORESTS = {
    True: [
        ("forest", weald.RandomForestClassifier(4, random_state=0)),
        ("tree", weald.DecisionTreeClassifier(max_depth=4)),
    ],
    False: [
        ("forest", weald.RandomForestRegressor(4, random_state=0)),
        ("boosted", weald.BoostedTreesRegressor(n_estimators=5, n_bags=None)),
    ],
}

LINEAR_COMBINATIONS = {
    "soft voting": weald.VotingClassifier(FORESTS[True], voting="soft", weights=[1, 3]),
    "mean": weald.VotingRegressor(FORESTS[False], weights=[2, 1]),
    "linear stack": weald.StackingRegressor(FORESTS[False], final_estimator=LinearRegression()),
    "default stack": weald.StackingRegressor(FORESTS[False]),
    "logistic stack": weald.StackingClassifier(FORESTS[True]),
    "greedy stack": weald.StackingClassifier(FORESTS[True], final_estimator="greedy"),
    "fold models": weald.StackingRegressor(FORESTS[False], refit=False),
    "scores of boosters": weald.StackingClassifier(
        [("boosted", weald.BoostedTreesClassifier(n_estimators=5, n_bags=None))],
        stack_method="decision_function",
    ),
    "blending": weald.BlendingRegressor(FORESTS[False], final_estimator="nonnegative"),
    "bagged boosters": weald.BaggingRegressor(
        weald.BoostedTreesRegressor(n_estimators=3, n_bags=None), 3, random_state=0
    ),
    "bagged on drawn columns": weald.BaggingClassifier(
        weald.DecisionTreeClassifier(max_depth=3),
        5,
        max_features=3,
        bootstrap_features=True,
        random_state=0,
    ),
    "voting of bags": weald.VotingRegressor([("bag", weald.BaggingRegressor(random_state=0))]),
    "boosting of own trees": weald.GradientBoostingRegressor(
        estimator=weald.DecisionTreeRegressor(max_depth=2), n_estimators=5
    ),
    "AdaBoost of own trees": weald.AdaBoostClassifier(
        weald.DecisionTreeClassifier(max_depth=2), n_estimators=4
    ),
}


@pytest.mark.parametrize("name", LINEAR_COMBINATIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_combinations_are_exact(name: str, n_classes: int) -> None:
    model = LINEAR_COMBINATIONS[name]
    X, y = task(type(model))
    if is_classifier(model):
        y = np.array(["a", "b", "c"])[y * n_classes // 3]
    model.fit(X, y)
    explained = shap(model, X[:30])
    assert explained.is_exact
    assert_adds_up(model, X[:30], explained)


def test_a_mean_of_models_has_the_mean_of_their_values() -> None:
    model = LINEAR_COMBINATIONS["mean"]
    X, y = task(type(model))
    model.fit(X, y)
    parts = [shap(part, X[:10]).values for part in model.estimators_]
    values = (2 * parts[0] + parts[1]) / 3
    assert shap(model, X[:10]).values == pytest.approx(values, abs=1e-12)


NOT_LINEAR = {
    "labels": (weald.VotingClassifier(FORESTS[True]), "majority votes"),
    "probabilities of boosters": (
        weald.VotingClassifier(
            [("boosted", weald.BoostedTreesClassifier(n_estimators=3))], voting="soft"
        ),
        "links of scores",
    ),
    "another rule": (weald.VotingRegressor(FORESTS[False], rule="median"), "'median'"),
    "foreign": (weald.BaggingRegressor(LinearRegression(), 3), "LinearRegression"),
    "passthrough": (weald.StackingRegressor(FORESTS[False], passthrough=True), "passthrough"),
    "final trees": (
        weald.StackingRegressor(
            FORESTS[False], final_estimator=weald.DecisionTreeRegressor(max_depth=2)
        ),
        "DecisionTreeRegressor",
    ),
    "product": (weald.StackingClassifier(FORESTS[True], final_estimator="nonnegative"), "linear"),
    "init": (weald.GradientBoostingRegressor(init=LinearRegression(), n_estimators=3), "init"),
    "AdaBoost of others": (
        weald.AdaBoostClassifier(GaussianNB(), n_estimators=2),
        "GaussianNB",
    ),
    "no model of weald": (GaussianNB(), "GaussianNB"),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_other_models_are_sampled_and_say_why(name: str) -> None:
    model, reason = NOT_LINEAR[name]
    X, y = task(type(model)) if isinstance(model, tuple(EVERY_ESTIMATOR)) else (table(), None)
    if y is None:
        y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    model.fit(X, y)
    explained = shap(model, X[:12], n_samples=4)
    assert not explained.is_exact
    assert reason in explained.method
    assert explained.standard_error.shape == explained.values.shape
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    if explained.scale == "predicted class (0 or 1)":
        expected = (model.predict(X[:12])[:, np.newaxis] == model.classes_).astype(float)
    else:
        expected = predict(X[:12])
    assert explained.predictions == pytest.approx(expected, abs=1e-9)
    with pytest.raises(ValueError, match="interactions=True requires exact values"):
        shap(model, X[:12], interactions=True)


def test_standard_errors_of_sampled_values() -> None:
    """Against exact values of the same model: 95 % are within two standard errors or so."""
    X, y = task(weald.BoostedTreesRegressor, n=300, n_columns=6)
    model = weald.BoostedTreesRegressor(n_estimators=30, n_bags=None).fit(X, y)

    class Hidden:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return model.predict(X)

    exact = shap(model, X[:40], background=X[100:120])
    for seed in (0, 1):
        sampled = shap(Hidden(), X[:40], background=X[100:120], n_samples=80, random_state=seed)
        assert sampled.base_values == pytest.approx(exact.base_values)
        gaps = np.abs(sampled.values - exact.values)
        within = gaps <= 2 * sampled.standard_error + 1e-12
        assert 0.9 < within.mean() < 0.99
        assert sampled.standard_error.max() < np.abs(exact.values).max() / 5
    again = shap(Hidden(), X[:40], background=X[100:120], n_samples=80, random_state=1)
    assert np.array_equal(again.values, sampled.values)


def test_the_scale_of_predictions_can_be_chosen() -> None:
    X, y = task(weald.BoostedTreesClassifier)
    model = weald.BoostedTreesClassifier(n_estimators=5, n_bags=None).fit(X, y)
    explained = shap(model, X[:15], output="prediction", n_samples=4)
    assert explained.scale == "probability"
    assert explained.predictions == pytest.approx(model.predict_proba(X[:15]))
    forest = weald.RandomForestClassifier(3, random_state=0).fit(X, y)
    assert np.array_equal(
        shap(forest, X[:15], output="prediction").values, shap(forest, X[:15]).values
    )


def test_interactions() -> None:
    X, y = task(weald.RandomForestClassifier)
    model = weald.RandomForestClassifier(4, random_state=0).fit(X, y)
    explained = shap(model, X[:9], interactions=True)
    pairs = explained.interaction_values
    assert pairs.shape == (9, 4, 4, 3)
    assert pairs.sum(axis=2) == pytest.approx(shap(model, X[:9]).values, abs=1e-12)
    assert pairs == pytest.approx(pairs.transpose(0, 2, 1, 3), abs=1e-12)
    alone = weald.BoostedTreesRegressor(
        n_estimators=5, n_bags=None, interaction_cst="no_interactions"
    ).fit(X, y)
    pairs = shap(alone, X[:9], interactions=True).interaction_values
    off_diagonal = pairs[:, ~np.eye(4, dtype=bool)]
    assert np.abs(off_diagonal).max() < 1e-12
    with pytest.raises(ValueError, match="path-dependent values only"):
        shap(model, X, background=X, interactions=True)


# ---- tables ----


def mixed_columns() -> dict[str, list[Any]]:
    """Numbers, text, dates and booleans, some of them missing."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2021-01-01T05:00") + rng.integers(0, 9000, 120).astype("m8[h]")
    return {
        "size": [None if i % 9 == 0 else float(i % 13) for i in range(120)],
        "city": [None if i % 11 == 0 else "abcd"[c] for i, c in enumerate(rng.integers(0, 4, 120))],
        "when": [day.item() for day in days],
        "flag": [bool(i % 3) for i in range(120)],
    }


def mixed_target() -> np.ndarray:
    columns = mixed_columns()
    return np.array(
        [
            (size or 0) / 4 + ord(city or "e") % 5 + when.month / 3 + flag
            for size, city, when, flag in zip(*columns.values(), strict=True)
        ]
    )


def test_frames_are_explained_by_their_own_columns() -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    frames = [pd.DataFrame(mixed_columns()), pl.DataFrame(mixed_columns())]
    frames.append(pa.table(mixed_columns()))
    model = weald.BoostedTreesRegressor(n_estimators=8, n_bags=None).fit(frames[0], mixed_target())

    class Hidden:
        feature_names_in_ = np.array(["size", "city", "when", "flag"], dtype=object)

        def predict(self, X: Any) -> np.ndarray:
            return model.predict(X)

    found, against = [], []
    for frame in frames:
        part, rows = frame[:15], frame[60:80]
        explained = shap(model, part)
        assert explained.feature_names == ["size", "city", "when", "flag"]
        assert explained.predictions == pytest.approx(model.predict(part))
        found.append(explained.values)
        exact = shap(model, part, background=rows)
        sampled = shap(Hidden(), part, background=rows, n_samples=100)
        against.append(exact.values)
        # The six parts of a date are known or unknown together, as when columns are sampled.
        gaps = np.abs(sampled.values - exact.values)
        assert (gaps <= 4 * sampled.standard_error + 1e-9).all()
    for values in (found, against):
        assert np.array_equal(values[0], values[1])
        assert np.array_equal(values[0], values[2])


def test_columns_are_matched_by_name() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(mixed_columns())
    turned = frame[["flag", "when", "size", "city"]]
    model = weald.RandomForestRegressor(3, random_state=0).fit(frame, mixed_target())
    assert np.array_equal(shap(model, turned[:9]).values, shap(model, frame[:9]).values)
    with pytest.raises(ValueError, match="city"):
        shap(model, frame.drop(columns="city"))


def test_sparse_and_lists() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = np.where(np.abs(table(n=60)) > 20, 0.0, table(n=60))
    y = X[:, 0] - X[:, 1]
    model = weald.BoostedTreesRegressor(n_estimators=4, min_samples_leaf=2, n_bags=None).fit(X, y)
    values = shap(model, X[:7]).values
    assert np.array_equal(shap(model, sparse.csr_matrix(X[:7])).values, values)
    assert np.array_equal(shap(model, X[:7].tolist()).values, values)
    foreign = LinearRegression().fit(X, y)
    assert shap(foreign, sparse.csr_matrix(X[:12]), n_samples=4).values.shape == (12, 4)


# ---- bad input and limits ----


def fitted() -> tuple[Any, np.ndarray]:
    X, y = task(weald.BoostedTreesRegressor)
    return weald.BoostedTreesRegressor(n_estimators=3, n_bags=None).fit(X, y), X


def test_bad_models_are_refused() -> None:
    _, X = fitted()
    for estimator in EVERY_ESTIMATOR[:3]:
        with pytest.raises(NotFittedError):
            shap(quick(estimator), X)
    for thing in (None, "model", weald.BoostedTreesRegressor, object()):
        with pytest.raises(TypeError, match="fitted model with a predict method"):
            shap(thing, X)


def test_bad_tables_are_refused() -> None:
    model, X = fitted()
    foreign = LinearRegression().fit(X, X[:, 0])
    for other in (model, foreign):
        with pytest.raises(ValueError, match="features"):
            shap(other, X[:, :3])
        with pytest.raises(ValueError, match="features"):
            shap(other, X, background=X[:, :3])
        for wrong in (X[0], X[:0]):
            with pytest.raises(ValueError, match=r"2D array|no rows|0 sample"):
                shap(other, wrong)
    for wrong in (None, "table", {"a": 1}):
        with pytest.raises((TypeError, ValueError)):
            shap(model, wrong)
    with pytest.raises((TypeError, ValueError)):
        shap(model, np.full((3, 4), "text"))


def test_bad_parameters_are_refused() -> None:
    model, X = fitted()
    for parameter, value in (
        ("interactions", "yes"),
        ("output", "log odds"),
        ("n_samples", 0),
        ("n_samples", 2.5),
        ("random_state", -1),
        ("n_jobs", 0),
    ):
        with pytest.raises(ValueError, match=parameter):
            shap(model, X, **{parameter: value})


def test_parameters_without_effect_are_reported() -> None:
    model, X = fitted()
    with pytest.warns(WealdWarning, match="n_samples=5 has no effect"):
        shap(model, X, n_samples=5)


def test_one_row() -> None:
    model, X = fitted()
    explained = shap(model, X[3:4])
    assert np.array_equal(explained.values, shap(model, X).values[3:4])
    foreign = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Pass background="):
        shap(foreign, X[:1])
    explained = shap(foreign, X[:1], background=X[:7], n_samples=3)
    assert explained.predictions == pytest.approx(foreign.predict(X[:1]))


def test_one_column_and_one_class() -> None:
    X = table(n=40, n_columns=1)
    model = weald.BoostedTreesRegressor(n_estimators=3, n_bags=None).fit(X, X[:, 0])
    assert shap(model, X).values.shape == (40, 1)
    assert shap(LinearRegression().fit(X, X[:, 0]), X, n_samples=4).values.shape == (40, 1)
    for estimator in (weald.BoostedTreesClassifier, weald.RandomForestClassifier):
        explained = shap(quick(estimator).fit(X, np.zeros(40)), X)
        assert not explained.values.any()


def test_many_classes_and_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6))
    model = weald.RandomForestClassifier(2, min_samples_leaf=1, random_state=0)
    model.fit(X, np.arange(900) % 300)
    explained = shap(model, X[:5])
    assert explained.values.shape == (5, 6, 300)
    assert explained.predictions == pytest.approx(model.predict_proba(X[:5]), abs=1e-12)
    assert "and" in str(explained)
    wide = rng.normal(size=(60, 5000))
    model = weald.ExtraTreesRegressor(5, max_features=0.01, random_state=0)
    model.fit(wide, wide[:, :50].sum(axis=1))
    explained = shap(model, wide[:20])
    assert explained.values.shape == (20, 5000)
    assert explained.predictions == pytest.approx(model.predict(wide[:20]), abs=1e-12)
    with pytest.raises(MemoryError, match="Explain fewer rows"):
        shap(model, np.broadcast_to(wide[:1], (10_000, 5000)), interactions=True)


def test_weights_that_overflow_need_a_background() -> None:
    X, y = task(weald.RandomForestRegressor)
    model = weald.RandomForestRegressor(2, bootstrap=False, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, np.full(len(X), 1e308))
    if np.isfinite(model.forest_.weight).all():
        pytest.skip("weights are finite")
    with pytest.raises(ValueError, match="Pass background="):
        shap(model, X)
    assert shap(model, X[:3], background=X[:9]).predictions == pytest.approx(model.predict(X[:3]))


def test_trees_without_weights_need_a_background() -> None:
    model, X = fitted()
    forest = model.forest_
    model.forest_ = replace(forest, weight=np.zeros(len(forest.weight)))
    with pytest.raises(ValueError, match="no weights"):
        shap(model, X)
    assert shap(model, X[:3], background=X).predictions == pytest.approx(model.predict(X[:3]))


def test_values_do_not_depend_on_threads() -> None:
    X, y = task(weald.RandomForestClassifier, n=300)
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, y)
    for arguments in ({}, {"interactions": True}, {"background": X[:20]}):
        one, two = (shap(model, X[:50], n_jobs=n_jobs, **arguments) for n_jobs in (1, 3))
        assert np.array_equal(one.values, two.values)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of POSIX")
@pytest.mark.parametrize("arguments", [{}, {"background": 3000}])
def test_explanations_are_interrupted(arguments: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    model = weald.RandomForestRegressor(60, min_samples_leaf=1, max_features=1, random_state=0)
    model.fit(X, rng.normal(size=4000))
    background = X[: arguments["background"]] if arguments else None

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begin = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            shap(model, X, background=background)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 5


# ---- the result ----


def test_the_result_prints_and_converts() -> None:
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = task(weald.BoostedTreesClassifier)
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X)) + 7)
    binary = weald.BoostedTreesClassifier(n_estimators=3, n_bags=None).fit(frame, y > 0)
    explained = shap(binary, frame[:5])
    assert "scale: log odds of 'True'" in str(explained)
    assert "exact, path-dependent" in repr(explained)
    values = explained.to_pandas()
    assert values.columns.tolist() == list("abcd") and values.index.tolist() == [7, 8, 9, 10, 11]
    assert np.array_equal(values.to_numpy(), explained.values)
    assert explained.to_polars().equals(pl.DataFrame(values.to_dict("list")))
    assert len(explained) == 5
    with pytest.raises(ValueError, match="read-only"):
        explained.values[0, 0] = 1.0
    many = weald.BoostedTreesClassifier(n_estimators=3, n_bags=None).fit(frame, y)
    explained = shap(many, frame[:5])
    values = explained.to_pandas()
    assert values.columns.tolist() == ["row", "output", "a", "b", "c", "d"]
    assert values["output"].tolist()[:4] == ["0", "1", "2", "0"]
    assert np.array_equal(values[list("abcd")].to_numpy()[1], explained.values[0, :, 1])
    assert explained.mean_abs.shape == (4, 3)

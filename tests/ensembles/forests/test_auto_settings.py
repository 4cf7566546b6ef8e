"""Leaf size and number of columns selected by the out-of-bag error of a random forest."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from weald import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.ensembles.forests import auto_settings

KINDS = [RandomForestClassifier, RandomForestRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)
NOISE = (0.0, 1.0, 6.0)


def numbers(n: int = 160, n_columns: int = 12, noise: float = 1.0) -> tuple[Any, Any]:
    """Few columns are informative; integers, so that some rows are equal in these columns."""
    rng = np.random.default_rng(n)
    X = rng.integers(-20, 20, size=(n, n_columns)).astype(float)
    return X, X[:, 0] + np.abs(X[:, 1]) + noise * rng.integers(-8, 9, size=n)


def task(kind: type, n: int = 160, noise: float = 1.0) -> tuple[Any, Any]:
    X, y = numbers(n, noise=noise)
    return X, np.digitize(y, [3.0, 15.0]) if kind is RandomForestClassifier else y


def made(kind: type, n_estimators: Any = 12, **settings: Any) -> Any:
    return kind(n_estimators, **{"random_state": 0, "n_jobs": 1, **settings})


def errors(model: Any) -> list[float]:
    return [tried["oob_error"] for tried in model.auto_trials_]


def chosen(model: Any) -> tuple[Any, Any]:
    return model.min_samples_leaf_, model.max_features_


# ---- against naive code ----


def out_of_bag_predictions(model: Any, X: Any) -> list[list[np.ndarray]]:
    """Predictions of each row by the trees for which it is out-of-bag."""
    method = "predict_proba" if isinstance(model, RandomForestClassifier) else "predict"
    lists: list[list[np.ndarray]] = [[] for _ in X]
    for number, tree in enumerate(model.estimators_):
        predicted = getattr(tree, method)(X)
        predicted = np.concatenate(predicted, axis=1) if isinstance(predicted, list) else predicted
        predicted = predicted.reshape(len(X), -1)
        for row in np.flatnonzero(model.in_bag_counts(number) == 0):
            lists[row].append(predicted[row])
    return lists


def naive_error(model: Any, X: Any, wanted: Any, n_trees: int, weight: Any) -> float:
    """Mean squared error extrapolated to `n_trees`, from all pairs of predictions."""
    total = mass = 0.0
    for predicted, right, w in zip(out_of_bag_predictions(model, X), wanted, weight, strict=True):
        missed = [right - one for one in predicted]
        if len(missed) < 2:
            continue
        pairs = [a @ b for i, a in enumerate(missed) for j, b in enumerate(missed) if i != j]
        alone = np.mean([a @ a for a in missed])
        total += w * (np.mean(pairs) + (alone - np.mean(pairs)) / n_trees)
        mass += w
    return total / mass


SETTINGS: list[dict[str, Any]] = [
    {},
    {"max_depth": 3},
    {"bootstrap": False, "max_samples": 0.6},
    {"max_samples": 40, "feature_sampling": "tree"},
]


@every_kind
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", ["no", "whole", "fractions"])
def test_errors_and_choice_are_those_of_naive_code(
    kind: type, settings: dict[str, Any], weighted: str
) -> None:
    X, y = task(kind, 90)
    weight = np.random.default_rng(1).integers(1, 4, size=90) * (0.3 if weighted[0] == "f" else 1)
    given = None if weighted == "no" else weight
    model = made(kind, **settings).fit(X, y, given)
    wanted = np.eye(3)[y] if kind is RandomForestClassifier else y[:, np.newaxis]
    expected = []
    for tried in model.auto_trials_:
        own = {name: tried[name] for name in ("min_samples_leaf", "max_features")}
        one = made(kind, 25, **settings, **own).fit(X, y, given)
        assert one.auto_trials_ == []
        mass = np.ones(90) if given is None else weight
        expected.append(naive_error(one, X, wanted, 100, mass))
    assert errors(model) == pytest.approx(expected)
    best = model.auto_trials_[int(np.argmin(expected))]
    assert chosen(model) == (best["min_samples_leaf"], best["max_features"])


def test_a_trial_is_the_same_for_any_number_of_trees() -> None:
    X, y = task(RandomForestRegressor, 90)
    small = made(RandomForestRegressor, 25, min_samples_leaf=1, max_features="third").fit(X, y)
    expected = naive_error(small, X, y[:, np.newaxis], 100, np.ones(90))
    for n_trees in (1, 12, 25, 80, "auto"):
        model = made(RandomForestRegressor, n_trees).fit(X, y)
        assert errors(model)[0] == pytest.approx(expected)
        assert len(errors(model)) == 4
        assert n_trees == "auto" or model.forest_.n_trees == n_trees


def test_rows_weigh_by_their_classes_too() -> None:
    X, y = task(RandomForestClassifier, 90)
    for wanted in ({0: 1.0, 1: 4.0, 2: 0.5}, "balanced", "balanced_subsample"):
        model = made(RandomForestClassifier, class_weight=wanted).fit(X, y)
        first = {"min_samples_leaf": 1, "max_features": "sqrt", "class_weight": wanted}
        one = made(RandomForestClassifier, 25, **first).fit(X, y)
        of_class = 90 / np.bincount(y) / 3 if isinstance(wanted, str) else [1.0, 4.0, 0.5]
        mass = np.asarray(of_class)[y]
        assert errors(model)[0] == pytest.approx(naive_error(one, X, np.eye(3)[y], 100, mass))


def test_several_outputs_add_up() -> None:
    X, y = numbers(90)
    both = np.column_stack([y, 2 * y[::-1]])
    model = made(RandomForestRegressor).fit(X, both)
    one = made(RandomForestRegressor, 25, min_samples_leaf=1, max_features="third").fit(X, both)
    assert errors(model)[0] == pytest.approx(naive_error(one, X, both, 100, np.ones(90)))
    labels = np.column_stack([y > 3, y > 15]).astype(int)
    classes = made(RandomForestClassifier).fit(X, labels)
    one = made(RandomForestClassifier, 25, min_samples_leaf=1, max_features="sqrt").fit(X, labels)
    wanted = np.concatenate([np.eye(2)[labels[:, 0]], np.eye(2)[labels[:, 1]]], axis=1)
    assert errors(classes)[0] == pytest.approx(naive_error(one, X, wanted, 100, np.ones(90)))


def test_medians_are_scored_by_absolute_errors() -> None:
    X, y = numbers(90)
    model = made(RandomForestRegressor, criterion="absolute_error").fit(X, y)
    own = {"min_samples_leaf": 1, "max_features": "third", "criterion": "absolute_error"}
    predicted = out_of_bag_predictions(made(RandomForestRegressor, 25, **own).fit(X, y), X)
    missed = [
        abs(np.mean(one) - right) for one, right in zip(predicted, y, strict=True) if len(one) > 1
    ]
    assert errors(model)[0] == pytest.approx(np.mean(missed))
    counts = made(RandomForestRegressor, criterion="poisson").fit(X, y - y.min())
    assert np.isfinite(errors(counts)).all()


# ---- the model ----


@every_kind
@pytest.mark.parametrize(
    "settings",
    [
        {"n_estimators": 40},
        {"n_estimators": 25, "oob_score": True},
        {"n_estimators": 60, "oob_score": True},
        {"ccp_alpha": 0.01, "oob_score": True, "n_estimators": 30},
        {"n_estimators": "auto", "oob_score": True, "max_depth": 2},
        {"max_leaf_nodes": 9},
    ],
    ids=str,
)
def test_the_model_is_that_of_the_settings_chosen(kind: type, settings: dict[str, Any]) -> None:
    X, y = task(kind, noise=3.0)
    model = made(kind, **settings).fit(X, y)
    leaf, columns = chosen(model)
    given = made(kind, **settings, min_samples_leaf=leaf, max_features=columns).fit(X, y)
    assert model.fingerprint() == given.fingerprint()
    assert model.estimators_samples_[-1].tolist() == given.estimators_samples_[-1].tolist()
    if "oob_score" in settings:
        assert model.oob_score_ == given.oob_score_
        name = "oob_prediction_" if kind is RandomForestRegressor else "oob_decision_function_"
        assert np.array_equal(getattr(model, name), getattr(given, name))


@every_kind
def test_one_given_leaves_the_other_to_be_chosen(kind: type) -> None:
    X, y = task(kind)
    leaf = made(kind, min_samples_leaf=3).fit(X, y)
    assert leaf.min_samples_leaf_ == 3
    assert [tried["min_samples_leaf"] for tried in leaf.auto_trials_] == [3, 3]
    columns = made(kind, max_features=None).fit(X, y)
    assert columns.max_features_ is None
    leaves = [tried["min_samples_leaf"] for tried in columns.auto_trials_]
    assert leaves == ([1, 5] if columns.min_samples_leaf_ == 1 else [1, 5, 20])
    both = made(kind, min_samples_leaf=0.05, max_features=2).fit(X, y)
    assert (chosen(both), both.auto_trials_) == ((0.05, 2), [])


@every_kind
@pytest.mark.parametrize("n_estimators", [8, "auto"])
def test_auto_settings_give_the_same_forest(kind: type, n_estimators: Any) -> None:
    X, y = task(kind)
    model = made(kind, n_estimators).fit(X, y)
    assert set(model.auto_settings_) == {"n_estimators", "min_samples_leaf", "max_features"}
    assert model.auto_settings_["n_estimators"] == model.forest_.n_trees
    again = kind(**model.auto_settings_, random_state=0).fit(X, y)
    assert again.auto_settings_ == model.auto_settings_
    assert again.fingerprint() == model.fingerprint()
    assert not hasattr(made(kind), "auto_settings_")


@every_kind
def test_noise_selects_larger_leaves(kind: type) -> None:
    leaves = [made(kind, 50).fit(*task(kind, 1500, noise=loud)).min_samples_leaf_ for loud in NOISE]
    assert leaves == [1, 5, 20]


@every_kind
def test_the_largest_leaf_is_tried_with_the_winners_columns_where_5_wins(kind: type) -> None:
    wins = set()
    for noise in NOISE:
        tried = made(kind, 50).fit(*task(kind, 1500, noise=noise)).auto_trials_
        best = min(tried[:4], key=lambda one: one["oob_error"])
        wins.add(best["min_samples_leaf"])
        more = [(20, best["max_features"])] if best["min_samples_leaf"] == 5 else []
        assert [(one["min_samples_leaf"], one["max_features"]) for one in tried[4:]] == more
    assert wins == {1, 5}


def test_settings_that_mean_the_same_are_tried_once() -> None:
    X, y = numbers(60, 4)
    assert len(made(RandomForestRegressor).fit(X, y).auto_trials_) >= 4
    model = made(RandomForestClassifier).fit(X, y > 5)  # two of four columns, either way
    assert {tried["max_features"] for tried in model.auto_trials_} == {"sqrt"}
    leaves = [tried["min_samples_leaf"] for tried in model.auto_trials_]
    assert leaves == [1, 5, 20][: len(leaves)]


@every_kind
def test_without_rows_left_out_the_first_is_taken(kind: type) -> None:
    X, y = task(kind)
    first = (1, "sqrt" if kind is RandomForestClassifier else "third")
    all_rows = made(kind, bootstrap=False).fit(X, y)
    assert (chosen(all_rows), all_rows.auto_trials_) == (first, [])
    many_draws = made(kind, max_samples=40_000).fit(X[:2], y[:2])
    assert chosen(many_draws) == first
    assert np.isnan(errors(many_draws)).all()


def test_equal_errors_take_the_first() -> None:
    X = np.random.default_rng(0).random((40, 9))
    model = made(RandomForestRegressor).fit(X, np.full(40, 3.0))
    assert chosen(model) == (1, "third")
    assert errors(model) == [0.0] * 4


@pytest.mark.parametrize(("noise", "leaf"), [(0.0, 1), (9.0, 20)])
def test_targets_of_extreme_size_are_chosen_for_as_others(noise: float, leaf: int) -> None:
    """The unit of the target enters the random draws, so that only clear cases agree."""
    X, y = numbers(800, 2, noise=noise)
    for unit, level in ((0, 0.0), (900, 0.0), (-900, 0.0), (0, 2.0**40)):
        model = made(RandomForestRegressor, 30, max_features=None)
        model.fit(X, np.ldexp(y + level, unit))
        assert model.min_samples_leaf_ == leaf
        predicted = errors(model)
        assert np.isinf(predicted).all() if unit > 0 else np.isfinite(predicted).all()


@every_kind
def test_a_warm_start_keeps_the_first_choice(kind: type) -> None:
    X, y = task(kind, noise=6.0)
    model = made(kind, 30, warm_start=True).fit(X, y)
    before = chosen(model), model.auto_trials_
    first = model.forest_.n_trees
    model.set_params(n_estimators=45).fit(X, y)
    assert (chosen(model), model.auto_trials_) == before
    given = dict(zip(("min_samples_leaf", "max_features"), before[0], strict=True))
    assert model.fingerprint() == made(kind, 45, **given).fit(X, y).fingerprint()
    model.set_params(n_estimators=46, min_samples_leaf=20).fit(X, y)
    assert model.min_samples_leaf_ == 20
    assert first == 30
    model.set_params(warm_start=False, n_estimators=30, min_samples_leaf="auto").fit(X, y)
    assert (chosen(model), model.auto_trials_) == before


@every_kind
@pytest.mark.parametrize("oob_score", [False, True])
def test_trees_added_make_the_forest_of_one_fit(kind: type, oob_score: bool) -> None:
    """The selection does not depend on the number of trees of the first fit."""
    for n in (60, 90, 120, 160):
        X, y = task(kind, n, noise=3.0)
        whole = made(kind, 60, oob_score=oob_score).fit(X, y)
        for begun in (3, 25, 40):
            model = made(kind, begun, warm_start=True)
            model.fit(X, y).set_params(n_estimators=60, oob_score=oob_score).fit(X, y)
            assert chosen(model) == chosen(whole)
            assert model.fingerprint() == whole.fingerprint()
            if oob_score:
                assert model.oob_score_ == pytest.approx(whole.oob_score_)


@every_kind
def test_few_trees_have_their_own_out_of_bag_predictions(kind: type) -> None:
    """Trees of a trial that are not kept do not enter the out-of-bag predictions."""
    X, y = task(kind)
    model = made(kind, 12, oob_score=True).fit(X, y)
    given = dict(zip(("min_samples_leaf", "max_features"), chosen(model), strict=True))
    named = made(kind, 12, oob_score=True, **given).fit(X, y)
    assert model.fingerprint() == named.fingerprint()
    assert model.oob_score_ == named.oob_score_


# ---- invariances ----


def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that every table counts as large."""
    monkeypatch.setattr(auto_settings, "_MOST_DRAWS", 40)
    monkeypatch.setattr(auto_settings, "_MOST_ROWS", 60)


WAYS: list[tuple[type, dict[str, Any]]] = [
    (RandomForestClassifier, {}),
    (RandomForestClassifier, {"class_weight": "balanced_subsample"}),
    (RandomForestClassifier, {"bootstrap": False, "max_samples": 0.7}),
    (RandomForestRegressor, {}),
    (RandomForestRegressor, {"bootstrap": False, "max_samples": 0.7}),
    (RandomForestRegressor, {"criterion": "absolute_error"}),
]


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(("kind", "way"), WAYS)
def test_order_scale_of_weights_and_threads_change_nothing(
    kind: type, way: dict[str, Any], is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        few_rows(monkeypatch)
    X, y = task(kind)
    rng = np.random.default_rng(2)
    some, weight = rng.integers(0, 120, size=160), rng.integers(0, 4, size=160)
    X, y = X[some], y[some]  # with copies, of the same weight and of others
    model = made(kind, 30, **way).fit(X, y, weight)
    order = rng.permutation(160)
    for n_jobs, scale in ((1, 1), (3, 4)):
        other = made(kind, 30, n_jobs=n_jobs, **way).fit(X[order], y[order], weight[order] * scale)
        assert other.auto_trials_ == model.auto_trials_
        assert other.fingerprint() == model.fingerprint()


@every_kind
def test_a_large_table_is_tried_on_few_rows(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = task(kind, 400, noise=6.0)
    whole = made(kind, 30).fit(X, y)
    few_rows(monkeypatch)
    model = made(kind, 30).fit(X, y)
    assert errors(model) != errors(whole)
    given = dict(zip(("min_samples_leaf", "max_features"), chosen(model), strict=True))
    assert model.fingerprint() == made(kind, 30, **given).fit(X, y).fingerprint()
    assert errors(made(kind, 30, random_state=1).fit(X, y)) != errors(model)


# ---- composition and errors ----


def test_it_is_cloned_searched_and_bagged() -> None:
    X, y = task(RandomForestClassifier)
    model = clone(made(RandomForestClassifier).fit(X, y))
    assert (model.min_samples_leaf, model.max_features) == ("auto", "auto")
    grid = {"min_samples_leaf": ["auto", 2], "max_features": [2, "auto"]}
    found = GridSearchCV(made(RandomForestClassifier, 4), grid, cv=2).fit(X, y)
    assert found.best_estimator_.score(X, y) > 0.5
    bag = BaggingClassifier(made(RandomForestClassifier, 3), 2, random_state=0).fit(X, y)
    assert bag.score(X, y) > 0.5


def test_the_selection_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    X, y = task(RandomForestRegressor)
    model = made(RandomForestRegressor, 30, verbose=1).fit(X, y)
    leaf, columns = chosen(model)
    text = caplog.text
    assert f"min_samples_leaf={leaf!r}, max_features={columns!r} chosen" in text
    assert "30 of 30 trees" in text


@every_kind
def test_other_words_are_refused(kind: type) -> None:
    X, y = task(kind)
    for name in ("min_samples_leaf", "max_features"):
        with pytest.raises(ValueError, match=rf"{name}.*'auto'"):
            made(kind, **{name: "best"}).fit(X, y)
        with pytest.raises(ValueError, match=name):
            ExtraTreesClassifier(**{name: "auto"}).fit(X, y > 0)


def test_a_fit_that_fails_keeps_the_choice_of_the_one_before() -> None:
    X, y = task(RandomForestRegressor)
    model = made(RandomForestRegressor).fit(X, y)
    before = chosen(model), model.auto_trials_
    with pytest.raises(ValueError, match="auto"):
        model.set_params(n_estimators="auto", bootstrap=False).fit(X, y)
    assert (chosen(model), model.auto_trials_) == before

"""Parameters that are "auto": which values are chosen, and that given ones are kept."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees import auto_settings
from weald.errors import WealdWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=240) / 3
TWO = Y > 0
THREE = np.digitize(Y, [-0.5, 0.5])
NEW = {"X_val": X[200:], "y_val": Y[200:]}

FAST = {
    "n_bags": None,
    "learning_rate": 0.1,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "max_features": None,
    "subsample": 1.0,
    "early_stopping": False,
    "n_iter_no_change": 10,
}
SMALL = {
    "n_bags": 5,
    "learning_rate": 0.05,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 5,
    "max_features": 0.6,
    "subsample": 0.8,
    "early_stopping": True,
    "n_iter_no_change": 50,
}
SMALL_BEST = {**SMALL, "n_bags": 10, "learning_rate": 0.025, "n_iter_no_change": 100}
LARGE = {**FAST, "early_stopping": True, "n_iter_no_change": 50}
LARGE_BEST = {
    **LARGE,
    "n_bags": 5,
    "learning_rate": 0.05,
    "max_features": 0.6,
    "subsample": 0.8,
    "n_iter_no_change": 100,
}
# Without early stopping: one booster at 0.1, with leaves of 20 rows.
FIXED = {
    **SMALL,
    "n_bags": None,
    "learning_rate": 0.1,
    "min_samples_leaf": 20,
    "early_stopping": False,
}


@pytest.fixture
def is_large(monkeypatch) -> None:
    """The rows of these tests count as more than 30,000."""
    monkeypatch.setattr(auto_settings, "FOLD_ROWS", 100)


def chosen(model: Any) -> dict[str, Any]:
    """The chosen values but the number of rounds; those in effect are in `auto_settings_`, too."""
    settings = model.auto_settings_
    assert settings["n_estimators"] == max(1, model.n_estimators_)
    assert ("n_iter_no_change" in settings) == model.early_stopping_
    for name in set(settings) - {"n_estimators", "feature_sampling"}:
        assert getattr(model, f"{name}_") == settings[name]
    return {name: getattr(model, f"{name}_") for name in FAST}


def quick(kind: Any = BoostedTreesRegressor, **more: Any) -> Any:
    """A model whose fit the time limit ends after one round: its settings are those of any fit."""
    return kind(**{"time_limit": 1e-9, "n_jobs": 1, **more})


# ---- the choice ----


def test_thirty_thousand_rows() -> None:
    assert auto_settings.FOLD_ROWS == 30_000


@pytest.mark.parametrize(("quality", "expected"), [("default", SMALL), ("best", SMALL_BEST)])
@pytest.mark.parametrize(("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, TWO)])
def test_few_thousand_rows(kind, y, quality: str, expected) -> None:
    assert chosen(quick(kind, quality=quality).fit(X, y)) == expected
    parameters = quick(kind).get_params()
    assert parameters["quality"] == "default"
    for name in [*expected, "n_estimators"]:
        assert parameters[name] == "auto"


@pytest.mark.parametrize(("quality", "expected"), [("default", LARGE), ("best", LARGE_BEST)])
@pytest.mark.parametrize(
    ("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, THREE)]
)
@pytest.mark.usefixtures("is_large")
def test_many_rows(kind, y, quality: str, expected) -> None:
    model = quick(kind, quality=quality).fit(X, y)
    assert chosen(model) == expected
    assert getattr(model, "multi_class_", "tree_per_class") == "tree_per_class"


@pytest.mark.usefixtures("is_large")
def test_many_rows_have_one_booster_and_a_validation_split() -> None:
    model = BoostedTreesRegressor(n_iter_no_change=5, min_samples_leaf=5).fit(X, Y)
    assert model.stopped_by_ == "early_stopping"
    assert len(model.validation_loss_) == model.n_estimators_ + 6
    assert model._state.forest.weight[0] == 216  # a tenth is held out
    assert model.forest_.weight[0] == 240
    assert not hasattr(model, "oob_")
    same = {**LARGE, "n_iter_no_change": 5, "min_samples_leaf": 5, "n_estimators": 5000}
    assert BoostedTreesRegressor(**same).fit(X, Y).fingerprint() == model.fingerprint()


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, THREE)]
)
def test_fast_is_one_booster_of_100_rounds(kind, y, large: bool, monkeypatch) -> None:
    monkeypatch.setattr(auto_settings, "FOLD_ROWS", 100 if large else 30_000)
    model = kind(quality="fast").fit(X, y)
    assert chosen(model) == FAST
    assert (model.n_estimators_, model.stopped_by_) == (100, "n_estimators")
    assert not hasattr(model, "validation_loss_")
    given = {**FAST, "n_estimators": 100, "n_iter_no_change": "auto"}
    if kind is BoostedTreesClassifier:
        given["multi_class"] = "tree_per_class"
    for quality in ("default", "best"):
        assert kind(quality=quality, **given).fit(X, y).fingerprint() == model.fingerprint()


def test_the_default_equals_its_settings() -> None:
    model = BoostedTreesRegressor(n_iter_no_change=10).fit(X, Y)
    assert model.stopped_by_ == "early_stopping"
    given = {**SMALL, "n_iter_no_change": 10, "n_estimators": 5000, "random_state": 0}
    same = BoostedTreesRegressor(quality="fast", **given).fit(X, Y)
    assert same.fingerprint() == model.fingerprint()
    assert np.array_equal(same.validation_loss_, model.validation_loss_)


def test_better_quality_is_better() -> None:
    rng = np.random.default_rng(1)
    new = rng.normal(size=(1000, 4))
    y = np.sin(2 * new[:, 0]) + new[:, 1] * (new[:, 2] > 0)
    scores = {
        quality: BoostedTreesRegressor(quality=quality).fit(X, Y).score(new, y)
        for quality in ("fast", "default")
    }
    assert scores["default"] > scores["fast"] + 0.02


# ---- by the task ----


@pytest.mark.parametrize(
    ("y", "more", "expected"),
    [
        (THREE, {}, "vector_leaves"),
        (TWO, {}, "tree_per_class"),
        (THREE, {"quality": "fast"}, "tree_per_class"),
        (THREE, {"l1_regularization": 1.0}, "tree_per_class"),
        (THREE, {"growth": "depth_wise"}, "tree_per_class"),
        (THREE, {"growth": "symmetric"}, "tree_per_class"),
        (THREE, {"exact": True}, "tree_per_class"),
        (THREE, {"multi_class": "tree_per_class"}, "tree_per_class"),
        (THREE, {"multi_class": "vector_leaves", "quality": "fast"}, "vector_leaves"),
    ],
)
def test_trees_of_several_classes(y, more, expected: str) -> None:
    model = quick(BoostedTreesClassifier, **more).fit(X, y)
    assert model.multi_class_ == model.auto_settings_["multi_class"] == expected
    n_trees = 1 if expected == "vector_leaves" or y is TWO else 3
    assert model.forest_.n_trees == n_trees * model.n_estimators_ * (model.n_bags_ or 1)


def test_a_regressor_has_no_multi_class() -> None:
    model = quick().fit(X, Y)
    assert not hasattr(model, "multi_class_")
    assert set(model.auto_settings_) == {*SMALL, "n_estimators"}
    assert set(quick(quality="fast").fit(X, Y).auto_settings_) == {*SMALL, "n_estimators"} - {
        "n_iter_no_change"
    }


def test_symmetric_trees_draw_columns_by_level() -> None:
    model = quick(growth="symmetric").fit(X, Y)
    assert model.max_features_ == 0.6
    same = quick(growth="symmetric", max_features=0.6, feature_sampling="level").fit(X, Y)
    assert same.fingerprint() == model.fingerprint()
    with pytest.raises(ValueError, match="feature_sampling='level'"):
        quick(growth="symmetric", max_features=0.6).fit(X, Y)


def test_one_class() -> None:
    model = BoostedTreesClassifier().fit(X, np.ones(240))
    assert (model.n_estimators_, model.learning_rate_) == (0, 0.05)
    again = BoostedTreesClassifier(**model.auto_settings_).fit(X, np.ones(240))
    assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"n_iter_no_change": 5},
        {"quality": "fast"},
        {"quality": "fast", "early_stopping": True},
        {"early_stopping": False},
        {"n_estimators": 7},
        {"n_estimators": 7, "n_bags": 3},
        {"n_estimators": 30, "early_stopping": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("more", [{}, {"growth": "symmetric"}], ids=str)
@pytest.mark.parametrize(
    ("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, THREE)]
)
@pytest.mark.filterwarnings("error::weald.errors.WealdWarning")
def test_the_chosen_values_give_the_same_model_without_a_warning(kind, y, given, more) -> None:
    model = kind(**given, **more).fit(X, y)
    again = kind(**model.auto_settings_, **more).fit(X, y)
    assert again.auto_settings_ == model.auto_settings_
    assert again.fingerprint() == model.fingerprint()


def test_the_chosen_values_of_a_model_without_rounds() -> None:
    """No round is better than none on pure noise; n_estimators must be positive all the same."""
    noise = np.random.default_rng(7).normal(size=240)
    model = BoostedTreesRegressor(n_iter_no_change=5).fit(X, noise)
    assert (model.n_estimators_, model.auto_settings_["n_estimators"]) == (0, 1)
    again = BoostedTreesRegressor(**model.auto_settings_).fit(X, noise)
    assert again.fingerprint() == model.fingerprint()


# ---- rounds and early stopping ----


@pytest.mark.parametrize("more", [{"n_estimators": 7}, {"early_stopping": False}])
def test_without_early_stopping_there_is_one_booster(more) -> None:
    model = BoostedTreesRegressor(**more).fit(X, Y)
    assert chosen(model) == FIXED
    assert model.n_estimators_ == more.get("n_estimators", 100)
    assert not hasattr(model, "validation_loss_")
    best = quick(quality="best", **more).fit(X, Y)
    assert chosen(best) == {**FIXED, "n_iter_no_change": 100}


def test_early_stopping_of_a_given_number_of_rounds_is_by_a_validation_split() -> None:
    model = BoostedTreesRegressor(n_estimators=20, early_stopping=True).fit(X, Y)
    assert chosen(model) == {**SMALL, "n_bags": None, "learning_rate": 0.1}
    assert len(model.validation_loss_) == 21
    fast = BoostedTreesRegressor(quality="fast", early_stopping=True).fit(X, Y)
    assert chosen(fast) == {**FAST, "early_stopping": True}
    assert fast.stopped_by_ == "early_stopping"


def test_a_validation_set_needs_no_folds() -> None:
    model = quick().fit(X[:200], Y[:200], **NEW)
    assert chosen(model) == {**SMALL, "n_bags": None}
    few = quick().fit(X[:5], Y[:5], **NEW)
    assert chosen(few) == {**SMALL, "n_bags": None, "min_samples_leaf": 1}
    folds = quick(n_bags=3).fit(X[:200], Y[:200], **NEW)
    assert chosen(folds) == {**SMALL, "n_bags": 3}


@pytest.mark.parametrize("n", [2, 5, 9])
def test_fewer_than_ten_rows_make_100_rounds(n: int) -> None:
    for kind, y in ((BoostedTreesRegressor, Y), (BoostedTreesClassifier, np.arange(240) % 2)):
        model = kind().fit(X[:n], y[:n])
        assert chosen(model) == {**FIXED, "min_samples_leaf": 1}
        assert (model.n_estimators_, model.stopped_by_) == (100, "n_estimators")
    weight = np.arange(240) < n  # rows without weight do not count
    few = BoostedTreesRegressor().fit(X, Y, weight)
    assert chosen(few) == {**FIXED, "min_samples_leaf": 1}


def test_ten_rows_stop_early() -> None:
    model = BoostedTreesRegressor().fit(X[:10], Y[:10])
    assert chosen(model) == {**SMALL, "min_samples_leaf": 1}
    assert model.stopped_by_ == "early_stopping"
    assert chosen(quick().fit(X[:40], Y[:40])) == {**SMALL, "min_samples_leaf": 4}
    few = quick(early_stopping=True).fit(X[:5], Y[:5])
    assert chosen(few) == {**SMALL, "n_bags": None, "min_samples_leaf": 1}


def test_groups_are_counted_instead_of_rows() -> None:
    assert chosen(quick().fit(X, Y, groups=np.arange(240) % 9)) == FIXED
    assert chosen(quick().fit(X, Y, groups=np.arange(240) % 10)) == SMALL


# ---- given values ----


@pytest.mark.parametrize("quality", ["fast", "default", "best"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_bags", 3),
        ("n_bags", None),
        ("learning_rate", 0.07),
        ("max_leaf_nodes", 9),
        ("max_leaf_nodes", None),
        ("min_samples_leaf", 1),
        ("max_features", 2),
        ("max_features", None),
        ("max_features", "sqrt"),
        ("subsample", 0.55),
        ("subsample", 1.0),
        ("n_iter_no_change", 3),
    ],
)
@pytest.mark.filterwarnings("ignore:n_iter_no_change.* no effect:weald.errors.WealdWarning")
def test_given_values_are_kept(name: str, value: Any, quality: str) -> None:
    model = quick(quality=quality, **{name: value}).fit(X, Y)
    others = {"fast": FAST, "default": SMALL, "best": SMALL_BEST}[quality]
    assert chosen(model) == {**others, name: value}
    assert model.get_params()[name] == value


def test_parameters_stay_auto() -> None:
    model = quick().fit(X, Y)
    before = quick().get_params()
    assert model.get_params() == clone(model).get_params() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quality": "good"}, "quality"),
        ({"n_estimators": "many"}, "n_estimators"),
        ({"n_bags": "AUTO"}, "n_bags"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"min_samples_leaf": 0.5}, "min_samples_leaf"),
        ({"max_features": "half"}, "max_features"),
        ({"subsample": 0.0}, "subsample"),
        ({"n_iter_no_change": None}, "n_iter_no_change"),
        ({"early_stopping": "yes"}, "early_stopping"),
    ],
)
def test_other_values_are_refused(given, message: str) -> None:
    with pytest.raises(ValueError, match=rf"{message}.* must be .*auto|quality.* must be "):
        BoostedTreesRegressor(**given).fit(X, Y)


def test_patience_without_early_stopping_is_warned_of() -> None:
    with pytest.warns(WealdWarning, match=r"n_iter_no_change=3 .* no effect: set early_stopping"):
        BoostedTreesRegressor(n_estimators=5, n_iter_no_change=3).fit(X, Y)


@pytest.mark.parametrize("given", [{"quality": "fast"}, {"max_features": None}], ids=str)
def test_sampling_of_no_columns_is_warned_of(given) -> None:
    with pytest.warns(WealdWarning, match=r"feature_sampling='tree' has no effect: .* all columns"):
        quick(feature_sampling="tree", **given).fit(X, Y)


@pytest.mark.usefixtures("is_large")
def test_sampling_of_no_columns_of_many_rows_is_warned_of() -> None:
    with pytest.warns(WealdWarning, match="feature_sampling='level' has no effect"):
        quick(feature_sampling="level").fit(X, Y)


@pytest.mark.parametrize("given", [{}, {"quality": "fast", "max_features": 0.5}], ids=str)
@pytest.mark.filterwarnings("error::weald.errors.WealdWarning")
def test_sampling_of_columns_is_not_warned_of(given) -> None:
    quick(feature_sampling="tree", **given).fit(X, Y)
    quick(quality="fast").fit(X, Y)  # "node" is the default


@pytest.mark.parametrize(
    ("given", "n_arrays"),
    [({"quality": "fast"}, 3), ({}, 5 + 3), ({"quality": "best"}, 10 + 3), ({"n_bags": 2}, 2 + 3)],
    ids=str,
)
def test_every_booster_is_counted_by_the_memory_check(monkeypatch, given, n_arrays: int) -> None:
    """Each booster has scores of its own; gradients, hessians and validation scores are shared."""
    most = n_arrays * 8 * 240 * 3  # three classes
    monkeypatch.setattr("weald.data.memory.most_bytes", lambda: most)
    quick(BoostedTreesClassifier, **given).fit(X, THREE)
    monkeypatch.setattr("weald.data.memory.most_bytes", lambda: most - 1)
    with pytest.raises(MemoryError, match=r"3 scores \(classes or quantiles\) on each of 240 rows"):
        quick(BoostedTreesClassifier, **given).fit(X, THREE)


# ---- again and again ----


@pytest.mark.parametrize(
    ("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, THREE)]
)
def test_two_default_fits_are_equal(kind, y) -> None:
    model = kind(n_iter_no_change=5).fit(X, y)
    for more in ({}, {"random_state": 0}, {"n_jobs": 1}):
        assert kind(n_iter_no_change=5, **more).fit(X, y).fingerprint() == model.fingerprint()
    assert kind(n_iter_no_change=5, random_state=1).fit(X, y).fingerprint() != model.fingerprint()


def test_a_warm_start_keeps_the_chosen_values(monkeypatch) -> None:
    whole = BoostedTreesRegressor(n_estimators=20).fit(X, Y)
    model = BoostedTreesRegressor(n_estimators=8, warm_start=True).fit(X, Y)
    monkeypatch.setattr(auto_settings, "FOLD_ROWS", 100)
    model.set_params(n_estimators=20).fit(X, Y)
    assert chosen(model) == FIXED
    assert model.fingerprint() == whole.fingerprint()


def test_a_warm_start_of_the_default_keeps_boosters_and_rate() -> None:
    model = BoostedTreesClassifier(warm_start=True, n_iter_no_change=5).fit(X, THREE)
    before, made = model.fingerprint(), len(model.validation_loss_) - 1
    assert model.fit(X, THREE).fingerprint() == before  # it has stopped
    model.set_params(n_estimators=made + 3, n_iter_no_change="auto").fit(X, THREE)
    assert chosen(model) == {**SMALL, "n_iter_no_change": 5, "early_stopping": False}
    assert model.multi_class_ == "vector_leaves"
    assert (model.n_estimators_, model.n_bags_) == (made + 3, 5)


def test_without_warm_start_values_are_chosen_anew(is_large: None) -> None:
    model = quick().fit(X[:90], Y[:90])
    assert chosen(model) == SMALL
    assert chosen(model.fit(X, Y)) == LARGE

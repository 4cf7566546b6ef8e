"""Warm starts, and staged predictions."""

import numpy as np
import pandas as pd
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def quick(kind, **parameters):
    settings = {"quality": "fast", "n_estimators": 20, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


X, Y = data()
THREE = np.digitize(Y, [-0.5, 0.5])


def in_parts(model, *given, **more):
    for rounds in (3, 3, 11, 20):
        model.set_params(n_estimators=rounds, warm_start=True).fit(*given, **more)
    return model


# ---- warm start ----


@pytest.mark.parametrize("scale", [1.0, 1e-180, 1e200])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"subsample": 0.6},
        {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.7},
        {"early_stopping": True, "subsample": 0.5},
        {"loss": "huber"},
        {"loss": "absolute_error", "early_stopping": True, "scoring": "neg_median_absolute_error"},
        {"loss": "poisson"},
        {"exact": True},
    ],
)
def test_parts_end_where_the_whole_does(more, scale: float) -> None:
    y = (np.abs(Y) if "poisson" in more.values() else Y) * scale
    whole = quick(BoostedTreesRegressor, **more).fit(X, y)
    parts = in_parts(quick(BoostedTreesRegressor, **more), X, y)
    assert parts.fingerprint() == whole.fingerprint()
    assert parts.n_estimators_ == whole.n_estimators_
    if "early_stopping" in more:
        assert np.array_equal(parts.validation_loss_, whole.validation_loss_)
        assert np.array_equal(parts.validation_score_, whole.validation_score_)


def test_parts_of_classes_weights_and_categories() -> None:
    weight = np.random.default_rng(0).random(300)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["b"] = pd.Categorical(np.where(X[:, 1] > 0, "up", "down"))
    for y in (THREE, THREE > 1):
        whole = quick(BoostedTreesClassifier).fit(table, y, weight)
        parts = in_parts(quick(BoostedTreesClassifier), table, y, weight)
        assert parts.fingerprint() == whole.fingerprint()


def test_warm_start_with_a_validation_set() -> None:
    rows = {"X_val": X[200:], "y_val": Y[200:]}
    whole = quick(BoostedTreesRegressor, early_stopping=True).fit(X[:200], Y[:200], **rows)
    parts = in_parts(quick(BoostedTreesRegressor, early_stopping=True), X[:200], Y[:200], **rows)
    assert parts.fingerprint() == whole.fingerprint()


def test_an_unwritten_seed_is_kept() -> None:
    state = np.random.RandomState(3)
    whole = quick(BoostedTreesRegressor, subsample=0.5, random_state=state).fit(X, Y)
    state = np.random.RandomState(3)
    parts = in_parts(quick(BoostedTreesRegressor, subsample=0.5, random_state=state), X, Y)
    assert parts.fingerprint() == whole.fingerprint()


def test_a_stopped_fit_continues_only_with_more_patience() -> None:
    noise = np.random.default_rng(0).normal(size=300)
    settings = {"early_stopping": True, "n_estimators": 50, "warm_start": True, "tol": 0.0}
    model = quick(BoostedTreesRegressor, n_iter_no_change=3, **settings).fit(X, noise)
    made = len(model.validation_loss_)
    assert made < 51
    assert len(model.fit(X, noise).validation_loss_) == made
    model.set_params(n_iter_no_change=30).fit(X, noise)
    anew = quick(BoostedTreesRegressor, n_iter_no_change=30, **settings).fit(X, noise)
    assert len(model.validation_loss_) > made
    assert model.fingerprint() == anew.fingerprint()


def test_warm_start_with_other_rows_as_in_scikit_learn() -> None:
    model = quick(BoostedTreesRegressor, warm_start=True).fit(X, Y)
    before = model.forest_
    model.set_params(n_estimators=25).fit(*data(seed=1))
    assert model.n_estimators_ == 25
    assert np.array_equal(model.forest_.value[: len(before.value)], before.value)


def test_without_warm_start_a_fit_begins_anew() -> None:
    model = quick(BoostedTreesRegressor).fit(X, Y)
    assert model.set_params(n_estimators=5).fit(X, Y).n_estimators_ == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.set_params(n_estimators=19).fit(X, THREE), "larger or equal to the 20 rounds"),
        (lambda m: m.fit(X, THREE > 1), "other classes"),
        (lambda m: m.fit(X, THREE + 1), "other classes"),
        (lambda m: m.fit(X[:, :3], THREE), "a fit on 5 columns; got 3"),
        (lambda m: m.fit(pd.DataFrame(X).astype({0: str}), THREE), "other kinds or categories"),
        (
            lambda m: m.set_params(early_stopping=True).fit(X, THREE),
            "did not record 'validation loss', but 'train loss'",
        ),
    ],
)
def test_changes_that_a_warm_start_rejects(change, message: str) -> None:
    model = quick(BoostedTreesClassifier, warm_start=True).fit(X, THREE)
    before = model.fingerprint()
    with pytest.raises(ValueError, match=message):
        change(model)
    assert model.fingerprint() == before
    assert model.n_features_in_ == 5
    assert model.classes_.tolist() == [0, 1, 2]


def test_warm_start_of_one_class() -> None:
    model = quick(BoostedTreesClassifier, warm_start=True).fit(X, np.ones(300))
    assert model.fit(X, np.ones(300)).predict(X[:1]).tolist() == [1.0]
    with pytest.raises(ValueError, match="other classes"):
        model.fit(X, THREE)


# ---- stages ----


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_of_classes_are_shorter_fits(n_classes: int) -> None:
    y = THREE if n_classes == 3 else THREE > 1
    model = quick(BoostedTreesClassifier).fit(X, y)
    names = ("predict", "predict_proba", "decision_function")
    stages = {name: list(getattr(model, f"staged_{name}")(X)) for name in names}
    for rounds in (1, 7, 20):
        short = quick(BoostedTreesClassifier, n_estimators=rounds).fit(X, y)
        for name in names:
            assert np.array_equal(stages[name][rounds - 1], getattr(short, name)(X))
    assert {len(one) for one in stages.values()} == {20}


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_stages_of_numbers_are_shorter_fits(loss: str) -> None:
    y = np.abs(Y) * 1e-200
    stages = list(quick(BoostedTreesRegressor, loss=loss).fit(X, y).staged_predict(X.tolist()))
    for rounds in (1, 7, 20):
        short = quick(BoostedTreesRegressor, loss=loss, n_estimators=rounds).fit(X, y)
        assert np.array_equal(stages[rounds - 1], short.predict(X))


def test_stages_end_at_the_best_round_with_refitted_leaves() -> None:
    model = quick(BoostedTreesRegressor, early_stopping=True, n_estimators=200).fit(X, Y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.n_estimators_ < 200
    assert np.array_equal(stages[-1], model.predict(X))


def test_stages_of_a_model_that_is_not_fitted() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        next(quick(BoostedTreesRegressor).staged_predict(X))
    assert list(quick(BoostedTreesClassifier).fit(X, np.ones(300)).staged_predict(X)) == []

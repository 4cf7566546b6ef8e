"""Validation rows, given or held out: not used for training, curves and early stopping."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.data.rows import MOST_COPIES


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def classes(y: np.ndarray, n_classes: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * n_classes // len(y)


def quick(kind, **parameters):
    settings = {"quality": "fast", "n_estimators": 10, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


X, Y = data(400)
TRAIN, VAL = slice(0, 300), slice(300, 400)


def frame(values: np.ndarray) -> pd.DataFrame:
    """Numbers, a category and a date."""
    levels = np.array(["a", "b", "c"])[(values[:, 1] > 0).astype(int) + (values[:, 2] > 1)]
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta((values[:, 3] * 100).round(), unit="D")
    return pd.DataFrame({"x": values[:, 0], "level": levels, "day": days, "z": values[:, 4]})


# ---- not used for training ----


@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_a_validation_set_has_no_weight_in_bins(min_samples_leaf: int) -> None:
    """Also where the weights are whole numbers only just: their sum is the largest possible."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(1_000, 2))
    y = X[:, 0] + rng.normal(size=1_000)
    weight = rng.integers(1, 64, 1_000).astype(np.float64)
    weight[7] += MOST_COPIES - weight.sum()
    X[7], y[7] = 5.0, 0.0
    model = BoostedTreesRegressor(
        n_estimators=5,
        early_stopping=False,
        n_bags=None,
        subsample=1.0,
        min_samples_leaf=min_samples_leaf,
    )
    alone = model.fit(X, y, sample_weight=weight).fingerprint()
    for order in (np.arange(1_000), np.arange(1_000)[::-1], np.roll(np.arange(1_000), -7)):
        model.fit(X[order], y[order], sample_weight=weight[order], X_val=X[:50], y_val=y[:50])
        assert model.fingerprint() == alone


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"subsample": 0.5},
        {"exact": True},
        {"max_bins": 1000},
        {"loss": "huber"},
        {"loss": "absolute_error"},
        {"growth": "symmetric", "max_leaf_nodes": 8},
    ],
)
@pytest.mark.parametrize("weights", [None, "whole", "other"])
def test_validation_rows_do_not_affect_the_trees(more, weights) -> None:
    """Whatever they hold, the model is that of a fit without them."""
    rng = np.random.default_rng(1)
    weight = {"whole": rng.integers(0, 4, 300), "other": rng.random(300) + 0.1}.get(weights)
    alone = quick(BoostedTreesRegressor, **more).fit(X[TRAIN], Y[TRAIN], weight)
    for factor in (1.0, 1e6, np.nan):
        model = quick(BoostedTreesRegressor, **more)
        wild = 1e9 * rng.random(100)
        model.fit(X[TRAIN], Y[TRAIN], weight, X[VAL] * factor, wild, rng.random(100) * 1e9)
        assert model.fingerprint() == alone.fingerprint()


@pytest.mark.parametrize("kind", ["frame", "sparse", "float32"])
def test_validation_set_in_any_container(kind: str) -> None:
    made = {"frame": frame, "sparse": sparse.csr_array, "float32": np.float32}[kind]
    alone = quick(BoostedTreesRegressor).fit(made(X[TRAIN]), Y[TRAIN])
    model = quick(BoostedTreesRegressor).fit(made(X[TRAIN]), Y[TRAIN], None, made(X[VAL]), Y[VAL])
    assert model.fingerprint() == alone.fingerprint()
    loss = ((model.predict(made(X[VAL])) - Y[VAL]) ** 2).mean() / 2
    assert model.validation_loss_[-1] == pytest.approx(loss, rel=1e-12)


def test_categories_come_from_training_rows() -> None:
    table = frame(X)
    table.loc[300:, "level"] = "never seen"
    model = quick(BoostedTreesRegressor).fit(table[:300], Y[TRAIN], None, table[300:], Y[VAL])
    assert (
        model.fingerprint() == quick(BoostedTreesRegressor).fit(table[:300], Y[:300]).fingerprint()
    )
    again = table[300:][["z", "day", "level", "x"]]  # columns are matched by name
    other = quick(BoostedTreesRegressor).fit(table[:300], Y[TRAIN], None, again, Y[VAL])
    assert np.array_equal(other.validation_loss_, model.validation_loss_)


# ---- curves ----


@pytest.mark.parametrize("n_classes", [2, 3])
def test_curves_are_the_losses_of_the_stages(n_classes: int) -> None:
    y = classes(Y, n_classes)
    model = quick(BoostedTreesClassifier).fit(X[TRAIN], y[TRAIN], X_val=X[VAL], y_val=y[VAL])
    stages = model.staged_predict_proba(X)
    for number, shares in enumerate(stages, start=1):
        train, held = log_loss(y[TRAIN], shares[TRAIN]), log_loss(y[VAL], shares[VAL])
        assert model.train_loss_[number] == pytest.approx(train, rel=1e-12)
        assert model.validation_loss_[number] == pytest.approx(held, rel=1e-12)
    assert number == 10
    assert np.array_equal(model.validation_score_, -model.validation_loss_)


def test_weights_of_validation_rows() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 100)

    def curve(rows, weight):
        model = quick(BoostedTreesRegressor, early_stopping=True, n_iter_no_change=3)
        return model.fit(X[TRAIN], Y[TRAIN], None, X[rows], Y[rows], weight).validation_loss_

    weighted = curve(np.arange(300, 400), counts)
    assert np.array_equal(weighted, curve(300 + np.repeat(np.arange(100), counts), None))
    assert np.array_equal(weighted, curve(300 + np.flatnonzero(counts), counts[counts > 0]))
    assert np.array_equal(weighted, curve(300 + np.arange(100)[::-1], counts[::-1]))
    assert curve(np.arange(300, 400), counts * 0.3) == pytest.approx(weighted, rel=1e-12)


def test_the_curve_of_many_rows_is_that_of_some(monkeypatch) -> None:
    monkeypatch.setattr("weald.ensembles.boosted_trees.early_stopping.TRAIN_LOSS_ROWS", 100)
    weight = np.random.default_rng(0).integers(0, 4, 300)
    order = np.random.default_rng(1).permutation(300)
    rows = {"X_val": X[VAL], "y_val": Y[VAL]}

    def curve(*given):
        return quick(BoostedTreesRegressor).fit(*given, **rows).train_loss_

    some = curve(X[TRAIN], Y[TRAIN], weight)
    assert np.array_equal(some, curve(X[order], Y[order], weight[order]))
    monkeypatch.setattr("weald.ensembles.boosted_trees.early_stopping.TRAIN_LOSS_ROWS", 10**6)
    all_ = curve(X[TRAIN], Y[TRAIN], weight)
    assert not np.array_equal(some, all_)
    assert some == pytest.approx(all_, rel=0.5)
    monkeypatch.setattr(
        "weald.ensembles.boosted_trees.early_stopping.TRAIN_LOSS_ROWS", 0
    )  # none but that of least hash
    assert np.isfinite(curve(X[TRAIN], Y[TRAIN])).all()


def test_the_curve_of_many_copies_of_few_rows_is_that_of_some_of_each(monkeypatch) -> None:
    monkeypatch.setattr("weald.ensembles.boosted_trees.early_stopping.TRAIN_LOSS_ROWS", 1000)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 4000).astype(float)
    y = np.where(rng.random(4000) < 0.1, 1 - x, x)
    model = quick(BoostedTreesRegressor, n_estimators=60).fit(
        x[:, np.newaxis], y, X_val=x[:50, np.newaxis], y_val=y[:50]
    )
    mean = ((model.predict(x[:, np.newaxis]) - y) ** 2).mean() / 2
    assert model.train_loss_[-1] == pytest.approx(mean, rel=0.3)


def test_curves_are_in_the_units_of_the_target() -> None:
    plain = quick(BoostedTreesRegressor).fit(X[TRAIN], Y[TRAIN], None, X[VAL], Y[VAL])
    tiny = quick(BoostedTreesRegressor).fit(
        X[TRAIN], Y[TRAIN] * 2.0**-500, None, X[VAL], Y[VAL] * 2.0**-500
    )
    assert np.array_equal(tiny.validation_loss_, plain.validation_loss_ * 2.0**-1000)


@pytest.mark.filterwarnings("ignore:.* no effect:weald.errors.WealdWarning")
def test_without_early_stopping_only_the_curve_is_drawn() -> None:
    model = quick(BoostedTreesRegressor, n_iter_no_change=1, learning_rate=1.0, n_estimators=40)
    model.fit(X[TRAIN], Y[TRAIN], None, X[VAL], Y[VAL])
    assert model.n_estimators_ == 40
    assert len(model.validation_loss_) == 41


# ---- when to stop ----


def test_the_best_round_on_the_validation_set_is_kept() -> None:
    model = quick(BoostedTreesRegressor, n_estimators=300, early_stopping=True, tol=0.0)
    model.fit(X[TRAIN], Y[TRAIN], None, X[VAL], Y[VAL])
    assert model.n_estimators_ == np.argmin(model.validation_loss_)
    assert len(model.validation_loss_) == model.n_estimators_ + 11
    # No training row was held out, so no leaf is refitted.
    *_, last = model.staged_predict(X)
    assert np.array_equal(last, model.predict(X))
    assert model.forest_.weight[0] == 300


@pytest.mark.parametrize("given", [False, True])
def test_auto_stops_early_if_the_number_of_rounds_is_auto(given: bool) -> None:
    noise = np.random.default_rng(0).normal(size=300)
    rows = {"X_val": X[VAL], "y_val": Y[VAL]} if given else {}
    more = {"quality": "default", "early_stopping": "auto"}
    model = quick(BoostedTreesRegressor, n_estimators="auto", n_iter_no_change=2, **more)
    model.fit(X[TRAIN], noise, **rows)
    assert model.stopped_by_ == "early_stopping"
    assert len(model.validation_loss_) == model.n_estimators_ + 3
    fixed = quick(BoostedTreesRegressor, **more).fit(X[TRAIN], noise, **rows)
    assert (fixed.stopped_by_, fixed.n_estimators_) == ("n_estimators", 10)
    assert hasattr(fixed, "validation_loss_") == given


# ---- other scorers ----


@pytest.mark.parametrize("given", [True, False])
def test_a_scorer_receives_the_model_of_each_round(given: bool) -> None:
    seen = []

    def scorer(model, table, y):
        assert np.array_equal(model.predict(np.asarray(table)), model.predict(table))
        seen.append(model.forest_.n_trees)
        return -mean_absolute_error(y, model.predict(table))

    model = quick(BoostedTreesRegressor, early_stopping=True, scoring=scorer, tol=0.0)
    rows = {"X_val": X[VAL], "y_val": Y[VAL]} if given else {}
    model.fit(X[TRAIN], Y[TRAIN], **rows)
    assert seen == list(range(11))
    named = quick(BoostedTreesRegressor, early_stopping=True, scoring="neg_mean_absolute_error")
    named.fit(X[TRAIN], Y[TRAIN], **rows)
    assert named.validation_score_ == pytest.approx(model.validation_score_, rel=1e-12)
    if given:
        stages = [mean_absolute_error(Y[VAL], stage) for stage in model.staged_predict(X[VAL])]
        assert model.validation_score_[1:] == pytest.approx(-np.array(stages), rel=1e-12)


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "neg_log_loss"])
def test_scorers_of_classes(scoring) -> None:
    y = np.where(Y > 0, "yes", "no")
    model = quick(BoostedTreesClassifier, early_stopping=True, scoring=scoring)
    model.fit(X[TRAIN], y[TRAIN], None, frame_of_numbers(X[VAL]), y[VAL])
    assert len(model.validation_score_) > 2
    best = model.validation_score_[model.n_estimators_]
    assert best == model.validation_score_.max() > model.validation_score_[0]
    if scoring in (None, "accuracy"):
        assert best == model.score(X[VAL], y[VAL])


def frame_of_numbers(values: np.ndarray) -> list[list[float]]:
    return values.tolist()


def test_a_scorer_counts_rows_by_their_weights() -> None:
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    counts = np.random.default_rng(0).integers(0, 4, 100)
    many = 300 + np.repeat(np.arange(100), counts)

    def curve(rows, weight):
        model = quick(BoostedTreesRegressor, scoring=scoring)
        return model.fit(X[TRAIN], Y[TRAIN], None, X[rows], Y[rows], weight).validation_score_

    weighted = curve(np.arange(300, 400), counts)
    assert weighted == pytest.approx(curve(many, None), rel=1e-12)
    assert weighted == pytest.approx(curve(np.arange(300, 400), counts * 0.3), rel=1e-12)


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_a_scorer_that_takes_no_weights_is_refused_for_weighted_rows(held_out, factor) -> None:
    def plain(model, table, y):
        return -((model.predict(table) - y) ** 2).mean()

    weight = factor * np.random.default_rng(0).integers(1, 4, 400)
    model = quick(BoostedTreesRegressor, scoring=plain, early_stopping=held_out)

    def fit(weight):
        if held_out:
            return model.fit(X, Y, weight)
        own = None if weight is None else weight[VAL]
        return model.fit(X[TRAIN], Y[TRAIN], None, X[VAL], Y[VAL], own)

    with pytest.raises(ValueError, match="has no parameter sample_weight, and the validation"):
        fit(weight)
    # Equal weights are none.
    assert np.array_equal(fit(np.full(400, factor)).validation_score_, fit(None).validation_score_)


@pytest.mark.parametrize("score", [np.nan, None, "good", np.ones(2), 1j, np.ma.masked])
def test_a_scorer_without_a_number_is_an_error(score) -> None:
    model = quick(BoostedTreesRegressor, early_stopping=True, scoring=lambda *_: score)
    with pytest.raises(ValueError, match=r"scoring=.*, for the validation rows, returned "):
        model.fit(X, Y)
    assert not hasattr(model, "forest_")


# ---- errors ----


def test_half_given_rows_are_refused() -> None:
    for rows, lacking in (
        ({"X_val": X[VAL]}, "X_val is given without y_val"),
        ({"y_val": Y[VAL]}, "y_val is given without X_val"),
        ({"sample_weight_val": Y[VAL]}, "sample_weight_val is given without X_val and y_val"),
    ):
        with pytest.raises(ValueError, match=lacking):
            quick(BoostedTreesRegressor).fit(X[TRAIN], Y[TRAIN], **rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((X[VAL, :3], Y[VAL]), "X_val: X has 3 features, but BoostedTreesRegressor is expecting 5"),
        ((X[VAL], Y[VAL][:-1]), "X_val has 100 rows and y_val has 99"),
        ((X[VAL], np.where(Y[VAL] > 1, np.nan, 0)), "y_val: Input y contains NaN"),
        ((X[VAL], Y[VAL], np.full(100, -1.0)), "sample_weight_val: Negative values"),
        ((X[VAL], Y[VAL], np.zeros(100)), "sample_weight_val: .* all weights are zero"),
        ((X[:0], Y[:0]), "X_val: Found array with 0 sample"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows, message: str) -> None:
    model = quick(BoostedTreesRegressor)
    with pytest.raises(ValueError, match=message):
        model.fit(X[TRAIN], Y[TRAIN], None, *rows)
    assert not hasattr(model, "forest_")


def test_unknown_labels_in_the_validation_set_are_rejected() -> None:
    y = np.where(Y > 0, "yes", "no")
    odd = np.where(Y[VAL] > 1, "perhaps", "no")
    with pytest.raises(ValueError, match=r"labels that are not in y: 'perhaps'.*'no', 'yes'"):
        quick(BoostedTreesClassifier).fit(X[TRAIN], y[TRAIN], None, X[VAL], odd)
    fewer = quick(BoostedTreesClassifier).fit(X[TRAIN], y[TRAIN], None, X[VAL], ["no"] * 100)
    assert np.isfinite(fewer.validation_loss_).all()


def test_targets_outside_of_a_loss_are_refused() -> None:
    with pytest.raises(ValueError, match="requires non-negative y"):
        quick(BoostedTreesRegressor, loss="poisson").fit(X[:9], np.ones(9), None, X[VAL], Y[VAL])
    with pytest.raises(ValueError, match="y_val is out of scale with y"):
        quick(BoostedTreesRegressor).fit(X[:9], Y[:9] * 1e-299, None, X[VAL], Y[VAL] * 1e290)


def test_a_user_loss_without_loss_values() -> None:
    class Halves:
        def gradient_hessian(self, y, score):
            return score - y, np.ones_like(y)

    with pytest.raises(ValueError, match=r"Halves has no method loss\(y, score\)"):
        quick(BoostedTreesRegressor, loss=Halves(), early_stopping=True).fit(X, Y)
    model = quick(BoostedTreesRegressor, loss=Halves(), early_stopping=True, scoring="r2")
    assert np.isnan(model.fit(X, Y).validation_loss_).all()
    assert np.isfinite(model.validation_score_).all()


def test_one_class_needs_no_validation() -> None:
    model = quick(BoostedTreesClassifier, early_stopping=True)
    model.fit(X[TRAIN], np.ones(300), None, X[VAL], np.ones(100))
    assert model.predict(X[VAL]).tolist() == [1.0] * 100
    with pytest.raises(ValueError, match="labels that are not in y"):
        model.fit(X[TRAIN], np.ones(300), None, X[VAL], np.zeros(100))

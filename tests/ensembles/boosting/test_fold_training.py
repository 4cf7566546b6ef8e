"""Training of boosters on folds: validation curves, early stopping, and fits in parts."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax, xlogy
from sklearn.metrics import log_loss, mean_absolute_error

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.curves import Patience
from weald.ensembles.staging import staged_scores
from weald.persist import read_archive

SMALL: dict[str, Any] = {
    "quality": "fast",
    "n_bags": 5,
    "n_estimators": 12,
    "min_samples_leaf": 3,
    "random_state": 0,
    "n_jobs": 1,
}
DRAWS = {"subsample": 0.7, "max_features": 2}
VECTOR = {"multi_class": "vector_leaves"}
STOPPING = {"early_stopping": True, "n_estimators": 200, "learning_rate": 0.3, "tol": 0.0}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=300) / 3
TWO = np.array(["no", "yes"])[(Y > 0).astype(int)]
THREE = np.digitize(Y, [-0.5, 0.5])
WEIGHT = RNG.random(300) + 0.2
NEW = RNG.normal(size=(90, 4))
NEW_Y = np.sin(2 * NEW[:, 0]) + NEW[:, 1] * (NEW[:, 2] > 0)

REGRESSOR = (BoostedTreesRegressor, Y, {})
POISSON = (BoostedTreesRegressor, np.abs(Y), {"loss": "poisson"})
MEDIAN = (BoostedTreesRegressor, Y, {"loss": "absolute_error"})
KINDS = [
    pytest.param(*REGRESSOR, id="squared_error"),
    pytest.param(*POISSON, id="poisson"),
    pytest.param(*MEDIAN, id="absolute_error"),
    pytest.param(BoostedTreesClassifier, TWO, {}, id="two classes"),
    pytest.param(BoostedTreesClassifier, THREE, {}, id="three classes"),
    pytest.param(BoostedTreesClassifier, THREE, VECTOR, id="vector leaves"),
]


def fitted(kind: Any = BoostedTreesRegressor, y: Any = Y, *given: Any, **more: Any) -> Any:
    return kind(**{**SMALL, **more}).fit(X, y, *given)


def booster_stages(model: Any, table: np.ndarray) -> np.ndarray:
    """Raw predictions of shape (boosters, rounds + 1, rows, scores), of all rounds made."""
    boosters = model._boosters_of(model._state.forest)
    start = np.repeat(boosters[0].base_score[np.newaxis], len(table), axis=0)
    return np.array([[start, *staged_scores(one, table, 1)] for one in boosters])


def mean_loss(model: Any, y: np.ndarray, scores: np.ndarray, weight: Any = None) -> float:
    """Loss of raw predictions, written anew."""
    if hasattr(model, "classes_"):
        p = softmax(scores, axis=1) if scores.shape[1] > 1 else expit(scores[:, 0])
        return log_loss(y, p, sample_weight=weight)
    one = scores[:, 0]
    losses = {
        "squared_error": lambda: (y - one) ** 2 / 2,
        "absolute_error": lambda: np.abs(y - one),
        "poisson": lambda: np.exp(one) - y - y * one + xlogy(y, y),
    }[model.loss]()
    return float(np.average(losses, weights=weight))


def out_of_bag_stages(model: Any) -> Iterator[np.ndarray]:
    """After each round, the mean score of the boosters that leave a row out."""
    out = (model.oob_.in_bag.toarray() == 0)[:, np.newaxis, :, np.newaxis]
    yield from (booster_stages(model, X) * out).sum(axis=0) / out.sum(axis=0)


# ---- curves ----


@pytest.mark.parametrize("n_bags", [3, 5, 10])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("kind", "y", "more"), KINDS)
def test_validation_loss_is_that_of_out_of_bag_scores(kind, y, more, weight, n_bags) -> None:
    model = fitted(kind, y, weight, n_bags=n_bags, **more)
    losses = [mean_loss(model, y, scores, weight) for scores in out_of_bag_stages(model)]
    assert model.validation_loss_ == pytest.approx(losses, rel=1e-9)
    assert len(losses) == model.n_estimators_ + 1 == 13
    assert np.array_equal(model.validation_score_, -model.validation_loss_)


def test_train_loss_is_that_of_boosters_that_are_trained_on_a_row() -> None:
    model = fitted()
    first, second = booster_stages(model, X)[:2]
    own = (model.oob_.in_bag[0] > 0)[:, np.newaxis]
    losses = [mean_loss(model, Y, scores) for scores in np.where(own, first, second)]
    assert model.train_loss_ == pytest.approx(losses, rel=1e-9)
    assert model.train_loss_[-1] < model.validation_loss_[-1]


def test_curves_are_in_the_units_of_the_target() -> None:
    plain, tiny = fitted(), fitted(y=Y * 2.0**-500)
    # Folds are dealt out by content, so that they are others.
    assert tiny.validation_loss_[0] == pytest.approx(plain.validation_loss_[0] * 2.0**-1000)
    assert tiny.validation_loss_ == pytest.approx(plain.validation_loss_ * 2.0**-1000, rel=0.3)


# ---- early stopping ----


@pytest.mark.parametrize(("kind", "y", "more"), KINDS)
def test_the_model_is_cut_at_the_round_of_least_loss(kind, y, more) -> None:
    model = fitted(kind, y, **more, **STOPPING, n_iter_no_change=4)
    best = int(np.argmin(model.validation_loss_))
    assert model.stopped_by_ == "early_stopping"
    assert 0 < model.n_estimators_ == best < 200
    assert len(model.validation_loss_) == len(model.train_loss_) == best + 5
    losses = [mean_loss(model, y, scores) for scores in out_of_bag_stages(model)]
    assert model.validation_loss_ == pytest.approx(losses, rel=1e-9)
    a_round = model._state.forest.n_trees // (best + 4)
    assert model.forest_.n_trees == best * a_round
    # Nothing is held out: the model is that of a fit of so many rounds.
    short = {**STOPPING, "early_stopping": False, "n_estimators": best, "tol": 1e-7}
    assert fitted(kind, y, **more, **short).fingerprint() == model.fingerprint()


def rounds_waited(kind: Any = BoostedTreesRegressor, y: Any = Y, *given: Any, **more: Any) -> int:
    """Number of rounds after the best one, in a fit that early stopping ended."""
    model = kind(**{"n_jobs": 1, "learning_rate": 0.2, **more}).fit(X, y, *given)
    assert model.stopped_by_ == "early_stopping" and model.n_estimators_ > 0
    return len(next(iter(model.history_.values()))) - 1 - model.n_estimators_


@pytest.mark.parametrize(("quality", "most"), [("default", 50), ("best", 100)])
@pytest.mark.parametrize(("kind", "y"), [(BoostedTreesRegressor, Y), (BoostedTreesClassifier, TWO)])
def test_a_chosen_patience_grows_with_the_best_round(kind, y, quality: str, most: int) -> None:
    model = kind(n_jobs=1, quality=quality, learning_rate=0.2).fit(X, y)
    best = model.n_estimators_
    assert 0 < best < 200
    assert len(model.train_loss_) - 1 - best == most // 5 + best // 5
    assert model.n_iter_no_change_ == model.auto_settings_["n_iter_no_change"] == most


def test_a_growing_patience_has_an_end() -> None:
    assert Patience(50, 10).after(0) == 10
    assert Patience(50, 10).after(199) == 49
    assert Patience(50, 10).after(5000) == 50
    assert Patience(7, 7).after(5000) == 7


@pytest.mark.parametrize(
    "more",
    [
        {"n_iter_no_change": 50},
        {"n_bags": None},
        {"scoring": "r2"},
        {"quality": "fast", "early_stopping": True, "n_bags": 5, "n_estimators": 500},
    ],
    ids=str,
)
def test_patience_does_not_grow_elsewhere(more) -> None:
    assert rounds_waited(**more) == (10 if "quality" in more else 50)


def test_patience_on_rows_of_the_user_does_not_grow() -> None:
    assert rounds_waited(BoostedTreesRegressor, Y, None, NEW, NEW_Y, n_bags=5) == 50


def test_no_round_at_all() -> None:
    model = BoostedTreesRegressor(**{**SMALL, **STOPPING}).fit(np.zeros((60, 1)), Y[:60])
    assert model.n_estimators_ == 0
    assert model.predict([[0.0]])[0] == pytest.approx(Y[:60].mean(), rel=1e-14)
    assert model.oob_.error() == pytest.approx(np.var(Y[:60]))


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", None, "callable"])
def test_scores_are_of_out_of_bag_predictions(scoring: str | None) -> None:
    seen = []

    def scorer(estimator, table, y):
        seen.append(estimator.forest_.n_trees)
        assert len(table) == 300
        return -mean_absolute_error(y, estimator.predict(table))

    chosen = scorer if scoring == "callable" else scoring
    model = fitted(scoring=chosen, early_stopping=True, n_iter_no_change=20, tol=0.0)
    stages = [scores[:, 0] for scores in out_of_bag_stages(model)]
    expected = [-mean_absolute_error(Y, one) for one in stages]
    if scoring is None:
        expected = [1 - ((Y - one) ** 2).sum() / ((Y - Y.mean()) ** 2).sum() for one in stages]
    assert model.validation_score_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert model.n_estimators_ == np.argmax(expected)
    assert seen == ([5 * number for number in range(13)] if scoring == "callable" else [])


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_scorers_of_classes(scoring: str) -> None:
    model = fitted(BoostedTreesClassifier, TWO, scoring=scoring, early_stopping=True)
    assert model.validation_score_.max() == model.validation_score_[model.n_estimators_] > 0.7
    if scoring == "accuracy":
        shares = [np.mean((s[:, 0] > 0) == (TWO == "yes")) for s in out_of_bag_stages(model)]
        assert model.validation_score_ == pytest.approx(shares)


def test_class_weights_apply_to_the_curve() -> None:
    class_weight = {0: 3.0, 1: 1.0, 2: 0.5}
    model = fitted(BoostedTreesClassifier, THREE, class_weight=class_weight)
    weight = np.array([3.0, 1.0, 0.5])[THREE]
    losses = [mean_loss(model, THREE, scores, weight) for scores in out_of_bag_stages(model)]
    assert model.validation_loss_ == pytest.approx(losses, rel=1e-9)


# ---- a validation set ----


@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 1.0, 90)], ids=["plain", "weighted"])
def test_a_validation_set_of_all_boosters(weight) -> None:
    rows = {"X_val": NEW, "y_val": NEW_Y, "sample_weight_val": weight}
    model = BoostedTreesRegressor(**{**SMALL, **STOPPING}, n_iter_no_change=4).fit(X, Y, **rows)
    stages = booster_stages(model, NEW).mean(axis=0)
    losses = [mean_loss(model, NEW_Y, scores, weight) for scores in stages]
    assert model.validation_loss_ == pytest.approx(losses, rel=1e-9)
    assert model.n_estimators_ == np.argmin(losses)
    # Leaves are not refitted, so that the curve stays that of the model.
    assert np.array_equal(model.forest_.value, model._unrefitted.value)
    *_, last = model.staged_predict(NEW)
    assert last == pytest.approx(stages[model.n_estimators_, :, 0])
    assert model.oob_.predictions.shape == (300,)


def test_a_validation_set_changes_no_tree() -> None:
    alone = fitted(**DRAWS)
    model = BoostedTreesRegressor(**SMALL, **DRAWS).fit(X, Y, X_val=NEW * 1e6, y_val=NEW_Y * 1e6)
    assert np.array_equal(model._unrefitted.value, alone._unrefitted.value)
    assert np.array_equal(model._unrefitted.threshold, alone._unrefitted.threshold)
    assert np.array_equal(model.oob_.predictions, alone.oob_.predictions)


# ---- fits in parts ----


@pytest.mark.parametrize(
    "settings",
    [{}, DRAWS, {"early_stopping": True, **DRAWS}, {"early_stopping": True, "n_iter_no_change": 2}],
    ids=["plain", "draws", "early_stopping", "impatient"],
)
@pytest.mark.parametrize(("kind", "y", "more"), KINDS)
def test_a_warm_start_ends_where_one_fit_does(kind, y, more, settings) -> None:
    whole = fitted(kind, y, **more, **settings, n_estimators=20)
    parts = kind(**{**SMALL, **more, **settings}, warm_start=True)
    for rounds in (3, 3, 11, 20):
        parts.set_params(n_estimators=rounds).fit(X, y)
    assert parts.fingerprint() == whole.fingerprint()
    assert np.array_equal(parts.validation_loss_, whole.validation_loss_)
    assert np.array_equal(parts.train_loss_, whole.train_loss_)
    assert np.array_equal(parts.oob_.predictions, whole.oob_.predictions)
    assert parts.n_estimators_ == whole.n_estimators_


def test_a_warm_start_from_50_to_100_rounds_with_a_validation_set() -> None:
    rows = {"X_val": NEW, "y_val": NEW_Y}
    settings = {**SMALL, **DRAWS, "n_estimators": 100}
    whole = BoostedTreesRegressor(**settings).fit(X, Y, **rows)
    parts = BoostedTreesRegressor(**{**settings, "n_estimators": 50}).fit(X, Y, **rows)
    parts.set_params(n_estimators=100, warm_start=True).fit(X, Y, **rows)
    assert parts.fingerprint() == whole.fingerprint()
    assert np.array_equal(parts.validation_loss_, whole.validation_loss_)


def test_a_warm_start_keeps_the_number_of_boosters() -> None:
    model = fitted()
    before = model.fingerprint()
    for n_bags, message in ((None, "with 1 boosters"), (10, "with 10 boosters")):
        with pytest.raises(ValueError, match=rf"{message}.*had 5\. Set n_bags=5"):
            model.set_params(warm_start=True, n_bags=n_bags).fit(X, Y)
    assert model.fingerprint() == before
    alone = fitted(n_bags=None)
    with pytest.raises(ValueError, match=r"with 5 boosters.*Set n_bags=None"):
        alone.set_params(warm_start=True, n_bags=5).fit(X, Y)


class Recorder:
    """A callback of the training loop that keeps the model after each round."""

    reason = "callback"

    def __init__(self, model: Any, attributes_after: Any) -> None:
        self.model, self.attributes_after, self.models = model, attributes_after, []

    def before(self, stage: Any) -> None:
        pass

    def after(self, stage: Any) -> bool:
        model = copy.copy(self.model)
        vars(model).update(self.attributes_after(stage.number + 1))
        self.models.append(model)
        return len(self.models) == 6


def test_callbacks_see_the_model_after_each_round(monkeypatch) -> None:
    recorders = []

    def call_back(model, rounds, inputs, attributes_after, train):
        recorders.append(Recorder(model, attributes_after))
        train(recorders)

    monkeypatch.setattr("weald.ensembles.boosted_trees.booster.call_back", call_back)
    model = fitted()
    assert (model.stopped_by_, model.n_estimators_) == ("callback", 6)
    stages = booster_stages(model, NEW)
    for number, seen in enumerate(recorders[0].models, start=1):
        mean, std = seen.predict(NEW, return_std=True)
        assert mean == pytest.approx(stages[:, number, :, 0].mean(axis=0))
        assert std == pytest.approx(stages[:, number, :, 0].std(axis=0, ddof=1), abs=1e-12)
        assert seen.n_estimators_ == number
    assert fitted(n_estimators=6).fingerprint() == model.fingerprint()


def test_a_pickled_model_continues() -> None:
    model = pickle.loads(pickle.dumps(fitted(**DRAWS)))
    model.set_params(n_estimators=20, warm_start=True).fit(X, Y)
    assert model.fingerprint() == fitted(**DRAWS, n_estimators=20).fingerprint()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.npz"


@pytest.mark.parametrize("settings", [{}, {"early_stopping": True, **DRAWS}])
@pytest.mark.parametrize(("kind", "y", "more"), KINDS)
def test_a_checkpoint_ends_where_one_fit_does(file, kind, y, more, settings) -> None:
    whole = fitted(kind, y, **more, **settings)
    for rounds in (1, 2, 3):
        model = fitted(kind, y, **more, **settings, checkpoint=file, time_limit=1e-9)
        assert (len(model.validation_loss_) - 1, model.stopped_by_) == (rounds, "time_limit")
    again = fitted(kind, y, **more, **settings, checkpoint=file)
    assert again.fingerprint() == whole.fingerprint()
    assert np.array_equal(again.validation_loss_, whole.validation_loss_)


def test_a_fit_interrupted_within_a_round_resumes_at_its_start(file) -> None:
    real = BoostedTreesRegressor._grower

    def interrupted(self, *given):
        grower = real(self, *given)
        on_each, calls = grower.on_each, []

        def grow(*arguments, **named):
            calls.append(1)
            if len(calls) == 18:  # the third booster of the fourth round
                raise KeyboardInterrupt
            return on_each(*arguments, **named)

        grower.on_each = grow
        return grower

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoostedTreesRegressor, "_grower", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted(checkpoint=file)
    assert len(read_archive(file)[1]["output"]) == 15
    assert fitted(checkpoint=file).fingerprint() == fitted().fingerprint()


def test_a_checkpoint_of_another_number_of_boosters_is_refused(file) -> None:
    fitted(checkpoint=file)
    with pytest.raises(ValueError, match="n_bags=5; this fit has n_bags=10"):
        fitted(checkpoint=file, n_bags=10)


@pytest.mark.parametrize("settings", [{}, {"quality": "default", "n_estimators": "auto"}])
def test_a_time_limit_gives_a_usable_model(settings) -> None:
    model = fitted(**settings, time_limit=1e-9)
    assert model.stopped_by_ == "time_limit"
    assert model.n_estimators_ == 1
    assert model.forest_.n_trees == 5
    assert np.isfinite(model.predict(NEW)).all()
    assert model.oob_.error() < np.var(Y)
    assert model.predict_interval(NEW).shape == (90, 2)

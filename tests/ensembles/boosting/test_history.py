"""Losses and scores of every round: several validation sets, several metrics, `history_`."""

from __future__ import annotations

import importlib.util
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss, make_scorer, roc_auc_score

import weald
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.advice import WealdWarning
from weald.ensembles.boosted_trees import early_stopping, loss_sample
from weald.ensembles.rounds.history import History

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=500) / 5
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])
TRAIN, A, B = slice(0, 300), slice(300, 400), slice(400, 500)


def quick(kind: Any, **parameters: Any) -> Any:
    settings = {"quality": "fast", "n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


def both(y: np.ndarray, **more: Any) -> dict[str, Any]:
    """Two validation sets."""
    return {"X_val": {"near": X[A], "far": X[B]}, "y_val": {"near": y[A], "far": y[B]}, **more}


# ---- the training loss ----


@pytest.mark.parametrize("more", [{}, {"subsample": 0.5}, {"multi_class": "vector_leaves"}])
def test_the_training_loss_is_always_recorded(more: dict) -> None:
    model = quick(BoostedTreesClassifier, **more).fit(X, THREE)
    assert list(model.history_) == ["train loss"] and model.history_.watched is None
    assert np.array_equal(model.history_["train loss"], model.train_loss_)
    assert not hasattr(model, "validation_loss_") and not hasattr(model, "validation_score_")
    for n, shares in enumerate(model.staged_predict_proba(X), start=1):
        assert model.train_loss_[n] == pytest.approx(log_loss(THREE, shares), rel=1e-12)
    assert len(model.train_loss_) == 9


def test_it_decides_nothing_and_survives_losses_without_values() -> None:
    class NoValue:
        def gradient_hessian(self, y, score):
            return score - y, np.ones_like(y)

    class Infinite(NoValue):
        def loss(self, y, score):
            return np.full(len(y), np.inf)

    plain = quick(BoostedTreesRegressor).fit(X, Y)
    for loss in (NoValue(), Infinite()):
        model = quick(BoostedTreesRegressor, loss=loss).fit(X, Y)
        assert model.predict(X) == pytest.approx(plain.predict(X), rel=1e-9)
        assert len(model.train_loss_) == 9 and np.isnan(model.train_loss_[1:]).all()


TABLES = {
    "numbers": X,
    "float32": X.astype(np.float32),
    "column order": np.asfortranarray(X),
    "few values": (X > 0).astype(float),
    "frame": pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": X[:, 2]}),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_of_many_rows_it_is_that_of_some_in_any_order(monkeypatch, name: str, task: str) -> None:
    monkeypatch.setattr(early_stopping, "TRAIN_LOSS_ROWS", 100)
    monkeypatch.setattr(loss_sample, "_BLOCK", 64)
    table, order = TABLES[name], np.random.default_rng(1).permutation(500)
    turned = table.iloc[order] if isinstance(table, pd.DataFrame) else table[order]
    kind, y = (BoostedTreesRegressor, Y) if task == "numbers" else (BoostedTreesClassifier, TWO)
    some = quick(kind).fit(table, y).train_loss_
    assert np.array_equal(some, quick(kind).fit(turned, y[order]).train_loss_)
    monkeypatch.setattr(early_stopping, "TRAIN_LOSS_ROWS", 10**6)
    all_ = quick(kind).fit(table, y).train_loss_
    assert some == pytest.approx(all_, rel=0.5) and not np.array_equal(some, all_)


# ---- several sets ----


@pytest.mark.parametrize("n_bags", [None, 3])
def test_every_set_has_its_losses(n_bags: int | None) -> None:
    model = quick(BoostedTreesClassifier, n_bags=n_bags).fit(X[TRAIN], THREE[TRAIN], **both(THREE))
    assert list(model.history_) == ["train loss", "near loss", "far loss"]
    assert model.history_.watched == "near loss"
    for name, rows in {"near": A, "far": B}.items():
        alone = quick(BoostedTreesClassifier, n_bags=n_bags)
        alone.fit(X[TRAIN], THREE[TRAIN], X_val=X[rows], y_val=THREE[rows])
        assert np.array_equal(alone.validation_loss_, model.history_[f"{name} loss"])
        assert alone.fingerprint() == model.fingerprint()
    assert np.array_equal(model.validation_loss_, model.history_["near loss"])
    assert np.array_equal(model.validation_score_, -model.history_["near loss"])


def test_the_first_set_decides_when_to_stop() -> None:
    more = {"early_stopping": True, "n_estimators": 200, "n_iter_no_change": 5}
    sets = {"X_val": {"far": X[B], "near": X[A]}, "y_val": {"near": Y[A], "far": Y[B]}}
    model = quick(BoostedTreesRegressor, **more).fit(X[TRAIN], Y[TRAIN], **sets)
    alone = quick(BoostedTreesRegressor, **more)
    alone.fit(X[TRAIN], Y[TRAIN], X_val=X[B], y_val=Y[B])
    assert model.history_.watched == "far loss" and model.stopped_by_ == "early_stopping"
    assert model.fingerprint() == alone.fingerprint()
    assert model.n_estimators_ == np.argmin(model.history_["far loss"])
    assert model.history_.n_rounds == model.n_estimators_ + 5


def test_weights_of_some_sets() -> None:
    weight = np.random.default_rng(0).integers(0, 3, 100).astype(float)
    model = quick(BoostedTreesRegressor)
    model.fit(X[TRAIN], Y[TRAIN], **both(Y, sample_weight_val={"far": weight}))
    plain = quick(BoostedTreesRegressor).fit(X[TRAIN], Y[TRAIN], **both(Y))
    assert np.array_equal(model.history_["near loss"], plain.history_["near loss"])
    own = quick(BoostedTreesRegressor)
    own.fit(X[TRAIN], Y[TRAIN], X_val=X[B], y_val=Y[B], sample_weight_val=weight)
    assert model.history_["far loss"] == pytest.approx(own.validation_loss_, rel=1e-12)


def test_class_weights_and_offsets_of_sets() -> None:
    raw = X[:, 0]
    model = quick(BoostedTreesClassifier, class_weight="balanced")
    sets = both(TWO, offset=raw[TRAIN], offset_val={"far": raw[B], "near": raw[A]})
    model.fit(X[TRAIN], TWO[TRAIN], **sets)
    alone = quick(BoostedTreesClassifier, class_weight="balanced").fit(
        X[TRAIN], TWO[TRAIN], X_val=X[B], y_val=TWO[B], offset=raw[TRAIN], offset_val=raw[B]
    )
    assert np.array_equal(model.history_["far loss"], alone.validation_loss_)
    zero = quick(BoostedTreesClassifier, class_weight={0: 0.0})
    with pytest.raises(ValueError, match="weight 0 to every class of y_val"):
        zero.fit(X, THREE, X_val={"a": X, "b": X}, y_val={"a": THREE, "b": np.zeros(500, int)})


@pytest.mark.parametrize("made", ["frame", "sparse"])
def test_sets_of_any_kind(made: str) -> None:
    from scipy import sparse

    as_table = {"frame": pd.DataFrame, "sparse": sparse.csr_array}[made]
    sets = {"X_val": {"near": as_table(X[A]), "far": as_table(X[B])}, "y_val": both(Y)["y_val"]}
    model = quick(BoostedTreesRegressor).fit(as_table(X[TRAIN]), Y[TRAIN], **sets)
    plain = quick(BoostedTreesRegressor).fit(as_table(X[TRAIN]), Y[TRAIN])
    assert model.fingerprint() == plain.fingerprint()
    far = ((model.predict(as_table(X[B])) - Y[B]) ** 2).mean() / 2
    assert model.history_["far loss"][-1] == pytest.approx(far, rel=1e-12)


# ---- several metrics ----


def test_metrics_of_every_set() -> None:
    model = quick(BoostedTreesClassifier, metrics=["roc_auc", "loss", "accuracy"])
    model.fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    columns = [
        f"{name} {metric}" for name in ("near", "far") for metric in ("loss", "roc_auc", "accuracy")
    ]
    assert list(model.history_) == ["train loss", *columns]
    for name, rows in {"near": A, "far": B}.items():
        for n, scores in enumerate(model.staged_decision_function(X[rows]), start=1):
            auc = roc_auc_score(TWO[rows], scores)
            assert model.history_[f"{name} roc_auc"][n] == pytest.approx(auc, rel=1e-12)
            right = accuracy_score(TWO[rows], scores > 0)
            assert model.history_[f"{name} accuracy"][n] == pytest.approx(right, rel=1e-12)
    plain = quick(BoostedTreesClassifier).fit(X[TRAIN], TWO[TRAIN])
    assert model.fingerprint() == plain.fingerprint()


def test_scoring_is_the_one_that_is_watched() -> None:
    more = {"early_stopping": True, "n_estimators": 60, "n_iter_no_change": 5}
    model = quick(
        BoostedTreesClassifier, scoring="roc_auc", metrics=["accuracy", "roc_auc"], **more
    )
    model.fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    assert model.history_.watched == "near roc_auc"
    assert [name for name in model.history_ if "near" in name] == [
        "near loss",
        "near roc_auc",
        "near accuracy",
    ]
    assert np.array_equal(model.validation_score_, model.history_["near roc_auc"])
    assert np.array_equal(model.validation_loss_, model.history_["near loss"])
    assert model.n_estimators_ == np.argmax(model.history_["near roc_auc"])
    for scoring in (None, make_scorer(accuracy_score)):
        other = quick(BoostedTreesClassifier, scoring=scoring).fit(
            X[TRAIN], TWO[TRAIN], **both(TWO)
        )
        assert other.history_.watched == "near score"
        assert other.history_["near score"][0] == accuracy_score(
            TWO[A], np.full(100, np.bincount(TWO[TRAIN]).argmax())
        )


def test_own_metrics_by_name_held_out_rows_and_folds() -> None:
    def mean_score(model, X, y):
        return float(np.mean(model.predict_proba(X)[:, 1]))

    metrics = {"mean": mean_score, "auc": "roc_auc"}
    for more in ({"early_stopping": True}, {"n_bags": 3}):
        model = quick(BoostedTreesClassifier, metrics=metrics, **more).fit(X, TWO)
        assert list(model.history_) == [
            "train loss",
            "validation loss",
            "validation mean",
            "validation auc",
        ]
        assert model.history_.watched == "validation loss"
        assert model.history_["validation mean"] == pytest.approx(TWO.mean(), abs=0.1)
        plain = quick(BoostedTreesClassifier, **more).fit(X, TWO)
        assert plain.fingerprint() == model.fingerprint()


def test_losses_without_values_can_have_metrics() -> None:
    class NoValue:
        def gradient_hessian(self, y, score):
            return score - y, np.ones_like(y)

    model = quick(BoostedTreesRegressor, loss=NoValue(), scoring="r2")
    model.fit(X[TRAIN], Y[TRAIN], **both(Y))
    assert model.history_.watched == "near r2"
    assert np.isnan(model.validation_loss_).all() and np.isnan(model.train_loss_).all()
    assert np.array_equal(model.validation_score_, model.history_["near r2"])


# ---- continuing ----


def test_parts_have_the_curves_of_the_whole(tmp_path) -> None:
    settings = {"metrics": ["r2"], "n_bags": 2}
    whole = quick(BoostedTreesRegressor, **settings).fit(X[TRAIN], Y[TRAIN], **both(Y))
    parts = quick(BoostedTreesRegressor, warm_start=True, n_estimators=3, **settings)
    parts.fit(X[TRAIN], Y[TRAIN], **both(Y)).set_params(n_estimators=8)
    parts.fit(X[TRAIN], Y[TRAIN], **both(Y))
    file = tmp_path / "fit.npz"
    for rounds in (3, 8):
        kept = quick(BoostedTreesRegressor, checkpoint=file, **settings, n_estimators=rounds)
        kept.fit(X[TRAIN], Y[TRAIN], **both(Y))
    for model in (parts, kept):
        assert model.fingerprint() == whole.fingerprint()
        assert list(model.history_) == list(whole.history_)
        assert all(
            np.array_equal(model.history_[name], whole.history_[name]) for name in whole.history_
        )
    with pytest.raises(ValueError, match="did not record 'late loss', 'late r2'"):
        parts.set_params(n_estimators=9).fit(
            X[TRAIN], Y[TRAIN], X_val={"late": X[A]}, y_val={"late": Y[A]}
        )
    parts.set_params(metrics=None).fit(X[TRAIN], Y[TRAIN], **both(Y))  # fewer are possible
    assert list(parts.history_) == ["train loss", "near loss", "far loss"]
    assert parts.history_.n_rounds == 9


# ---- the table ----


def test_it_is_a_mapping_and_a_frame() -> None:
    model = quick(BoostedTreesRegressor, metrics=["r2"]).fit(X[TRAIN], Y[TRAIN], **both(Y))
    history = model.history_
    assert isinstance(history, History) and len(history) == 5
    assert dict(history)["far r2"] is history["far r2"]
    frame = history.to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame.index.name == "round"
    assert frame.columns.tolist() == list(history) and frame.shape == (9, 5)
    other = history.to_polars()
    assert isinstance(other, pl.DataFrame) and other.columns == ["round", *history]
    assert other["far r2"].to_list() == frame["far r2"].tolist() == history["far r2"].tolist()
    with pytest.raises(KeyError, match="no curve 'near'; there are .*near loss"):
        history["near"]
    with pytest.raises(ValueError, match="read-only"):
        history["far r2"][0] = 1.0
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.history_["far r2"], history["far r2"])
    assert history == history and history != again.history_
    assert not hasattr(clone(model), "history_")


def test_it_is_saved_with_the_model(tmp_path) -> None:
    model = quick(BoostedTreesRegressor, metrics=["r2"], warm_start=True)
    model.fit(X[TRAIN], Y[TRAIN], offset=X[TRAIN, 0], **both(Y, offset_val=both(X[:, 0])["y_val"]))
    model.save(tmp_path / "model.weald")
    again = weald.load(tmp_path / "model.weald")
    assert list(again.history_) == list(model.history_)
    assert again.history_.watched == "near loss"
    assert np.array_equal(again.history_["far r2"], model.history_["far r2"])
    assert np.array_equal(again.truncate(3).predict(X), model.predict(X, n_rounds=3))
    with pytest.raises(ValueError, match="with offset, and this one lacks it"):
        again.set_params(n_estimators=10).fit(X[TRAIN], Y[TRAIN])


def test_it_prints_as_a_table() -> None:
    short = quick(BoostedTreesRegressor, n_estimators=2).fit(X, Y).history_
    lines = repr(short).splitlines()
    assert lines[0].split() == ["round", "train", "loss"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "1", "2"]
    assert len({len(line) for line in lines}) == 1
    long = quick(BoostedTreesRegressor, n_estimators=40).fit(X, Y).history_
    rounds = [line.split()[0] for line in repr(long).splitlines()[1:]]
    assert rounds == ["0", "1", "2", "3", "…", "37", "38", "39", "40"]
    one_class = BoostedTreesClassifier().fit(X, np.ones(500)).history_
    assert repr(one_class).split() == ["round", "train", "loss", "0", "0"]


def test_the_progress_bar_shows_the_first_curves(capfd) -> None:
    model = quick(BoostedTreesRegressor, metrics=["r2"], verbose=1)
    model.fit(X[TRAIN], Y[TRAIN], **both(Y))
    last = capfd.readouterr().err.rstrip("\n").split("\r")[-1]
    for name in ("train loss", "near loss", "near r2", "far loss"):
        assert f", {name} {model.history_[name][-1]:.5g}" in last
    assert "far r2" not in last


has_callbacks = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="scikit-learn before 1.9"
)


@has_callbacks
def test_callbacks_see_the_curves_so_far() -> None:
    seen: list[Any] = []

    class Watch:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name != "round":
                return False
            history = fitted_estimator.history_
            assert list(history) == list(estimator.history_)
            assert np.array_equal(history["near loss"], estimator.history_["near loss"])
            assert history.n_rounds == fitted_estimator.n_estimators_ == len(seen) + 1
            seen.append(history["near r2"][-1])
            return len(seen) == 5

    model = quick(BoostedTreesRegressor, metrics=["r2"]).set_callbacks(Watch())
    model.fit(X[TRAIN], Y[TRAIN], **both(Y))
    assert model.n_estimators_ == 5 and model.stopped_by_ == "callback"
    assert seen == model.history_["near r2"][1:].tolist()


# ---- bad input ----

Z = {"a": X[A], "b": X[B]}
V = {"a": Y[A], "b": Y[B]}
BAD_SETS: dict[str, tuple[dict[str, Any], str]] = {
    "no sets": ({"X_val": {}, "y_val": {}}, "X_val is an empty dict"),
    "number as name": ({"X_val": {1: X[A]}, "y_val": {1: Y[A]}}, "names of the validation sets.*1"),
    "reserved name": ({"X_val": {"train": X}, "y_val": {"train": Y}}, "other than 'train'"),
    "columns": ({"X_val": {"x": Y, "y": Y}, "y_val": Y}, "y_val must be a dict with the names of"),
    "other names": ({"X_val": Z, "y_val": {"a": Y[A]}}, "X_val, 'a', 'b'; got the names 'a'"),
    "dict of targets": ({"X_val": X[A], "y_val": V}, "'a', 'b', but X_val is one table"),
    "no target": ({"X_val": Z}, "X_val is given without y_val"),
    "unknown weights": (
        {"X_val": Z, "y_val": V, "sample_weight_val": {"c": Y[A]}},
        "sample_weight_val must be a dict with the names of X_val",
    ),
    "array of weights": (
        {"X_val": Z, "y_val": V, "sample_weight_val": np.ones(100)},
        "sample_weight_val must be a dict .* got ndarray",
    ),
    "lengths": ({"X_val": Z, "y_val": {**V, "b": Y[:9]}}, r"X_val\['b'\] has 100 rows .* 9"),
    "other columns": ({"X_val": {**Z, "b": X[B, :3]}, "y_val": V}, r"X_val\['b'\]: .*3 features"),
    "NaN": ({"X_val": Z, "y_val": {**V, "b": Y[B] * np.nan}}, r"y_val\['b'\]: .*NaN"),
    "negative weight": (
        {"X_val": Z, "y_val": V, "sample_weight_val": {"a": -np.ones(100)}},
        r"sample_weight_val\['a'\]: Negative",
    ),
    "lacking offset": (
        {"X_val": Z, "y_val": V, "offset": Y[TRAIN], "offset_val": {"a": Y[A]}},
        "offset_val must be a dict with the names of X_val",
    ),
    "short offset": (
        {"X_val": Z, "y_val": V, "offset": Y[TRAIN], "offset_val": {**V, "b": Y[:9]}},
        r"offset_val\['b'\] has the shape \(9,\)",
    ),
}


@pytest.mark.parametrize("case", BAD_SETS)
def test_bad_validation_sets(case: str) -> None:
    given, message = BAD_SETS[case]
    model = quick(BoostedTreesRegressor)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X[TRAIN], Y[TRAIN], **given)
    assert not hasattr(model, "forest_")


def test_labels_and_columns_of_a_set_are_checked_by_name() -> None:
    model = quick(BoostedTreesClassifier)
    with pytest.raises(ValueError, match=r"y_val\['b'\] contains labels that are not in y: 7"):
        model.fit(X, TWO, X_val={"a": X, "b": X}, y_val={"a": TWO, "b": TWO + 7 * (TWO > 0) - TWO})
    frame = pd.DataFrame(X, columns=list("pqrs"))
    with pytest.raises(ValueError, match=r"X_val\['b'\]: .*feature names"):
        model.fit(
            frame,
            TWO,
            X_val={"a": frame, "b": frame.rename(columns={"p": "z"})},
            y_val={"a": TWO, "b": TWO},
        )


@pytest.mark.parametrize(
    "metrics", ["roc_auc", [], ["no such metric"], [accuracy_score], {"": "r2"}, {"a": 3}, {}, 5]
)
def test_bad_metrics(metrics: Any) -> None:
    with pytest.raises(
        ValueError, match="'metrics' parameter of BoostedTreesRegressor must be a list"
    ):
        quick(BoostedTreesRegressor, metrics=metrics).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({"metrics": ["accuracy", "auc"]}, "no scorer 'auc'; did you mean 'roc_auc'"),
        ({"metrics": {"a": "logloss"}}, "no scorer 'logloss'; did you mean 'neg_log_loss'"),
        ({"metrics": ["roc_au"]}, "did you mean 'roc_auc'"),
        ({"metrics": "roc_auc"}, r"Pass a list: metrics=\['roc_auc'\]\.$"),
        ({"metrics": [accuracy_score]}, "Functions need names: pass a dict"),
        ({"scoring": "RMSE"}, "did you mean 'neg_root_mean_squared_error'"),
        ({"scoring": "nothing alike"}, r"Got 'nothing alike' instead\.$"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(parameters: dict, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        quick(BoostedTreesClassifier, **parameters).fit(X, TWO)


def test_the_error_of_a_scorer_names_the_metric() -> None:
    model = quick(BoostedTreesClassifier, metrics=["roc_auc"])
    with pytest.raises(ValueError, match="multi_class must be in") as caught:
        model.fit(X, THREE, X_val=X, y_val=THREE)
    assert caught.value.__notes__ == ["Raised by metrics['roc_auc'], for the validation rows."]


def test_metrics_that_cannot_be_told_apart_or_used() -> None:
    given = both(Y)
    for metrics, scoring in (
        ({"loss": "r2"}, "loss"),
        ({"mine": "loss"}, "loss"),
        ({"r2": "neg_mean_squared_error"}, "r2"),
        ({"score": "r2"}, None),
    ):
        model = quick(BoostedTreesRegressor, metrics=metrics, scoring=scoring)
        with pytest.raises(ValueError, match="metrics has two meanings of the name"):
            model.fit(X[TRAIN], Y[TRAIN], **given)
    with pytest.raises(ValueError, match="Two curves have the name 'a b loss'"):
        quick(BoostedTreesRegressor, metrics={"b loss": "r2"}).fit(
            X, Y, X_val={"a": X, "a b": X}, y_val={"a": Y, "a b": Y}
        )
    with pytest.raises(TypeError, match="metrics\\['mine'\\] must be a callable"):
        quick(BoostedTreesRegressor, metrics={"mine": lambda y: 0.0}).fit(X, Y, **given)
    with pytest.raises(
        ValueError, match="metrics\\['mine'\\], for the validation rows, returned .*'no'"
    ):
        quick(BoostedTreesRegressor, metrics={"mine": lambda *_: "no"}).fit(X, Y, **given)
    with pytest.warns(WealdWarning, match="metrics has no effect: there is no validation set"):
        quick(BoostedTreesRegressor, metrics=["r2"]).fit(X, Y)

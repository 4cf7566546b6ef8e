"""The course of a fit: its progress bar, its time limit, its callbacks."""

import re
import sys
import time
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.rounds import progress_bar

HAS_CALLBACKS = find_spec("sklearn.callback") is not None


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def quick(kind=BoostedTreesRegressor, **parameters):
    settings = {"quality": "fast", "n_estimators": 10, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


X, Y = data()


class Interrupting:
    """The squared error, which raises something in a round."""

    def __init__(self, error: BaseException, after: int) -> None:
        self.error, self.left = error, after

    def gradient_hessian(self, y, score):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return score - y, np.ones_like(y)


# ---- progress bar ----


def test_silence_is_the_default(capfd) -> None:
    quick(early_stopping=True).fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("more", [{}, {"early_stopping": True, "n_iter_no_change": 99}])
def test_a_bar_ends_full_on_a_line_of_its_own(capfd, more) -> None:
    model = quick(verbose=1, **more).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("\n")
    last = err.rstrip("\n").split("\r")[-1]
    figure = r"\d[\d.e+-]*"
    losses = rf", train loss {figure}"
    losses += rf", validation loss {figure}" if more else ""
    assert re.fullmatch(rf"round 10/10 \[={{24}}\] {figure} rounds/s{losses}, 0 s left *", last)
    if not more:
        shown = float(re.search(rf"loss ({figure})", last)[1])
        assert shown == pytest.approx(((model.predict(X) - Y) ** 2).mean() / 2, rel=1e-4)


def test_a_bar_is_no_part_of_the_model() -> None:
    assert quick(verbose=2).fit(X, Y).fingerprint() == quick().fit(X, Y).fingerprint()


def test_at_most_ten_updates_a_second(capfd, monkeypatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_bar.time, "perf_counter", lambda: now[0])

    class Slow:
        def gradient_hessian(self, y, score):
            now[0] += 0.03
            return score - y, np.ones_like(y)

    quick(verbose=1, n_estimators=100, loss=Slow()).fit(X, Y)
    # Three seconds of rounds, and the end.
    lines = capfd.readouterr().err.count("\r")
    assert 20 <= lines <= 31


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("broken")])
def test_a_bar_that_is_left_ends_its_line(capfd, monkeypatch, error) -> None:
    monkeypatch.setattr(progress_bar, "_MIN_INTERVAL", 0.0)
    model = quick(verbose=1, loss=Interrupting(error, after=5))
    with pytest.raises(type(error)):
        model.fit(X, Y)
    err = capfd.readouterr().err
    assert "round 2/10" in err
    assert err.endswith("left\n") or err.rstrip(" \n").endswith("left")
    assert err.endswith("\n")
    assert not hasattr(model, "forest_")


def test_a_shorter_text_covers_a_longer_one(capfd, monkeypatch) -> None:
    monkeypatch.setattr(progress_bar, "_MIN_INTERVAL", 0.0)
    quick(verbose=1).fit(X, Y)
    texts = capfd.readouterr().err.rstrip("\n").split("\r")[1:]
    assert len(texts) == 11
    for before, after in pairwise(texts):
        assert len(after) >= len(before.rstrip())


@pytest.mark.parametrize("stream", [None, "closed"])
def test_a_fit_survives_a_closed_stream(monkeypatch, tmp_path, stream) -> None:
    if stream == "closed":
        stream = (tmp_path / "gone").open("w")
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    assert quick(verbose=1).fit(X, Y).n_estimators_ == 10


def test_a_warm_start_that_adds_nothing_shows_nothing(capfd) -> None:
    model = quick(verbose=1, warm_start=True).fit(X, Y)
    capfd.readouterr()
    model.fit(X, Y)
    assert capfd.readouterr().err == ""
    model.set_params(n_estimators=12).fit(X, Y)
    assert "round 12/12" in capfd.readouterr().err


# ---- time limit ----


def test_a_time_limit_ends_a_fit_with_a_model() -> None:
    begin = time.perf_counter()
    model = quick(n_estimators=10**6, time_limit=0.2).fit(X, Y)
    assert time.perf_counter() - begin < 20
    assert model.stopped_by_ == "time_limit"
    assert 1 <= model.n_estimators_ < 10**6
    same = quick(n_estimators=model.n_estimators_).fit(X, Y)
    assert model.fingerprint() == same.fingerprint()
    assert same.stopped_by_ == "n_estimators"


def test_the_round_under_way_is_made() -> None:
    model = quick(time_limit=1e-9, early_stopping=True).fit(X, Y)
    assert len(model.validation_loss_) == 2
    assert model.stopped_by_ == "time_limit"


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    model = quick(time_limit=1e6).fit(X, Y)
    assert model.stopped_by_ == "n_estimators"
    assert model.fingerprint() == quick().fit(X, Y).fingerprint()


def test_stopped_by_early_stopping() -> None:
    noise = np.random.default_rng(0).normal(size=300)
    settings = {"early_stopping": True, "n_iter_no_change": 2, "n_estimators": 99}
    model = quick(**settings, warm_start=True).fit(X, noise)
    assert model.stopped_by_ == "early_stopping"
    assert model.fit(X, noise).stopped_by_ == "early_stopping"


# ---- callbacks ----


class Recorder:
    """Records its calls, and ends the fit after some rounds."""

    def __init__(self, rounds: int = 10**9) -> None:
        self.rounds = rounds
        self.events = []
        self.models = []

    def setup(self, estimator, context):
        self.events.append("setup")
        self.most = context.max_subtasks

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.events.append(("end", context.task_name, context.task_id))
        self.models.append(fitted_estimator.n_estimators_)
        assert np.isfinite(fitted_estimator.predict(X)).all()
        assert len(y) == 300
        assert set(metadata) <= {"sample_weight"}
        return context.task_name == "round" and context.task_id + 1 >= self.rounds


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks yet")
@pytest.mark.parametrize("rounds", [3, 10**9])
def test_callbacks_are_called_in_every_round(rounds: int) -> None:
    recorder = Recorder(rounds)
    model = quick()
    assert model.set_callbacks(recorder) is model
    model.fit(X, Y, np.ones(300))
    made = min(rounds, 10)
    assert model.n_estimators_ == made
    assert model.stopped_by_ == ("callback" if rounds < 10 else "n_estimators")
    assert recorder.most == 10
    assert recorder.models == [*range(1, made + 1), made]
    told = [(what, "round", i) for i in range(made) for what in ("begin", "end")]
    assert recorder.events == ["setup", ("begin", "fit", 0), *told, ("end", "fit", 0), "teardown"]
    assert model.fingerprint() == quick(n_estimators=made).fit(X, Y).fingerprint()
    assert not [name for name in vars(model) if "callback" in name and name != "_skl_callbacks"]


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks yet")
def test_callbacks_of_classes_clones_and_none() -> None:
    recorder = Recorder(2)
    model = clone(quick(BoostedTreesClassifier).set_callbacks(recorder))
    assert model.fit(X, np.digitize(Y, [-0.5, 0.5])).n_estimators_ == 2
    assert model.set_callbacks().fit(X, Y > 0).n_estimators_ == 10
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks(object())


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks yet")
def test_a_callback_that_raises_is_torn_down() -> None:
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no")

    recorder = Failing()
    model = quick().set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="no"):
        model.fit(X, Y)
    assert recorder.events[-1] == "teardown"
    assert list(vars(model)) == [*vars(quick()), "_skl_callbacks"]


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks yet")
def test_scikit_learns_own_callback() -> None:
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="r2")
    model = quick().set_callbacks(monitor).fit(X, Y)
    frame = monitor.get_logs().data_as_pandas
    last = frame["r2"].to_numpy()[-1]
    assert len(frame) >= 10
    assert last == pytest.approx(model.score(X, Y), rel=1e-12)


def test_without_the_protocol_the_error_is_clear(monkeypatch) -> None:
    monkeypatch.setattr(
        "weald.ensembles.rounds.callbacks.importlib.util.find_spec", lambda name: None
    )
    with pytest.raises(AttributeError) as caught:
        quick().set_callbacks()
    assert "(sklearn.callback), available from version 1.9" in str(caught.value)
    assert not hasattr(quick(), "set_callbacks")

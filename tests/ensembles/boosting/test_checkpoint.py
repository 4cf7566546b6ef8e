"""Fits that are cut short and go on from a file, to the bits of a fit that never was."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ensembles.boosting.long_fit import long_fit
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees import checkpoint
from weald.persist import read_archive, write_archive


def data(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def quick(kind=BoostedTreesRegressor, **parameters):
    settings = {"quality": "fast", "n_estimators": 20, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


X, Y = data()
THREE = np.digitize(Y, [-0.5, 0.5])


@pytest.fixture
def file(tmp_path):
    return tmp_path / "fit.npz"


def rounds_in(file) -> int:
    return len(read_archive(file)[1]["output"])


def cut_short(model, rounds: int, *given, **more) -> None:
    """A fit that is interrupted in a round, as Ctrl-C does."""
    real = type(model)._grower

    def interrupted(self, *made_of):
        grower = real(self, *made_of)
        on_each, left = grower.on_each, [rounds]

        def grow(*arguments, **named):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return on_each(*arguments, **named)

        grower.on_each = grow
        return grower

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "_grower", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*given, **more)


# ---- going on ----


@pytest.mark.parametrize("scale", [1.0, 1e-180])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"subsample": 0.6},
        {"early_stopping": True, "subsample": 0.5, "tol": 0.0},
        {"early_stopping": True, "scoring": "neg_mean_absolute_error", "tol": 0.0},
        {"loss": "huber"},
        {"exact": True},
    ],
)
def test_a_fit_cut_short_ends_where_the_whole_does(file, more, scale: float) -> None:
    whole = quick(**more).fit(X, Y * scale)
    model = quick(checkpoint=file, **more)
    for rounds in (3, 0, 5):
        cut_short(model, rounds, X, Y * scale)
        assert not hasattr(model, "forest_")
    assert rounds_in(file) == 8
    again = quick(checkpoint=str(file), **more).fit(X, Y * scale)
    assert again.fingerprint() == whole.fingerprint()
    assert again.n_estimators_ == whole.n_estimators_
    if "early_stopping" in more:
        assert np.array_equal(again.validation_score_, whole.validation_score_)
    # What is finished is not made again.
    assert again.fit(X, Y * scale).fingerprint() == whole.fingerprint()


def test_classes_weights_categories_and_a_validation_set(file) -> None:
    weight = np.random.default_rng(0).random(200)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["b"] = pd.Categorical(np.where(X[:, 1] > 0, "up", "down"))
    labels = np.array(["low", "middle", "high"])[THREE]
    given = (table[:200], labels[:200], weight, table[200:], labels[200:], np.arange(100) % 3)
    whole = quick(BoostedTreesClassifier).fit(*given)
    model = quick(BoostedTreesClassifier, checkpoint=file)
    cut_short(model, 4, *given)
    assert model.fit(*given).fingerprint() == whole.fingerprint()
    assert np.array_equal(model.validation_loss_, whole.validation_loss_)


def test_rows_may_come_in_another_order(file) -> None:
    rng = np.random.default_rng(0)
    some = rng.integers(0, 200, 300)  # some rows come more than once
    table, target, weight = X[some], Y[some], rng.integers(0, 3, 300)
    model = quick(checkpoint=file, subsample=0.7)
    cut_short(model, 7, table, target, weight)
    order = rng.permutation(300)
    model.set_params(n_jobs=2).fit(table[order], target[order], weight[order])
    whole = quick(subsample=0.7).fit(table, target, weight)
    assert model.fingerprint() == whole.fingerprint()


def test_repeated_rows_are_other_data_than_weighted_ones(file) -> None:
    counts = np.random.default_rng(0).integers(0, 3, 300)
    cut_short(quick(checkpoint=file, subsample=0.7), 7, X, Y, counts)
    again = np.repeat(np.arange(300), counts)
    with pytest.raises(ValueError, match="was saved by a fit on other data"):
        quick(checkpoint=file, subsample=0.7).fit(X[again], Y[again])


def test_a_seed_that_is_not_written_is_kept(file) -> None:
    model = quick(checkpoint=file, subsample=0.5, early_stopping=True, random_state=None)
    cut_short(model, 6, X, Y)
    seed = read_archive(file)[0]["seed"]
    whole = quick(subsample=0.5, early_stopping=True, random_state=seed).fit(X, Y)
    assert model.fit(X, Y).fingerprint() == whole.fingerprint()


def test_a_fit_ended_by_its_time_limit_resumes(file) -> None:
    model = quick(checkpoint=file, time_limit=1e-9)
    for rounds in (1, 2, 3):
        assert model.fit(X, Y).n_estimators_ == rounds
        assert model.stopped_by_ == "time_limit"
    model.set_params(time_limit=None, n_estimators=30).fit(X, Y)
    assert model.fingerprint() == quick(n_estimators=30).fit(X, Y).fingerprint()


def test_snapshots_are_some_time_apart(file, monkeypatch) -> None:
    written = []
    monkeypatch.setattr(
        checkpoint, "write_archive", lambda *given: written.append(len(given[2]["output"]))
    )
    quick(checkpoint=file).fit(X, Y)
    assert written == [0, 20]
    written.clear()
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "_COST_RATIO", 0.0)
    quick(checkpoint=file).fit(X, Y)
    assert written == list(range(21))


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is of POSIX")
def test_killed_at_any_time_it_ends_at_the_same_model(file) -> None:
    command = [sys.executable, str(Path(__file__).with_name("long_fit.py"))]
    chance = random.Random(0)
    reached = []
    for _ in range(3):
        process = subprocess.Popen([*command, str(file)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.02, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if file.exists():
            reached.append(rounds_in(file))
    assert reached == sorted(reached)
    last = subprocess.run([*command, str(file)], capture_output=True, text=True, check=True)
    assert last.stdout.split()[-1] == long_fit()


# ---- refusals ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.2}, r"learning_rate=0\.1; this fit has learning_rate=0\.2"),
        ({"loss": "huber"}, "loss='squared_error'; this fit has loss='huber'"),
        ({"random_state": 1}, "random_state=0; this fit has random_state=1"),
        ({"n_estimators": 4}, "has 5 rounds, more than n_estimators=4"),
        ({"quality": "best"}, r"max_features=None; this fit has max_features=0\.6"),
    ],
)
def test_other_parameters_are_refused(file, change, message: str) -> None:
    model = quick(checkpoint=file)
    cut_short(model, 5, X, Y)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(X, Y)
    assert file.read_bytes() == before
    assert not hasattr(model, "forest_")


def test_values_chosen_for_auto_are_compared(file) -> None:
    """They depend on whether `n_estimators` is set, which may change."""
    quick(quality="default", checkpoint=file).fit(X, Y)
    model = quick(quality="default", checkpoint=file, n_estimators="auto")
    with pytest.raises(ValueError, match="early_stopping=False; this fit has early_stopping=True"):
        model.fit(X, Y)
    # As chosen, though not as given: the fit is the same.
    given = {"subsample": 0.8, "max_leaf_nodes": 16, "n_bags": None, "n_estimators": 25}
    again = quick(quality="default", checkpoint=file, **given).fit(X, Y)
    assert again.fingerprint() == quick(quality="default", n_estimators=25).fit(X, Y).fingerprint()


@pytest.mark.parametrize(
    "given",
    [
        (X, Y + 1),
        (X[1:], Y[1:]),
        (X + 1e-9, Y),
        (X, Y, np.arange(300)),
        (X, Y, np.full(300, 0.5)),
        (X[:, :4], Y),
    ],
)
def test_other_data_are_refused(file, given) -> None:
    model = quick(checkpoint=file)
    cut_short(model, 5, X, Y)
    with pytest.raises(
        ValueError, match=r"fit\.npz' was saved by a fit (on other data|with other col)"
    ):
        model.fit(*given)


def test_another_validation_set_is_rejected(file) -> None:
    rows = (X[:200], Y[:200], None, X[200:], Y[200:])
    model = quick(checkpoint=file)
    cut_short(model, 5, *rows)
    for other in (
        (*rows[:4], Y[200:] + 1),
        (*rows, np.arange(100)),
        rows[:2],
        (X, Y),
        (*rows, np.full(100, 0.3)),
    ):
        with pytest.raises(ValueError, match="was saved by a fit on other data"):
            model.fit(*other)
    model.fit(*rows)


def test_other_classes_and_estimators_are_refused(file) -> None:
    model = quick(BoostedTreesClassifier, checkpoint=file)
    cut_short(model, 5, X, THREE)
    with pytest.raises(ValueError, match="other data"):
        model.fit(X, THREE + 1)
    with pytest.raises(ValueError, match="other columns or classes"):
        model.fit(X, THREE > 1)
    with pytest.raises(ValueError, match="by estimator 'BoostedTreesClassifier'"):
        quick(checkpoint=file).fit(X, Y)


def test_other_versions_are_refused(file, monkeypatch) -> None:
    cut_short(quick(checkpoint=file), 5, X, Y)
    monkeypatch.setattr(checkpoint, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"by weald '.*', not '99\.0'"):
        quick(checkpoint=file).fit(X, Y)


def test_damaged_files_are_refused(file) -> None:
    cut_short(quick(checkpoint=file), 5, X, Y)
    whole = file.read_bytes()
    for content in (b"", whole[:-1], whole[: len(whole) // 2], b"PK" + whole, b"text"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be loaded"):
            quick(checkpoint=file).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda a: a + 100),
        ("right", lambda a: a * 1000),
        ("right", lambda a: a.astype(np.int64)),
        ("weight", lambda a: a[:-1]),
        ("first_node", lambda a: a[::-1]),
        ("output", lambda a: a + 7),
        ("value", lambda a: a[:3]),
        ("curve 0", None),
        ("curve 0", lambda a: a[:-1]),
    ],
)
def test_arrays_that_are_no_forest_are_refused(file, name: str, change) -> None:
    """Even with the right checksum: nothing in a file is trusted."""
    cut_short(quick(checkpoint=file), 5, X, Y)
    facts, arrays = read_archive(file)
    if change is None:
        del arrays[name]
    else:
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    write_archive(file, facts, arrays)
    with pytest.raises(ValueError, match="is damaged"):
        quick(checkpoint=file).fit(X, Y)


def test_a_path_that_cannot_be_written_is_found_out_at_once(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"the directory .*nowhere' does not exist"):
        quick(checkpoint=tmp_path / "nowhere" / "fit.npz").fit(X, Y)
    with pytest.raises(ValueError, match=r"must be a path that ends in '\.npz' or None"):
        quick(checkpoint=tmp_path / "fit.pickle").fit(X, Y)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(OSError, match=r"folder\.npz"):
        quick(checkpoint=tmp_path / "folder.npz").fit(X, Y)


def test_it_is_one_of_two_ways_to_go_on(file) -> None:
    with pytest.raises(ValueError, match="checkpoint and warm_start=True cannot be combined"):
        quick(checkpoint=file, warm_start=True).fit(X, Y)

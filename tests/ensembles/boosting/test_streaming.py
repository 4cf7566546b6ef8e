"""Fits of tables that are streamed from a scratch file: the models of the same rows in memory."""

import errno
import gc
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import weald
from ensembles.boosting.test_row_parts import mixed_frame, numbers
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.data.parts.scratch import Scratch
from weald.ensembles.boosted_trees.parts.parts_fit import fit_on_partitions
from weald.ensembles.boosted_trees.parts.streamed_parts import Layout, StreamedParts
from weald.ensembles.boosted_trees.parts.streaming import StreamedTable, layout_within
from weald.trees import TreeLimits

FAST: dict[str, Any] = {"quality": "fast", "n_estimators": 4, "n_jobs": 1}


def framed(X: Any) -> pd.DataFrame:
    return X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=list("abcde"))


def in_parts(X: pd.DataFrame, y: Any, **options: Any) -> Any:
    """The rows as three frames, of which the second is empty."""
    table = X.assign(target=np.asarray(y))
    n = len(table) // 3
    return weald.parts([table[:n], table[:0], table[n:]], target="target", **options)


def streamed(model: Any, X: pd.DataFrame, y: Any, layout: Layout, weight: str | None = None) -> Any:
    P, target = in_parts(X, y)
    w = None if weight is None else P.column(weight)
    with StreamedTable(P, target, w, layout, n_threads=model.n_jobs) as table:
        return fit_on_partitions(type(model)(**model.get_params()), table)


def check_same(model: Any, X: Any, y: Any, *layouts: tuple[int, int]) -> None:
    X = framed(X)
    whole = model.fit(X, y)
    for part_rows, n_kept in layouts or ((250, 1),):
        other = streamed(model, X, y, Layout(part_rows, n_kept))
        assert other.fingerprint() == whole.fingerprint(), (part_rows, n_kept)
        np.testing.assert_array_equal(other.train_loss_, whole.train_loss_)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_regression(loss: str) -> None:
    X = numbers(900, seed=1)
    y = np.exp(0.5 * np.nan_to_num(X[:, 0])) * np.random.default_rng(2).gamma(2.0, size=900)
    model = BoostedTreesRegressor(loss=loss, **FAST)
    check_same(model, X, y if loss != "poisson" else np.floor(y))


@pytest.mark.parametrize("n_kept", [0, 1, 99])
@pytest.mark.parametrize("part_rows", [1, 60, 400, 10_000])
def test_any_number_of_rows_a_part_and_parts_in_memory(part_rows: int, n_kept: int) -> None:
    X = numbers(500 if part_rows > 1 else 40, seed=3)
    y = np.nan_to_num(X[:, 0]) > 0
    check_same(BoostedTreesClassifier(**FAST), X, y, (part_rows, n_kept))


@pytest.mark.parametrize(
    "given",
    [
        {"growth": "depth_wise", "max_depth": 4, "max_leaf_nodes": None},
        {"growth": "symmetric", "max_depth": 3},
        {"monotonic_cst": [1, 0, -1, 0, 0]},
        {"max_features": 2, "random_state": 3},
        {"interaction_cst": [[0, 1], [2, 3, 4]], "min_samples_leaf": 1},
        {"min_gain": 0.5, "prune": "after"},
        {"max_bins": 7, "min_samples_leaf": 60, "loss": "exponential"},
        {"n_jobs": 2},
    ],
    ids=lambda given: next(iter(given)),
)
def test_settings(given: dict[str, Any]) -> None:
    X = numbers(700, seed=4)
    noise = np.random.default_rng(5).normal(size=700)
    labels = np.where(np.nan_to_num(X[:, 0] - X[:, 2]) + noise > 0, "yes", "no")
    check_same(BoostedTreesClassifier(**{**FAST, **given}), X, labels)


@pytest.mark.parametrize("growth", ["best_first", "symmetric"])
def test_words_in_blocks(growth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in tables of many millions of rows (cpp/split/word_blocks.hpp)."""
    as_params = TreeLimits.as_params
    asked = []

    def in_blocks(limits: TreeLimits, *arguments: Any) -> Any:
        asked.append(limits.cells)
        return as_params(replace(limits, cells="blocks"), *arguments)

    monkeypatch.setattr(TreeLimits, "as_params", in_blocks)
    X = mixed_frame(600, seed=6)
    y = np.random.default_rng(7).poisson(X.notna().sum(axis=1))
    model = BoostedTreesRegressor(**FAST, growth=growth, max_depth=4, loss="poisson")
    check_same(model, X, y, (250, 1), (90, 0))
    assert len(asked) >= 3


# Rows are held out and drawn, and leaves are refitted on all rows.
DRAWS: dict[str, Any] = {
    "n_bags": None,
    "early_stopping": True,
    "n_iter_no_change": 3,
    "n_estimators": 12,
    "learning_rate": 0.5,
    "subsample": 0.7,
    "n_jobs": 1,
}


@pytest.mark.parametrize("layout", [(90, 0), (300, 1), (5_000, 9)])
def test_rows_are_drawn_and_held_out(layout: tuple[int, int]) -> None:
    """Half of the rows are copies, in other parts."""
    X, rng = numbers(450, seed=18), np.random.default_rng(19)
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=len(X))
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    check_same(BoostedTreesRegressor(**DRAWS), X, y, layout)
    for classes in (2, 3):
        labels = np.digitize(y, [0.0, 1.5][: classes - 1])
        model = BoostedTreesClassifier(**DRAWS, multi_class="tree_per_class", class_weight={0: 3.0})
        check_same(model, X, labels, layout)


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.0**-700])
def test_weights(scale: float) -> None:
    """A column of weights, of which some are 0, and a class that has none of weight."""
    X, rng = framed(numbers(700, seed=21)), np.random.default_rng(22)
    X["weight"] = rng.integers(0, 4, len(X)) * scale
    y = np.digitize(X["weight"] / scale + rng.normal(size=len(X)), [1.0, 2.0])
    X.loc[y == 0, "weight"] *= rng.integers(0, 2, (y == 0).sum())
    given = {**DRAWS, "multi_class": "tree_per_class", "class_weight": {2: 0.0}}
    for model, target in (
        (BoostedTreesClassifier(**given), y),
        (BoostedTreesRegressor(**FAST, min_samples_leaf=1), y * 1.5),
    ):
        want = model.fit(X, target, sample_weight=X["weight"])
        for layout in (Layout(200, 0), Layout(200, 99)):
            other = streamed(model, X, target, layout, "weight")
            assert other.fingerprint() == want.fingerprint()


def test_default_settings_of_more_rows_than_folds_have() -> None:
    X = numbers(30_200, seed=20)
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) > 0
    check_same(BoostedTreesClassifier(n_jobs=1, n_iter_no_change=2), X, y, (20_000, 0))


def test_many_classes_in_a_mixed_frame_sorted_by_class() -> None:
    X = mixed_frame(1_500, seed=7)
    y = np.sort(np.random.default_rng(8).integers(0, 4, len(X)))
    X["number"] += y
    X.loc[:700, "text"] = None
    check_same(BoostedTreesClassifier(**FAST), X, y, (400, 0), (400, 2))


def test_more_categories_than_a_byte() -> None:
    n, rng = 9_000, np.random.default_rng(9)
    many = [f"level {i}" for i in rng.integers(0, 700, n)]
    X = pd.DataFrame({"many": many, "number": rng.normal(size=n)})
    check_same(
        BoostedTreesRegressor(**FAST), X, rng.normal(size=n) + X["many"].str.len(), (4000, 1)
    )


def test_wide_cells_and_a_training_loss_of_a_sample() -> None:
    """One huge target leaves too few bits for the others in packed cells."""
    X = numbers(12_000, seed=10)
    y = np.nan_to_num(X[:, 0]) + np.random.default_rng(11).normal(size=len(X))
    y[5] = 1e9
    check_same(BoostedTreesRegressor(**FAST), X, y, (5_000, 0))


def test_constant_targets() -> None:
    X = numbers(60, seed=14)
    check_same(BoostedTreesRegressor(**FAST), X, np.full(60, 0.1), (25, 0))
    check_same(BoostedTreesClassifier(**FAST), X, np.full(60, "one"), (25, 0))


def test_memory_limit_decides() -> None:
    X, n = framed(numbers(9_000, seed=15)), 9_000
    y = np.nan_to_num(X["a"])
    want = BoostedTreesRegressor(**FAST).fit(X, y).fingerprint()
    needed = n * 60
    for memory_limit in (1, needed // 2, needed, None):
        P, t = in_parts(X, y, memory_limit=memory_limit)
        for target in (t, y):
            assert BoostedTreesRegressor(**FAST).fit(P, target).fingerprint() == want
    P, t = in_parts(X, y, memory_limit=1)
    for model, fit, wanted in [
        (BoostedTreesRegressor(), {}, r"n_bags=5 \(chosen .*Set n_bags=None.*memory_limit=\d+"),
        (BoostedTreesRegressor(**FAST), {"groups": y > 0}, "groups is not supported"),
        (BoostedTreesRegressor(**FAST), {"sample_weight": y[1:]}, "sample_weight has 8,999"),
        (BoostedTreesRegressor(**FAST, warm_start=True), {}, "Set warm_start=False, or let it be"),
        (BoostedTreesRegressor(**FAST, loss="absolute_error"), {}, "use one of squared_error"),
        (BoostedTreesRegressor(**FAST, max_bins=300), {}, "max_bins to at most 255"),
    ]:
        with pytest.raises(ValueError, match=f"(?s){wanted}"):
            model.fit(P, t, **fit)
        assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="X has 9,000 rows and y has 8,999"):
        BoostedTreesRegressor(**FAST).fit(P, y[1:])


def test_layouts_take_what_they_may() -> None:
    for n_bytes in (0, 10**6, 10**8, 10**10):
        layout = layout_within(n_bytes, 10**7, 28, 1)
        held = (layout.n_kept * (2.2 * 28 + 88) + 300) * layout.part_rows
        assert held <= max(n_bytes, 300 * 2**12)
    assert layout_within(0, 10**7, 28, 1) == Layout(2**12, 0)
    assert layout_within(10**10, 10**7, 28, 1) == Layout(2**18, 39)


def test_parts_that_differ() -> None:
    first = pd.DataFrame({"a": [1.0, 2.0], "b": [None, None], "y": [1.0, 2.0]})
    second = pd.DataFrame({"a": ["u", "v"], "b": ["x", "y"], "y": [3.0, np.nan]})
    for parts, wanted in [
        (
            [first, second[["b", "y"]].assign(a=3.0)],
            "'y' contains NaN: .* in row 3 .* in 'frame 1'",
        ),
        ([first, second.assign(y=1.0)], "'a' holds numbers in 'frame 0', but text in 'frame 1'"),
        ([second, first], "has no value in row 1"),
    ]:
        X, y = weald.parts(parts, target="y", memory_limit=1)
        with pytest.raises((TypeError, ValueError), match=wanted):
            BoostedTreesRegressor(**FAST).fit(X, y)


def open_files() -> int:
    gc.collect()
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_progress_interrupt_and_a_full_disk(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("weald.data.parts.progress_line._MIN_INTERVAL", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X = framed(numbers(500, seed=16))
    P, y = in_parts(X, np.nan_to_num(X["a"]), memory_limit=1)
    model = BoostedTreesRegressor(**FAST, verbose=1).fit(P, y)
    shown, want = capsys.readouterr().err, model.fingerprint()
    assert "reading types and levels" in shown and "4/4" in shown
    before, written = open_files(), []

    def write(self: Scratch, place: Any, array: Any, first: int = 0) -> None:
        written.append(len(array))
        if len(written) == 40:
            raise error
        as_usual(self, place, array, first)

    as_usual = Scratch.write
    monkeypatch.setattr(Scratch, "write", write)
    for error in (KeyboardInterrupt(), OSError(errno.EIO, "broken")):
        written.clear()
        with pytest.raises(type(error)):
            model.fit(P, y)
        assert model.fingerprint() == want
        assert open_files() == before and not list(tmp_path.iterdir())
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 2**20})())
    big = weald.parts(lambda: iter([X.fillna(0.0)] * 80), target="b", memory_limit=1)
    with pytest.raises(OSError, match=r"scratch file of 0\.0 GiB.*TMPDIR"):
        BoostedTreesRegressor(**FAST).fit(*big)


def test_passes_over_the_codes_are_as_many_as_levels(monkeypatch) -> None:
    asked, ask = [], StreamedParts.ask

    def counted(self: StreamedParts, question: str, *arguments: Any) -> Any:
        name, given = arguments[1:] if question == "after" else (question, arguments)
        asked.append(given[1] if name == "grow" else name)
        return ask(self, question, *arguments)

    monkeypatch.setattr(StreamedParts, "ask", counted)
    X = framed(numbers(3_000, seed=17))
    model = BoostedTreesRegressor(**FAST, max_depth=6, max_leaf_nodes=31)
    streamed(model, X, np.nan_to_num(X["a"] * X["c"]), Layout(1_000, 0))
    assert asked.count("look") == 4 and 4 * 5 <= asked.count("divide") <= 4 * 6
    assert asked.count("write") == 1 and asked.count("add_rows") == 0

"""Rows that are drawn or held out in several parts: the model of one table in memory."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ensembles.boosting.local_parts import LocalParts, LocalTable, cut_points
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.parts import part_numbers, parts_fit
from weald.ensembles.boosted_trees.parts.parts_fit import fit_on_partitions

STOPS: dict[str, Any] = {
    "n_bags": None,
    "early_stopping": True,
    "n_iter_no_change": 4,
    "learning_rate": 0.3,
    "multi_class": "tree_per_class",
    "max_leaf_nodes": 8,
    "n_jobs": 1,
}


def made(kind: Any, **given: Any) -> Any:
    settings = {**STOPS, **given}
    if kind is BoostedTreesRegressor:
        del settings["multi_class"]
    return kind(**settings)


def numbers(n: int, seed: int, *, copies: float = 0.0) -> Any:
    """Numbers with missing values; a share of the rows are copies of others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, 4, n)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] - X[:, 1]) + 0.3 * rng.normal(size=n)
    source = np.where(rng.random(n) < copies, rng.integers(0, max(1, n // 9), n), np.arange(n))
    return X[source], y[source]


def check_same(
    model: Any,
    X: Any,
    y: Any,
    n_parts: tuple[int, ...] = (1, 2, 7, 50),
    weight: Any = None,
    given: Any = (None, None, None),
) -> Any:
    """Compare a model of one table, and its curves, with those of parts, and return it."""
    whole = model.fit(X, y, weight, *given)
    for n in n_parts:
        table = LocalTable(X, y, cut_points(len(X), n, seed=n), weight=weight)
        on_parts = fit_on_partitions(type(model)(**model.get_params()), table, given)
        assert table.n_gathered == 0
        assert on_parts.fingerprint() == whole.fingerprint(), n
        assert on_parts.n_estimators_ == whole.n_estimators_
        assert on_parts.stopped_by_ == whole.stopped_by_
        assert on_parts.auto_settings_ == whole.auto_settings_
        assert list(on_parts.history_) == list(whole.history_)
        for name, values in whole.history_.items():
            np.testing.assert_array_equal(on_parts.history_[name], values, name)
    return whole


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "tweedie"])
def test_regression_stops_early(loss: str) -> None:
    X, y = numbers(700, seed=1)
    y = np.exp(y / 2)
    whole = check_same(made(BoostedTreesRegressor, loss=loss), X, y)
    assert whole.stopped_by_ == "early_stopping"
    assert 0 < whole.n_estimators_ < len(whole.history_["validation loss"]) - 1


@pytest.mark.parametrize(
    ("loss", "n_classes"), [("log_loss", 2), ("exponential", 2), ("log_loss", 3)]
)
def test_classes_are_strata(loss: str, n_classes: int) -> None:
    """Heavily imbalanced: the rarest class has a single row, which stays in training."""
    X, y = numbers(900, seed=2)
    classes = (y > 1.0) * 1 if n_classes == 2 else np.digitize(y, [1.0, np.sort(y)[-1]])
    check_same(made(BoostedTreesClassifier, loss=loss), X, classes)


def test_a_class_that_most_parts_lack() -> None:
    X, y = numbers(800, seed=3)
    order = np.argsort(y)
    labels = np.array(["a", "b", "c", "d"])[np.digitize(y, np.quantile(y, [0.3, 0.6, 0.9]))]
    check_same(made(BoostedTreesClassifier), X[order], labels[order], (7,))


@pytest.mark.parametrize("rows_at_once", [2**21, 40])
def test_copies_in_several_parts(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the rows are copies; equal rows are numbered range by range."""
    monkeypatch.setattr(part_numbers, "_ROWS_AT_ONCE", rows_at_once)
    X, y = numbers(600, seed=4, copies=0.5)
    check_same(made(BoostedTreesRegressor, subsample=0.6), X, y)
    all_equal = np.ones((300, 2)), np.arange(300) % 2
    check_same(made(BoostedTreesClassifier, subsample=0.5), *all_equal, (1, 7))


def test_mixed_columns() -> None:
    X, y = numbers(900, seed=5)
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["text"] = rng.choice(["u", "v", "w", None], 900)
    frame["many"] = pd.Categorical([f"level {i}" for i in rng.integers(0, 60, 900)])
    y = y + (frame["text"] == "u")
    model = made(BoostedTreesRegressor, target_statistics=False, subsample=0.7, max_features=0.5)
    check_same(model, frame, y, (2, 7))


@pytest.mark.parametrize(
    "given",
    [
        {"subsample": 0.5, "random_state": 3},
        {"subsample": 0.001},  # some rounds draw no row, of the training rows or of all
        {"monotonic_cst": [1, 0, -1, 0], "l1_regularization": 0.5, "l2_regularization": 1.0},
        {"growth": "symmetric", "max_depth": 3},
        {"min_gain": 0.2, "prune": "after"},
        {"validation_fraction": 0.5, "tol": 0.01},
        {"validation_fraction": 0.0001},  # one row is held out
        {"quality": "fast", "early_stopping": True},
        {"early_stopping": False, "subsample": 0.5, "n_iter_no_change": "auto"},
    ],
    ids=lambda given: "-".join(given),
)
def test_settings(given: dict[str, Any]) -> None:
    X, y = numbers(500, seed=7)
    common = {"n_estimators": 12}
    check_same(made(BoostedTreesRegressor, **{**common, **given}), X, y, (1, 7))
    if "monotonic_cst" not in given:
        classes = np.digitize(y, [-0.5, 0.5])
        check_same(made(BoostedTreesClassifier, **{**common, **given}), X, classes, (7,))


def test_wide_cells_and_extreme_targets() -> None:
    X, y = numbers(600, seed=8)
    y[5] = 1e9
    check_same(made(BoostedTreesRegressor), X, y * 1e200, (7,))


def test_default_settings_on_many_rows() -> None:
    """One booster with a hold-out; the training loss is that of a sample by keys."""
    X, y = numbers(31_000, seed=9, copies=0.1)
    model = BoostedTreesClassifier(n_estimators=8, early_stopping=True, n_jobs=1)
    assert check_same(model, X, (y > 0) * 1, (7,)).n_bags_ is None


def test_lost_parts_are_made_anew() -> None:
    """At the first and at the last time of each question, after which the parts have answered."""
    X, y = numbers(300, seed=10, copies=0.5)
    model = made(BoostedTreesRegressor, n_estimators=3, subsample=0.7)
    whole = model.fit(X, y)
    undisturbed = LocalTable(X, y, [0, 120, 300])
    fit_on_partitions(model, undisturbed)
    asked = undisturbed.made.asked
    first = {asked.index(one) for one in asked}
    times = first | {len(asked) - asked[::-1].index(one) - 1 for one in asked}
    verbs = {"number_sets", "hold_out", "refit_step+draw", "sum_up", "step"}
    assert {asked[i] for i in times} >= verbs
    for i in sorted(times):
        table = LocalTable(X, y, [0, 120, 300], loses_after=i + 1)
        with pytest.warns(UserWarning, match="lost 1 times"):
            on_parts = fit_on_partitions(type(model)(**model.get_params()), table)
        assert on_parts.fingerprint() == whole.fingerprint(), asked[i]
        for name, values in whole.history_.items():
            np.testing.assert_array_equal(on_parts.history_[name], values)


def test_questions_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked twice, but for those of growing trees."""
    ask = LocalParts.ask

    def ask_twice(parts: Any, question: str, *arguments: Any) -> Any:
        if question not in ("grow", "code", "cuts"):
            ask(parts, question, *arguments)
        return ask(parts, question, *arguments)

    monkeypatch.setattr(LocalParts, "ask", ask_twice)
    X, y = numbers(300, seed=19, copies=0.5)
    check_same(made(BoostedTreesRegressor, n_estimators=5, subsample=0.7), X, y, (3,))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"exact": True, "quality": "fast"},
        {"max_bins": 300, "quality": "fast"},
        {"loss": "quantile", "quantile": 0.3, "quality": "fast"},
        {"metrics": ["r2"], "n_bags": None, "n_estimators": 5, "early_stopping": True},
    ],
    ids=lambda given: "-".join(given),
)
def test_small_tables_are_fitted_in_memory(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If parts do not support the settings; larger tables get an error with the alternative."""
    X, y = numbers(200, seed=11)
    model = BoostedTreesRegressor(**given, n_jobs=1)
    want = model.fit(X, y).fingerprint()
    table = LocalTable(X, y, [0, 100, 200])
    on_parts = BoostedTreesRegressor(**model.get_params())
    assert fit_on_partitions(on_parts, table).fingerprint() == want
    assert table.n_gathered == 1
    monkeypatch.setattr(parts_fit, "FOLD_ROWS", 199)
    with pytest.raises(ValueError, match="is not supported on tables of a test. .*, or fit on one"):
        fit_on_partitions(BoostedTreesRegressor(**model.get_params()), table)


def test_rare_categories_get_target_statistics_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    X = pd.DataFrame({"many": [f"level {i % 150}" for i in range(200)]})
    y = np.arange(200.0)
    table = LocalTable(X, y, [0, 100, 200])
    model = BoostedTreesRegressor(n_estimators=3, subsample=1.0, n_jobs=1)
    want = model.fit(X, y).fingerprint()
    assert fit_on_partitions(model, table).fingerprint() == want
    monkeypatch.setattr(parts_fit, "FOLD_ROWS", 199)
    with pytest.raises(ValueError, match="target_statistics=False"):
        fit_on_partitions(model, table)


def test_one_row_cannot_be_held_out() -> None:
    with pytest.raises(ValueError, match="at least two rows"):
        fit_on_partitions(
            made(BoostedTreesRegressor), LocalTable(np.ones((1, 2)), np.ones(1), [0, 1])
        )


WEIGHTS = {
    "real": lambda rng, n: rng.gamma(1.0, size=n),
    "whole, some zero": lambda rng, n: rng.integers(0, 4, n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "of two values": lambda rng, n: np.where(np.arange(n) < n // 2, 1.0, 3.0),
    "huge": lambda rng, n: 1e290 * rng.gamma(1.0, size=n),
    "tiny": lambda rng, n: 1e-290 * rng.integers(1, 4, n),
    "of any scale": lambda rng, n: np.exp(rng.normal(scale=20.0, size=n)),
    "none but a few": lambda rng, n: (np.arange(n) % 40 == 0) * 2.5,
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_sample_weights(kind: str) -> None:
    """Half of the rows are copies, of different weights."""
    X, y = numbers(500, seed=12, copies=0.5)
    weight = WEIGHTS[kind](np.random.default_rng(13), 500)
    for model in (
        made(BoostedTreesRegressor, n_estimators=6, subsample=0.7),
        made(BoostedTreesRegressor, n_estimators=6, min_samples_leaf=1, min_gain=0.1),
        BoostedTreesRegressor(quality="fast", n_estimators=4, n_jobs=1, min_samples_leaf=5),
    ):
        check_same(model, X, y, (2, 7), weight)
    classes = np.digitize(y, [0.0, 1.5])
    check_same(made(BoostedTreesClassifier, n_estimators=6), X, classes, (1, 7), weight)


@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0}, {"b": 0.0, "c": 1e-300}], ids=str)
@pytest.mark.parametrize("kind", [None, "real", "whole, some zero", "equal", "huge"])
def test_class_weights(class_weight: Any, kind: str | None) -> None:
    X, y = numbers(500, seed=14, copies=0.3)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 1.5])]
    weight = None if kind is None else WEIGHTS[kind](np.random.default_rng(15), 500)
    for given in ({}, {"min_samples_leaf": 1}):
        model = made(BoostedTreesClassifier, n_estimators=5, class_weight=class_weight, **given)
        check_same(model, X, labels, (2, 7), weight)
    model = made(BoostedTreesClassifier, n_estimators=5, class_weight="balanced")
    check_same(model, X, (y > 1) * 1, (7,), weight)


def test_weighted_rows_with_categories() -> None:
    """The number of rows, those without weight included, decides which categories are rare."""
    X, y = numbers(600, seed=16)
    rng = np.random.default_rng(17)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["text"] = rng.choice(["u", "v", "w", None], 600)
    model = made(BoostedTreesRegressor, n_estimators=5, min_samples_leaf=1, target_statistics=False)
    check_same(model, frame, y, (7,), rng.integers(0, 3, 600))


def test_bad_weights() -> None:
    X, y = numbers(40, seed=18)
    labels = (y > 0) * 1
    for weight, message in [
        (np.zeros(40), "all weights are zero"),
        (np.where(np.arange(40) == 25, -1.0, 1.0), "row 5 has -1.0"),
        (np.where(np.arange(40) == 25, np.nan, 1.0), "row 5 has nan"),
    ]:
        table = LocalTable(X, labels, [0, 20, 40], weight=weight)
        with pytest.raises(ValueError, match=message):
            fit_on_partitions(made(BoostedTreesClassifier), table)
    model = made(BoostedTreesClassifier, class_weight={0: 0.0, 1: 0.0})
    with pytest.raises(ValueError, match="every class in y the weight 0"):
        fit_on_partitions(model, LocalTable(X, labels, [0, 20, 40]))


def test_time_limit_and_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = numbers(200, seed=20)
    table = LocalTable(X, y, [0, 90, 200])
    model = made(BoostedTreesRegressor, time_limit=1e-9, verbose=1)
    fit_on_partitions(model, table)
    assert (model.stopped_by_, model.n_estimators_) == ("time_limit", 1)
    assert "round 1/5000" in (bar := capsys.readouterr().err)
    assert "validation loss" in bar


@pytest.mark.parametrize("weighs", [False, True])
def test_validation_sets_in_memory(weighs: bool) -> None:
    """Missing values in other columns than in the training rows, and another unit of the target."""
    X, y = numbers(600, seed=21)
    X[:400] = np.nan_to_num(X[:400])
    classes = np.digitize(y, [0.0, 1.5])
    rng = np.random.default_rng(22)
    weight = rng.gamma(1.0, size=400) if weighs else None
    weight_val = rng.integers(0, 3, 200) if weighs else None
    sets = {"a": X[400:500], "b": X[500:]}
    for model, target in (
        (made(BoostedTreesRegressor, subsample=0.6), y * 1e150),
        (
            made(
                BoostedTreesRegressor, early_stopping=False, n_iter_no_change="auto", n_estimators=4
            ),
            y,
        ),
        (made(BoostedTreesClassifier, class_weight="balanced"), classes),
    ):
        given = X[400:], target[400:], weight_val
        check_same(model, X[:400], target[:400], (1, 7), weight, given)
    targets = {"a": classes[400:500], "b": classes[500:]}
    model = made(BoostedTreesClassifier)
    whole = check_same(model, X[:400], classes[:400], (7,), weight, (sets, targets, None))
    assert list(whole.history_) == ["train loss", "a loss", "b loss"]
    table = LocalTable(X[:400], classes[:400], [0, 200, 400])
    with pytest.raises(ValueError, match="labels that are not in y"):
        fit_on_partitions(model, table, (X[400:], classes[400:] + 5, None))
    small = BoostedTreesClassifier(n_estimators=3, exact=True, n_jobs=1)
    want = small.fit(X[:400], classes[:400], X_val=X[400:], y_val=classes[400:]).fingerprint()
    assert fit_on_partitions(small, table, (X[400:], classes[400:], None)).fingerprint() == want


def test_training_loss_of_a_sample_of_copies() -> None:
    """No few columns tell so many rows apart: keys are made for the sample alone."""
    y = np.arange(6_000) % 3
    model = BoostedTreesClassifier(quality="fast", n_estimators=2, n_jobs=1)
    check_same(model, np.ones((6_000, 2)), y, (3,))
    weight = np.arange(6_000) % 5 + 0.5
    check_same(model, np.ones((6_000, 2)), y, (3,), weight)

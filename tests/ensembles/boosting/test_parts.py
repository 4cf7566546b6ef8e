"""Fits of tables in parts are those of the same rows in memory, bit for bit."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest

import weald
from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.parts import streaming
from weald.errors import WealdWarning

COLUMNS = ["number", "few", "level", "single", "rare", "when", "order", "flag", "empty"]


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch) -> None:
    """Train in memory, whatever the limit: columns are then read a few at a time."""
    monkeypatch.setattr(streaming, "training_bytes", lambda *sizes: 0)


@functools.cache
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 700
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "few": rng.integers(0, 4, n),
            "level": rng.choice(list("xyz"), n),
            "single": rng.normal(size=n).astype(np.float32),
            "rare": [f"l{k}" for k in (rng.exponential(size=n) * 12).astype(int)],
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), "s"),
            "order": pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], ordered=True
            ),
            "flag": rng.random(n) < 0.5,
            "empty": np.full(n, np.nan),
        }
    )
    signal = table["number"] + table["few"] + 2 * (table["level"] == "x") + rng.normal(size=n)
    table.loc[::7, "number"] = np.nan
    table.loc[::5, "level"] = None
    table.loc[::9, "when"] = pd.NaT
    table["weight"] = rng.integers(0, 4, n) / 2.0
    table["value"], table["positive"] = signal, np.exp(signal / 4)
    table["two"] = (signal > 2).astype(int)
    table["many"] = pd.cut(signal, [-99, 1, 2, 3, 99], labels=list("pqrs")).astype(str)
    table["group"] = rng.integers(0, 90, n)
    # Rows that are equal lie in different parts.
    return pd.concat([table, table.iloc[:200]], ignore_index=True)


def cut(table: pd.DataFrame, n_parts: int, seed: int = 0) -> list[pd.DataFrame]:
    """Parts of any size, some of which may be empty."""
    places = np.sort(np.random.default_rng(seed).integers(0, len(table), n_parts - 1)).tolist()
    return [
        table.iloc[begin:end]
        for begin, end in zip([0, *places], [*places, len(table)], strict=True)
    ]


def both(model, target, n_parts, *, memory_limit=None, parts=None, beside=(), **fit):
    """The model of the rows in memory and that of the parts; `beside` names columns for `fit`."""
    table = frame() if parts is None else pd.concat(parts, ignore_index=True)
    columns = [name for name in COLUMNS if name in table]
    X, y = weald.parts(
        cut(table, n_parts) if parts is None else parts,
        target=target,
        columns=columns,
        memory_limit=memory_limit,
    )
    names = {"sample_weight": "weight", "groups": "group", "offset": "value"}
    whole = {name: table[names[name]] for name in beside}
    read = {name: X.column(names[name]) for name in beside}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WealdWarning)
        one = type(model)(**model.get_params()).fit(table[columns], table[target], **whole, **fit)
        other = type(model)(**model.get_params()).fit(X, y, **read, **fit)
    return one, other, table[columns], X


CASES = {
    "default": (BoostedTreesClassifier(n_iter_no_change=3), "two", {}),
    "fast": (BoostedTreesClassifier(quality="fast", n_estimators=5), "two", {}),
    "classes": (BoostedTreesClassifier(n_estimators=4), "many", {}),
    "tree per class": (BoostedTreesClassifier(quality="fast", n_estimators=3), "many", {}),
    "weights": (
        BoostedTreesClassifier(n_estimators=4, class_weight="balanced"),
        "many",
        {"beside": ["sample_weight"]},
    ),
    "held out": (
        BoostedTreesRegressor(n_estimators=6, n_bags=None, early_stopping=True),
        "value",
        {"beside": ["sample_weight"]},
    ),
    "groups": (
        BoostedTreesRegressor(n_estimators=4, n_bags=None, early_stopping=True, subsample=0.7),
        "value",
        {"beside": ["groups"]},
    ),
    "offset": (
        BoostedTreesRegressor(n_estimators=4, loss="poisson", quality="fast"),
        "positive",
        {"beside": ["offset"]},
    ),
    "bags": (BoostedTreesRegressor(n_bags=3, n_estimators=4), "value", {}),
    "subsample": (BoostedTreesRegressor(subsample=0.5, n_estimators=4), "value", {}),
    "monotone": (
        BoostedTreesRegressor(n_estimators=4, monotonic_cst={"number": 1, "few": -1}),
        "value",
        {},
    ),
    "symmetric": (
        BoostedTreesRegressor(n_estimators=4, growth="symmetric", max_bins=16),
        "value",
        {},
    ),
    "scorer": (
        BoostedTreesRegressor(n_estimators=4, n_bags=None, early_stopping=True, scoring="r2"),
        "value",
        {},
    ),
    "exponential": (BoostedTreesClassifier(n_estimators=4, loss="exponential"), "two", {}),
    "quantiles": (
        BoostedTreesRegressor(n_estimators=3, loss="quantile", quantile=[0.2, 0.8]),
        "value",
        {},
    ),
    **{
        loss: (BoostedTreesRegressor(n_estimators=3, loss=loss, quality="fast"), "positive", {})
        for loss in ("absolute_error", "huber", "gamma", "tweedie")
    },
}


@pytest.mark.parametrize("case", CASES)
def test_fingerprint_history_and_predictions(case) -> None:
    model, target, options = CASES[case]
    one, other, whole, X = both(model, target, 7, memory_limit=20_000, **options)
    assert other.fingerprint() == one.fingerprint()
    for name in one.history_:
        assert np.array_equal(other.history_[name], one.history_[name], equal_nan=True), name
    assert np.array_equal(other.predict(X), one.predict(whole))
    if one.n_bags_ is not None and case != "quantiles":
        assert np.array_equal(other.oob_.predictions, one.oob_.predictions, equal_nan=True)


@pytest.mark.parametrize("n_parts", [1, 2, 50])
@pytest.mark.parametrize("memory_limit", [1, None])
def test_any_number_of_parts(n_parts, memory_limit) -> None:
    model = BoostedTreesClassifier(n_estimators=3, early_stopping=True, n_bags=None)
    one, other, whole, X = both(model, "many", n_parts, memory_limit=memory_limit)
    assert other.fingerprint() == one.fingerprint()
    assert np.array_equal(other.predict_proba(X), one.predict_proba(whole))


def test_parts_of_one_class_or_level_each() -> None:
    parts = [
        part
        for _, by_class in frame().groupby("many")
        for _, part in by_class.groupby("level", dropna=False)
    ]
    parts.insert(1, parts[0].iloc[:0])
    one, other, _, _ = both(BoostedTreesClassifier(n_estimators=3), "many", 0, parts=parts)
    assert other.fingerprint() == one.fingerprint()


def test_a_column_that_is_missing_in_some_parts() -> None:
    first, second = (part.copy() for part in cut(frame(), 2))
    columns = ["level", "number", "when"]
    known = frame()[columns].copy()
    known.loc[: len(first) - 1, columns] = None
    for name in columns:
        first[name] = np.full(len(first), np.nan)
    X, y = weald.parts([first, second], target="value", columns=columns)
    model = BoostedTreesRegressor(quality="fast", n_estimators=3)
    same = BoostedTreesRegressor(quality="fast", n_estimators=3).fit(known, frame()["value"])
    assert model.fit(X, y).fingerprint() == same.fingerprint()


def test_validation_set_and_many_rows_of_few_values() -> None:
    table = frame()
    held = table.sample(100, random_state=0)
    model = BoostedTreesRegressor(n_estimators=5, early_stopping=True)
    fit = {"X_val": held[COLUMNS], "y_val": held["value"]}
    one, other, _, _ = both(model, "value", 7, **fit)
    assert other.fingerprint() == one.fingerprint()
    few = pd.DataFrame({"few": np.arange(9000) % 3, "flag": np.arange(9000) % 7 < 3})
    few["value"] = few["few"] * 1.0 + few["flag"]
    one, other, _, _ = both(
        BoostedTreesRegressor(quality="fast", n_estimators=2), "value", 0, parts=cut(few, 5)
    )
    assert other.fingerprint() == one.fingerprint()
    assert np.array_equal(other.train_loss_, one.train_loss_)


def test_warm_start_and_checkpoint(tmp_path) -> None:
    X, y = weald.parts(cut(frame(), 5), target="value", columns=COLUMNS)
    settings = {"n_bags": None, "early_stopping": False}
    whole = BoostedTreesRegressor(n_estimators=6, **settings).fit(X, y)
    grown = BoostedTreesRegressor(n_estimators=3, warm_start=True, **settings).fit(X, y)
    assert grown.set_params(n_estimators=6).fit(X, y).fingerprint() == whole.fingerprint()
    path = tmp_path / "state.npz"
    BoostedTreesRegressor(n_estimators=3, checkpoint=path, **settings).fit(X, y)
    resumed = BoostedTreesRegressor(n_estimators=6, checkpoint=path, **settings).fit(X, y)
    assert resumed.fingerprint() == whole.fingerprint()


def test_what_needs_raw_values_is_refused() -> None:
    X, y = weald.parts(cut(frame(), 3), target="value", columns=COLUMNS)
    for settings in ({"exact": True}, {"max_bins": 300}):
        with pytest.raises(ValueError, match="at most 255 bins, or a table in memory"):
            BoostedTreesRegressor(n_estimators=1, **settings).fit(X, y)
    scorer = BoostedTreesRegressor(n_bags=None, scoring=lambda model, X, y: 0.0)
    with pytest.raises(ValueError, match="pass X_val and y_val, or the name of a scorer"):
        scorer.fit(X, y)
    with pytest.raises(TypeError, match="RandomForestRegressor does not take a table in parts"):
        weald.RandomForestRegressor().fit(X, y)
    with pytest.raises(ValueError, match="regression requires numbers; use a classifier"):
        BoostedTreesRegressor().fit(X, X.column("many"))


def test_progress_and_interrupt(capsys, monkeypatch) -> None:
    monkeypatch.setattr("weald.data.parts.progress_line._MIN_INTERVAL", 0.0)
    table, calls = frame(), []

    def batches():
        calls.append(0)
        for k, part in enumerate(cut(table, 5)):
            if len(calls) == 5 and k == 2:
                raise KeyboardInterrupt
            yield part

    X, y = weald.parts(batches, target="value", columns=COLUMNS)
    model = BoostedTreesRegressor(quality="fast", n_estimators=1, verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "forest_")
    assert "reading types and levels" in capsys.readouterr().err
    assert model.fit(X, y).n_estimators_ == 1

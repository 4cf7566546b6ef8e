"""Boosted trees on Dask collections: workers in processes of their own, and workers that die."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.parts import parts_fit

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Dask's connections to a worker that a test killed end with warnings of the resources they held.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FAST: dict[str, Any] = {"quality": "fast", "n_estimators": 4}

# Rows are drawn and held out, and leaves are refitted.
STOPS: dict[str, Any] = {
    "n_bags": None,
    "early_stopping": True,
    "n_iter_no_change": 3,
    "n_estimators": 20,
    "learning_rate": 0.5,
    "multi_class": "tree_per_class",
}

# A LocalCluster gives up a worker that is missing some time after it was, even if it was back.
CONFIG = {
    "distributed.comm.timeouts.connect": "10s",
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        dask.config.set(CONFIG),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=None,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def table(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + rng.normal(size=n)


def frame(n: int) -> pd.DataFrame:
    """Sorted by class, with categories that differ between partitions."""
    rng = np.random.default_rng(2)
    X, _ = table(n)
    columns = pd.DataFrame(X, columns=list("abcd"))
    columns["kind"] = pd.Categorical([f"kind {i}" for i in np.sort(rng.integers(0, 9, n))])
    columns["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    columns["label"] = np.sort(rng.choice(["high", "low", "middle"], n))
    return columns


@pytest.mark.parametrize("n_workers", [1, 2])
def test_arrays(client: Any, n_workers: int) -> None:
    X, y = table(600)
    model = BoostedTreesRegressor(**FAST).fit(X, y)
    dX, dy = da.from_array(X, chunks=(130, 3)), da.from_array(y, chunks=130)
    if n_workers == 1:
        holder = next(iter(client.nthreads()))
        dX, dy = client.persist([dX, dy], workers=[holder])
    lazy = BoostedTreesRegressor(**FAST).fit(dX, dy)
    assert lazy.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(lazy.train_loss_, model.train_loss_)
    predictions = lazy.predict(dX)
    assert isinstance(predictions, da.Array)
    assert predictions.chunks[0] == dX.chunks[0]
    np.testing.assert_array_equal(predictions.compute(), model.predict(X))


def test_frames_with_empty_partitions(client: Any) -> None:
    table = frame(900)
    columns = [name for name in table if name != "label"]
    model = BoostedTreesClassifier(**FAST).fit(table[columns], table["label"])
    ends = [(0, 0), (0, 500), (500, 501), (501, 900)]
    parts = [table.iloc[begin:end].copy() for begin, end in ends]
    for part in parts:  # categories of a partition are those that it holds
        part["kind"] = part["kind"].cat.remove_unused_categories()
    lazy = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0], verify_meta=False)
    on_workers = BoostedTreesClassifier(**FAST).fit(lazy[columns], lazy["label"])
    assert on_workers.fingerprint() == model.fingerprint()
    assert on_workers.feature_names_in_.tolist() == columns
    for method in ("predict", "predict_proba", "decision_function"):
        answer = getattr(on_workers, method)(lazy[columns]).compute()
        np.testing.assert_array_equal(answer, getattr(model, method)(table[columns]))
        np.testing.assert_array_equal(answer.index, table.index)


def test_files_of_which_y_is_one_column(client: Any, tmp_path: Any) -> None:
    """Dask reads few columns of files in fewer partitions than many, unless it is told not to."""
    table = frame(300)
    for i in range(3):
        table.iloc[100 * i : 100 * i + 100].to_parquet(tmp_path / f"{i}.parquet")
    lazy = dd.read_parquet(tmp_path)
    columns = [name for name in table if name != "label"]
    model = BoostedTreesClassifier(**FAST).fit(table[columns], table["label"])
    on_workers = BoostedTreesClassifier(**FAST).fit(lazy[columns], lazy["label"])
    assert on_workers.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(
        on_workers.predict(lazy[columns]).compute(), model.predict(table[columns])
    )


def test_two_fits_at_once(client: Any) -> None:
    X, y = table(400)
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    want = [BoostedTreesRegressor(**FAST, max_leaf_nodes=k).fit(X, y).fingerprint() for k in (4, 8)]

    def fitted(max_leaf_nodes: int) -> str:
        with client.as_current():
            model = BoostedTreesRegressor(**FAST, max_leaf_nodes=max_leaf_nodes)
            return model.fit(dX, dy).fingerprint()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(fitted, (4, 8), timeout=120)) == want


def test_early_stopping(client: Any) -> None:
    """Half of the rows are copies, in other partitions."""
    X, y = table(300)
    X, labels = np.concatenate([X, X]), np.concatenate([y, y]) > 0
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(labels, chunks=100)
    want = BoostedTreesClassifier(**STOPS).fit(X, labels)
    model = BoostedTreesClassifier(**STOPS).fit(dX, dy)
    assert model.fingerprint() == want.fingerprint()
    for name, values in want.history_.items():
        np.testing.assert_array_equal(model.history_[name], values)


@pytest.mark.parametrize("makes_arrays", [False, True])
def test_sample_weights(client: Any, makes_arrays: bool) -> None:
    columns = frame(400)
    X, y = columns[list("abcd")], columns["label"]
    weight = pd.Series(np.random.default_rng(3).integers(0, 3, 400) / 2)
    frames = [dd.from_pandas(one, npartitions=3, sort=False) for one in (X, y, weight)]
    if makes_arrays:
        X, y = X.to_numpy(), pd.factorize(y)[0]
        arrays = X, y, weight.to_numpy()
        frames = [da.from_array(one, chunks=(150, 4)[: one.ndim]) for one in arrays]
    model = BoostedTreesClassifier(**STOPS, class_weight="balanced")
    want = model.fit(X, y, weight).fingerprint()
    assert model.fit(*frames).fingerprint() == want


def test_small_tables_are_fitted_in_memory(client: Any) -> None:
    """With folds and vector leaves, which partitions do not have."""
    columns = frame(300)
    X, y, weight = columns.drop(columns="label"), columns["label"], columns["a"].fillna(0) ** 2
    dX, dy, dw = (dd.from_pandas(one, npartitions=3, sort=False) for one in (X, y, weight))
    model = BoostedTreesClassifier(n_bags=2, early_stopping=False, n_estimators=3)
    assert model.fit(dX, dy, dw).fingerprint() == model.fit(X, y, weight).fingerprint()


def dies_when_asked(question: str, at: int) -> None:
    """Let this worker die when it is asked a question for the `at`-th time."""
    from weald.ensembles.boosted_trees.parts.row_part import RowPart

    n_asked, answer = 0, getattr(RowPart, question)

    def counted(part: Any, *arguments: Any) -> Any:
        nonlocal n_asked
        n_asked += 1
        if n_asked == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer(part, *arguments)

    setattr(RowPart, question, counted)


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize(
    ("question", "at"), [("words_between", 1), ("cuts", 2), ("grow", 2), ("sum_up", 2)]
)
def test_killed_worker(client: Any, question: str, at: int, *, leads: bool) -> None:
    """Dask replaces a worker that dies while it is asked; its partitions are read again."""
    X, y = table(400)
    settings = STOPS | {"subsample": 0.7}
    del settings["multi_class"]
    want = BoostedTreesRegressor(**settings).fit(X, y).fingerprint()
    client.wait_for_workers(2, timeout=60)
    victim = sorted(client.nthreads())[0 if leads else 1]
    client.run(dies_when_asked, question, at, workers=[victim])
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.warns(UserWarning, match="Workers were lost 1 times"):
        model = BoostedTreesRegressor(**settings).fit(dX, dy)
    assert model.fingerprint() == want


@pytest.mark.parametrize("leads", [True, False])
def test_silent_worker(client: Any, monkeypatch: pytest.MonkeyPatch, *, leads: bool) -> None:
    """A worker that is stopped, with its connections open, is noticed by its missing heartbeats."""
    from weald.ensembles.boosted_trees.parts import dask_heartbeats, dask_parts

    monkeypatch.setattr(dask_heartbeats, "_SILENCE", 8.0)
    monkeypatch.setattr(dask_heartbeats, "_LOOKS", 2)
    monkeypatch.setattr(dask_parts, "_LOOKS", 0.5)
    X, y = table(400)
    want = BoostedTreesRegressor(**FAST).fit(X, y).fingerprint()
    client.wait_for_workers(2, timeout=60)
    lead, stopped = dask_parts.DaskParts.lead, []

    def lead_and_stop(parts: Any, verb: str, *arguments: Any) -> Any:
        if verb == "rounds" and not stopped:
            victim = sorted(client.nthreads())[0 if leads else 1]
            stopped.append(client.run(os.getpid, workers=[victim])[victim])
            os.kill(stopped[0], signal.SIGSTOP)
        return lead(parts, verb, *arguments)

    monkeypatch.setattr(dask_parts.DaskParts, "lead", lead_and_stop)
    dX, dy = da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100)
    with pytest.warns(UserWarning, match="Workers were lost"):
        model = BoostedTreesRegressor(**FAST).fit(dX, dy)
    assert model.fingerprint() == want
    os.kill(stopped[0], signal.SIGKILL)
    client.wait_for_workers(2, timeout=60)


class Reporting:
    """A client whose scheduler hears from workers at the times that a test sets."""

    def __init__(self) -> None:
        self.seen = {"here": 0.0, "silent": 0.0}
        self.scheduler = SimpleNamespace(unregister=self.removed)

    def scheduler_info(self, n_workers: int) -> Any:
        return {"workers": {name: {"last_seen": seen} for name, seen in self.seen.items()}}

    def sync(self, function: Any, **given: Any) -> None:
        function(**given)

    def removed(self, address: str, stimulus_id: str) -> None:
        del self.seen[address]


def test_workers_are_removed_only_if_they_do_not_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they if the client did not look, because it was stopped itself."""
    from weald.ensembles.boosted_trees.parts import dask_heartbeats

    client, clock = Reporting(), [0.0]
    monkeypatch.setattr(dask_heartbeats.time, "monotonic", lambda: clock[0])
    heartbeats = dask_heartbeats.Heartbeats(client)
    for clock[0] in (0.0, 1_000.0):
        assert heartbeats.look() == {"here", "silent"}
    for now in np.arange(1_001.0, 1_060.0, 2.0):
        clock[0] = client.seen["here"] = now
        if now < 1_003:
            client.seen["silent"] = now
        present = {"here", "silent"} if now <= 1_041 else {"here"}
        assert heartbeats.look() == present, now
    assert list(client.seen) == ["here"]


def test_source_that_is_not_deterministic(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from weald.ensembles.boosted_trees.parts.dask_parts import DaskParts
    from weald.ensembles.boosted_trees.parts.parts_run import PartsLost

    _, y = table(40)
    drawn = dask.delayed(lambda: np.random.default_rng().normal(size=(40, 2)), pure=False)()
    X = da.from_delayed(drawn, (40, 2), float)
    lead, lost = DaskParts.lead, []

    def lead_and_lose(parts: Any, verb: str, *arguments: Any) -> Any:
        if verb == "rounds" and not lost:
            lost.append(verb)
            raise PartsLost("gone")
        return lead(parts, verb, *arguments)

    monkeypatch.setattr(DaskParts, "lead", lead_and_lose)
    with pytest.raises(RuntimeError, match="hold other rows.*not deterministic"):
        BoostedTreesRegressor(**FAST).fit(X, da.from_array(y))


def test_bad_input(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(100)
    dX, dy = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
    model = BoostedTreesRegressor(**FAST)
    bad: list[tuple[Any, Any, type[Exception], str]] = [
        (dX, y, TypeError, "y is a ndarray. Pass y as a Dask series or array"),
        (dX, da.from_array(y, chunks=25), ValueError, "X has 2 partitions and y has 4"),
        (dX, da.from_array(y, chunks=((40, 60),)), ValueError, "Partition 0: X has 50 rows and y"),
        (dX, da.from_array(np.full(100, "a"), chunks=50), ValueError, "Partition 0: y holds text"),
        (dX, da.where(dy > 9, dy, np.nan), ValueError, "Partition 0: Input y contains NaN: row 0"),
        (dX[:0], dy[:0], ValueError, "all partitions are empty"),
        (dX[:, 0], dy, ValueError, "X has 1 dimensions, expected 2"),
    ]
    for table_, target, error, message in bad:
        with pytest.raises(error, match=message):
            BoostedTreesRegressor(**FAST).fit(table_, target)
    with pytest.raises(TypeError, match="sample_weight is a ndarray. Pass sample_weight as a Dask"):
        model.fit(dX, dy, np.ones(100))
    with pytest.raises(ValueError, match="Partition 1: .*row 9 has -2"):
        model.fit(dX, dy, da.from_array(np.where(np.arange(100) == 59, -2, 1), chunks=50))
    with pytest.raises(ValueError, match="offset is not supported on Dask collections"):
        model.fit(dX, dy, offset=dy)
    with pytest.raises(TypeError, match=r"X_val is a Dask collection.*X_val.compute\(\)"):
        model.fit(dX, dy, X_val=dX, y_val=dy)
    monkeypatch.setattr(parts_fit, "FOLD_ROWS", 0)  # no table is small
    with pytest.raises(ValueError, match=r"loss='quantile' is not supported.*squared_error"):
        BoostedTreesRegressor(**FAST, loss="quantile", quantile=0.5).fit(dX, dy)
    with pytest.raises(ValueError, match="warm_start=True is not supported"):
        BoostedTreesRegressor(**FAST, warm_start=True).fit(dX, dy)
    fitted = model.fit(dX, dy)
    with pytest.raises(ValueError, match="supports neither return_std nor offset"):
        fitted.predict(dX, offset=dy)


def test_failed_fit_keeps_the_model(client: Any) -> None:
    X, y = table(100)
    model = BoostedTreesRegressor(**FAST).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match="groups is not supported"):
        model.fit(da.from_array(X), da.from_array(y), groups=y)
    assert model.fingerprint() == before

"""Ensembles inside of joblib's Dask backend: members are fitted by workers, some of which die."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeRegressor

import weald
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BlendingRegressor,
    BoostedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from weald.cluster import Cluster
from weald.ensembles.members.response_methods import ResponseMethod

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file

# Dask's connections to a worker that a test killed end with warnings of the resources they held.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),
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


def table(n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    X[:, 0] = rng.integers(0, 4, n)
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def labels(y: Any) -> Any:
    return np.array(["low", "middle", "high"])[np.digitize(y, [0.5, 2.5])]


def on_cluster(fit: Callable[[], Any], **context: Any) -> Any:
    with joblib.parallel_config("dask", **context):
        return fit()


def same(one: Any, other: Any) -> bool:
    return bool(one.fingerprint() == other.fingerprint())


def test_a_table_that_is_changed_in_place_between_fits(client: Any) -> None:
    """Workers keep what they received until the fit ends, not longer."""
    X, y = table()
    X = np.nan_to_num(X)
    model = VotingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(random_state=0))])
    on_cluster(lambda: clone(model).fit(X, y))
    X[:, 1] = X[::-1, 1].copy()
    remote = on_cluster(lambda: clone(model).fit(X, y))
    np.testing.assert_array_equal(remote.predict(X), clone(model).fit(X, y).predict(X))


# ---- forests ----


@pytest.mark.parametrize(
    ("model", "is_regressor"),
    [
        (RandomForestClassifier(30, oob_score=True, max_features=2, min_samples_leaf=1), False),
        (RandomForestRegressor(30, oob_score=True, random_state=3), True),
        (RandomForestRegressor(12, ccp_alpha=0.01, oob_score=True, min_samples_leaf=1), True),
        (ExtraTreesRegressor(12, bootstrap=True, oob_score=True), True),
        (ExtraTreesRegressor(9, criterion="absolute_error", max_samples=0.5), True),
    ],
)
def test_forests(client: Any, model: Any, is_regressor: bool) -> None:
    X, y = table()
    y = y if is_regressor else labels(y)
    model.set_params(random_state=3)
    local = clone(model).fit(X, y)
    remote = on_cluster(lambda: clone(model).fit(X, y))
    assert same(local, remote)
    np.testing.assert_array_equal(local.feature_importances_, remote.feature_importances_)
    if model.oob_score:
        assert local.oob_score_ == remote.oob_score_
        np.testing.assert_array_equal(local.oob_.predictions, remote.oob_.predictions)
    if isinstance(model, RandomForestRegressor):
        assert local.auto_trials_ == remote.auto_trials_


def test_forest_of_categories_with_weights_and_warm_start(client: Any) -> None:
    X, y = table()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = pd.Categorical(rng.choice([f"kind {i}" for i in range(30)], len(X)))
    frame["name"] = [f"name {i // 2}" for i in rng.permutation(600)[: len(X)]]  # statistics by tree
    weight = 1.0 + rng.random(len(X))

    def fit() -> Any:
        model = RandomForestClassifier(20, warm_start=True, oob_score=True, random_state=1)
        model.fit(frame, labels(y), weight)
        return model.set_params(n_estimators=30).fit(frame, labels(y), weight)

    local, remote = fit(), on_cluster(fit)
    assert local._plan.has_statistics
    assert same(local, remote)
    assert local.oob_score_ == remote.oob_score_
    np.testing.assert_array_equal(local.predict_proba(frame), remote.predict_proba(frame))


def test_several_outputs_and_any_number_of_jobs(client: Any) -> None:
    X, y = table()
    targets = np.column_stack([y, -y])

    def fit(n_jobs: int | None) -> Any:
        return RandomForestRegressor(7, n_jobs=n_jobs, random_state=0).fit(X, targets)

    local = fit(None)
    for n_jobs in (None, 2, -1):
        assert same(local, on_cluster(lambda n_jobs=n_jobs: fit(n_jobs)))


# ---- ensembles of other estimators ----


class Noting(RegressorMixin, BaseEstimator):
    """Notes where it was fitted, and with how many threads of weald's."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Noting":
        from weald.threads import thread_count

        self.mean_, self.pid_ = float(np.mean(y)) + self.shift, os.getpid()
        self.threads_ = thread_count(None)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


def test_members_are_fitted_by_workers(client: Any) -> None:
    X, y = table()
    pids = set(client.run(os.getpid).values())
    model = VotingRegressor([(f"m{i}", Noting(i)) for i in range(6)])
    remote = on_cluster(lambda: model.fit(X, y))
    assert {one.pid_ for one in remote.estimators_} <= pids
    assert {one.threads_ for one in remote.estimators_} == {1}
    np.testing.assert_allclose(remote.predict(X), np.mean(y) + 2.5)
    at_home = on_cluster(lambda: VotingRegressor(model.estimators, n_jobs=1).fit(X, y))
    assert {one.pid_ for one in at_home.estimators_} == {os.getpid()}


def models() -> list[tuple[str, Any]]:
    fast: dict[str, Any] = {"quality": "fast", "n_estimators": 5}
    return [("boosted", BoostedTreesRegressor(**fast)), ("forest", RandomForestRegressor(5))]


@pytest.mark.parametrize(
    "model",
    [
        VotingRegressor(models(), weights="oof"),
        StackingRegressor(models(), final_estimator="nonnegative", passthrough=False),
        BlendingRegressor(models(), final_estimator="greedy"),
        BaggingRegressor(
            BoostedTreesRegressor(quality="fast", n_estimators=3),
            20,
            oob_score=True,
            random_state=0,
        ),
        BaggingRegressor(None, 7, max_features=0.6, max_samples=0.5, bootstrap=False),
    ],
)
def test_ensembles_of_weald(client: Any, model: Any) -> None:
    X, y = table(200)
    for name in model.get_params():
        if name.rpartition("__")[2] == "random_state":
            model.set_params(**{name: 0})
    weight = 1.0 + np.random.default_rng(0).random(len(X))
    local = clone(model).fit(X, y, sample_weight=weight)
    remote = on_cluster(lambda: clone(model).fit(X, y, sample_weight=weight), scatter=[X])
    assert same(local, remote)
    if getattr(model, "oob_score", False):
        assert local.oob_score_ == remote.oob_score_


def test_bag_of_others(client: Any, caplog: Any) -> None:
    X, y = np.nan_to_num(table()[0]), table()[1]
    bag = BaggingRegressor(DecisionTreeRegressor(), 20, oob_score=True, random_state=0, verbose=1)
    local = clone(bag).fit(X, y)
    told = [one for one in caplog.messages if "fitted on" in one]
    caplog.clear()
    remote = on_cluster(lambda: clone(bag).fit(X, y))
    assert [one for one in caplog.messages if "fitted on" in one] == told
    assert len(told) == 20
    assert local.oob_score_ == remote.oob_score_
    np.testing.assert_array_equal(local.predict(X), remote.predict(X))


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> "Failing":
        raise ValueError("too green")

    def predict(self, X: Any) -> Any:
        return X


def test_errors_name_the_member_and_keep_the_others(client: Any) -> None:
    X, y = table(100)
    model = VotingClassifier([("good", RandomForestClassifier(3)), ("bad", Failing())])
    with pytest.raises(
        weald.MemberError, match="'bad' of VotingClassifier failed.*too green"
    ) as at:
        on_cluster(lambda: model.fit(X, labels(y)))
    assert isinstance(at.value, ValueError)
    assert list(at.value.fitted) == ["good"]


def test_a_member_that_cannot_be_sent(client: Any) -> None:
    X, y = table(100)
    members = [("a", Noting(threading.Lock())), ("b", Noting())]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cannot be pickled"):
        on_cluster(lambda: VotingRegressor(members).fit(X, y))


def test_what_a_worker_fits_is_fitted_by_that_worker(client: Any) -> None:
    """In a search that Dask runs, an ensemble must not send its table to the cluster again."""
    X, y = table(120)
    for model in (
        RandomForestRegressor(3, random_state=0),
        VotingRegressor([("a", Ridge()), ("b", Ridge())]),
    ):
        X = np.nan_to_num(X)
        want = cross_val_score(model, X, y, cv=2)
        got = on_cluster(lambda model=model, X=X: cross_val_score(model, X, y, cv=2))
        np.testing.assert_array_equal(got, want)


# ---- the table is sent once ----


@pytest.mark.parametrize("is_forest", [True, False])
def test_rows_are_sent_once(client: Any, monkeypatch: Any, is_forest: bool) -> None:
    """What a task carries does not depend on the number of rows, nor do batches send rows again."""
    sent: list[Any] = []
    tasks: list[int] = []
    scattered, submitted = Cluster._scattered, Cluster._submitted

    def scatter(cluster: Any, one: Any) -> Any:
        sent.append(one)
        return scattered(cluster, one)

    def submit(cluster: Any, work: Any, task: Any, *rest: Any) -> Any:
        tasks.append(len(cloudpickle.dumps(task)))
        return submitted(cluster, work, task, *rest)

    monkeypatch.setattr(Cluster, "_scattered", scatter)
    monkeypatch.setattr(Cluster, "_submitted", submit)
    X, y = np.nan_to_num(table(2000)[0]), table(2000)[1]
    model: Any = BaggingRegressor(Ridge(), "auto", random_state=0)
    if is_forest:
        model = RandomForestRegressor("auto", random_state=0, max_leaf_nodes=8)
    on_cluster(lambda: model.fit(X, y))
    assert len(tasks) > 8
    assert max(tasks) < 3000
    large = [one for one in sent if not isinstance(one, (tuple, dict, list, ResponseMethod))]
    assert len({id(one) for one in large}) == len(large) <= 3


# ---- lost workers ----


def killing(client: Any) -> None:
    pids = client.run(os.getpid)
    threading.Timer(0.3, os.kill, (next(iter(pids.values())), signal.SIGKILL)).start()


class Slow(Noting):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Slow":
        import time

        time.sleep(0.15)
        return super().fit(X, y)  # type: ignore[return-value]


def test_a_worker_dies_in_a_bag(client: Any) -> None:
    X, y = table()
    bag = BaggingRegressor(Slow(), 10, random_state=0)
    local = clone(bag).set_params(estimator=Noting()).fit(X, y)
    killing(client)
    remote = on_cluster(lambda: bag.fit(X, y))
    assert [one.mean_ for one in remote.estimators_] == [one.mean_ for one in local.estimators_]


def test_a_worker_dies_in_a_forest(client: Any) -> None:
    X, y = table(20_000)
    model = RandomForestRegressor(80, min_samples_leaf=1, max_features=3, random_state=0, n_jobs=2)
    local = clone(model).fit(X, y)
    killing(client)
    assert same(on_cluster(lambda: clone(model).fit(X, y)), local)


def test_two_fits_at_once(client: Any) -> None:
    X, y = table()
    want = [RandomForestRegressor(10, random_state=k).fit(X, y).fingerprint() for k in (0, 1)]

    def fit(k: int) -> str:
        with client.as_current():
            model = on_cluster(lambda: RandomForestRegressor(10, random_state=k).fit(X, y))
        return str(model.fingerprint())

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(fit, (0, 1))) == want


# ---- without Dask's backend ----


def test_other_backends_and_bags_of_classifiers_are_as_before(client: Any) -> None:
    X, y = table(150)
    model = BaggingClassifier(n_estimators=4, random_state=0).fit(X, labels(y))
    with joblib.parallel_config("threading"):
        assert same(BaggingClassifier(n_estimators=4, random_state=0).fit(X, labels(y)), model)
    assert same(
        on_cluster(lambda: BaggingClassifier(n_estimators=4, random_state=0).fit(X, labels(y))),
        model,
    )

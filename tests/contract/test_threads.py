"""Any estimator in several Python threads: the same models and predictions as in one."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from contract.subjects import EVERY_ESTIMATOR, answers, quick, searches, settings, task

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)


def at_once(work: Callable[[], Any], n_threads: int) -> list[Any]:
    """Results of threads that start at the same time."""
    begin = Barrier(n_threads)

    def wait_and_work() -> Any:
        begin.wait(timeout=60)
        return work()

    with ThreadPoolExecutor(n_threads) as threads:
        futures = [threads.submit(wait_and_work) for _ in range(n_threads)]
        return [future.result(timeout=120) for future in futures]


def small(estimator: type, n_jobs: int) -> Any:
    return quick(estimator, n_jobs=n_jobs).set_params(
        **settings(estimator, n_estimators=4, max_leaf_nodes=31)
    )


@every_estimator
def test_fits_in_several_threads_at_once(estimator) -> None:
    """More threads than cores, each of which uses three more."""
    X, y = task(estimator, n=600 if searches(estimator) else 6000, n_columns=6, missing=0.05)
    expected = small(estimator, n_jobs=1).fit(X, y).fingerprint()
    model = small(estimator, n_jobs=3)
    assert at_once(lambda: clone(model).fit(X, y).fingerprint(), 6) == [expected] * 6


@every_estimator
def test_one_model_predicts_in_several_threads(estimator) -> None:
    X, y = task(estimator, n=6000, n_columns=6, missing=0.05)
    model = small(estimator, n_jobs=2).fit(X, y)
    # A copy that has not predicted yet: the first thread builds the native predictor.
    fresh = pickle.loads(pickle.dumps(model))
    expected = answers(model, X)
    for predictions in at_once(lambda: answers(fresh, X), 8):
        assert np.array_equal(predictions, expected)

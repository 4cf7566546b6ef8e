"""scikit-learn's checks of every estimator, on the ranker: with queries beside X and y."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import weald

N_QUERIES = 5


class RankerOfRows(weald.BoostedTreesRanker):
    """A ranker with X and y only: every fifth row is of a query, and numbers become grades.

    What is no table of rows with a number each is left to the ranker.
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "qid": False,
        "group": False,
        "qid_val": False,
        "group_val": False,
    }
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": False, "group": False}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, grades(y), sample_weight, qid=queries(y))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return super().score(X, grades(y), sample_weight, qid=queries(y))


def queries(y: Any) -> np.ndarray | None:
    values = np.asarray(y)
    return np.arange(len(values)) % N_QUERIES if values.ndim else None


def grades(y: Any) -> Any:
    values = np.asarray(y)
    if values.dtype.kind not in "iuf" or values.ndim != 1 or not np.isfinite(values).all():
        return y
    ranks = np.argsort(np.argsort(values))
    return ranks * 5 // len(ranks)


MODELS = {
    "defaults": RankerOfRows(n_estimators=5, min_samples_leaf=2),
    "folds": RankerOfRows(n_estimators=5, n_bags=2, early_stopping=True, min_samples_leaf=2),
}

# A row that occurs twice is ranked beside itself, which is not a row of twice the weight; what
# weights mean is tested in ensembles/boosting/test_ranker.py.
NOT_FOR_RANKINGS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def cases() -> Iterator[Any]:
    for name, model in MODELS.items():
        for estimator, check in estimator_checks_generator(model, legacy=True):
            what = check.func.__name__ if hasattr(check, "func") else check.__name__
            if what in NOT_FOR_RANKINGS:
                continue
            yield pytest.param(estimator, check, id=f"{name}-{what}")


@pytest.mark.parametrize(("estimator", "check"), list(cases()))
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)

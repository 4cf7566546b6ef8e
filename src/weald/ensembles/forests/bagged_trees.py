"""Forests behind bagging with the default trees: all columns are considered at each split.

The classes have the names of the public bagging estimators, so that errors name what the user
created.
"""

from typing import Any, ClassVar

from weald.ensembles.forests.forest_kinds import ForestClassifier, ForestRegressor

_FULL_TREES: dict[str, Any] = {
    "max_depth": None,
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_fraction_leaf": 0.0,
    "max_features": None,
    "max_leaf_nodes": None,
    "min_impurity_decrease": 0.0,
    "ccp_alpha": 0.0,
    "monotonic_cst": None,
    "feature_sampling": "node",
    "categorical_features": "from_dtype",
    "target_statistics": "auto",
}


class BaggingClassifier(ForestClassifier):
    """Forest of fully grown classification trees, fitted by the public BaggingClassifier."""

    _random_cuts: ClassVar[bool] = False

    def __init__(
        self,
        n_estimators: int = 10,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            criterion="gini",
            class_weight=None,
            voting="soft",
            **_FULL_TREES,
        )


class BaggingRegressor(ForestRegressor):
    """Forest of fully grown regression trees, fitted by the public BaggingRegressor."""

    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False

    def __init__(
        self,
        n_estimators: int = 10,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            criterion="squared_error",
            **_FULL_TREES,
        )

"""Extremely randomised trees: random columns and random thresholds at each split."""

from typing import Any, ClassVar

from weald.ensembles.forests.forest_kinds import ForestClassifier, ForestRegressor


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised classification trees.

    At each split a random subset of the columns is considered, each with one threshold drawn
    uniformly between the minimum and the maximum of the column in the node.

    Parameters
    ----------
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the rows; otherwise it is grown on all
        rows, or on `max_samples` of them drawn without replacement.

    Examples
    --------
    >>> from weald import ExtraTreesClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> forest = ExtraTreesClassifier(random_state=0).fit(train.data, train.target)
    >>> round(forest.score(test.data, test.target), 2)
    0.97
    """

    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = True

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        feature_sampling: str = "node",
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
        voting: str = "soft",
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            feature_sampling=feature_sampling,
            categorical_features=categorical_features,
            target_statistics=target_statistics,
            voting=voting,
        )


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised regression trees.

    At each split a random subset of the columns is considered, each with one threshold drawn
    uniformly between the minimum and the maximum of the column in the node.

    Parameters
    ----------
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample of the rows; otherwise it is grown on all
        rows, or on `max_samples` of them drawn without replacement.

    Examples
    --------
    >>> from weald import ExtraTreesRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 7.0]
    >>> forest = ExtraTreesRegressor(random_state=0).fit(X, y)
    >>> forest.predict([[1.0], [4.0]]).tolist()
    [1.0, 7.0]
    """

    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = True

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "third",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        feature_sampling: str = "node",
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
            feature_sampling=feature_sampling,
            categorical_features=categorical_features,
            target_statistics=target_statistics,
        )

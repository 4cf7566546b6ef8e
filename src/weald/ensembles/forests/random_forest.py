"""Random forests: rows drawn for every tree, columns for every node."""

from typing import Any, ClassVar

from weald.ensembles.forests.forest_kinds import ForestClassifier, ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """A random forest of classification trees.

    Every tree is grown on rows drawn with replacement, and every node looks at a few columns.

    Parameters
    ----------
    bootstrap : bool, default=True
        Let every tree draw as many rows as there are, with replacement; otherwise it sees
        all, or `max_samples` of them.

    Examples
    --------
    >>> from weald import RandomForestClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> forest = RandomForestClassifier(random_state=0).fit(train.data, train.target)
    >>> round(forest.score(test.data, test.target), 2)
    0.97
    """

    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False

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
        bootstrap: bool = True,
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
            voting=voting,
        )


class RandomForestRegressor(ForestRegressor):
    """A random forest of regression trees.

    Every tree is grown on rows drawn with replacement, and every node looks at a few columns.

    Parameters
    ----------
    max_features : int, float, {"sqrt", "log2", "third"} or None, default=0.5
        Columns a node looks at: a number, a share, the square root, binary logarithm or third of
        all, or all. More are drawn as long as none can be split.
    bootstrap : bool, default=True
        Let every tree draw as many rows as there are, with replacement; otherwise it sees
        all, or `max_samples` of them.

    Examples
    --------
    >>> from weald import RandomForestRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 7.0]
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
    >>> bool(1 <= forest.predict([[1.0]])[0] < forest.predict([[4.0]])[0] <= 7)
    True
    """

    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = 0.5,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
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
        )

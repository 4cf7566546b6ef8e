"""Random forests: a bootstrap sample per tree, column subsampling per split."""

from collections.abc import Mapping
from typing import Any, ClassVar

from weald.ensembles.forests.auto_settings import CHOSEN_LIMITS, ChosenSettings
from weald.ensembles.forests.forest_kinds import ForestClassifier, ForestRegressor
from weald.parameters import Limit


class RandomForestClassifier(ChosenSettings, ForestClassifier):
    """A random forest of classification trees.

    Each tree is grown on a bootstrap sample of the rows, and a random subset of the columns is
    considered at each split. By default the out-of-bag error chooses `min_samples_leaf` and
    `max_features`.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="entropy"
        Split criterion; entropy is measured in bits, and log_loss is an alias of it.
    max_features : int, float, {"auto", "sqrt", "log2", "third"} or None, default="auto"
        Number of columns considered at each split: a count, a fraction, the square root, binary
        logarithm or third of all columns, or all (None). More are drawn while none of them allows
        a split. "auto": "sqrt" or 0.5, whichever has the lower out-of-bag error; "sqrt" if every
        tree is fitted on all rows.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows; otherwise it is grown on all
        rows, or on `max_samples` of them drawn without replacement.

    Examples
    --------
    >>> from weald import RandomForestClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> forest = RandomForestClassifier(random_state=0).fit(train.data, train.target)
    >>> round(forest.score(test.data, test.target), 2)
    0.96
    >>> forest.min_samples_leaf_, forest.max_features_
    (1, 0.5)
    >>> [round(tried["oob_error"], 3) for tried in forest.auto_trials_]
    [0.074, 0.062, 0.091, 0.073]
    """

    _limits: ClassVar[Mapping[str, Limit]] = {**ForestClassifier._limits, **CHOSEN_LIMITS}
    _column_choices: ClassVar[tuple[Any, ...]] = ("sqrt", 0.5)
    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "entropy",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "auto",
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


class RandomForestRegressor(ChosenSettings, ForestRegressor):
    """A random forest of regression trees.

    Each tree is grown on a bootstrap sample of the rows, and a random subset of the columns is
    considered at each split. By default the out-of-bag error chooses `min_samples_leaf` and
    `max_features`.

    Parameters
    ----------
    max_features : int, float, {"auto", "sqrt", "log2", "third"} or None, default="auto"
        Number of columns considered at each split: a count, a fraction, the square root, binary
        logarithm or third of all columns, or all (None). More are drawn while none of them allows
        a split. "auto": "third" or 0.7, whichever has the lower out-of-bag error; "third" if every
        tree is fitted on all rows.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample of the rows; otherwise it is grown on all
        rows, or on `max_samples` of them drawn without replacement.

    Examples
    --------
    >>> from weald import RandomForestRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 7.0]
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
    >>> bool(1 <= forest.predict([[1.0]])[0] < forest.predict([[4.0]])[0] <= 7)
    True
    """

    _limits: ClassVar[Mapping[str, Limit]] = {**ForestRegressor._limits, **CHOSEN_LIMITS}
    _column_choices: ClassVar[tuple[Any, ...]] = ("third", 0.7)
    _takes_several: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "auto",
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

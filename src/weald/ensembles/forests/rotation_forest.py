"""Rotation forests (Rodríguez, Kuncheva and Alonso): each tree has its own rotated columns."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from weald.ensembles.forests.forest_kinds import ForestClassifier, ForestRegressor
from weald.ensembles.forests.rotated import ROTATION_LIMITS, RotationModel
from weald.parameters import ClassWeight, Limit, OneOf


class RotationForestClassifier(RotationModel, ForestClassifier):
    """A rotation forest of classification trees.

    Parameters
    ----------
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Class weights, multiplied with the row weights. "balanced": all classes have the same total
        weight in the training rows; "balanced_subsample": with `bootstrap`, in the sample of each
        tree. Class weights change neither row counts nor the rows drawn.

    Examples
    --------
    >>> from weald import RotationForestClassifier
    >>> from weald.datasets import load_optdigits
    >>> train, test = load_optdigits(part="train"), load_optdigits(part="test")
    >>> forest = RotationForestClassifier(50, random_state=0).fit(train.data, train.target)
    >>> round(forest.score(test.data, test.target), 2)
    0.96
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy", "log_loss")),
        "class_weight": ClassWeight(("balanced", "balanced_subsample")),
        **ROTATION_LIMITS,
    }
    voting = "soft"  # not a parameter

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        subset_size: int | None = None,
        n_subsets: int | None = None,
        sample_fraction: float = 0.75,
        replace: bool = True,
        scale: str | None = None,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        bootstrap: bool = False,
        max_samples: float | None = None,
        oob_score: Any = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            criterion=criterion,
            subset_size=subset_size,
            n_subsets=n_subsets,
            sample_fraction=sample_fraction,
            replace=replace,
            scale=scale,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_leaf_nodes=max_leaf_nodes,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            class_weight=class_weight,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Fit the rotation and grow the tree, for each tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array, shape (rows,)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights; a bootstrap draws rows with probability proportional to them.
        groups : array, shape (rows,), or None
            Group labels: with `bootstrap` or `max_samples`, whole groups are drawn.
        """
        return super().fit(X, y, sample_weight, groups=groups)

    def predict_proba(self, X: object, return_std: bool = False) -> Any:
        """Predict class probabilities: the mean over the trees.

        Parameters
        ----------
        X : table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the trees' class probabilities.
        """
        shares = self._scores(X)
        return (shares, self._deviations(X, shares)) if return_std else shares


class RotationForestRegressor(RotationModel, ForestRegressor):
    """A rotation forest of regression trees.

    Examples
    --------
    >>> from weald import RotationForestRegressor
    >>> X, y = [[1.0, 1.0], [2.0, 1.0], [3.0, 2.0], [4.0, 2.0]], [1.0, 1.0, 5.0, 7.0]
    >>> forest = RotationForestRegressor(10, random_state=0).fit(X, y)
    >>> forest.predict([[1.0, 1.0], [4.0, 2.0]]).tolist()
    [1.0, 7.0]
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("squared_error",)),
        **ROTATION_LIMITS,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        subset_size: int | None = None,
        n_subsets: int | None = None,
        sample_fraction: float = 0.75,
        replace: bool = True,
        scale: str | None = None,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        bootstrap: bool = False,
        max_samples: float | None = None,
        oob_score: Any = False,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self._store(
            n_estimators=n_estimators,
            criterion=criterion,
            subset_size=subset_size,
            n_subsets=n_subsets,
            sample_fraction=sample_fraction,
            replace=replace,
            scale=scale,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_leaf_nodes=max_leaf_nodes,
            bootstrap=bootstrap,
            max_samples=max_samples,
            oob_score=oob_score,
            categorical_features=categorical_features,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Fit the rotation and grow the tree, for each tree.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array of finite numbers, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights; a bootstrap draws rows with probability proportional to them.
        groups : array, shape (rows,), or None
            Group labels: with `bootstrap` or `max_samples`, whole groups are drawn.
        """
        return super().fit(X, y, sample_weight, groups=groups)

    def predict(self, X: object, return_std: bool = False) -> Any:
        """Predict the target: the mean over the trees.

        Parameters
        ----------
        X : table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the trees' predictions.
        """
        means = self._scores(X)
        if return_std:
            return means[:, 0], self._deviations(X, means)[:, 0]
        return means[:, 0]

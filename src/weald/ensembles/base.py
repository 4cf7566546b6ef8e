"""Base classes of tree models: parameter checks, prediction, inspection, fingerprint."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from weald.advice import Ignored, advise_of_ignored, advising
from weald.calls import available_where, explain_calls, naming_unknown, wrong_setting
from weald.cluster import forget_shared
from weald.data import ColumnPlan, dense_blocks, is_plain_table, plan_of, table_for_predict
from weald.docstrings import with_inherited_sections
from weald.ensembles.fitted_html import fitted_html
from weald.ensembles.named_importances import NamesImportances
from weald.ensembles.predictor import (
    Predictor,
    TablePredictor,
    predictor_of,
    table_predictor_of,
)
from weald.ensembles.saving import Saved
from weald.errors import ModelFormatError, wrong_parameter
from weald.number_text import signed_text
from weald.parameters import Limit, NoneOr, OneOf, check_parameters
from weald.persist import fingerprint
from weald.threads import thread_count
from weald.trees import (
    Forest,
    RotatedForest,
    made_frame,
    node_columns,
    nodes_of_leaves,
    tree_text,
)
from weald.trees.frame import LIBRARIES

Floats = NDArray[np.float64]


class CheckedEstimator(Saved, BaseEstimator):
    """scikit-learn estimator that validates its parameters and whose `fit` is atomic."""

    # Valid values of every constructor parameter; checked by `fit`.
    _limits: ClassVar[Mapping[str, Limit]]
    # Parameters that have no effect under some settings; `fit` warns if they were set.
    _ignored: ClassVar[Mapping[str, Ignored]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__doc__ = with_inherited_sections(cls)
        if "__init__" in vars(cls):
            cls.__init__ = naming_unknown(cls.__init__)  # type: ignore[method-assign]
        explain_calls(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or of nested ones as `estimator__parameter`.

        Parameters
        ----------
        **params
            Constructor parameters.
        """
        known = self.get_params(deep=True)
        for name in params:
            if name.partition("__")[0] not in known:
                raise ValueError(wrong_setting(self, name))
        super().set_params(**params)
        return self

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """scikit-learn's view of the parameters, and facts of the fit below it."""
        parameters: Callable[[], str] = super()._repr_html_
        return lambda: parameters() + fitted_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Check the parameters; restore the estimator's state if the fit fails."""
        before = self.__dict__.copy()
        try:
            check_parameters(self, self._limits)
            advise_of_ignored(self, self._ignored)
            with advising():
                yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        finally:
            forget_shared()


class TreeModel(NamesImportances, CheckedEstimator):
    """scikit-learn estimator whose model is one `Forest`.

    Attributes
    ----------
    forest_ : Forest
        The trees as flat arrays.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Column names, if all of them are strings.
    """

    forest_: Forest
    n_features_in_: int
    n_jobs: int | None

    @property
    def _n_threads(self) -> int:
        self._check_n_jobs()
        return thread_count(self.n_jobs)

    def _check_n_jobs(self) -> None:
        if not self._limits["n_jobs"].admits(self.n_jobs):
            raise ValueError(
                wrong_parameter(self, "n_jobs", self._limits["n_jobs"].expected, self.n_jobs)
            )

    @property
    def _input_forest(self) -> Forest | RotatedForest:
        """Forest that predicts from the input columns: `forest_`, unless it splits rotated ones."""
        return self.forest_

    def _scores(self, X: object) -> Floats:
        """Raw predictions of the forest, shape (rows, outputs)."""
        n_threads = self._n_threads
        if is_plain_table(X, self):
            return self._input_forest.predict(X, n_threads=n_threads)
        check_is_fitted(self)
        table = table_for_predict(self, X)
        parts = [
            self._input_forest.predict(part, n_threads=n_threads) for part in dense_blocks(table)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def _link(self) -> str:
        """Loss whose inverse link turns scores into predictions; empty: identity."""
        return ""

    # Whether predictions are the forest's scores, or a loss's inverse link of them: `predictor()`
    # supports nothing else.
    _predicts_by_forest: ClassVar[bool] = True

    @available_where(lambda model: model._predicts_by_forest)
    def predictor(self) -> Predictor | TablePredictor:
        """Make a lightweight copy of the model that only predicts, in a few microseconds per row.

        Its methods have the same names as the model's and return bit-identical results. If all
        columns are numeric it takes plain float32 or float64 arrays with the columns in the order
        of the fit, one row (1-D) or a batch (2-D). If some are text, categories or dates, a row is
        a list of values in that order or a dict by column name, and any table is a batch.
        It does not change when the model is refitted.

        Returns
        -------
        Predictor or TablePredictor
            Has `predict` and, if the model has them, `predict_proba` and `decision_function`.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
        >>> float(model.predictor().predict(np.array([1.2])))
        10.0
        """
        check_is_fitted(self)
        self._check_n_jobs()
        alone = self._array_predictor()
        if self._plan.is_plain:
            return alone
        names = getattr(self, "feature_names_in_", None)
        return table_predictor_of(alone, self._plan, None if names is None else list(names))

    def _array_predictor(self) -> Predictor:
        """Predictor of rows whose columns are already numeric."""
        return predictor_of(self, self.forest_, loss=self._link, n_jobs=self.n_jobs)

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree.

        Returns
        -------
        array of int32, shape (rows, trees)
            The leaf as a node of its tree, numbered as in `trees_to_frame` and in scikit-learn.
        """
        leaves = self._leaves(X)
        return nodes_of_leaves(self.forest_, leaves)

    def _leaves(self, X: object) -> NDArray[np.int32]:
        """Number of the leaf, among those of its tree, of each row in each tree."""
        check_is_fitted(self)
        table = table_for_predict(self, X)
        n_threads = self._n_threads
        parts = [
            self._input_forest.apply(part, n_threads=n_threads) for part in dense_blocks(table)
        ]
        return np.concatenate(parts)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the total gain of all splits; sums to 1 (or all are 0).

        The gains of the parts of a date are added to the date column.
        """
        check_is_fitted(self)
        gains = self._plan.sums_by_input(self.forest_.gain_of_columns())
        if not np.isfinite(gains).all():
            # The squared gradients of a user-defined loss may overflow.
            gains = np.isinf(gains).astype(np.float64)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def importances(self, by: str = "gain") -> Floats:
        """Feature importances of the columns, summed over all splits of all trees.

        Parameters
        ----------
        by : {"gain", "cover", "count"}, default="gain"
            Total gain of the splits, total weight of the rows they split, or number of splits.

        Returns
        -------
        array, shape (columns,)
            Sums, not normalised; those of the parts of a date are added to the date column.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1, 5], [2, 5], [3, 5]], [0.0, 1.0, 5.0])
        >>> model.importances("count").tolist(), model.importances("cover").tolist()
        ([2.0, 0.0], [5.0, 0.0])
        """
        check_is_fitted(self)
        limit = OneOf(("gain", "cover", "count"))
        if not limit.admits(by):
            raise ValueError(f"by must be {limit.expected}; got {by!r}.")
        return self._sums_of_columns(by)

    def _sums_of_columns(self, by: str) -> Floats:
        return self._plan.sums_by_input(self.forest_.sums_of_columns(by))

    def trees_to_frame(self, library: str | None = None) -> Any:
        """Return all trees as a data frame with one row per node.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default=None
            Data frame library; None takes the first one that is installed.

        Returns
        -------
        frame
            `tree`, `node` (from 0 in each tree, the left child is the next one) and `depth`;
            `output`, the score that the tree adds to (-1: all of them), and `tree_weight`, the
            factor of its leaf values; `left` and `right`, the children (-1: it is a leaf);
            `feature`, and `threshold` (values <= threshold go left) or `levels`, the categories
            that go left; `missing`, the side of missing values and unseen categories; `gain`;
            `weight`, the total weight of its rows; `value` of a leaf, a list for several outputs.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
        >>> frame = model.trees_to_frame("pandas")
        >>> frame["threshold"].tolist(), frame["value"].tolist()
        ([1.5, nan, nan], [nan, 10.0, 20.0])
        """
        check_is_fitted(self)
        limit = NoneOr(OneOf(LIBRARIES))
        if not limit.admits(library):
            raise ValueError(f"library must be {limit.expected}; got {library!r}.")
        return made_frame(self._node_columns(), library, "trees_to_frame", "the arrays of forest_")

    def _node_columns(self) -> dict[str, Any]:
        names = self._plan.names(self._column_names())
        return node_columns(self.forest_, names=names, levels=self._plan.levels)

    def text(self, tree: int = 0) -> str:
        """Draw one tree as text.

        Parameters
        ----------
        tree : int, default=0
            Index of the tree in `forest_`.
        """
        check_is_fitted(self)
        tree, n_trees = operator.index(tree), self.forest_.n_trees
        if not 0 <= tree < n_trees:
            raise ValueError(
                f"There is no tree {tree}: this {type(self).__name__} has {n_trees} trees"
                + (", numbered from 0." if n_trees else "; it saw only one class.")
            )
        return tree_text(
            self.forest_,
            tree,
            names=self._names_of_tree(tree),
            answer=self._leaf_text,
            weight=self._weight_name,
            levels=self._levels_of_trees(),
        )

    def _names_of_tree(self, tree: int) -> list[str]:
        """Names of the columns that a tree splits on."""
        return self._plan.names(self._column_names())

    def _levels_of_trees(self) -> Sequence[Sequence[Any] | None]:
        """Categories of each column that trees split on; None for ordered columns."""
        return self._plan.levels

    _weight_name: ClassVar[str] = "weight"

    @property
    def _plan(self) -> ColumnPlan:
        """How a table is converted to the numeric columns that the trees split on."""
        return plan_of(self)

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"column {i}" for i in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _leaf_text(self, value: Floats) -> str:
        return ", ".join(signed_text(one, 6) for one in value.tolist())

    def fingerprint(self) -> str:
        """SHA-256 of the fitted model: equal for any `n_jobs`, row order and machine."""
        check_is_fitted(self)
        return fingerprint(self._fingerprint_arrays())

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**self.forest_.fingerprint_arrays(), **self._plan.fingerprint_arrays()}

    def _check_restored(self) -> None:
        if hasattr(self, "forest_"):
            self._check_columns()
        super()._check_restored()

    def _check_columns(self) -> None:
        plan, columns = self._plan, self.forest_.n_columns
        if self.n_features_in_ != len(plan.columns):
            raise ModelFormatError(
                f"{type(self).__name__} has {len(plan.columns)} columns, not {self.n_features_in_}."
            )
        if self._input_forest is self.forest_ and columns != plan.n_columns:
            raise ModelFormatError(
                f"the trees split {columns} columns, but there are {plan.n_columns}."
            )

    def _has_only_numbers(self) -> bool:
        return self._plan.is_plain

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def keep_columns(owner: Any, estimator: Any) -> None:
    """Copy the column attributes of a fitted ensemble to one of its base estimators."""
    for name in ("n_features_in_", "feature_names_in_", "_columns"):
        if hasattr(owner, name):
            setattr(estimator, name, getattr(owner, name))

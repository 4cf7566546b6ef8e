"""Base class of AdaBoost for classification and regression."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from weald.data import (
    Rows,
    SparseTable,
    as_one_array,
    dense_blocks,
    levels_of,
    table_for_predict,
)
from weald.data.level_means import LevelRule
from weald.ensembles.adaboost.adaboost_training import HardestRows, Training, hardest_rows
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import CheckedEstimator, Floats
from weald.ensembles.dropped_levels import STATISTICS_LIMITS, EncodesDroppedLevels
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.ensembles.truncation import Truncatable
from weald.parameters import Columns, Jobs, Limit, NoneOr, ObjectWith, OneOf, Real, Seed, Whole

LEARNER = ObjectWith(("fit", "predict"))

LIMITS: Mapping[str, Limit] = {
    "estimator": NoneOr(LEARNER),
    "n_estimators": Whole(1, 2**31 - 1),
    "learning_rate": Real(0.0, open_below=True),
    "reweight": OneOf(("weighting", "resampling")),
    "categorical_features": Columns(),
    **STATISTICS_LIMITS,
    "store_weights": OneOf((True, False)),
    "random_state": Seed(),
    "n_jobs": Jobs(),
}

# Votes beyond this are about to overflow.
_RUNAWAY = 1e200


class AdaBoost(Truncatable, EncodesDroppedLevels):
    """Base estimators fitted in sequence to rows reweighted by the errors so far.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Base estimator. None: weald's own trees.
    n_estimators : int, default=50
        Maximum number of base estimators; fewer if one is perfect or no better than chance.
    learning_rate : float, default=1.0
        Factor of the vote of every base estimator.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of text and unordered categorical dtypes, or those listed by
        name, position or a mask, or none. An `estimator` with a parameter of this name gets
        categories as integer codes and the positions of their columns; others need numbers.
    store_weights : bool, default=False
        Store the row weights of every round in `round_weights_`.
    random_state : int, RandomState or None, default=None
        Seed of `reweight="resampling"` and of the `random_state` of an `estimator` that has one;
        ignored otherwise.
    n_jobs : int or None, default=None
        Number of threads of weald's own trees; None means all usable cores. The model is the same
        for any number. An `estimator` of the user is fitted sequentially.

    Attributes
    ----------
    estimator_ : estimator
        The base estimator that is cloned in each round.
    estimators_ : list of estimators
        The fitted base estimators. Weald's own are made from `forest_` on first access.
    estimator_weights_ : array, shape (estimators,)
        Vote of each base estimator.
    estimator_errors_ : array, shape (estimators,)
        Weighted training error of each base estimator, with the weights of its round.
    history_ : History
        The "train loss" before the first and after each round; prints as a table.
    train_loss_ : array, shape (estimators + 1,)
        The training loss: the mean over the training rows of the exponential loss, which each round
        decreases and the row weights are proportional to. It needs no predictions: each round
        multiplies it by a factor. 1 before the first round.
    row_weights_ : array, shape (rows,)
        Row weights after the last round; they sum to 1. A truncated model has them with
        `store_weights=True` only.
    round_weights_ : array, shape (estimators + 1, rows)
        With `store_weights=True`: row weights before each round and after the last.
    """

    estimator: Any
    n_estimators: int
    learning_rate: float
    reweight: str
    categorical_features: Any
    store_weights: bool
    random_state: object

    estimator_: Any
    estimator_weights_: Floats
    estimator_errors_: Floats
    row_weights_: Floats
    history_: History
    train_loss_: Floats

    # Votes and weighted medians are not sums of trees.
    _predicts_by_forest: ClassVar[bool] = False
    _limits: ClassVar[Mapping[str, Limit]]
    _estimators: list[Any] | None  # None: the trees of forest_, not yet wrapped as estimators

    @property
    def _numbers_levels(self) -> LevelRule | None:
        return super()._numbers_levels if self.estimator is None else None

    def _encoded(self, rows: Rows, n_classes: int) -> Rows:
        """The rows with target statistics of rare categories, if there are any."""
        if self.target_statistics is True and self.estimator is not None:
            raise ValueError(
                "target_statistics=True needs weald's own trees (estimator=None); got "
                f"{type(self.estimator).__name__}. Leave target_statistics at 'auto'."
            )
        return self._encoded_by_folds(self._without_unused_numbers(rows, n_classes), n_classes)

    def _rows_for_estimators(self, rows: Rows) -> Rows:
        """Rows with the table for the base estimators: one array unless it has categories.

        A sparse table stays sparse if the user's `estimator` supports it.
        """
        if isinstance(rows.table, SparseTable) and self._estimator_takes_sparse():
            return rows
        if not levels_of(rows.table):
            return rows.of_numbers(type(self).__name__)
        if self.estimator is None:
            return rows
        if not self._estimator_takes_levels():
            return rows.of_numbers(f"{type(self.estimator).__name__} as part of AdaBoost")
        return replace(rows, table=as_one_array(rows.table))

    def _estimator_takes_levels(self) -> bool:
        """Whether the `estimator` supports `categorical_features`."""
        own = self.estimator.get_params() if hasattr(self.estimator, "get_params") else {}
        choice = own.get("categorical_features")
        return isinstance(choice, str) and choice == "from_dtype"

    def _estimator_takes_sparse(self) -> bool:
        """Whether sparse tables are passed on; weald's own estimators are faster on dense ones."""
        if self.estimator is None or isinstance(self.estimator, CheckedEstimator):
            return False
        return bool(get_tags(self.estimator).input_tags.sparse)

    def _base_estimator(self) -> Any:
        """Clone `estimator` and set its categorical columns, if there are any."""
        base = clone(self.estimator)
        columns = [i for i, levels in enumerate(self._plan.levels) if levels is not None]
        return base.set_params(categorical_features=columns) if columns else base

    def _check_vote(self, vote: float, round_: int) -> None:
        if not abs(vote) < _RUNAWAY:
            raise ValueError(
                f"The weight of base estimator {round_ + 1} overflows: "
                f"learning_rate={self.learning_rate} is too large. Use a smaller one; 1.0 is the "
                "default."
            )

    def _keep_history(self, history: History) -> None:
        self.history_, self.train_loss_ = history, history[TRAIN_LOSS]

    def _keep_weights(self, training: Training, last: RowWeights, rounds: list[Floats]) -> None:
        self.__dict__.pop("round_weights_", None)
        self.row_weights_ = training.of_given_rows(last.of_rows())
        if self.store_weights:
            self.round_weights_ = training.of_given_rows(np.stack(rounds))

    @property
    def _n_rounds(self) -> int:
        return len(self.estimator_weights_)

    def _keep_rounds(self, n_rounds: int) -> None:
        self.estimator_weights_ = self.estimator_weights_[:n_rounds]
        self.estimator_errors_ = self.estimator_errors_[:n_rounds]
        if self._estimators is not None:
            self._estimators = self._estimators[:n_rounds]
        if hasattr(self, "forest_"):
            self.forest_ = self.forest_.part(0, n_rounds)
        if hasattr(self, "history_"):  # files of early versions lack it
            self._keep_history(self.history_.truncated(n_rounds))
        if hasattr(self, "round_weights_"):
            self.round_weights_ = self.round_weights_[: n_rounds + 1]
            self.row_weights_ = self.round_weights_[-1]
        elif hasattr(self, "row_weights_"):
            del self.row_weights_  # those after an earlier round were not stored

    @property
    def estimators_(self) -> list[Any]:
        """Fitted base estimators, in the order of the rounds."""
        if "estimator_weights_" not in self.__dict__:
            raise AttributeError(
                f"This {type(self).__name__} is not fitted: it has no base estimators."
            )
        if self._estimators is None:
            self._estimators = self._own_estimators()
        return self._estimators

    def _own_estimators(self) -> list[Any]:
        """Wrap the trees of `forest_` as estimators."""
        raise NotImplementedError

    def _foreign_estimators(self) -> list[Any] | None:
        """Fitted clones of the user's `estimator`; None for weald's own trees."""
        return None if hasattr(self, "forest_") else self.estimators_

    def _readers(self) -> Sequence[Any]:
        return () if hasattr(self, "forest_") else self.estimators_

    def __len__(self) -> int:
        return len(self.estimators_)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    # ---- methods that require weald's own trees ----

    def _require_own_trees(self, what: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "forest_"):
            raise AttributeError(
                f"{what} is available with weald's own trees (estimator=None) only; the base "
                f"estimators are {type(self.estimator_).__name__}. Use those in estimators_."
            )

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf of each row in each tree.

        Returns
        -------
        array of int32, shape (rows, estimators)
            The leaf as a node of its tree, numbered as in `trees_to_frame` and in scikit-learn.
        """
        self._require_own_trees("apply")
        return super().apply(X)

    def text(self, tree: int = 0) -> str:
        """Draw one tree as text.

        Parameters
        ----------
        tree : int, default=0
            Index of the base estimator.
        """
        self._require_own_trees("text")
        return super().text(tree)

    # ---- methods for any base estimator ----

    def _checked_table(self, X: object) -> Any:
        """Convert X to the array, or CSR table, of floats that the user's base estimators take."""
        check_is_fitted(self)
        table = table_for_predict(self, X)
        if hasattr(table, "tocsr") and self._estimator_takes_sparse():
            return table
        return np.concatenate(list(dense_blocks(table)))

    def hardest_rows(self, n: int = 10) -> HardestRows:
        """Training rows with the largest weights after the last round.

        Parameters
        ----------
        n : int, default=10
            Number of rows.
        """
        check_is_fitted(self)
        if not hasattr(self, "row_weights_"):
            raise AttributeError(
                f"This truncated {type(self).__name__} has no row_weights_: those after earlier "
                "rounds were not stored. Fit with store_weights=True."
            )
        if not Whole(1).admits(n):
            raise ValueError(f"n must be {Whole(1).expected}. Got {n!r} instead.")
        return hardest_rows(self.row_weights_, int(n))

    @property
    def feature_importances_(self) -> Floats:
        """Mean importances of the base estimators, weighted by their votes; sum to 1 or are 0.

        Raises
        ------
        AttributeError
            If the user's `estimator` has no `feature_importances_`.
        """
        check_is_fitted(self)
        counts = np.abs(self.estimator_weights_)
        importances = np.zeros(self._plan.n_columns)
        for count, shares in zip(counts, self._importances_of_estimators(), strict=True):
            importances += count * shares
        importances = self._plan.sums_by_input(importances)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def _importances_of_estimators(self) -> Iterator[Floats]:
        foreign = self._foreign_estimators()
        if foreign is not None:
            for estimator in foreign:
                if not hasattr(estimator, "feature_importances_"):
                    raise AttributeError(
                        f"{type(estimator).__name__} has no feature_importances_, so this "
                        f"{type(self).__name__} has none."
                    )
                yield estimator.feature_importances_
            return
        forest = self.forest_
        for begin, end in zip(forest.first_node[:-1], forest.first_node[1:], strict=True):
            feature, gain = forest.feature[begin:end], forest.gain[begin:end]
            inner = feature >= 0
            # A split without gain counts as one.
            gain = gain[inner] if gain[inner].sum() > 0 else np.ones(inner.sum())
            shares = np.bincount(feature[inner], gain, minlength=self._plan.n_columns)
            yield shares / max(shares.sum(), np.finfo(float).tiny)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        if hasattr(self, "forest_"):
            return super()._fingerprint_arrays()
        prints = [_fingerprint_of(estimator) for estimator in self.estimators_]
        return {"members": np.array(prints), "member_weight": self.estimator_weights_}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if LEARNER.admits(self.estimator):
            inner = get_tags(self.estimator).input_tags
            # scikit-learn's histogram boosting takes categories, but its tag does not say so.
            is_ours = isinstance(self.estimator, CheckedEstimator)
            takes_levels = inner.categorical or not is_ours
            tags.input_tags.categorical = self._estimator_takes_levels() and takes_levels
            tags.input_tags.allow_nan = inner.allow_nan
        return tags


def _fingerprint_of(estimator: Any) -> str:
    if not hasattr(estimator, "fingerprint"):
        raise AttributeError(
            "fingerprint is available for weald's own estimators only; "
            f"{type(estimator).__name__} has none."
        )
    return str(estimator.fingerprint())

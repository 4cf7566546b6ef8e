"""What AdaBoost for classes and for numbers share: members of ours or of others, and looking."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from weald.data import Rows, as_one_array, dense_blocks, levels_of, table_for_predict
from weald.ensembles.adaboost.adaboost_training import HardestRows, Training, hardest_rows
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import CheckedEstimator, Floats, TreeModel
from weald.parameters import Columns, Jobs, Limit, NoneOr, ObjectWith, OneOf, Real, Seed, Whole

LEARNER = ObjectWith(("fit", "predict"))

LIMITS: Mapping[str, Limit] = {
    "estimator": NoneOr(LEARNER),
    "n_estimators": Whole(1, 2**31 - 1),
    "learning_rate": Real(0.0, open_below=True),
    "reweight": OneOf(("weighting", "resampling")),
    "categorical_features": Columns(),
    "store_weights": OneOf((True, False)),
    "random_state": Seed(),
    "n_jobs": Jobs(),
}

# A vote beyond this is on its way out of the range of floats.
_RUNAWAY = 1e200


class AdaBoost(TreeModel):
    """Members that learn one after another from rows reweighted by the errors so far.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What a member is. None: a tree of weald's own, found natively.
    n_estimators : int, default=50
        Most members; fewer if one is perfect or no better than guessing.
    learning_rate : float, default=1.0
        What the vote of every member is multiplied by.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. An `estimator` that has a parameter of this
        name gets levels as numbers, and is told which columns they are; others need numbers.
    store_weights : bool, default=False
        Keep the weights of the rows of every round in `round_weights_`.
    random_state : int, RandomState or None, default=None
        Keys the draws of `reweight="resampling"` and the `random_state` of the members of an
        `estimator` that has one; a fit without either ignores it.
    n_jobs : int or None, default=None
        Threads of weald's own trees; None means all usable cores. The model is the same for any
        number. Members of an `estimator` are fitted one after another.

    Attributes
    ----------
    estimator_ : estimator
        What the members are copies of.
    estimators_ : list of estimators
        The members. Those of weald's own are made from `forest_` when first asked for.
    estimator_weights_ : array, shape (members,)
        What the answer of each member counts.
    estimator_errors_ : array, shape (members,)
        The weighted error of each member, by the weights it learnt from.
    row_weights_ : array, shape (rows,)
        What the rows weigh after the last round; together 1.
    round_weights_ : array, shape (members + 1, rows)
        With `store_weights=True`: what the rows weighed before each round, and after the last.
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

    # Votes and medians are no sums of trees.
    _answers_by_forest: ClassVar[bool] = False
    _limits: ClassVar[Mapping[str, Limit]]
    _members: list[Any] | None  # None: they are the trees of forest_, and not yet asked for

    def _rows_for_members(self, rows: Rows) -> Rows:
        """The rows with the table that members learn from: one array unless it has levels."""
        if not levels_of(rows.table):
            return rows.of_numbers(type(self).__name__)
        if self.estimator is None:
            return rows
        if not self._member_is_told():
            return rows.of_numbers(f"{type(self.estimator).__name__} as part of AdaBoost")
        return replace(rows, table=as_one_array(rows.table))

    def _member_is_told(self) -> bool:
        """Whether the `estimator` has a parameter that says which columns hold levels."""
        own = self.estimator.get_params() if hasattr(self.estimator, "get_params") else {}
        choice = own.get("categorical_features")
        return isinstance(choice, str) and choice == "from_dtype"

    def _told_member(self) -> Any:
        """The estimator, which is told the columns of levels, if there are any."""
        member = clone(self.estimator)
        columns = [i for i, levels in enumerate(self._plan.levels) if levels is not None]
        return member.set_params(categorical_features=columns) if columns else member

    def _check_vote(self, vote: float, round_: int) -> None:
        if not abs(vote) < _RUNAWAY:
            raise ValueError(
                f"The weight of member {round_ + 1} left the range of floats: "
                f"learning_rate={self.learning_rate} is too large. Use a smaller one; 1.0 is the "
                "default."
            )

    def _keep_weights(self, training: Training, last: RowWeights, rounds: list[Floats]) -> None:
        self.__dict__.pop("round_weights_", None)
        self.row_weights_ = training.of_given_rows(last.of_rows())
        if self.store_weights:
            self.round_weights_ = training.of_given_rows(np.stack(rounds))

    @property
    def estimators_(self) -> list[Any]:
        """The members, in the order they were fitted."""
        if "estimator_weights_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted: it has no members.")
        if self._members is None:
            self._members = self._own_members()
        return self._members

    def _own_members(self) -> list[Any]:
        """The trees of `forest_` as estimators."""
        raise NotImplementedError

    def _kept_members(self) -> list[Any] | None:
        """The members, if they are other people's."""
        return None if hasattr(self, "forest_") else self.estimators_

    def __len__(self) -> int:
        return len(self.estimators_)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    # ---- what only trees of weald's own can do ----

    def _require_own_trees(self, what: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "forest_"):
            raise AttributeError(
                f"{what} is there for weald's own trees (estimator=None) only; these members are "
                f"{type(self.estimator_).__name__}: ask them one by one, in estimators_."
            )

    def apply(self, X: object) -> NDArray[np.int32]:
        """Find the leaf each row ends in.

        Returns
        -------
        array of int32, shape (rows, members)
            Leaves are counted within their tree, from left to right.
        """
        self._require_own_trees("apply")
        return super().apply(X)

    def text(self, tree: int = 0) -> str:
        """Draw one tree as text.

        Parameters
        ----------
        tree : int, default=0
            Which member.
        """
        self._require_own_trees("text")
        return super().text(tree)

    # ---- what all can do ----

    def _checked_table(self, X: object) -> NDArray[Any]:
        """X as members of an `estimator` are asked about it: an array of floats."""
        check_is_fitted(self)
        return np.concatenate(list(dense_blocks(table_for_predict(self, X))))

    def hardest_rows(self, n: int = 10) -> HardestRows:
        """The training rows that weigh most after the last round: those the members get wrong.

        Parameters
        ----------
        n : int, default=10
            How many.
        """
        check_is_fitted(self)
        if not Whole(1).admits(n):
            raise ValueError(f"n must be {Whole(1).expected}. Got {n!r} instead.")
        return hardest_rows(self.row_weights_, int(n))

    @property
    def feature_importances_(self) -> Floats:
        """Means of the members' importances, weighted by what they count; they sum to 1 or are 0.

        Raises
        ------
        AttributeError
            If the members are of an `estimator` that has none.
        """
        check_is_fitted(self)
        counts = np.abs(self.estimator_weights_)
        importances = np.zeros(self._plan.n_columns)
        for count, shares in zip(counts, self._importances_of_members(), strict=True):
            importances += count * shares
        importances = self._plan.sums_by_input(importances)
        total = importances.sum()
        return importances / total if total > 0 else importances

    def _importances_of_members(self) -> Iterator[Floats]:
        members = self._kept_members()
        if members is not None:
            for member in members:
                if not hasattr(member, "feature_importances_"):
                    raise AttributeError(
                        f"{type(member).__name__} has no feature_importances_, so this "
                        f"{type(self).__name__} has none."
                    )
                yield member.feature_importances_
            return
        forest = self.forest_
        for begin, end in zip(forest.first_node[:-1], forest.first_node[1:], strict=True):
            feature, gain = forest.feature[begin:end], forest.gain[begin:end]
            inner = feature >= 0
            # A stump without gain is still asked.
            gain = gain[inner] if gain[inner].sum() > 0 else np.ones(inner.sum())
            shares = np.bincount(feature[inner], gain, minlength=self._plan.n_columns)
            yield shares / max(shares.sum(), np.finfo(float).tiny)

    def _learnt(self) -> dict[str, NDArray[Any]]:
        if hasattr(self, "forest_"):
            return super()._learnt()
        prints = [_fingerprint_of(member) for member in self.estimators_]
        return {"members": np.array(prints), "member_weight": self.estimator_weights_}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if LEARNER.admits(self.estimator):
            inner = get_tags(self.estimator).input_tags
            # scikit-learn's own boosting takes levels, though its tag does not say so.
            is_ours = isinstance(self.estimator, CheckedEstimator)
            takes_levels = inner.categorical or not is_ours
            tags.input_tags.categorical = self._member_is_told() and takes_levels
            tags.input_tags.allow_nan = inner.allow_nan
        return tags


def _fingerprint_of(member: Any) -> str:
    if not hasattr(member, "fingerprint"):
        raise AttributeError(
            f"fingerprint is there for weald's own members only; {type(member).__name__} has none."
        )
    return str(member.fingerprint())

"""Forests that answer classes, and forests that answer numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from weald.data import Rows, read_once, rows_of_weight
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.class_weights import weights_by_class, weights_of_classes, without_classes
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.forests.forest import ForestModel
from weald.ensembles.forests.forest_limits import FOREST_LIMITS
from weald.ensembles.forests.forest_rows import OF_NUMBERS, check_outputs, check_target
from weald.ensembles.forests.outputs import (
    ClassAnswers,
    NumberAnswers,
    same_classes,
    without_axis,
)
from weald.ensembles.forests.tree_tags import TreeTags
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.parameters import ClassWeight, Limit, OneOf
from weald.returned import number_returned
from weald.trees import Forest


class ForestClassifier(TreeTags, BaggedClassifier, ClassAnswers, ClassifierMixin, ForestModel):
    """A forest that answers the mean shares of the classes, or the votes of its trees.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        How a split is judged; entropy is measured in bits, and log_loss is another name for it.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="sqrt"
        Columns a node looks at: a number, a share, the square root, binary logarithm or third of
        all, or all. More are drawn as long as none can be split.
    class_weight : dict, list of dicts, "balanced", "balanced_subsample" or None, default=None
        What the rows of each class weigh beside their own weights; of several outputs a list, and
        the weights of a row's classes are multiplied. Balanced: all classes weigh the same
        together, in the table or in the rows each tree draws. It changes no count of rows and no
        draw.
    voting : {"soft", "hard"}, default="soft"
        Average the shares of the classes in the leaves, or count the trees' votes.

    Attributes
    ----------
    oob_decision_function_ : array, shape (rows, classes) or (rows, classes, outputs)
        With `oob_score`: mean shares by the trees that did not see the row; NaN where all saw it,
        and for rows of weight zero. Outputs of fewer classes than others have 0 for the rest.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy", "log_loss")),
        "class_weight": ClassWeight(("balanced", "balanced_subsample"), several=True),
        "voting": OneOf(("soft", "hard")),
        **FOREST_LIMITS,
    }
    class_weight: Any
    voting: str

    # Groups that are passed on for folds are not meant for the draws of rows, unless asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array, shape (rows,) or (rows, outputs)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            What each row counts: with `bootstrap` how probable it is to be drawn, else in sums.
            Only the ratios of weights matter; limits such as `min_samples_leaf` count rows.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers. Whole groups are drawn, and are out of
            bag together; rows keep their weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            before: Any = getattr(self, "classes_", None)
            rows, classes = self._class_rows(X, y, sample_weight)
            check_outputs(self, rows.n_outputs)
            if self._n_trees_kept() and not same_classes(before, classes):
                raise ValueError(
                    f"The trees kept by warm_start=True know the classes {before}; got {classes}."
                )
            if self._adds_nothing():
                return self
            self._know(classes)
            kept = rows_of_weight(y, sample_weight)
            rows = rows.in_groups(groups, kept)
            weight = self._weights_of_classes(rows)
            if weight is not None:
                kept[kept] = weights_by_class(rows.target, weight) > 0
                rows = without_classes(rows, weight)
            oob = self._grow(rows, kept, sum(self._widths), weight)
            for name in ("oob_score_", "oob_decision_function_"):
                self.__dict__.pop(name, None)
            if oob is not None:
                shares = self._out_of_bag(oob, rows)
                self.oob_decision_function_ = _side_by_side(self._parts(shares))
                self.oob_score_ = self._judge(shares[kept], rows, y, kept)
        return self

    def _votes(self) -> dict[str, bool]:
        is_balanced = self.class_weight == "balanced_subsample" and self._draws_rows
        # A tree that will be pruned votes afterwards.
        is_hard = self.voting == "hard" and self.ccp_alpha == 0.0
        return {"balances_bags": is_balanced, "hard_votes": is_hard}

    def _pruned(self, forest: Forest, alpha: float) -> Forest:
        forest = super()._pruned(forest, alpha)
        if self.voting == "soft":
            return forest
        parts = self._parts(forest.value)
        votes = [
            np.eye(shares.shape[1])[np.argmax(shares, axis=1)]
            for shares in (parts if isinstance(parts, list) else [parts])
        ]
        return replace(forest, value=np.concatenate(votes, axis=1))

    def _weights_of_classes(self, rows: Rows) -> Floats | None:
        """What the rows of each class weigh; None: nothing else than the rows do."""
        wanted = self.class_weight
        if wanted == "balanced_subsample" and self._draws_rows:
            return None
        return weights_of_classes(wanted, rows, self.classes_)

    def _judge(self, shares: Floats, rows: Rows, y: Any, kept: NDArray[np.bool_]) -> float:
        """The score of the rows that some tree did not see."""
        known = ~np.isnan(shares[:, 0])
        if not known.any():
            return float("nan")
        parts = self._parts(shares[known])
        numbers, said = rows.target[known].astype(np.intp), self._labels(parts)
        if isinstance(parts, list):
            # Rows that are sure of their classes: y itself may mix what one array cannot hold.
            sure = np.zeros((len(numbers), shares.shape[1]))
            np.put_along_axis(sure, numbers, 1.0, axis=1)
            right = self._labels(self._parts(sure))
            hits = (said == right).all(axis=1)  # as scikit-learn's accuracy: all outputs
        else:
            right = np.asarray(y).ravel()[kept][known]
            hits = np.argmax(parts, axis=1) == numbers
        if callable(self.oob_score):
            return _score_by(self.oob_score, right, said)
        return float(np.average(hits, weights=_weights(rows, known)))

    def predict_proba(self, X: object, *, return_std: bool = False) -> Any:
        """Mean shares of the classes in the leaves of each row, or shares of the votes.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the trees' shares about their mean: how much the
            trees disagree, of the shape (rows, classes).

        Returns
        -------
        array, shape (rows, classes)
            Of several outputs a list of such arrays; with `return_std` two of them.
        """
        if not return_std:
            return self._parts(self._scores(X))
        mean, std = self._with_spread(X)
        return self._parts(mean), self._parts(std)

    def _view(self, number: int) -> DecisionTreeClassifier:
        view = DecisionTreeClassifier(criterion=self.criterion, n_jobs=self.n_jobs)
        view.forest_, view.n_outputs_ = self.forest_.tree(number), self.n_outputs_
        view._know(self.classes_)
        keep_columns(self, view)
        return view


class ForestRegressor(TreeTags, BaggedRegressor, NumberAnswers, Regressor, ForestModel):
    """A forest that answers the mean of its trees.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, \
            default="squared_error"
        How a split is judged: by the squares of what is left, by its size (leaves then answer
        medians; slower), or by the Poisson deviance of counts. Friedman's means the same splits as
        the first.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="third"
        Columns a node looks at: a number, a share, the square root, binary logarithm or third of
        all, or all. More are drawn as long as none can be split.

    Attributes
    ----------
    oob_prediction_ : array, shape (rows,) or (rows, outputs)
        With `oob_score`: mean answers of the trees that did not see the row; NaN where all saw it,
        and for rows of weight zero.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(OF_NUMBERS),
        **FOREST_LIMITS,
    }

    # Groups that are passed on for folds are not meant for the draws of rows, unless asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Numbers, text, categories and dates; what is missing is learnt too.
        y : array of finite numbers, shape (rows,) or (rows, outputs)
            The target.
        sample_weight : array, shape (rows,), or None
            What each row counts: with `bootstrap` how probable it is to be drawn, else in sums.
            Only the ratios of weights matter; limits such as `min_samples_leaf` count rows.
        groups : array, shape (rows,), or None
            Labels of groups, such as patients or customers. Whole groups are drawn, and are out of
            bag together; rows keep their weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows = self._number_rows(X, y, sample_weight).with_moderate_target()
            check_outputs(self, rows.n_outputs)
            check_target(self.criterion, rows.target)
            if self._n_trees_kept() and self.n_outputs_ != rows.n_outputs:
                raise ValueError(
                    f"The trees kept by warm_start=True answer {self.n_outputs_} outputs; y has "
                    f"{rows.n_outputs}."
                )
            if self._adds_nothing():
                return self
            kept = rows_of_weight(y, sample_weight)
            oob = self._grow(rows.in_groups(groups, kept), kept)
            for name in ("oob_score_", "oob_prediction_"):
                self.__dict__.pop(name, None)
            if oob is not None:
                oob.sums = np.ldexp(oob.sums, rows.target_exponent)
                means = without_axis(self._out_of_bag(oob, rows))
                self.oob_prediction_ = means
                self.oob_score_ = self._judge(means[kept], rows)
        return self

    def _trees_asked(self) -> Any:
        return self

    def _judge(self, means: Floats, rows: Rows) -> float:
        """The score of the rows that some tree did not see."""
        from sklearn.metrics import r2_score

        known = ~np.isnan(means if means.ndim == 1 else means[:, 0])
        if known.sum() < 2:
            return float("nan")
        if callable(self.oob_score):
            target = np.ldexp(rows.target[known], rows.target_exponent)
            return _score_by(self.oob_score, target, means[known])
        # In the unit of the fit no square leaves the range of floats.
        own = np.ldexp(means[known], -rows.target_exponent)
        return float(r2_score(rows.target[known], own, sample_weight=_weights(rows, known)))

    def predict(self, X: object, *, return_std: bool = False) -> Any:
        """The mean answer of the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the trees' answers about their mean: how much the
            trees disagree.
        """
        if return_std:
            mean, std = self._with_spread(X)
            return without_axis(mean), without_axis(std)
        return without_axis(self._scores(X))

    def _view(self, number: int) -> DecisionTreeRegressor:
        view = DecisionTreeRegressor(criterion=self.criterion, n_jobs=self.n_jobs)
        view.forest_, view.n_outputs_ = self.forest_.tree(number), self.n_outputs_
        view._gain_unit = self._gain_unit
        keep_columns(self, view)
        return view


def _score_by(score: Any, target: Any, said: Any) -> float:
    return number_returned(score(target, said), f"oob_score={score!r}", finite=False)


def _weights(rows: Rows, known: NDArray[np.bool_]) -> NDArray[Any] | None:
    weight = rows.total_weight
    return None if weight is None else weight[known]


def _side_by_side(parts: Any) -> Floats:
    """Shares of several outputs as scikit-learn lays them: (rows, classes, outputs)."""
    if not isinstance(parts, list):
        return np.asarray(parts)
    most = max(part.shape[1] for part in parts)
    filled = [np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in parts]
    return np.stack(filled, axis=2)

"""Forests that answer classes, and forests that answer numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from weald.data import Rows, class_rows, number_rows, read_once
from weald.ensembles.base import Floats, keep_columns
from weald.ensembles.class_weights import weights_of_classes, without_classes
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.ensembles.forests.forest import FOREST_LIMITS, ForestModel
from weald.ensembles.forests.forest_rows import OF_NUMBERS, check_target
from weald.ensembles.forests.tree_tags import TreeTags
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.parameters import ClassWeight, Limit, OneOf
from weald.trees import Forest


class ForestClassifier(TreeTags, BaggedClassifier, ClassifierMixin, ForestModel):
    """A forest that answers the mean shares of the classes, or the votes of its trees.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        How a split is judged; entropy is measured in bits, and log_loss is another name for it.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="sqrt"
        Columns a node looks at: a number, a share, the square root, binary logarithm or third of
        all, or all. More are drawn as long as none can be split.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        What the rows of each class weigh beside their own weights. Balanced: all classes weigh the
        same together, in the table or in the rows each tree draws. It changes no count of rows and
        no draw.
    voting : {"soft", "hard"}, default="soft"
        Average the shares of the classes in the leaves, or count the trees' votes.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    n_classes_ : int
        How many there are.
    oob_decision_function_ : array, shape (rows, classes)
        With `oob_score`: mean shares by the trees that did not see the row; NaN where all saw it,
        and for rows of weight zero.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy", "log_loss")),
        "class_weight": ClassWeight(("balanced", "balanced_subsample")),
        "voting": OneOf(("soft", "hard")),
        **FOREST_LIMITS,
    }
    class_weight: Any
    voting: str

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            NaN means missing; infinities are ordered.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row; others say how often it is drawn.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            before: Any = getattr(self, "classes_", None)
            rows, classes = class_rows(self, X, y, sample_weight)
            if self._n_trees_kept() and not np.array_equal(before, classes):
                raise ValueError(
                    f"The trees kept by warm_start=True know the classes {before}; got {classes}."
                )
            if self._adds_nothing():
                return self
            self.classes_, self.n_classes_ = classes, len(classes)
            weight = self._weights_of_classes(rows)
            if weight is not None:
                rows = without_classes(rows, weight)
            kept = _rows_of_weight(y, sample_weight, classes, weight)
            oob = self._grow(rows, kept, len(classes), weight)
            for name in ("oob_score_", "oob_decision_function_"):
                self.__dict__.pop(name, None)
            if oob is not None:
                self.oob_decision_function_ = shares = self._out_of_bag(oob)
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
        best = np.argmax(forest.value, axis=1)
        return replace(forest, value=np.eye(forest.value.shape[1])[best])

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
        numbers = np.argmax(shares[known], axis=1)
        if callable(self.oob_score):
            said = self.classes_[numbers]
            return float(self.oob_score(np.asarray(y).ravel()[kept][known], said))
        hits = numbers == rows.target[known].astype(np.intp)
        return float(np.average(hits, weights=_weights(rows, known)))

    def predict_proba(self, X: object, *, return_std: bool = False) -> Any:
        """Mean shares of the classes in the leaves of each row, or shares of the votes.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the trees' shares about their mean: how much the
            trees disagree, of the shape (rows, classes).
        """
        return self._with_spread(X) if return_std else self._scores(X)

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the probabilities; -inf for those of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: object) -> NDArray[Any]:
        """The class of largest probability; ties go to the first."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(shares, axis=1)])

    def _leaf_text(self, value: Floats) -> str:
        best = int(np.argmax(value))
        return f"{self.classes_[best]!s} ({value[best]:.3g})"

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}

    def _view(self, number: int) -> DecisionTreeClassifier:
        view = DecisionTreeClassifier(criterion=self.criterion, n_jobs=self.n_jobs)
        view.forest_, view.classes_ = self.forest_.tree(number), self.classes_
        keep_columns(self, view)
        return view


class ForestRegressor(TreeTags, BaggedRegressor, RegressorMixin, ForestModel):
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
    oob_prediction_ : array, shape (rows,)
        With `oob_score`: mean answers of the trees that did not see the row; NaN where all saw it,
        and for rows of weight zero.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(OF_NUMBERS),
        **FOREST_LIMITS,
    }

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            NaN means missing; infinities are ordered.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row; others say how often it is drawn.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            check_target(self.criterion, rows.target)
            if self._adds_nothing():
                return self
            kept = _rows_of_weight(y, sample_weight)
            oob = self._grow(rows, kept)
            for name in ("oob_score_", "oob_prediction_"):
                self.__dict__.pop(name, None)
            if oob is not None:
                oob.sums = np.ldexp(oob.sums, rows.target_exponent)
                means = self._out_of_bag(oob)[:, 0]
                self.oob_prediction_ = means
                self.oob_score_ = self._judge(means[kept], rows)
        return self

    def _trees_asked(self) -> Any:
        return self

    def _judge(self, means: Floats, rows: Rows) -> float:
        """The score of the rows that some tree did not see."""
        from sklearn.metrics import r2_score

        known = ~np.isnan(means)
        if known.sum() < 2:
            return float("nan")
        target = np.ldexp(rows.target[known], rows.target_exponent)
        if callable(self.oob_score):
            return float(self.oob_score(target, means[known]))
        return float(r2_score(target, means[known], sample_weight=_weights(rows, known)))

    def predict(self, X: object, *, return_std: bool = False) -> Any:
        """The mean answer of the trees.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also give the standard deviation of the trees' answers about their mean: how much the
            trees disagree.
        """
        if return_std:
            mean, std = self._with_spread(X)
            return mean[:, 0], std[:, 0]
        return self._scores(X)[:, 0]

    def _view(self, number: int) -> DecisionTreeRegressor:
        view = DecisionTreeRegressor(criterion=self.criterion, n_jobs=self.n_jobs)
        view.forest_ = self.forest_.tree(number)
        keep_columns(self, view)
        return view


def _weights(rows: Rows, known: NDArray[np.bool_]) -> NDArray[Any] | None:
    weight = rows.weight if rows.weight is not None else rows.copies
    return None if weight is None else weight[known]


def _rows_of_weight(
    y: Any,
    sample_weight: Any,
    classes: NDArray[Any] | None = None,
    class_weight: Floats | None = None,
) -> NDArray[np.bool_]:
    """Which of the rows passed to fit have a weight."""
    labels = np.asarray(y).ravel()
    kept = np.ones(len(labels), dtype=bool)
    if sample_weight is not None:
        kept &= np.broadcast_to(np.asarray(sample_weight, dtype=np.float64), kept.shape) > 0
    if classes is not None and class_weight is not None:
        kept &= class_weight[np.searchsorted(classes, labels)] > 0
    return kept

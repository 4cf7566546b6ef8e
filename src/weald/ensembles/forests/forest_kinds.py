"""Base classes of classification and regression forests."""

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
    ClassOutputs,
    NumberOutputs,
    same_classes,
    without_axis,
)
from weald.ensembles.forests.tree_tags import TreeTags
from weald.ensembles.out_of_bag.bagged import BaggedClassifier, BaggedRegressor
from weald.ensembles.regressing import Regressor
from weald.parameters import ClassWeight, Limit, OneOf
from weald.returned import number_returned
from weald.trees import Forest


class ForestClassifier(TreeTags, BaggedClassifier, ClassOutputs, ClassifierMixin, ForestModel):
    """A classification forest: averages class probabilities, or counts the votes of its trees.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Split criterion; entropy is measured in bits, and log_loss is an alias of it.
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="sqrt"
        Number of columns considered at each split: a count, a fraction, the square root, binary
        logarithm or third of all columns, or all (None). More are drawn while none of them allows
        a split.
    class_weight : dict, list of dicts, "balanced", "balanced_subsample" or None, default=None
        Class weights, multiplied with the row weights; a list with one entry per output if there
        are several, whose weights are multiplied. "balanced": all classes have the same total
        weight in the training rows; "balanced_subsample": in the sample of each tree. Class weights
        change neither row counts nor the rows drawn.
    voting : {"soft", "hard"}, default="soft"
        Average the class probabilities of the trees ("soft"), or count their votes ("hard").

    Attributes
    ----------
    oob_decision_function_ : array, shape (rows, classes) or (rows, classes, outputs)
        Out-of-bag class probabilities, with `oob_score`; NaN for rows that every tree drew and for
        rows of weight zero. Outputs with fewer classes than others are padded with 0.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(("gini", "entropy", "log_loss")),
        "class_weight": ClassWeight(("balanced", "balanced_subsample"), several=True),
        "voting": OneOf(("soft", "hard")),
        **FOREST_LIMITS,
    }
    class_weight: Any
    voting: str

    # Metadata routing: groups meant for cross-validation reach fit only if requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array, shape (rows,) or (rows, outputs)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights. With `bootstrap`, rows are drawn with probability proportional to their
            weight; otherwise the weights enter the impurities and leaf values. Only the ratios of
            weights matter; limits such as `min_samples_leaf` count rows.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers. Whole groups are drawn, and are
            out-of-bag together; rows keep their weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            before: Any = getattr(self, "classes_", None)
            rows, classes = self._class_rows(X, y, sample_weight)
            check_outputs(self, rows.n_outputs)
            rows = self._without_unused_numbers(rows, 0 if rows.n_outputs > 1 else len(classes))
            if self._n_trees_kept() and not same_classes(before, classes):
                raise ValueError(
                    f"The trees kept by warm_start=True were fitted on the classes {before}; y has "
                    f"{classes}. Set warm_start=False to fit all trees."
                )
            if self._adds_nothing():
                return self
            self._keep_classes(classes)
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
                self.oob_score_ = self._score_of_oob(shares[kept], rows, y, kept)
        return self

    def _votes(self) -> dict[str, bool]:
        is_balanced = self.class_weight == "balanced_subsample" and self._draws_rows
        # Trees that are pruned vote after pruning.
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
        """The class weights; None if there are none, or if they are per tree."""
        wanted = self.class_weight
        if wanted == "balanced_subsample" and self._draws_rows:
            return None
        return weights_of_classes(wanted, rows, self.classes_)

    def _score_of_oob(self, shares: Floats, rows: Rows, y: Any, kept: NDArray[np.bool_]) -> float:
        """Score of the out-of-bag predictions."""
        known = ~np.isnan(shares[:, 0])
        if not known.any():
            return float("nan")
        parts = self._parts(shares[known])
        numbers, predicted = rows.target[known].astype(np.intp), self._labels(parts)
        if isinstance(parts, list):
            # One-hot rows give the labels back: y may mix types that one array cannot hold.
            sure = np.zeros((len(numbers), shares.shape[1]))
            np.put_along_axis(sure, numbers, 1.0, axis=1)
            right = self._labels(self._parts(sure))
            hits = (predicted == right).all(axis=1)  # subset accuracy, as in scikit-learn
        else:
            right = np.asarray(y).ravel()[kept][known]
            hits = np.argmax(parts, axis=1) == numbers
        if callable(self.oob_score):
            return _score_by(self.oob_score, right, predicted)
        return float(np.average(hits, weights=_weights(rows, known)))

    def predict_proba(self, X: object, *, return_std: bool = False) -> Any:
        """Predict class probabilities: the mean over the trees, or the shares of their votes.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the trees' class probabilities, of shape
            (rows, classes).

        Returns
        -------
        array, shape (rows, classes)
            A list of such arrays if there are several outputs; a pair with `return_std`.
        """
        if not return_std:
            return self._parts(self._scores(X))
        mean, std = self._mean_and_std(X)
        return self._parts(mean), self._parts(std)

    def _unfitted_tree(self, settings: dict[str, Any]) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(**settings)

    def _view(self, number: int) -> DecisionTreeClassifier:
        view = self._unfitted_tree(self._settings_of(number))
        view.forest_, view.n_outputs_ = self.forest_.tree(number), self.n_outputs_
        view._keep_classes(self.classes_)
        keep_columns(self, view)
        return view


class ForestRegressor(TreeTags, BaggedRegressor, NumberOutputs, Regressor, ForestModel):
    """A regression forest: averages the predictions of its trees.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, \
            default="squared_error"
        Split criterion: squared error, absolute error (leaves then predict medians; slower), or
        Poisson deviance (requires non-negative y). "friedman_mse" is an alias of "squared_error".
    max_features : int, float, {"sqrt", "log2", "third"} or None, default="third"
        Number of columns considered at each split: a count, a fraction, the square root, binary
        logarithm or third of all columns, or all (None). More are drawn while none of them allows
        a split.

    Attributes
    ----------
    oob_prediction_ : array, shape (rows,) or (rows, outputs)
        Out-of-bag predictions, with `oob_score`; NaN for rows that every tree drew and for rows of
        weight zero.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "criterion": OneOf(OF_NUMBERS),
        **FOREST_LIMITS,
    }

    # Metadata routing: groups meant for cross-validation reach fit only if requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}

    def fit(
        self, X: object, y: object, sample_weight: object = None, *, groups: object = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Training rows: numeric, text, categorical and date columns; missing values are allowed.
        y : array of finite numbers, shape (rows,) or (rows, outputs)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights. With `bootstrap`, rows are drawn with probability proportional to their
            weight; otherwise the weights enter the impurities and leaf values. Only the ratios of
            weights matter; limits such as `min_samples_leaf` count rows.
        groups : array, shape (rows,), or None
            Group labels, such as patients or customers. Whole groups are drawn, and are
            out-of-bag together; rows keep their weights.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows = self._number_rows(X, y, sample_weight).with_moderate_target()
            check_outputs(self, rows.n_outputs)
            check_target(self.criterion, rows.target)
            rows = self._without_unused_numbers(rows, 0)
            if self._n_trees_kept() and self.n_outputs_ != rows.n_outputs:
                raise ValueError(
                    f"The trees kept by warm_start=True predict {self.n_outputs_} outputs; y has "
                    f"{rows.n_outputs}. Set warm_start=False to fit all trees."
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
                self.oob_score_ = self._score_of_oob(means[kept], rows)
        return self

    def _forest_with_rows(self) -> Any:
        return self

    def _score_of_oob(self, means: Floats, rows: Rows) -> float:
        """Score of the out-of-bag predictions."""
        from sklearn.metrics import r2_score

        known = ~np.isnan(means if means.ndim == 1 else means[:, 0])
        if known.sum() < 2:
            return float("nan")
        if callable(self.oob_score):
            target = np.ldexp(rows.target[known], rows.target_exponent)
            return _score_by(self.oob_score, target, means[known])
        # In the stored unit of the target, squares do not overflow.
        own = np.ldexp(means[known], -rows.target_exponent)
        return float(r2_score(rows.target[known], own, sample_weight=_weights(rows, known)))

    def predict(self, X: object, *, return_std: bool = False) -> Any:
        """Predict the target: the mean over the trees.

        Parameters
        ----------
        X : array, frame or sparse table, shape (rows, columns)
            Rows with the columns of the fit.
        return_std : bool, default=False
            Also return the standard deviation of the trees' predictions.
        """
        if return_std:
            mean, std = self._mean_and_std(X)
            return without_axis(mean), without_axis(std)
        return without_axis(self._scores(X))

    def _unfitted_tree(self, settings: dict[str, Any]) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(**settings)

    def _view(self, number: int) -> DecisionTreeRegressor:
        view = self._unfitted_tree(self._settings_of(number))
        view.forest_, view.n_outputs_ = self.forest_.tree(number), self.n_outputs_
        view._gain_unit = self._gain_unit
        keep_columns(self, view)
        return view


def _score_by(score: Any, target: Any, predicted: Any) -> float:
    return number_returned(score(target, predicted), f"oob_score={score!r}", finite=False)


def _weights(rows: Rows, known: NDArray[np.bool_]) -> NDArray[Any] | None:
    weight = rows.total_weight
    return None if weight is None else weight[known]


def _side_by_side(parts: Any) -> Floats:
    """Class probabilities of several outputs in one array, (rows, classes, outputs)."""
    if not isinstance(parts, list):
        return np.asarray(parts)
    most = max(part.shape[1] for part in parts)
    filled = [np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in parts]
    return np.stack(filled, axis=2)

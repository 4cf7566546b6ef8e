"""Second-order boosted trees: the flagship."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from weald.data import Rows, bin_rows, class_rows, number_rows
from weald.ensembles.base import Floats, TreeModel
from weald.losses import BuiltinLoss
from weald.parameters import Jobs, Limit, NoneOr, OneOf, Real, Seed, Whole
from weald.resampling import distinct_rows, hold_out, seed_of, subsample
from weald.trees import ForestBuilder, TreeGrower, TreeLimits, check_search

# A leaf value beyond this is on its way out of the range of floats.
_RUNAWAY = 1e200


@dataclass(frozen=True)
class _Training:
    """The rows of a fit as the boosting loop needs them."""

    rows: Rows
    hashes: NDArray[np.uint64] | None  # None: nothing is drawn
    held_out: NDArray[np.bool_] | None  # None: no early stopping
    seed: int

    def in_weight_units(self, amount: float) -> float:
        """A parameter that is compared with sums of weights, in the unit these are kept in."""
        return float(np.ldexp(amount, -self.rows.weight_exponent))

    def seen_copies(self) -> NDArray[np.int64] | None:
        """Copies of each row that trees may learn from; None: one each."""
        if self.held_out is None:
            return self.rows.copies
        copies = np.int64(1) if self.rows.copies is None else self.rows.copies
        return np.where(self.held_out, np.int64(0), copies)

    def held_copies(self) -> NDArray[np.int64]:
        """Copies of each row that judge when to stop."""
        assert self.held_out is not None
        copies = np.int64(1) if self.rows.copies is None else self.rows.copies
        return np.where(self.held_out, copies, np.int64(0))


class BoostedTrees(TreeModel):
    """Trees added one after another, each to the gradient of the loss at the scores so far.

    Parameters
    ----------
    n_estimators : int, default=100
        Most rounds; with many classes a round is one tree per class.
    learning_rate : float, default=0.1
        What a tree's answers are multiplied by.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree.
    max_depth : int or None, default=None
        Most questions between the root and a leaf.
    min_samples_leaf : int, default=20
        Fewest rows of a leaf. Rows count by their weights if these are whole numbers.
    min_child_weight : float, default=1e-3
        Least sum of hessians of a leaf.
    l2_regularization : float, default=0.0
        Added to the sum of hessians of a leaf.
    subsample : float, default=1.0
        Share of the rows each round sees, drawn without replacement.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Which leaves are split first: those that gain most, or those nearest to the root. Symmetric:
        all of a level by one test, where it leaves no child too small; a level that would exceed
        `max_leaf_nodes` is not made, so powers of two fit it best.
    max_bins : int or None, default=None
        Most bins a column is cut into, up to 65535; None means 255. Up to so many distinct values
        are all told apart. A column of more than 255 bins makes the fit slower, because rows are
        then kept sorted instead of counted.
    exact : bool, default=False
        Look at every split between two values that are neighbours in a node, however many values
        there are, instead of at bins; `max_bins` must then be None.
    early_stopping : bool, default=False
        Hold out `validation_fraction` of the rows and stop when their loss no longer falls; the
        model is cut back to the round of least loss.
    validation_fraction : float, default=0.1
        Share of rows held out for early stopping; of every class alike.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which early stopping ends the fit.
    tol : float, default=1e-7
        How much better counts as better, as a share of the loss before the first round.
    random_state : int, RandomState or None, default=None
        Keys the draws of `subsample` and `early_stopping`; a fit that draws nothing ignores it.
    n_jobs : int or None, default=None
        Threads; None means all usable cores. The model is the same for any number.

    Attributes
    ----------
    n_estimators_ : int
        Rounds in the model.
    validation_loss_ : array
        With early stopping: the mean loss of the held-out rows before the first round and after
        each.
    """

    _loss: ClassVar[str]
    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1),
        "learning_rate": Real(0.0, open_below=True),
        "max_leaf_nodes": NoneOr(Whole(2)),
        "max_depth": NoneOr(Whole(1)),
        "min_samples_leaf": Whole(1),
        "min_child_weight": Real(0.0),
        "l2_regularization": Real(0.0),
        "subsample": Real(0.0, 1.0, open_below=True),
        "growth": OneOf(("best_first", "depth_wise", "symmetric")),
        "max_bins": NoneOr(Whole(2, 65535)),
        "exact": OneOf((True, False)),
        "early_stopping": OneOf((True, False)),
        "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
        "n_iter_no_change": Whole(1),
        "tol": Real(0.0),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        growth: str = "best_first",
        max_bins: int | None = None,
        exact: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.growth = growth
        self.max_bins = max_bins
        self.exact = exact
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(self, rows: Rows, n_scores: int, strata: bool) -> None:
        """Fit `n_scores` scores; `strata` says that the target holds classes to hold out alike."""
        training = self._prepare(rows, strata)
        rows = training.rows
        n_threads, learning_rate = self._n_threads, float(self.learning_rate)
        loss = BuiltinLoss(self._loss, n_scores, n_threads)
        base = loss.base_scores(rows.target, rows.weight, training.seen_copies())
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        gradient, hessian = np.empty_like(scores), np.empty_like(scores)
        grower = self._grower(training)
        forest = ForestBuilder(base, self.n_features_in_)
        stopper = _Stopper(self.n_iter_no_change, self.tol)
        stopper.note(self._held_out_loss(loss, training, scores))
        for round_ in range(self.n_estimators):
            has_hessian = loss.gradients(rows.target, scores, rows.weight, gradient, hessian)
            copies = self._drawn_copies(training, round_)
            for k in range(n_scores):
                tree = grower.on_sums(
                    gradient[k : k + 1], hessian[k] if has_hessian else None, copies
                )
                tree = replace(tree, value=tree.value * learning_rate)
                self._check_values(tree.value, round_)
                tree.add_to(scores[k], n_threads=n_threads)
                forest.add(tree, output=k)
            if stopper.note(self._held_out_loss(loss, training, scores)):
                break
        if self.early_stopping:
            forest.cut_back(stopper.best_round * n_scores)
        self._keep(forest, rows, n_scores)
        if self.early_stopping:
            self.validation_loss_ = np.array(stopper.losses)

    def _keep(self, forest: ForestBuilder, rows: Rows, n_scores: int) -> None:
        self.__dict__.pop("validation_loss_", None)
        self.n_estimators_ = len(forest) // n_scores
        self.forest_ = forest.build(rows.target_exponent, rows.weight_exponent)

    # What a leaf of a boosted tree weighs is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _check_values(self, values: Floats, round_: int) -> None:
        """Scores that run away end in an error, not in a model of NaN."""
        if not np.abs(values).max() < _RUNAWAY:
            raise ValueError(
                f"The scores left the range of floats in round {round_ + 1}: "
                f"learning_rate={self.learning_rate} is too large for this target. "
                "Use a smaller one; 0.1 is the default."
            )

    def _prepare(self, rows: Rows, strata: bool) -> _Training:
        """Merge equal rows and hold some out, where anything is drawn."""
        if self.subsample == 1.0 and not self.early_stopping:
            return _Training(rows, None, None, seed=0)
        seed = seed_of(self.random_state)
        distinct = distinct_rows(rows, n_threads=self._n_threads)
        merged = rows.take(distinct.index)
        merged = replace(merged, copies=distinct.copies, weight=distinct.weight)
        held = None
        if self.early_stopping:
            if merged.n < 2:
                raise ValueError(
                    "early_stopping needs at least two different rows, one to learn from and one "
                    f"to judge by; got n_samples = {merged.n} distinct. "
                    "Set early_stopping=False or give more rows."
                )
            classes = merged.target.astype(np.int64) if strata else None
            held = hold_out(distinct.hashes, classes, self.validation_fraction, seed=seed)
        return _Training(merged, distinct.hashes, held, seed)

    def _grower(self, training: _Training) -> TreeGrower:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        binned = bin_rows(
            training.rows,
            max_bins=self.max_bins,
            exact=self.exact,
            n_threads=self._n_threads,
            learn_from=None if training.held_out is None else ~training.held_out,
        )
        limits = TreeLimits(
            growth=self.growth,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_child_weight=training.in_weight_units(self.min_child_weight),
            min_gain=0.0,
            l2=training.in_weight_units(self.l2_regularization),
        )
        return TreeGrower(binned, "newton", limits, n_threads=self._n_threads)

    def _drawn_copies(self, training: _Training, round_: int) -> NDArray[np.int64] | None:
        """How often each row is seen in a round; None: once each."""
        seen = training.seen_copies()
        if self.subsample == 1.0 or training.hashes is None:
            return seen
        return subsample(training.hashes, seen, self.subsample, seed=training.seed, member=round_)

    def _held_out_loss(
        self, loss: BuiltinLoss, training: _Training, scores: Floats
    ) -> float | None:
        if training.held_out is None:
            return None
        rows = training.rows
        return loss.mean(rows.target, scores, rows.weight, training.held_copies())


class _Stopper:
    """Watches a loss that should fall, round by round."""

    def __init__(self, patience: int, tol: float) -> None:
        self._patience = patience
        self._tol = tol
        self.losses: list[float] = []
        self.best_round = 0

    def note(self, loss: float | None) -> bool:
        """Take the loss after a round (the first call: before any); True when it is time to end."""
        if loss is None:
            return False
        self.losses.append(loss)
        if len(self.losses) == 1:
            return False
        if loss < self.losses[self.best_round] - self._tol * abs(self.losses[0]):
            self.best_round = len(self.losses) - 1
        return len(self.losses) - 1 - self.best_round >= self._patience


class BoostedTreesRegressor(RegressorMixin, BoostedTrees):
    """Boosted regression trees: second order, on histograms, squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesRegressor
    >>> x = np.linspace(0, 6, 400)[:, np.newaxis]
    >>> model = BoostedTreesRegressor(random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(model.score(x, np.sin(x[:, 0])), 3)
    0.999
    """

    _loss: ClassVar[str] = "squared_error"

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            NaN means missing; infinities are ordered.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            rows = number_rows(self, X, y, sample_weight).with_moderate_target()
            self._boost(rows, n_scores=1, strata=False)
        return self

    def predict(self, X: object) -> Floats:
        """Predict a number for each row."""
        return self._scores(X)[:, 0]


class BoostedTreesClassifier(ClassifierMixin, BoostedTrees):
    """Boosted trees for two or many classes: second order, on histograms, log loss.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.

    Examples
    --------
    >>> from weald import BoostedTreesClassifier
    >>> from weald.datasets import load_pima
    >>> pima = load_pima()
    >>> model = BoostedTreesClassifier(n_estimators=20).fit(pima.data[:500], pima.target[:500])
    >>> round(model.score(pima.data[500:], pima.target[500:]), 2)
    0.81
    """

    _loss: ClassVar[str] = "log_loss"

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array or frame of numbers, shape (rows, columns)
            NaN means missing; infinities are ordered.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            Whole numbers count as repetitions of the row.
        """
        with self._fitting():
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            # One class leaves nothing to learn: no score, no tree, always the same answer.
            n_scores = len(self.classes_) if len(self.classes_) != 2 else 1
            if len(self.classes_) == 1:
                self._keep(ForestBuilder(np.zeros(1), self.n_features_in_), rows, n_scores)
            else:
                self._boost(rows, n_scores, strata=True)
        return self

    def decision_function(self, X: object) -> Floats:
        """Raw scores: the log odds of the second class, or one score per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, in the order of `classes_`."""
        scores = self._scores(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return BuiltinLoss(self._loss, scores.shape[1], self._n_threads).predictions(scores)

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}

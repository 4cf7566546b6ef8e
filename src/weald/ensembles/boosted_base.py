"""What both kinds of boosted trees share: their parameters and the fit of their scores."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import Rows, bin_rows, refuse_levels
from weald.ensembles.base import Floats
from weald.ensembles.boosted_bags import BaggedBoosters, BoosterBags, joined_boosters
from weald.ensembles.booster_predictor import bag_predictor_of
from weald.ensembles.boosting import HeldOut, Training, boost, prepare
from weald.ensembles.predictor import Predictor
from weald.ensembles.scored import ScoredModel
from weald.ensembles.tree_learners import NewtonTrees, in_user_units
from weald.losses import Loss
from weald.parameters import Columns, Jobs, Limit, NoneOr, OneOf, Real, Seed, Whole
from weald.resampling import distinct_rows
from weald.trees import Forest, ForestBuilder, TreeGrower, TreeLimits, check_search


class BoostedTrees(BaggedBoosters, ScoredModel):
    """Trees added one after another, each to the gradient of the loss at the scores so far.

    Parameters
    ----------
    loss : str or object
        What is made small; or any object with a method ``gradient_hessian(y, score)``, as
        `weald.losses.user` tells.
    n_estimators : int, default=100
        Most rounds; with many classes a round is one tree per class.
    n_bags : int or None, default=None
        Fit so many boosters, each on a bootstrap sample of its own, on shared bins; the mean of
        their answers is the model's. It costs as many times as much, and gives an out-of-bag
        ledger, the spread of the boosters, and intervals. None: one booster, on all rows.
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
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Which columns hold categories: those of text and of unordered categorical types, or those
        listed by name, position or a mask, or none. Categories need bins: not `exact`, not
        "symmetric" growth, and at most 255 `max_bins`.
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
        Rounds in the model; with `n_bags` the most of any booster.
    validation_loss_ : array
        With early stopping: the mean loss of the held-out rows before the first round and after
        each; with `n_bags` a row for each booster, NaN after its end.
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        "n_estimators": Whole(1),
        "n_bags": NoneOr(Whole(2, 10_000)),
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
        "categorical_features": Columns(),
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
        loss: Any,
        n_estimators: int,
        n_bags: int | None,
        learning_rate: float,
        max_leaf_nodes: int | None,
        max_depth: int | None,
        min_samples_leaf: int,
        min_child_weight: float,
        l2_regularization: float,
        subsample: float,
        growth: str,
        max_bins: int | None,
        exact: bool,
        categorical_features: Any,
        early_stopping: bool,
        validation_fraction: float,
        n_iter_no_change: int,
        tol: float,
        random_state: int | np.random.RandomState | None,
        n_jobs: int | None,
    ) -> None:
        self.loss = loss
        self.n_estimators = n_estimators
        self.n_bags = n_bags
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
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _boost(self, rows: Rows, loss: Loss, strata: bool, kept: NDArray[np.bool_]) -> None:
        """Fit the scores of a loss; `strata`: the target holds classes to hold out alike.

        `kept` marks those of the rows passed to fit that `rows` holds.
        """
        settings: dict[str, Any] = {
            "fraction": self.subsample,
            "held_fraction": self.validation_fraction if self.early_stopping else None,
            "asked_by": "early_stopping=False",
            "random_state": self.random_state,
            "strata": strata,
            "n_threads": self._n_threads,
        }
        if self.n_bags is None:
            training = prepare(rows, **settings)
            forest, losses = self._booster(training, loss, self._grower(training))
            self._keep([forest], loss, [losses])
            return
        distinct = distinct_rows(rows, n_threads=self._n_threads)
        place = np.full(len(kept), -1, dtype=np.intp)
        place[kept] = distinct.set_of
        training = prepare(rows, **settings, distinct=distinct)
        bags = BoosterBags.of(training, distinct, place, rows.n)
        grower = self._grower(bags.shared)
        fits = [
            self._booster(bags.training_of(number), loss, grower) for number in range(self.n_bags)
        ]
        self._keep([forest for forest, _ in fits], loss, [losses for _, losses in fits])
        self._parts, self._bags = [forest for forest, _ in fits], bags.bags
        weight = distinct.weight if distinct.weight is not None else distinct.copies
        weight = None if weight is None else weight.astype(np.float64)
        self._record = self._booster_record(training.rows, weight, training.held_out)

    def _booster(
        self, training: Training, loss: Loss, grower: TreeGrower
    ) -> tuple[Forest, list[float]]:
        """One booster, and the losses of its held-out rows."""
        rows = training.rows
        base = loss.base_scores(training.y, rows.weight, training.seen_copies)
        scores = np.repeat(base[:, np.newaxis], rows.n, axis=1)
        held_out = HeldOut(training, loss, scores, self.n_iter_no_change, self.tol)
        forest = ForestBuilder(base, self._plan.n_columns)
        trees = NewtonTrees(grower, forest, float(self.learning_rate), self._n_threads)
        boost(
            training,
            loss,
            scores,
            trees,
            rounds=range(self.n_estimators),
            fraction=self.subsample,
            watcher=held_out,
        )
        if self.early_stopping:
            forest.cut_back(held_out.best_round * loss.n_scores)
        return in_user_units(forest, rows, loss), held_out.losses

    def _keep(self, forests: list[Forest], loss: Loss, losses: list[list[float]]) -> None:
        self.__dict__.pop("validation_loss_", None)
        self._parts, self._record = [], None
        self.n_estimators_ = max(forest.n_trees for forest in forests) // loss.n_scores
        self._fitted_loss = loss
        self.forest_ = forests[0] if len(forests) == 1 else joined_boosters(forests)
        if losses and losses[0]:
            table = np.full((len(losses), max(map(len, losses))), np.nan)
            for row, own in zip(table, losses, strict=True):
                row[: len(own)] = own
            self.validation_loss_ = table[0] if self.n_bags is None else table

    def _predictions(self, X: object) -> Floats:
        """What the loss makes of the scores; of several boosters, the mean of that."""
        check_is_fitted(self)
        return self._mean_answers(X) if self._parts else super()._predictions(X)

    def predictor(self) -> Predictor:
        """Make a small copy of the model that only predicts, as `TreeModel.predictor` tells."""
        alone = super().predictor()
        return bag_predictor_of(alone, self._parts) if self._parts else alone

    # What a leaf of a boosted tree weighs is the sum of its hessians.
    _weight_name: ClassVar[str] = "hessian"

    def _grower(self, training: Training) -> TreeGrower:
        check_search(growth=self.growth, max_bins=self.max_bins, exact=self.exact)
        if self.growth == "symmetric":
            refuse_levels(training.rows.table, "growth='symmetric'")
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

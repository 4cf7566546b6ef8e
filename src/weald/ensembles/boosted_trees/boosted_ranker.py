"""Ranking with second-order boosted trees: `BoostedTreesRanker`."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.data import number_rows, read_once, rows_of_weight, validation_numbers
from weald.data.queries import queries_of_rows
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.auto_settings import is_auto
from weald.ensembles.boosted_trees.boosted_base import BoostedTrees
from weald.ensembles.boosted_trees.ranked_rows import (
    Measure,
    MeasureScorer,
    SomeMeasures,
    ValidationArguments,
    loss_of_rows,
    ordered_by_query,
)
from weald.ensembles.out_of_bag.in_bag import InBag
from weald.ensembles.rounds.callbacks import callback_inputs
from weald.ensembles.rounds.loop import Training
from weald.losses import Gains, Loss, RankingLoss
from weald.losses.ranking import RANKINGS, checked_gains
from weald.parameters import Limit, NoneOr, OneOf, Real, Whole
from weald.ranking import ndcg_score, weights_of_rows

# The mean of boosters of different trees ranks better (docs/guide/ranking.md).
_ALTERNATING = ("symmetric", "best_first")


class BoostedTreesRanker(BoostedTrees):
    """Learning to rank by gradient boosting, with second-order (Newton) trees on histograms.

    Rows belong to queries, such as the documents that a search found or the offers of a day, and
    are only compared within their query. Predictions are scores: of the rows of a query, that of
    the largest score ranks first. Missing values and categories are supported natively.

    Parameters
    ----------
    loss : {"ndcg", "map", "pairwise", "xendcg"}, default="ndcg"
        Loss function to minimise. "ndcg" and "map": LambdaMART, the logistic loss of each pair of
        rows times what their exchange changes in NDCG or in the average precision (labels above 0
        are relevant). "pairwise": the mean logistic loss of a query's pairs of different labels,
        which may be any numbers. "xendcg": the cross-entropy between the gains of a query's rows,
        plus 1/2, as shares of their sum, and the softmax of their scores.
    n_bags : int, None or "auto", default="auto"
        Number of boosters whose mean score is the model. The queries are dealt out into five folds
        (into `n_bags`, if fewer), again for every five boosters; each booster leaves out one fold,
        and in the end its leaf values are estimated on all rows. The left-out queries decide when
        to stop, so that none is lost for training, and provide standard deviations. The training
        time is multiplied by `n_bags`. None: one booster. "auto": 5 up to 100,000 rows (if
        quality="best": 10 up to 30,000 rows, 5 above), if there is early stopping, n_estimators is
        "auto" and there is no `X_val`; otherwise None.
    truncation_level : int, default=100
        For "ndcg" and "map": pairs count if one of their rows is among the first so many of their
        query; for "ndcg" so many places count. Best well above the number of places that matter.
    pairwise_weight : float, default=1.0
        For "ndcg" and "map": weight of the loss "pairwise", whose derivatives are added to those of
        LambdaMART. It uses all pairs of a query alike and so makes up for queries that are few; 0:
        LambdaMART alone.
    label_gain : list of float or None, default=None
        For "ndcg", "xendcg" and `score`: what each label 0, 1, 2, … is worth. None:
        ``2**label - 1``.
    growth : {"auto", "best_first", "depth_wise", "symmetric"}, default="auto"
        Tree growth policy. "best_first": leaf-wise, the leaf of largest gain is split next.
        "depth_wise": level by level. "symmetric": oblivious trees, all nodes of a level share one
        split. "auto": with several boosters (`n_bags`) the first, the third and so on grow
        symmetric trees, for which columns are drawn per level, and the others "best_first"; all
        "best_first" with one booster, with over 255 bins, exact search or prune="after".
    scoring : str, default="loss"
        Score of the validation set, which decides when to stop: "loss" (for "ndcg" and "map", 1
        minus the measure), or "ndcg", "map" or "mrr", at a place ("ndcg@10") or of all places.
    metrics : list of str or None, default=None
        Further scores of every validation set after each round, for `history_` only: names as in
        `scoring`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import BoostedTreesRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(600, 3)), np.repeat(np.arange(60), 10)
    >>> y = np.clip(np.round(X[:, 0] + X[:, 1] + rng.normal(size=600) / 2), 0, 4)
    >>> model = BoostedTreesRanker(quality="fast").fit(X[:400], y[:400], qid=qid[:400])
    >>> round(model.score(X[400:], y[400:], qid=qid[400:]), 2)
    0.92
    """

    # What a query is decides what rows mean: scikit-learn's tools pass it on, unless told not to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    _held_out_scorer: ClassVar[Any] = MeasureScorer
    _ranks_queries: ClassVar[bool] = True

    _limits: ClassVar[Mapping[str, Limit]] = {
        **BoostedTrees._limits,
        "loss": OneOf(RANKINGS),
        "truncation_level": Whole(1, 2**31 - 1),
        "pairwise_weight": Real(0.0),
        "label_gain": NoneOr(Gains()),
        "growth": OneOf(("auto", "best_first", "depth_wise", "symmetric")),
        "scoring": Measure(),
        "metrics": NoneOr(SomeMeasures()),
    }

    def __init__(
        self,
        *,
        loss: str = "ndcg",
        truncation_level: int = 100,
        pairwise_weight: float = 1.0,
        label_gain: Any = None,
        quality: str = "default",
        n_estimators: int | str = "auto",
        n_bags: int | str | None = "auto",
        learning_rate: float | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l2_regularization: float = 0.0,
        l1_regularization: float = 0.0,
        min_gain: float = 0.0,
        prune: str = "before",
        max_features: float | str | None = "auto",
        feature_sampling: str = "node",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        subsample: float | str = "auto",
        growth: str = "auto",
        max_bins: int | None = None,
        exact: bool = False,
        categorical_features: Any = "from_dtype",
        target_statistics: bool | str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-7,
        scoring: Any = "loss",
        metrics: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
        checkpoint: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss=loss,
            quality=quality,
            n_estimators=n_estimators,
            n_bags=n_bags,
            learning_rate=learning_rate,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            min_child_weight=min_child_weight,
            l2_regularization=l2_regularization,
            l1_regularization=l1_regularization,
            min_gain=min_gain,
            prune=prune,
            max_features=max_features,
            feature_sampling=feature_sampling,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            subsample=subsample,
            growth=growth,
            max_bins=max_bins,
            exact=exact,
            categorical_features=categorical_features,
            target_statistics=target_statistics,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            scoring=scoring,
            metrics=metrics,
            warm_start=warm_start,
            verbose=verbose,
            time_limit=time_limit,
            checkpoint=checkpoint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.truncation_level = truncation_level
        self.pairwise_weight = pairwise_weight
        self.label_gain = label_gain

    def fit(
        self,
        X: object,
        y: Any,
        sample_weight: object = None,
        X_val: object = None,
        y_val: object = None,
        sample_weight_val: object = None,
        *,
        group: object = None,
        qid: object = None,
        group_val: object = None,
        qid_val: object = None,
        offset: object = None,
        offset_val: object = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            Training data: numbers, strings, categories and dates; missing values are supported.
        y : array, shape (rows,)
            Labels: grades of relevance, 0 (not relevant), 1, 2, …
        sample_weight : array, shape (rows,) or (queries,), or None, default=None
            Sample weights: one per query, or one per row, which multiplies the derivatives of the
            row. A row of weight 0 is left out of its query.
        X_val, y_val : table and array, dicts of them, or None, default=None
            Validation set for early stopping and the curves; not used for training or binning.
            Several sets are given by name, as ``X_val={"a": …, "b": …}, y_val={"a": …, "b": …}``:
            all are in `history_`, and the first decides when to stop.
        sample_weight_val : array, dict or None, default=None
            Sample weights of the validation set, or of some of several.
        group : array or None, default=None
            Number of rows of each query, whose rows are adjacent. Either `group` or `qid` is
            required. Whole queries are sampled and held out.
        qid : array, shape (rows,), or None, default=None
            Label of each row's query, numbers or strings; the rows of a query may be anywhere.
        group_val, qid_val : array, dict or None, default=None
            The same of the validation set, or of each of several.
        offset : array, shape (rows,), or None, default=None
            Raw score of each row to which the model adds its own, such as the score of another
            ranker. `predict` does not know it: pass offsets there too.
        offset_val : array, dict or None, default=None
            Offsets of the validation set, or of each of several; required if `offset` and `X_val`
            are given.

        Returns
        -------
        self
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            loss = self._ranking_loss()
            if not np.shape(y):
                number_rows(self, X, y, None)  # raises
            query = queries_of_rows(len(y), group, qid, table="y")
            weight = weights_of_rows(sample_weight, query)
            rows, kept = number_rows(self, X, y, weight), rows_of_weight(y, weight)
            rows = self._with_groups_and_offset(rows, None, offset, kept, loss)
            loss.gains(rows.target)  # or raise
            rows, ordered = ordered_by_query(rows, query[kept], self._n_threads)
            given = ValidationArguments(X_val, y_val, sample_weight_val, offset_val)
            given = given.with_queries(group_val, qid_val)
            validation = validation_numbers(self, given.X, given.y, given.weight)
            validation = given.in_rows(validation)
            if validation is not None:
                loss.gains(validation.target, "y_val")
            validation = self._with_offset_val(validation, rows, given.X, given.offset, loss)
            inputs = callback_inputs(X, y, sample_weight, offset)
            self._boost(rows, loss, validation, inputs, kept=kept, ordered=ordered)
        return self

    def _ranking_loss(self) -> RankingLoss:
        gains = None if self.label_gain is None else checked_gains(self.label_gain)
        truncation = int(self.truncation_level)
        weight = float(self.pairwise_weight)
        return RankingLoss.made(
            self.loss, truncation, gains, self._n_threads, pairwise_weight=weight
        )

    def _growths(self, n_boosters: int) -> list[str]:
        if not is_auto(self.growth):
            return super()._growths(n_boosters)
        if n_boosters == 1 or not self._can_be_symmetric():
            return ["best_first"] * n_boosters
        return [_ALTERNATING[k % len(_ALTERNATING)] for k in range(n_boosters)]

    def _can_be_symmetric(self) -> bool:
        """Whether the other parameters allow symmetric trees."""
        prunes_after = self.prune == "after" and self.min_gain > 0
        return not (prunes_after or self.exact or (self.max_bins or 0) > 255)

    def _loss_of(self, loss: Loss, training: Training) -> Loss:
        assert isinstance(loss, RankingLoss)
        return loss_of_rows(loss, training)

    def predict(
        self,
        X: object,
        *,
        return_std: bool = False,
        offset: object = None,
        n_rounds: int | None = None,
    ) -> Any:
        """Predict the score of each row; only differences within a query mean something.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (rows, columns)
            As in `fit`.
        return_std : bool, default=False
            Also return the standard deviation of the boosters' scores. Requires `n_bags`.
        offset : array, shape (rows,), or None, default=None
            Raw scores to which those of the model are added, as in `fit`; None: zeros.
        n_rounds : int or None, default=None
            Use the first `n_rounds` rounds only; None: all.

        Returns
        -------
        array, shape (rows,)
            Scores; with `return_std` a tuple of scores and standard deviations.
        """
        if not return_std:
            return self._predictions(X, offset, n_rounds)[:, 0]
        model: Any = self if n_rounds is None else self.truncate(n_rounds)
        mean, std = model._mean_and_std(X, offset)
        return mean[:, 0], std[:, 0]

    def staged_predict(self, X: object, *, offset: object = None) -> Iterator[Floats]:
        """Predict after each round; the last stage equals `predict`.

        Parameters
        ----------
        X, offset
            As in `predict`.

        Yields
        ------
        array, shape (rows,)
        """
        for scores in self._staged_predictions(X, offset):
            yield scores[:, 0]

    def score(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        group: object = None,
        qid: object = None,
        k: int | None = None,
        offset: object = None,
    ) -> float:
        """Mean NDCG of the queries; see `weald.ranking.ndcg_score`.

        Parameters
        ----------
        X, offset
            As in `predict`.
        y : array, shape (rows,)
            Labels: grades of relevance.
        sample_weight : array, shape (rows,) or (queries,), or None, default=None
            Sample weights.
        group, qid : array or None, default=None
            As in `fit`: the queries.
        k : int or None, default=None
            Number of places that count; None: all.
        """
        check_is_fitted(self)
        return ndcg_score(
            y,
            self.predict(X, offset=offset),
            group=group,
            qid=qid,
            k=k,
            label_gain=self.label_gain,
            sample_weight=sample_weight,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _in_bag(self) -> InBag:
        raise AttributeError(
            "A ranker has no out-of-bag ledger: the error of a row alone means nothing. Measure "
            "rankings on queries that were left out, such as by X_val or cross-validation."
        )

    def _recorded(self, training: Training, kept: NDArray[np.bool_]) -> None:
        """Record nothing: there is no out-of-bag ledger."""

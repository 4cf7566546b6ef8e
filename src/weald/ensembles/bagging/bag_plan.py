"""Estimator, rows, columns and noise of each base estimator of bagging."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.bagging.bag_fitting import BagDraws, BagTask, seeded_clone
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.bagging.diversifiers import Algorithms, BayesianBootstrap, Variation
from weald.ensembles.bagging.diversifiers import Rows as DrawnRows
from weald.errors import shown
from weald.resampling import RowSamples, draw_columns


class EstimatorPlan:
    """Turns the parameters of bagging into a task for each base estimator."""

    estimator: Any
    max_features: Any
    bootstrap_features: bool
    n_estimators: Any
    oob_score: bool
    weights: Any
    diversifiers: Any

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _base_estimator(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def _is_auto(self) -> bool:
        return isinstance(self.n_estimators, str)

    def _estimates_out_of_bag(self) -> bool:
        """Whether out-of-bag predictions are computed."""
        return self.oob_score or isinstance(self.weights, str) or self._is_auto()

    def _diversifiers(self) -> list[Any]:
        return [] if self.diversifiers is None else list(self.diversifiers)

    def _kinds(self) -> list[Any]:
        """The estimators that are cloned."""
        several = [d for d in self._diversifiers() if isinstance(d, Algorithms)]
        if several and self.estimator is not None:
            raise ValueError(
                f"estimator must be None if diversifiers contains {several[0]!r}, which provides "
                f"the estimators. Got estimator={self.estimator!r}."
            )
        return list(several[-1].estimators) if several else [self._base_estimator()]

    def _rows_drawn(self, rows: BagRows, seed: int) -> RowSamples | None:
        diversifiers, draws = self._diversifiers(), None
        if not any(getattr(d, "sees_all_rows", False) for d in diversifiers):
            own = [d for d in diversifiers if isinstance(d, DrawnRows)]
            draws = rows.draws(own[-1] if own else self, seed)
        draws_weights = any(isinstance(d, BayesianBootstrap) for d in diversifiers)
        if draws is None and rows.ordered.groups is not None and not draws_weights:
            raise ValueError(
                "groups was given, but no rows are drawn: groups says which rows are drawn "
                "together. Set bootstrap=True or max_samples below 1.0, or do not pass groups."
            )
        return draws

    def _refuse_all_row_diversifiers(self, what: str, kind: type[Exception] = ValueError) -> None:
        """Raise if a diversifier makes every base estimator use all rows."""
        for diversifier in self._diversifiers():
            if getattr(diversifier, "sees_all_rows", False):
                name = type(diversifier).__name__
                raise kind(
                    f"{what}: diversifiers contains {name}, with which every base estimator is "
                    "fitted on all rows, so that bootstrap and max_samples have no effect. Remove "
                    f"{name} from diversifiers, or use cross-validation."
                )

    def _task(
        self, number: int, drawn: BagDraws, keys: NDArray[np.uint64], seed: int, n_classes: int
    ) -> BagTask:
        varied = Variation(
            number,
            seed,
            self._kinds()[0],
            keys,
            getattr(self, "n_features_in_", 0),
            n_classes,
            self._drawn_columns(number, seed),
        )
        for diversifier in self._diversifiers():
            varied = diversifier.vary(varied)
        return BagTask(
            number=number,
            estimator=seeded_clone(varied.estimator, seed, number),
            drawn=drawn,
            columns=varied.columns,
            weight=varied.weight,
            noise=varied.noise,
            predicts_left_out=self._estimates_out_of_bag(),
        )

    def _drawn_columns(self, number: int, seed: int) -> NDArray[np.intp] | None:
        n = getattr(self, "n_features_in_", None)
        if n is None:  # no table with columns: a list of texts
            return None
        wanted = self.max_features
        is_count = isinstance(wanted, (int, np.integer))
        n_drawn = int(wanted) if is_count else max(1, int(wanted * n))
        if n_drawn > n:
            raise ValueError(
                f"max_features must be <= n_features: max_features={shown(wanted)}, and X has {n}."
            )
        if n_drawn == n and not self.bootstrap_features:
            return None
        return draw_columns(n, n_drawn, replace=self.bootstrap_features, seed=seed, member=number)

"""Estimator, rows, columns and noise of each base estimator of bagging."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.bagging.bag_members import BagTask, member_name, seeded_member
from weald.ensembles.bagging.bag_rows import BagRows
from weald.ensembles.bagging.diversifiers import Algorithms, BayesianBootstrap, Variation
from weald.ensembles.bagging.diversifiers import Rows as DrawnRows
from weald.errors import shown
from weald.resampling import RowSamples, draw_columns


class MemberPlan:
    """Turns the parameters of bagging into a task for each base estimator."""

    estimator: Any
    max_features: Any
    bootstrap_features: bool
    n_estimators: Any
    oob_score: bool
    weights: Any
    diversifiers: Any

    def _default_member(self) -> Any:
        raise NotImplementedError

    def _member(self) -> Any:
        return self._default_member() if self.estimator is None else self.estimator

    def _is_auto(self) -> bool:
        return isinstance(self.n_estimators, str)

    def _estimates_out_of_bag(self) -> bool:
        """Whether out-of-bag predictions are computed."""
        return self.oob_score or isinstance(self.weights, str) or self._is_auto()

    def _ways(self) -> list[Any]:
        """The diversifiers."""
        return [] if self.diversifiers is None else list(self.diversifiers)

    def _kinds(self) -> list[Any]:
        """The estimators that are cloned."""
        several = [way for way in self._ways() if isinstance(way, Algorithms)]
        if several and self.estimator is not None:
            raise ValueError(
                f"estimator must be None if diversifiers contains {several[0]!r}, which provides "
                f"the estimators. Got estimator={self.estimator!r}."
            )
        return list(several[-1].estimators) if several else [self._member()]

    def _rows_drawn(self, rows: BagRows, seed: int) -> RowSamples | None:
        ways, draws = self._ways(), None
        if not any(getattr(way, "sees_all_rows", False) for way in ways):
            own = [way for way in ways if isinstance(way, DrawnRows)]
            draws = rows.draws(own[-1] if own else self, seed)
        draws_weights = any(isinstance(way, BayesianBootstrap) for way in ways)
        if draws is None and rows.ordered.groups is not None and not draws_weights:
            raise ValueError(
                "groups was given, but no rows are drawn: groups says which rows are drawn "
                "together. Set bootstrap=True or max_samples below 1.0, or do not pass groups."
            )
        return draws

    def _refuse_ways_that_see_all(self, what: str, kind: type[Exception] = ValueError) -> None:
        """Raise if a diversifier makes every base estimator use all rows."""
        for way in self._ways():
            if getattr(way, "sees_all_rows", False):
                name = type(way).__name__
                raise kind(
                    f"{what}: diversifiers contains {name}, with which every base estimator is "
                    "fitted on all rows, so that bootstrap and max_samples have no effect. Remove "
                    f"{name} from diversifiers, or use cross-validation."
                )

    def _task(
        self, number: int, rows: BagRows, draws: RowSamples | None, seed: int, n_classes: int
    ) -> BagTask:
        index = rows.ordered.index
        drawn = np.ones(len(index), dtype=np.int64) if draws is None else draws.drawn(number)
        varied = Variation(
            number,
            seed,
            self._kinds()[0],
            rows.ordered.keys,
            getattr(self, "n_features_in_", 0),
            n_classes,
            self._drawn_columns(number, seed),
        )
        for way in self._ways():
            varied = way.vary(varied)
        # Rows keep their weights unless they are drawn by them.
        weight = rows.weight if draws is None or not draws.draws_by_weight else None
        if varied.weight is not None:
            weight = varied.weight if weight is None else varied.weight * weight
        return BagTask(
            name=member_name(number),
            estimator=seeded_member(varied.estimator, seed, number),
            rows=index[drawn > 0],
            copies=drawn[drawn > 0],
            columns=varied.columns,
            asked=index[drawn == 0] if self._estimates_out_of_bag() else None,
            weight=None if weight is None else weight[drawn > 0],
            noise=varied.noise,
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

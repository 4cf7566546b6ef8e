"""Fewer rounds of a fitted model: a copy that consists of the first of them."""

import copy
from typing import Self

from sklearn.utils.validation import check_is_fitted

from weald.parameters import Whole


class Truncatable:
    """Mixin of models that are fitted round by round, and consist of any number of them."""

    def truncate(self, n_rounds: int) -> Self:
        """Return a copy of the model that consists of its first rounds.

        The copy is the model of a fit of so many rounds: prediction, inspection and a warm start
        work as always. The model itself does not change.

        Parameters
        ----------
        n_rounds : int
            Number of rounds to keep, from 1 to `n_rounds` of the model. A round may hold several
            trees: one per class or quantile, and one per booster.

        Examples
        --------
        >>> from weald import BoostedTreesRegressor
        >>> X, y = [[i] for i in range(100)], [i * i for i in range(100)]
        >>> model = BoostedTreesRegressor(n_estimators=50).fit(X, y)
        >>> shorter = model.truncate(20)
        >>> shorter.n_estimators_, model.n_estimators_
        (20, 50)
        >>> bool((shorter.predict(X) == model.predict(X, n_rounds=20)).all())
        True
        """
        check_is_fitted(self)
        most = self._n_rounds
        if not Whole(1, max(1, most)).admits(n_rounds) or most == 0:
            rounds = f"has {most} rounds" if most != 1 else "has one round"
            raise ValueError(
                f"n_rounds must be an int from 1 to the number of rounds of the model. Got "
                f"{n_rounds!r} instead, and this {type(self).__name__} {rounds}."
            )
        model = copy.copy(self)
        vars(model).pop("_scores", None)  # those of all rounds, which a scorer has cached
        model._keep_rounds(int(n_rounds))
        return model

    @property
    def _n_rounds(self) -> int:
        """Number of rounds of the fitted model."""
        return int(self.n_estimators_)  # type: ignore[attr-defined]

    def _keep_rounds(self, n_rounds: int) -> None:
        """Drop all rounds after the first `n_rounds`, and what was computed from them."""
        raise NotImplementedError

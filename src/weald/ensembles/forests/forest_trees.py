"""The trees of a fitted forest: as decision trees, their row samples and decision paths."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.base import Floats
from weald.ensembles.forests.outputs import OutputsModel
from weald.resampling import RowSamples
from weald.trees import decision_paths, mean_shares

# Parameters of a forest that are also parameters of its trees.
_OF_TREES = (
    "criterion",
    "max_depth",
    "max_leaf_nodes",
    "min_samples_split",
    "min_weight_fraction_leaf",
    "min_impurity_decrease",
    "ccp_alpha",
    "monotonic_cst",
    "categorical_features",
    "n_jobs",
)


class ForestTrees(OutputsModel):
    """A forest as a list of trees: ``len(forest)``, ``forest[0]``, ``for tree in forest``.

    Attributes
    ----------
    estimator_ : estimator
        An unfitted decision tree with the parameters of the trees.
    """

    _ledger: list[tuple[int, RowSamples | None]]  # (index of the first tree, its row samples)
    _has_weight: NDArray[np.bool_]  # rows of positive weight, if trees are grown on all rows
    _settings: list[tuple[int, dict[str, Any]]]  # (index of the first tree, its parameters)
    _random_cuts: ClassVar[bool]

    def _keep_settings(self, first: int, chosen: Any) -> None:
        """Note the parameters of the trees from index `first` on; `chosen`: those chosen by data.

        Trees of a forest draw columns by the forest's seed, so that they have no `random_state`.
        """
        found = {name: getattr(self, name) for name in _OF_TREES}
        found["splitter"] = "random" if self._random_cuts else "best"
        found["min_samples_leaf"] = chosen.min_samples_leaf
        # Single trees cannot draw their columns once.
        is_by_node = self.feature_sampling == "node"
        found["max_features"] = chosen.max_features if is_by_node else None
        self._settings = [*(self._settings if first else ()), (first, found)]

    def _settings_of(self, tree: int) -> dict[str, Any]:
        return [settings for first, settings in self._settings if first <= tree][-1]

    def _unfitted_tree(self, settings: dict[str, Any]) -> Any:
        """A decision tree with these parameters."""
        raise NotImplementedError

    @property
    def estimator_(self) -> Any:
        """An unfitted decision tree with the parameters of the trees of the last fit."""
        check_is_fitted(self)
        return self._unfitted_tree(self._settings_of(self.forest_.n_trees - 1))

    def __len__(self) -> int:
        check_is_fitted(self)
        return self.forest_.n_trees

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __getitem__(self, number: Any) -> Any:
        return self.estimators_[number]

    @property
    def feature_importances_(self) -> Floats:
        """Impurity-based feature importances, normalised per tree and averaged over the trees.

        The importances of the parts of a date are added to that of its column.
        """
        check_is_fitted(self)
        return mean_shares(self._plan.sums_by_input(self.forest_.gain_of_trees()))

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted decision trees; created on first access, never saved."""
        check_is_fitted(self)
        if "_views" not in self.__dict__:
            self._views = [self._view(number) for number in range(self.forest_.n_trees)]
        return self._views

    def _view(self, number: int) -> Any:
        raise NotImplementedError

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """Sorted indices of the rows drawn for each tree, repeated as often as they were drawn.

        Without row sampling: all rows of positive weight.
        """
        check_is_fitted(self)
        return [self._samples_of(tree) for tree in range(self.forest_.n_trees)]

    def _samples_of(self, tree: int) -> NDArray[np.intp]:
        samples = [samples for first, samples in self._ledger if first <= tree][-1]
        if samples is None:
            return np.flatnonzero(self._has_weight)
        counts = samples.counts(tree)
        return np.repeat(np.arange(len(counts)), counts)

    def decision_path(self, X: object) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes of each tree that the rows pass through.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Rows with the columns of the fit.

        Returns
        -------
        indicator : sparse matrix, shape (rows, nodes of all trees)
            1 where a row passes through a node.
        n_nodes_ptr : array, shape (trees + 1,)
            Tree i has the columns ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]``.
        """
        return decision_paths(self.forest_, self._leaves(X))

    def in_bag_counts(self, member: int) -> NDArray[np.int64]:
        """How often each row of the fit was drawn for a tree.

        Parameters
        ----------
        member : int
            Index of the tree, from 0.
        """
        check_is_fitted(self)
        if not 0 <= member < self.forest_.n_trees:
            raise ValueError(
                f"member={member} is not the index of a tree: expected 0 to "
                f"{self.forest_.n_trees - 1}."
            )
        samples = [samples for first, samples in self._ledger if first <= member][-1]
        if samples is None:
            raise ValueError(
                "There are no in-bag counts: with bootstrap=False and max_samples=None every tree "
                "is fitted on all rows. Fit with bootstrap=True or max_samples."
            )
        return samples.counts(member)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_views"}

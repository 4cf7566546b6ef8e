"""One tree a round for many classes: a leaf holds a step for each."""

from dataclasses import replace

import numpy as np

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Stage, refuse_runaway
from weald.trees import ForestBuilder, GrownTree, TreeGrower


class VectorTrees:
    """A tree for all scores; its leaves hold a Newton step of each.

    The scores share a curvature while the tree grows: a row weighs the sum of its hessians, for
    classes 1 - sum p^2, and a split gains half the sum of G^2 / (H + l2) over the scores. The steps
    of the leaves are then each score's own, -G / (H + l2).
    """

    weighs_gradients = True

    def __init__(
        self,
        grower: TreeGrower,
        forest: ForestBuilder,
        learning_rate: float,
        l2: float,
        n_threads: int,
        *,
        first_member: int = 0,
    ) -> None:
        self._grower = grower
        self._forest = forest
        self._learning_rate = learning_rate
        self._l2 = l2
        self._n_threads = n_threads
        self._first_member = first_member  # names the draws of the first tree

    def learn(self, stage: Stage) -> None:
        assert stage.hessian is not None
        tree = self._grower.on_sums(
            stage.gradient,
            _added_up(stage.hessian),
            stage.copies,
            member=self._first_member + stage.number,
        )
        values = self._steps(stage, tree) * self._learning_rate
        refuse_runaway(values, stage.number, self._learning_rate)
        for k, of_leaves in enumerate(values):
            _native.add_leaf_values(stage.scores[k], tree.leaf_of_row, of_leaves, self._n_threads)
        self._forest.add(replace(tree, value=np.ascontiguousarray(values.T)), output=-1)

    def _steps(self, stage: Stage, tree: GrownTree) -> Floats:
        assert stage.hessian is not None
        return np.stack(
            [
                stage.loss.leaf_steps(
                    gradient,
                    hessian,
                    stage.copies,
                    tree.leaf_of_row,
                    len(tree.value),
                    self._learning_rate,
                    self._l2,
                )
                for gradient, hessian in zip(stage.gradient, stage.hessian, strict=True)
            ]
        )


def _added_up(hessian: Floats) -> Floats:
    """The sum over the scores, one after another: numpy may choose another order."""
    total: Floats = hessian[0].copy()
    for one in hessian[1:]:
        total += one
    return total

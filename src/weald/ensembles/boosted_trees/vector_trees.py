"""Multi-output trees: one tree per round, whose leaves hold a value for each class or target."""

from weald import _native
from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Stage, check_divergence
from weald.trees import ForestBuilder, GrownTree, TreeGrower


class VectorTrees:
    """Second-order learner: per round, one tree whose leaves hold a Newton step for each score.

    All scores share one hessian H in split finding, the sum over the scores (1 - sum p^2 for
    classes), or the weight for several targets: the gain of a split is half the sum over the scores
    of G^2 / (H + l2). The leaf value of a score then uses its own hessian: -G / (H + l2).
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
        self._first_member = first_member  # keys the column sampling of the first tree
        self.grown: list[GrownTree] = []  # the tree of the last round

    def learn(self, stage: Stage) -> None:
        """Grow the tree of a round and add its leaf values to the scores."""
        tree = self._grower.on_sums(
            stage.gradient,
            _shared_hessian(stage),
            stage.used_copies,
            n_used=stage.training.n_used,
            member=self._first_member + stage.number,
        )
        self.grown = [tree]
        steps = self._steps(stage, tree)
        values = stage.loss.capped(steps, self._learning_rate) * self._learning_rate
        check_divergence(values, stage.number, self._learning_rate)
        _native.add_leaf_values(stage.scores, tree.leaf_of_row, values, self._n_threads)
        self._forest.add(tree.answering(values), output=-1)

    def _steps(self, stage: Stage, tree: GrownTree) -> Floats:
        """Newton step of each leaf and score; those of the tree if its hessian is every score's."""
        if stage.loss.hessian_is_one or stage.hessian is None:
            return tree.value
        steps: Floats
        steps, _ = _native.newton_steps(
            stage.gradient,
            stage.hessian,
            stage.copies,
            tree.leaf_of_row,
            len(tree.value),
            0.0,
            self._l2,
            self._n_threads,
        )
        return steps


def _shared_hessian(stage: Stage) -> Floats | None:
    """The hessian of a row for all scores: their sum, or the weight of a row if each is that."""
    if stage.hessian is None:
        return None
    return stage.hessian[0] if stage.loss.hessian_is_one else _sum_over_scores(stage.hessian)


def _sum_over_scores(hessian: Floats) -> Floats:
    """Sum in the order of the scores; np.sum may add in another order."""
    total: Floats = hessian[0].copy()
    for of_score in hessian[1:]:
        total += of_score
    return total

"""One small model in the place of an ensemble, with its measured score."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone, is_classifier

from weald.ensembles.auto.portfolio import NAMES
from weald.ensembles.boosted_trees.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
)
from weald.ensembles.forests.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from weald.parameters import OneOf

# Of the portfolio only the small model is left.
_DROPPED = tuple((name, "drop") for name in NAMES[1:])

_SIZES = OneOf(("small", "tree"))

_MOST_LEAVES = 32


@dataclass(frozen=True, eq=False)
class Refitted:
    """A small model, and what it loses.

    Attributes
    ----------
    model : estimator
        The model, fitted on all rows and labels as they are.
    score : float
        Its score on the folds of the rows.
    ensemble_score : float
        The score of the ensemble on the folds of its own fit: the same, if the rows are the same.
    metric : str
        Name of the scores, of which larger ones are better.
    """

    model: Any
    score: float
    ensemble_score: float
    metric: str

    def __str__(self) -> str:
        return (
            f"{type(self.model).__name__}: {self.metric} {self.score:.4g} on unseen rows; "
            f"the ensemble: {self.ensemble_score:.4g}"
        )


def refitted(ensemble: Any, X: Any, y: Any, sample_weight: Any, groups: Any, size: str) -> Refitted:
    """Fit one small model, and score it on the same folds as the models of the ensemble."""
    if not _SIZES.admits(size):
        raise ValueError(f"size must be {_SIZES.expected}; got {size!r}.")
    model = _small_model(ensemble, size)
    scored = clone(ensemble).set_params(
        time_limit=None, max_models=1, portfolio=[*_DROPPED, (NAMES[0], model)], verbose=0
    )
    scored.fit(X, y, sample_weight, groups=groups)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    model.fit(X, y, **weights)
    score = scored.leaderboard_[NAMES[0]].score
    return Refitted(model, score, ensemble.best_score_, scored.metric_)


def _small_model(ensemble: Any, size: str) -> Any:
    common = {
        "categorical_features": ensemble.categorical_features,
        "random_state": ensemble.random_state,
    }
    if size == "tree":
        tree: Any = DecisionTreeClassifier if is_classifier(ensemble) else DecisionTreeRegressor
        return tree(max_leaf_nodes=_MOST_LEAVES, min_samples_leaf=5, **common)
    kind: Any = BoostedTreesClassifier if is_classifier(ensemble) else BoostedTreesRegressor
    return kind(quality="fast", n_jobs=ensemble.n_jobs, **common)

"""The models that are trained, in order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from weald.ensembles.auto.encoding import ColumnEncoder
from weald.ensembles.auto.neighbours import NeighboursClassifier, NeighboursRegressor
from weald.ensembles.auto.network import NetworkClassifier, NetworkRegressor
from weald.ensembles.auto.scaled_target import ScaledTarget
from weald.ensembles.boosted_trees.boosted_trees import (
    BoostedTreesClassifier,
    BoostedTreesRegressor,
)
from weald.ensembles.forests.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from weald.ensembles.forests.random_forest import RandomForestClassifier, RandomForestRegressor
from weald.ensembles.forests.rotation_forest import (
    RotationForestClassifier,
    RotationForestRegressor,
)
from weald.resampling import estimator_seed

# The order was learnt on tables of 1,000 rows (studies/auto_portfolio.md), but for the network:
# it was the second most valuable, and takes ten times as long as the others.
NAMES = (
    "boosted small trees",
    "random forest",
    "network",
    "boosted symmetric trees",
    "rotation forest",
    "linear",
    "extra trees",
    "boosted tiny trees",
    "boosted trees",
    "neighbours",
    "boosted shrunk trees",
    "boosted trees of few columns",
    "slow boosted trees",
    "boosted large trees",
)

# Above so many rows boosted trees at their defaults, chosen on larger tables, come first.
_MANY_ROWS = 1_500

# Boosters leave out folds from this number of rows (or groups) on.
FEWEST_FOR_BAGS = 10

# Selection among more models would overfit few rows.
_FEW_ROWS, _MOST_MODELS_OF_FEW_ROWS = 100, 4

# Rotations and distances cost too much for wide tables or many rows, and mean little for
# categories; linear models and networks need some rows.
_MOST_ROTATED_COLUMNS, _MOST_ROTATED_ROWS = 60, 20_000
_MOST_NEIGHBOUR_ROWS, _MOST_NEIGHBOUR_COLUMNS = 30_000, 200
_MOST_ENCODED_CELLS, _MOST_NETWORK_COLUMNS = 100_000_000, 1_000
_FEWEST_ENCODED_ROWS = 50


@dataclass(frozen=True)
class Entry:
    """A model to train.

    Attributes
    ----------
    name : str
        Its name in the leaderboard.
    estimator : estimator
        Unfitted.
    is_foreign : bool
        Whether it was passed by the user, and is fitted on the table as passed to `fit`; otherwise
        on its numeric columns with the indices of categories.
    """

    name: str
    estimator: Any
    is_foreign: bool = False


@dataclass(frozen=True)
class TableFacts:
    """What the choice of models depends on.

    Attributes
    ----------
    n_classes : int
        0 for regression.
    n_units : int
        Number of rows, or of groups.
    smallest_class : int
        Number of rows of the smallest class; of all rows for regression.
    categories : tuple of int
        Columns with the indices of categories.
    """

    n_classes: int
    n_rows: int
    n_columns: int
    n_units: int
    smallest_class: int
    categories: tuple[int, ...]


def most_models(n_rows: int) -> int | None:
    """Largest number of models for a table of so many rows; None: no limit."""
    return _MOST_MODELS_OF_FEW_ROWS if n_rows <= _FEW_ROWS else None


def portfolio(facts: TableFacts, seed: int, n_jobs: int | None) -> list[Entry]:
    """The models for a table, the most valuable first."""
    tree, encoded = _Trees(facts, seed, n_jobs), _Encoded(facts, seed)
    makers: dict[str, Callable[[], Any] | None] = {
        "boosted small trees": lambda: tree.boosted(max_leaf_nodes=6, learning_rate=0.08),
        "random forest": tree.random_forest,
        "network": encoded.network if encoded.can_learn_layers else None,
        "boosted symmetric trees": lambda: tree.boosted(growth="symmetric", max_leaf_nodes=64),
        "rotation forest": tree.rotation_forest if tree.can_rotate else None,
        "linear": encoded.linear if encoded.fits else None,
        "extra trees": tree.extra_trees,
        "boosted tiny trees": lambda: tree.boosted(max_leaf_nodes=3, learning_rate=0.1),
        "boosted trees": tree.boosted,
        "neighbours": encoded.neighbours if encoded.has_distances else None,
        "boosted shrunk trees": lambda: tree.boosted(
            max_leaf_nodes=24, l2_regularization=5.0, max_features=0.4
        ),
        "boosted trees of few columns": lambda: tree.boosted(
            max_leaf_nodes=31,
            learning_rate=0.04,
            max_features=0.3,
            subsample=0.7,
            min_samples_leaf=3,
        ),
        "slow boosted trees": lambda: tree.boosted(quality="best"),
        "boosted large trees": lambda: tree.boosted(max_leaf_nodes=48, learning_rate=0.03),
    }
    names = list(NAMES)
    if facts.n_rows > _MANY_ROWS:
        names.remove("boosted trees")
        names.insert(0, "boosted trees")
    found = ((name, makers[name]) for name in names)
    return [Entry(name, make()) for name, make in found if make is not None]


@dataclass(frozen=True)
class _Trees:
    """Tree ensembles with the parameters of this table."""

    facts: TableFacts
    seed: int
    n_jobs: int | None

    def _common(self, number: int) -> dict[str, Any]:
        common: dict[str, Any] = {
            "random_state": estimator_seed(self.seed, number),
            "n_jobs": self.n_jobs,
        }
        if self.facts.categories:
            common["categorical_features"] = list(self.facts.categories)
        return common

    def _kind(self, classifier: Any, regressor: Any) -> Any:
        return classifier if self.facts.n_classes else regressor

    def boosted(self, **settings: Any) -> Any:
        kind = self._kind(BoostedTreesClassifier, BoostedTreesRegressor)
        if self.facts.n_units >= FEWEST_FOR_BAGS:
            settings = {"n_bags": 5, **settings}
        return kind(**settings, **self._common(0))

    def random_forest(self) -> Any:
        kind = self._kind(RandomForestClassifier, RandomForestRegressor)
        return kind(300, oob_score=True, **self._common(1))

    def extra_trees(self) -> Any:
        kind = self._kind(ExtraTreesClassifier, ExtraTreesRegressor)
        settings: dict[str, Any] = {"max_features": 0.75} if not self.facts.n_classes else {}
        # A bootstrap gives out-of-bag predictions for the price of one forest.
        return kind(300, bootstrap=True, oob_score=True, **settings, **self._common(2))

    def rotation_forest(self) -> Any:
        kind = self._kind(RotationForestClassifier, RotationForestRegressor)
        common = self._common(3)
        return kind(200, bootstrap=True, oob_score=True, **common)

    @property
    def can_rotate(self) -> bool:
        facts = self.facts
        return (
            not facts.categories
            and 2 <= facts.n_columns <= _MOST_ROTATED_COLUMNS
            and facts.n_rows <= _MOST_ROTATED_ROWS
        )


@dataclass(frozen=True)
class _Encoded:
    """Models of scaled and one-hot encoded columns."""

    facts: TableFacts
    seed: int

    @property
    def fits(self) -> bool:
        facts = self.facts
        return (
            facts.n_classes != 1
            and facts.n_units >= _FEWEST_ENCODED_ROWS
            and facts.smallest_class >= 10
            and facts.n_rows * facts.n_columns <= _MOST_ENCODED_CELLS
        )

    @property
    def can_learn_layers(self) -> bool:
        return self.fits and self.facts.n_columns <= _MOST_NETWORK_COLUMNS

    @property
    def has_distances(self) -> bool:
        facts = self.facts
        return (
            self.fits
            and facts.n_rows <= _MOST_NEIGHBOUR_ROWS
            and facts.n_columns <= _MOST_NEIGHBOUR_COLUMNS
        )

    def _pipeline(self, model: Any) -> Any:
        encoder = ColumnEncoder(categories=list(self.facts.categories))
        if self.facts.n_classes:
            return make_pipeline(encoder, model)
        return ScaledTarget(make_pipeline(encoder, model))

    def linear(self) -> Any:
        if self.facts.n_classes:
            return self._pipeline(LogisticRegression(C=1.0, max_iter=200))
        return self._pipeline(Ridge(alpha=1.0))

    def network(self) -> Any:
        kind = NetworkClassifier if self.facts.n_classes else NetworkRegressor
        return self._pipeline(kind(random_state=estimator_seed(self.seed, 4)))

    def neighbours(self) -> Any:
        kind = NeighboursClassifier if self.facts.n_classes else NeighboursRegressor
        return self._pipeline(kind(15))

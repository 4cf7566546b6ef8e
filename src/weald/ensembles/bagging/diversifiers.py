"""Ways to make the members of a bag differ: small objects, any of which go together.

``BaggingClassifier(tree, diversifiers=[Features(0.5), Noise(0.1)])`` applies them in their order.
Each has a method ``vary(variation)`` that takes what a member is, sees and learns, and gives it
back changed; an object of your own with such a method will do as well.

Examples
--------
>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.naive_bayes import GaussianNB
>>> from weald import BaggingClassifier
>>> from weald.datasets import load_pima
>>> from weald.ensembles.bagging.diversifiers import Algorithms, Features
>>> pima = load_pima()
>>> ways = [Algorithms([GaussianNB(), LogisticRegression(max_iter=5000)]), Features(0.75)]
>>> bag = BaggingClassifier(n_estimators=8, diversifiers=ways, random_state=0)
>>> bag = bag.fit(pima.data, pima.target)
>>> [type(member).__name__ for member in bag.estimators_[:2]], bag.estimators_features_[0].size
(['GaussianNB', 'LogisticRegression'], 6)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald import _native
from weald.ensembles.bagging.bag_noise import ContentNoise
from weald.ensembles.bagging.class_groups import GroupMember
from weald.errors import shown
from weald.parameters import Real
from weald.resampling import Purpose, draw_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Variation:
    """What one member is, sees and learns.

    Attributes
    ----------
    number, seed : int
        Which member it is, and what keys the draws of the fit.
    estimator : estimator
        What will be cloned and fitted.
    keys : uint64 [rows, 2]
        The key of each row, by which draws are made.
    n_columns, n_classes : int
        Of the table and of the target; 0 classes are a regression, 0 columns no table.
    columns : intp array or None
        The columns it sees; None: all.
    weight : float64 [rows] or None
        What rows weigh beside how often they were drawn.
    noise : ContentNoise or None
        What is added to the rows it learns from.
    """

    number: int
    seed: int
    estimator: Any
    keys: NDArray[np.uint64] = field(repr=False)
    n_columns: int
    n_classes: int
    columns: NDArray[np.intp] | None = None
    weight: Floats | None = None
    noise: ContentNoise | None = None

    def units(self, n: int) -> Floats:
        """Random numbers in [0, 1) that belong to this member."""
        numbers = np.zeros((n, 2), dtype=np.uint64)
        numbers[:, 0] = np.arange(n)
        words = _native.draw(numbers, self.seed, self.number, Purpose.VARIATION)
        return np.ldexp((words >> np.uint64(11)).astype(np.float64), -53)


class Diversifier(Protocol):
    """A way to make members differ."""

    def vary(self, variation: Variation) -> Variation: ...


class _Way:
    """What is drawn unless a diversifier says so: rows as the bag says."""

    # Every member sees all rows: the bag draws none.
    sees_all_rows = False

    def vary(self, variation: Variation) -> Variation:
        """Give a member back, changed."""
        return variation


@dataclass(frozen=True)
class Rows(_Way):
    """Rows of its own for every member.

    Parameters
    ----------
    max_samples : int, float or None, default=None
        As in bagging.
    bootstrap : bool, default=True
        Whether they are drawn with replacement.
    """

    max_samples: float | None = None
    bootstrap: bool = True


@dataclass(frozen=True)
class Features(_Way):
    """Columns of its own for every member (random subspaces).

    Parameters
    ----------
    max_features : int or float, default=0.5
        How many, or which share.
    bootstrap : bool, default=False
        Whether they are drawn with replacement.
    """

    max_features: float = 0.5
    bootstrap: bool = False

    def vary(self, variation: Variation) -> Variation:
        """Draw the columns of a member."""
        n, wanted = variation.n_columns, self.max_features
        is_count = isinstance(wanted, (int, np.integer))
        n_drawn = int(wanted) if is_count else max(1, int(wanted * n))
        if not 1 <= n_drawn <= n:
            raise ValueError(f"Features(max_features={shown(wanted)}) of a table of {n} columns.")
        columns = draw_columns(
            n, n_drawn, replace=self.bootstrap, seed=variation.seed, member=variation.number
        )
        return replace(variation, columns=columns)


@dataclass(frozen=True)
class Seeds(_Way):
    """Nothing but another seed for every member; all see all rows."""

    sees_all_rows = True


class AlgorithmRandomness(_Way):
    """How deep, how greedy: parameters drawn from ranges, for every member anew.

    Parameters
    ----------
    **ranges
        For each parameter of the estimator the least and the largest value; whole numbers if both
        are, else floats.
    """

    def __init__(self, **ranges: tuple[float, float]) -> None:
        self.ranges = ranges

    def vary(self, variation: Variation) -> Variation:
        """Draw parameters within their ranges."""
        drawn: dict[str, float] = {}
        for unit, (name, (low, high)) in zip(
            variation.units(len(self.ranges)), self.ranges.items(), strict=True
        ):
            if isinstance(low, int) and isinstance(high, int):
                drawn[name] = low + int(unit * (high - low + 1))
            else:
                drawn[name] = float(low + unit * (high - low))
        return replace(variation, estimator=clone(variation.estimator).set_params(**drawn))


class HyperParameters(_Way):
    """Other hyper-parameters for every member, each from a list.

    Parameters
    ----------
    **choices
        For each parameter of the estimator the values to draw from.
    """

    def __init__(self, **choices: Sequence[Any]) -> None:
        self.choices = choices

    def vary(self, variation: Variation) -> Variation:
        """Draw one of each list."""
        units = variation.units(len(self.choices))
        drawn = {
            name: values[int(unit * len(values))]
            for unit, (name, values) in zip(units, self.choices.items(), strict=True)
        }
        return replace(variation, estimator=clone(variation.estimator).set_params(**drawn))


@dataclass(frozen=True)
class Algorithms(_Way):
    """Different algorithms, member after member in turn.

    Parameters
    ----------
    estimators : list of estimators
        Where one of them has no predict_proba, all of them vote.
    """

    estimators: Sequence[Any]

    def vary(self, variation: Variation) -> Variation:
        """Take the algorithm whose turn it is."""
        turn = variation.number % len(self.estimators)
        return replace(variation, estimator=self.estimators[turn])


@dataclass(frozen=True)
class Representation(_Way):
    """Different views of the table: members get one of several transformers in turn.

    Parameters
    ----------
    transformers : list of transformers
        Each is fitted on the rows of its member, which becomes a pipeline; None: the table as it
        is.
    """

    transformers: Sequence[Any]

    def vary(self, variation: Variation) -> Variation:
        """Put the transformer whose turn it is before the estimator."""
        from sklearn.pipeline import make_pipeline

        chosen = self.transformers[variation.number % len(self.transformers)]
        if chosen is None:
            return variation
        return replace(variation, estimator=make_pipeline(chosen, variation.estimator))


@dataclass(frozen=True)
class Noise(_Way):
    """Noise added to the numbers that a member learns from, drawn by what the rows hold.

    Parameters
    ----------
    scale : float, default=0.1
        Standard deviation of the noise, in those of each column.
    target : float, default=0.0
        The same for the target of a regression.
    """

    scale: float = 0.1
    target: float = 0.0

    def vary(self, variation: Variation) -> Variation:
        """Choose the noise of a member."""
        if not (Real(0.0).admits(self.scale) and Real(0.0).admits(self.target)):
            raise ValueError(f"{self!r}: scales of noise must be finite and not negative.")
        if self.target and variation.n_classes:
            raise ValueError(f"{self!r}: only the target of a regression can have noise.")
        noise = ContentNoise(variation.seed, variation.number, self.scale, self.target)
        return replace(variation, noise=noise)


@dataclass(frozen=True)
class Classes(_Way):
    """Every member tells a random half of the classes from the others.

    The share of a half is divided evenly among its classes; over many members each class comes out
    (output codes, drawn at random).
    """

    def vary(self, variation: Variation) -> Variation:
        """Draw the half of a member."""
        n = variation.n_classes
        if n < 2:
            raise ValueError("Classes() needs a target of two classes or more.")
        first = np.argsort(variation.units(n), kind="stable")[: n // 2]
        groups = np.zeros(n, dtype=np.int64)
        groups[first] = 1
        return replace(variation, estimator=GroupMember(variation.estimator, groups.tolist()))


@dataclass(frozen=True)
class BayesianBootstrap(_Way):
    """A sample from a posterior: rows get Dirichlet weights, and all are seen.

    The members are draws from the posterior of a bootstrap that is smooth (Rubin 1981): the spread
    of their answers is that of what could have been learnt. For learners that take sample weights.
    """

    sees_all_rows = True

    def vary(self, variation: Variation) -> Variation:
        """Draw the weights of a member, of the mean 1."""
        words = _native.draw(variation.keys, variation.seed, variation.number, Purpose.POSTERIOR)
        units = np.ldexp((words >> np.uint64(11)).astype(np.float64) + 0.5, -53)
        return replace(variation, weight=-_native.log(units))

"""Ways to diversify the base estimators of bagging, in any combination.

``BaggingClassifier(tree, diversifiers=[Features(0.5), Noise(0.1)])`` applies them in this order.
Each has a method ``vary(variation)`` that takes the `Variation` of a base estimator and returns a
modified one; any object with such a method can be used.

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.naive_bayes import GaussianNB
>>> from weald import BaggingClassifier
>>> from weald.ensembles.bagging.diversifiers import Algorithms, Features
>>> cancer = load_breast_cancer()
>>> diversifiers = [Algorithms([GaussianNB(), LogisticRegression(max_iter=5000)]), Features(0.75)]
>>> bag = BaggingClassifier(n_estimators=8, diversifiers=diversifiers, random_state=0)
>>> bag = bag.fit(cancer.data, cancer.target)
>>> [type(model).__name__ for model in bag.estimators_[:2]], bag.estimators_features_[0].size
(['GaussianNB', 'LogisticRegression'], 22)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from weald import _native
from weald.ensembles.bagging.bag_noise import ContentNoise
from weald.ensembles.bagging.class_groups import TwoGroupClassifier
from weald.errors import shown
from weald.parameters import Real
from weald.resampling import Purpose, draw_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Variation:
    """Estimator, columns, row weights and noise of one base estimator.

    Attributes
    ----------
    number, seed : int
        Index of the base estimator, and seed of the fit.
    estimator : estimator
        The estimator to clone and fit.
    keys : uint64 [rows, 2]
        Key of each row, which determines its random draws.
    n_columns, n_classes : int
        Numbers of columns and classes; 0 classes for a regression, 0 columns if X is no table.
    columns : intp array or None
        Indices of the columns used; None: all.
    weight : float64 [rows] or None
        Row weights, in addition to the number of draws.
    noise : ContentNoise or None
        Noise added to the training rows.
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
        """Uniform random numbers in [0, 1) of this base estimator."""
        numbers = np.zeros((n, 2), dtype=np.uint64)
        numbers[:, 0] = np.arange(n)
        words = _native.draw(numbers, self.seed, self.number, Purpose.VARIATION)
        return np.ldexp((words >> np.uint64(11)).astype(np.float64), -53)


class Diversifier(Protocol):
    """A way to diversify base estimators."""

    def vary(self, variation: Variation) -> Variation: ...


class _BaseDiversifier:
    """Base class of diversifiers: rows are drawn by the parameters of the ensemble."""

    # Whether every base estimator is fitted on all rows, so that none are drawn.
    sees_all_rows = False

    def vary(self, variation: Variation) -> Variation:
        """Return a modified variation."""
        return variation


@dataclass(frozen=True)
class Rows(_BaseDiversifier):
    """A random sample of the rows for each base estimator.

    Parameters
    ----------
    max_samples : int, float or None, default=None
        Number of rows to draw, as in bagging.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    """

    max_samples: float | None = None
    bootstrap: bool = True


@dataclass(frozen=True)
class Features(_BaseDiversifier):
    """A random subset of the columns for each base estimator (random subspaces).

    Parameters
    ----------
    max_features : int or float, default=0.5
        Number of columns to draw: a count or a fraction.
    bootstrap : bool, default=False
        Whether columns are drawn with replacement.
    """

    max_features: float = 0.5
    bootstrap: bool = False

    def vary(self, variation: Variation) -> Variation:
        """Draw the columns of a base estimator."""
        n, wanted = variation.n_columns, self.max_features
        is_count = isinstance(wanted, (int, np.integer))
        n_drawn = int(wanted) if is_count else max(1, int(wanted * n))
        if not 1 <= n_drawn <= n:
            raise ValueError(
                f"Features(max_features={shown(wanted)}) must select 1 to {n} of the {n} columns; "
                f"it selects {n_drawn}."
            )
        columns = draw_columns(
            n, n_drawn, replace=self.bootstrap, seed=variation.seed, member=variation.number
        )
        return replace(variation, columns=columns)


@dataclass(frozen=True)
class Seeds(_BaseDiversifier):
    """Only another seed for each base estimator; all are fitted on all rows."""

    sees_all_rows = True


class AlgorithmRandomness(_BaseDiversifier):
    """Hyper-parameters drawn uniformly from ranges, for each base estimator.

    Parameters
    ----------
    **ranges
        Minimum and maximum of each parameter of the estimator; integers are drawn if both are
        integers, else floats.
    """

    def __init__(self, **ranges: tuple[float, float]) -> None:
        self.ranges = ranges

    def vary(self, variation: Variation) -> Variation:
        """Draw the parameters of a base estimator."""
        drawn: dict[str, float] = {}
        for unit, (name, (low, high)) in zip(
            variation.units(len(self.ranges)), self.ranges.items(), strict=True
        ):
            if isinstance(low, int) and isinstance(high, int):
                drawn[name] = low + int(unit * (high - low + 1))
            else:
                drawn[name] = float(low + unit * (high - low))
        return replace(variation, estimator=clone(variation.estimator).set_params(**drawn))


class HyperParameters(_BaseDiversifier):
    """Hyper-parameters drawn from lists, for each base estimator.

    Parameters
    ----------
    **choices
        Values to draw from, for each parameter of the estimator.
    """

    def __init__(self, **choices: Sequence[Any]) -> None:
        self.choices = choices

    def vary(self, variation: Variation) -> Variation:
        """Draw one value of each list."""
        units = variation.units(len(self.choices))
        drawn = {
            name: values[int(unit * len(values))]
            for unit, (name, values) in zip(units, self.choices.items(), strict=True)
        }
        return replace(variation, estimator=clone(variation.estimator).set_params(**drawn))


@dataclass(frozen=True)
class Algorithms(_BaseDiversifier):
    """Different algorithms, assigned to the base estimators in turn.

    Parameters
    ----------
    estimators : list of estimators
        If one of them has no predict_proba, all of them vote.
    """

    estimators: Sequence[Any]

    def vary(self, variation: Variation) -> Variation:
        """Assign the next algorithm in turn."""
        turn = variation.number % len(self.estimators)
        return replace(variation, estimator=self.estimators[turn])


@dataclass(frozen=True)
class Representation(_BaseDiversifier):
    """Different transformers of the table, assigned to the base estimators in turn.

    Parameters
    ----------
    transformers : list of transformers
        Each is fitted on the rows of its base estimator, in a pipeline; None: no transformation.
    """

    transformers: Sequence[Any]

    def vary(self, variation: Variation) -> Variation:
        """Make a pipeline with the next transformer in turn."""
        from sklearn.pipeline import make_pipeline

        chosen = self.transformers[variation.number % len(self.transformers)]
        if chosen is None:
            return variation
        return replace(variation, estimator=make_pipeline(chosen, variation.estimator))


@dataclass(frozen=True)
class Noise(_BaseDiversifier):
    """Random noise added to the training rows of each base estimator.

    Parameters
    ----------
    scale : float, default=0.1
        Standard deviation of the noise, as a multiple of that of each column.
    target : float, default=0.0
        The same for the target, for regression only.
    """

    scale: float = 0.1
    target: float = 0.0

    def vary(self, variation: Variation) -> Variation:
        """Set the noise of a base estimator."""
        if not (Real(0.0).admits(self.scale) and Real(0.0).admits(self.target)):
            raise ValueError(f"{self!r}: scale and target must be finite and non-negative.")
        if self.target and variation.n_classes:
            raise ValueError(f"{self!r}: target noise requires a regression; set target=0.0.")
        noise = ContentNoise(variation.seed, variation.number, self.scale, self.target)
        return replace(variation, noise=noise)


@dataclass(frozen=True)
class Classes(_BaseDiversifier):
    """Random output codes: each base estimator separates a random half of the classes.

    The probability of a half is divided evenly among its classes; averaging over many base
    estimators recovers the single classes.
    """

    def vary(self, variation: Variation) -> Variation:
        """Draw the classes of one half."""
        n = variation.n_classes
        if n < 2:
            raise ValueError(f"Classes() requires at least two classes; got {n}.")
        first = np.argsort(variation.units(n), kind="stable")[: n // 2]
        groups = np.zeros(n, dtype=np.int64)
        groups[first] = 1
        return replace(
            variation, estimator=TwoGroupClassifier(variation.estimator, groups.tolist())
        )


@dataclass(frozen=True)
class BayesianBootstrap(_BaseDiversifier):
    """Bayesian bootstrap (Rubin 1981): all rows, with random Dirichlet weights.

    The base estimators are draws from a posterior, and the standard deviation of their predictions
    is a posterior standard deviation. Requires estimators that support sample weights.
    """

    sees_all_rows = True

    def vary(self, variation: Variation) -> Variation:
        """Draw the row weights of a base estimator, of mean 1."""
        words = _native.draw(variation.keys, variation.seed, variation.number, Purpose.POSTERIOR)
        units = np.ldexp((words >> np.uint64(11)).astype(np.float64) + 0.5, -53)
        return replace(variation, weight=-_native.log(units))

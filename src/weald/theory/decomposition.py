"""Bias-variance decomposition of any estimator by repeated training."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from weald.parameters import NoneOr, OneOf, Real, Whole
from weald.theory.arguments import check, finite_target, table_of, target_of
from weald.theory.decomposed import SquaredDecomposition, ZeroOneDecomposition, decomposed
from weald.theory.fitting import (
    Resampling,
    check_common_arguments,
    check_estimator_like,
    run_parallel,
    seeded_clone,
    seeds_of,
)
from weald.theory.repeats import Expected, expected_target, group_means
from weald.theory.results import read_only
from weald.theory.scoring import Scorer
from weald.theory.squared_parts import squared_parts
from weald.theory.zero_one_parts import group_modes, zero_one_parts

Draw = Callable[[np.random.Generator], tuple[Any, Any]]

_FUNCTION = "bias_variance"


def bias_variance(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    generator: Draw | None = None,
    true_target: Any = None,
    n_repeats: int = 100,
    max_samples: float = 1.0,
    bootstrap: bool = True,
    loss: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> SquaredDecomposition | ZeroOneDecomposition:
    """Decompose the expected error of an estimator into bias, variance and noise.

    Squared error: E[(f̂ - y)²] = E[(f̂ - f̄)²] + E[(f̄ - ȳ)²] + E[(ȳ - y)²], variance + bias² +
    noise, where f̄(x) is the mean prediction over training sets and ȳ(x) the expected target.

    0/1 loss (Domingos 2000): the main prediction is the mode over training sets; bias B(x) is 1
    where it is not the optimal class, variance V(x) is the share of predictions that differ from
    it. Variance increases the error on unbiased rows; on biased rows, predictions that differ from
    the main prediction and are optimal decrease it. With two classes and no noise, error =
    B + (1 - 2B)V.

    The estimator is trained on `n_repeats` training sets. Independent ones from a `generator`
    estimate the decomposition as defined. Resampled ones approximate it: bootstrap samples overlap
    and hold 63.2 % of the rows, so that bias is slightly overestimated, and variance is conditional
    on the given training set.

    Noise is separable from bias only if ȳ(x) is known (`true_target`), or if every test row is
    repeated, so that ȳ(x) is the mean (0/1 loss: the mode) of equal rows. Otherwise their sum is
    returned as `bias_and_noise`.

    Parameters
    ----------
    estimator : estimator
        Object with `fit` and `predict`. A `random_state` of None is set to a different seed for
        each training set, so that the estimator's own randomness counts as variance; any other
        value is kept.
    X, y : table and array, or None
        Data that training sets are resampled from; None with a `generator`.
    X_test, y_test : table and array, or None
        Test rows, disjoint from X. None draws them from the `generator`.
    generator : callable or None, default=None
        Function of a NumPy `Generator` that returns a new training set (X, y).
    true_target : callable, array or None, default=None
        ȳ: a function of X_test, or its values for the rows of X_test. For the 0/1 loss, the most
        probable class.
    n_repeats : int, default=100
        Number of training sets, at least 3.
    max_samples : float, default=1.0
        Size of a resampled training set as a share of the rows of X.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement. If False and max_samples=1, all training sets are
        the same, and the variance is due to the estimator's own randomness.
    loss : {"squared_error", "zero_one"} or None, default=None
        None means "zero_one" for classifiers, "squared_error" otherwise.
    random_state : int, RandomState instance or None, default=None
        Seed of the training sets and of the models.
    n_jobs : int or None, default=None
        Number of processes, as in scikit-learn: None means 1, -1 all cores. Does not affect the
        result.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Returns
    -------
    SquaredDecomposition or ZeroOneDecomposition
        `error` and its components, their `standard_errors` and `per_row` values.

    Notes
    -----
    For squared error, the variance uses n_repeats - 1 degrees of freedom and its contribution to
    bias² is subtracted, so that both are unbiased and still add up to the error. The components of
    the 0/1 loss are plug-in estimates; with few training sets the variance is underestimated.

    Examples
    --------
    A linear model and a fully grown tree on a sine with noise of variance 0.09:

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weald import DecisionTreeRegressor
    >>> from weald.theory import bias_variance
    >>> def draw(rng):
    ...     x = rng.uniform(0, 6, size=(50, 1))
    ...     return x, np.sin(x[:, 0]) + rng.normal(scale=0.3, size=50)
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, size=(500, 1))
    >>> y = np.sin(x[:, 0]) + rng.normal(scale=0.3, size=500)
    >>> def decompose(model):
    ...     return bias_variance(
    ...         model, X_test=x, y_test=y, generator=draw,
    ...         true_target=lambda x: np.sin(x[:, 0]), random_state=0,
    ...     )
    >>> line, tree = decompose(LinearRegression()), decompose(DecisionTreeRegressor())
    >>> line.bias_squared > 10 * tree.bias_squared, tree.variance > 5 * line.variance
    (True, True)
    >>> line.noise == tree.noise
    True
    """
    check_estimator_like(_FUNCTION, estimator)
    check_common_arguments(_FUNCTION, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(_FUNCTION, Whole(3), n_repeats=n_repeats)
    check(_FUNCTION, Real(0.0, 1.0, open_below=True), max_samples=max_samples)
    check(_FUNCTION, OneOf((False, True)), bootstrap=bootstrap)
    check(_FUNCTION, NoneOr(OneOf(("squared_error", "zero_one"))), loss=loss)
    if loss is None:
        loss = "zero_one" if is_classifier(estimator) else "squared_error"
    for_test, *seeds = seeds_of(random_state, int(n_repeats) + 1)
    draw = _training_sets(generator, X, y, max_samples, bootstrap, loss == "zero_one")
    table, target = _test_rows(generator, X_test, y_test, for_test)
    scorer = Scorer(_target_for(loss, target), loss)
    predictions = run_parallel(
        _test_predictions,
        seeds,
        estimator,
        draw,
        scorer,
        table,
        n_jobs=n_jobs,
        verbose=verbose,
        label=_FUNCTION,
    )
    decompose = _squared if loss == "squared_error" else _zero_one
    return decompose(np.array(predictions), scorer.target, table, true_target)


def _training_sets(
    generator: Draw | None, X: Any, y: Any, max_samples: float, bootstrap: bool, is_classes: bool
) -> Draw:
    """Return the function that draws a training set: the user's generator, or resampling."""
    if generator is None:
        table = table_of(X)
        target = target_of(table, y)
        _target_for("zero_one" if is_classes else "squared_error", target)
        n_draws = max(1, round(float(max_samples) * len(target)))
        return Resampling(table, target, n_draws, bool(bootstrap), is_classes)
    if not callable(generator):
        raise TypeError(
            f"The 'generator' parameter of {_FUNCTION} must be a function of a NumPy Generator "
            f"that returns (X, y). Got {generator!r} instead."
        )
    if X is not None or y is not None or max_samples != 1.0 or not bootstrap:
        raise ValueError(
            f"{_FUNCTION}: X, y, max_samples and bootstrap have no effect with a generator; pass "
            "either those or the generator."
        )
    return generator


def _test_rows(
    generator: Draw | None, X_test: Any, y_test: Any, seed: np.random.SeedSequence
) -> tuple[Any, NDArray[Any]]:
    """Return the test rows, drawn from the generator if none are given."""
    if generator is not None and X_test is None and y_test is None:
        X_test, y_test = _drawn(generator, seed)
    if X_test is None:
        raise ValueError(
            f"{_FUNCTION} needs X_test and y_test: rows that are not in the training data."
        )
    table = table_of(X_test)
    return table, target_of(table, y_test, of="y_test")


def _drawn(draw: Draw, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    drawn = draw(np.random.default_rng(seed))
    if not isinstance(drawn, tuple) or len(drawn) != 2:
        raise TypeError(
            f"The 'generator' of {_FUNCTION} must return a pair (X, y); it returned "
            f"{type(drawn).__name__}."
        )
    return drawn


def _target_for(loss: str, target: NDArray[Any]) -> NDArray[Any]:
    if loss == "squared_error":
        return finite_target(target)
    check_classification_targets(target)
    return target


def _test_predictions(
    seed: np.random.SeedSequence, estimator: Any, draw: Draw, scorer: Scorer, table: Any
) -> NDArray[Any]:
    """Fit a model on one training set and return its predictions for the test rows."""
    for_rows, for_model = seed.spawn(2)
    X, y = _drawn(draw, for_rows)
    return scorer.predict(seeded_clone(estimator, for_model).fit(X, y), table)


def _squared(
    predictions: NDArray[Any], target: NDArray[Any], table: Any, true_target: Any
) -> SquaredDecomposition:
    predictions = np.array([finite_target(row, of="The predictions") for row in predictions])
    expected = expected_target(table, target, true_target, group_means)
    if expected.values is not None:
        known = finite_target(expected.values, of="true_target")
        expected = Expected(expected.source, known, expected.groups)
    fields = decomposed(squared_parts, predictions, target, expected)
    return SquaredDecomposition(
        **{"bias_squared": None, "remainder": 0.0, **fields},
        loss="squared_error",
        predictions=read_only(predictions),
    )


def _zero_one(
    predictions: NDArray[Any], target: NDArray[Any], table: Any, true_target: Any
) -> ZeroOneDecomposition:
    # Encode labels of y_test, predictions and true_target together.
    encoder = _LabelEncoder(predictions, target)
    codes = encoder.encode(target)
    expected = expected_target(table, codes, true_target, group_modes)
    if expected.source == "true_target":
        encoder = _LabelEncoder(predictions, target, expected.values)
        expected = Expected(expected.source, encoder.encode(expected.values), expected.groups)
    fields = decomposed(
        zero_one_parts, encoder.encode(predictions), encoder.encode(target), expected
    )
    return ZeroOneDecomposition(
        **{"bias": None, "noise_effect": None, **fields},
        loss="zero_one",
        predictions=read_only(predictions),
    )


class _LabelEncoder:
    """Label encoder over several arrays of labels."""

    def __init__(self, *labels: Any) -> None:
        self.labels = np.unique(np.concatenate([np.ravel(part) for part in labels]))

    def encode(self, labels: Any) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(self.labels, labels), dtype=np.intp)

"""Bias, variance and noise of any estimator, by training it again and again."""

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
    check_estimator_like,
    check_work,
    seeds_of,
    share_out,
    unfitted,
)
from weald.theory.judging import Judge
from weald.theory.repeats import Expected, expected_target, group_means
from weald.theory.results import read_only
from weald.theory.squared_parts import squared_parts
from weald.theory.zero_one_parts import group_modes, zero_one_parts

Draw = Callable[[np.random.Generator], tuple[Any, Any]]

_ME = "bias_variance"


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
    """Cut the expected error of an estimator into bias, variance and noise.

    Squared error: E[(f̂ - y)²] = E[(f̂ - f̄)²] + E[(f̄ - ȳ)²] + E[(ȳ - y)²], variance + bias² +
    noise, where f̄(x) is the mean answer over training sets and ȳ(x) the expected target.

    0/1 loss (Domingos 2000): the main prediction is the most frequent answer over training sets;
    bias B(x) is 1 where it is not the best answer, variance V(x) is the share of answers that
    differ from it. Variance adds to the error where there is no bias; where there is, only those
    answers that hit the best one take off from it. With two classes and no noise, error = B +
    (1 - 2B)V.

    The estimator is trained on `n_repeats` training sets. Fresh ones from a `generator` give the
    decomposition as it is defined. Resampled ones only imitate it: bootstrap samples hold 63.2 % of
    the rows and share many of them, so that bias comes out a little too high, and variance is that
    around the training set at hand.

    Noise can be told from bias only where ȳ(x) is known (`true_target`), or where every test row
    is repeated, so that ȳ(x) is the mean (0/1 loss: the most frequent class) of equal rows.
    Otherwise both are given as one, `bias_and_noise`.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit` and `predict`. A `random_state` that is None is set, for every training
        set another one, and the randomness of the learner counts as variance; one that is given
        stays.
    X, y : table and array, or None
        What training sets are resampled from; None with a `generator`.
    X_test, y_test : table and array, or None
        Rows to judge on, not among those of X. With a `generator` None draws them from it.
    generator : callable or None, default=None
        Called with a NumPy `Generator`, gives a fresh training set (X, y).
    true_target : callable, array or None, default=None
        ȳ: a function of X_test or the values for its rows. For the 0/1 loss the most probable
        class.
    n_repeats : int, default=100
        Number of training sets, at least 3.
    max_samples : float, default=1.0
        Rows of a resampled training set as a share of those of X.
    bootstrap : bool, default=True
        Draw rows with replacement. Without it and with max_samples=1 all training sets are the
        same, and the variance is that of the learner's own randomness.
    loss : {"squared_error", "zero_one"} or None, default=None
        None means "zero_one" for classifiers and "squared_error" for all else.
    random_state : int, RandomState instance or None, default=None
        For the training sets and the models.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn: None means one, -1 all. The result is the same for any.
    verbose : int, default=0
        1 shows a bar on stderr.

    Returns
    -------
    SquaredDecomposition or ZeroOneDecomposition
        `error` and its parts, their `standard_errors`, and all of it `per_row`; prints as a table.

    Notes
    -----
    The variance of squared error is divided by n_repeats - 1 and its share is taken out of bias²,
    so that both are right on average; they still add up to the error. The parts of the 0/1 loss
    are plain shares, and with few training sets the variance comes out too low.

    Examples
    --------
    A straight line and a full tree on a sine with noise of variance 0.09:

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
    >>> def judge(model):
    ...     return bias_variance(
    ...         model, X_test=x, y_test=y, generator=draw,
    ...         true_target=lambda x: np.sin(x[:, 0]), random_state=0,
    ...     )
    >>> line, tree = judge(LinearRegression()), judge(DecisionTreeRegressor())
    >>> line.bias_squared > 10 * tree.bias_squared, tree.variance > 5 * line.variance
    (True, True)
    >>> line.noise == tree.noise
    True
    """
    check_estimator_like(_ME, estimator)
    check_work(_ME, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(_ME, Whole(3), n_repeats=n_repeats)
    check(_ME, Real(0.0, 1.0, open_below=True), max_samples=max_samples)
    check(_ME, OneOf((False, True)), bootstrap=bootstrap)
    check(_ME, NoneOr(OneOf(("squared_error", "zero_one"))), loss=loss)
    if loss is None:
        loss = "zero_one" if is_classifier(estimator) else "squared_error"
    for_test, *seeds = seeds_of(random_state, int(n_repeats) + 1)
    draw = _training_sets(generator, X, y, max_samples, bootstrap, loss == "zero_one")
    table, target = _test_rows(generator, X_test, y_test, for_test)
    judge = Judge(_target_for(loss, target), loss)
    answers = share_out(
        _answers,
        seeds,
        estimator,
        draw,
        judge,
        table,
        n_jobs=n_jobs,
        verbose=verbose,
        label=_ME,
    )
    cut = _squared if loss == "squared_error" else _zero_one
    return cut(np.array(answers), judge.target, table, true_target)


def _training_sets(
    generator: Draw | None, X: Any, y: Any, max_samples: float, bootstrap: bool, is_classes: bool
) -> Draw:
    """What draws a training set: the user's generator, or resampling."""
    if generator is None:
        table = table_of(X)
        target = target_of(table, y)
        _target_for("zero_one" if is_classes else "squared_error", target)
        n_draws = max(1, round(float(max_samples) * len(target)))
        return Resampling(table, target, n_draws, bool(bootstrap), is_classes)
    if not callable(generator):
        raise TypeError(
            f"The 'generator' parameter of {_ME} must be a function of a NumPy Generator that "
            f"gives (X, y). Got {generator!r} instead."
        )
    if X is not None or y is not None or max_samples != 1.0 or not bootstrap:
        raise ValueError(
            f"{_ME}: training sets come from the generator, so that X, y, max_samples and "
            "bootstrap have no meaning; give either those or the generator."
        )
    return generator


def _test_rows(
    generator: Draw | None, X_test: Any, y_test: Any, seed: np.random.SeedSequence
) -> tuple[Any, NDArray[Any]]:
    """The rows to judge on; fresh ones if a generator can draw them."""
    if generator is not None and X_test is None and y_test is None:
        X_test, y_test = _drawn(generator, seed)
    if X_test is None:
        raise ValueError(f"{_ME} needs X_test and y_test: rows that are not trained on.")
    table = table_of(X_test)
    return table, target_of(table, y_test, of="y_test")


def _drawn(draw: Draw, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    drawn = draw(np.random.default_rng(seed))
    if not isinstance(drawn, tuple) or len(drawn) != 2:
        raise TypeError(
            f"The 'generator' of {_ME} must give a pair (X, y); it gave {type(drawn).__name__}."
        )
    return drawn


def _target_for(loss: str, target: NDArray[Any]) -> NDArray[Any]:
    if loss == "squared_error":
        return finite_target(target)
    check_classification_targets(target)
    return target


def _answers(
    seed: np.random.SeedSequence, estimator: Any, draw: Draw, judge: Judge, table: Any
) -> NDArray[Any]:
    """Train on one training set and answer for the test rows."""
    for_rows, for_model = seed.spawn(2)
    X, y = _drawn(draw, for_rows)
    return judge.ask(unfitted(estimator, for_model).fit(X, y), table)


def _squared(
    answers: NDArray[Any], target: NDArray[Any], table: Any, true_target: Any
) -> SquaredDecomposition:
    answers = np.array([finite_target(row, of="The answers") for row in answers])
    expected = expected_target(table, target, true_target, group_means)
    if expected.values is not None:
        known = finite_target(expected.values, of="true_target")
        expected = Expected(expected.source, known, expected.groups)
    fields = decomposed(squared_parts, answers, target, expected)
    return SquaredDecomposition(
        **{"bias_squared": None, "remainder": 0.0, **fields},
        loss="squared_error",
        predictions=read_only(answers),
    )


def _zero_one(
    answers: NDArray[Any], target: NDArray[Any], table: Any, true_target: Any
) -> ZeroOneDecomposition:
    # Class numbers for all labels that occur anywhere.
    numbers = _Numbers(answers, target)
    codes = numbers.of(target)
    expected = expected_target(table, codes, true_target, group_modes)
    if expected.source == "true_target":
        numbers = _Numbers(answers, target, expected.values)
        expected = Expected(expected.source, numbers.of(expected.values), expected.groups)
    fields = decomposed(zero_one_parts, numbers.of(answers), numbers.of(target), expected)
    return ZeroOneDecomposition(
        **{"bias": None, "noise_effect": None, **fields},
        loss="zero_one",
        predictions=read_only(answers),
    )


class _Numbers:
    """Labels as whole numbers, in sorted order."""

    def __init__(self, *labels: Any) -> None:
        self.labels = np.unique(np.concatenate([np.ravel(part) for part in labels]))

    def of(self, labels: Any) -> NDArray[np.intp]:
        return np.asarray(np.searchsorted(self.labels, labels), dtype=np.intp)

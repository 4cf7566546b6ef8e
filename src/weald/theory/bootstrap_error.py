"""The .632 and .632+ bootstrap estimates of prediction error (Efron and Tibshirani 1997)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.parameters import Whole
from weald.theory.arguments import Floats, check, table_of, take, target_of
from weald.theory.fitting import (
    Resampling,
    check_common_arguments,
    check_estimator_like,
    run_parallel,
    seeded_clone,
    seeds_of,
)
from weald.theory.results import Report, lines, read_only
from weald.theory.scoring import Loss, Scorer, scorer_for


@dataclass(frozen=True, eq=False)
class BootstrapError(Report):
    """Result of `error_632` and `error_632plus`: the error of one model, not of an ensemble.

    Attributes
    ----------
    error : float
        Estimate: (1 - weight)·apparent + weight·left_out (".632+": the smaller of left_out
        and no_information).
    method : str
        ".632" or ".632+".
    apparent : float
        err: training loss of the model fitted on all rows.
    left_out : float
        Err⁽¹⁾: out-of-bag loss, averaged per row over models that did not see it, then over rows.
    no_information : float
        γ: mean loss over all pairs of a target and a prediction, as if y were independent of x.
    overfitting : float
        R: relative overfitting rate, from 0 (Err⁽¹⁾ = err) to 1 (Err⁽¹⁾ = γ).
    weight : float
        Weight of Err⁽¹⁾: .632, or for ".632+" between .632 (R = 0) and 1 (R = 1).
    n_members, n_rows : int
        Number of bootstrap models, and of rows.
    n_unscored : int
        Number of rows that were in every bootstrap sample; they do not enter Err⁽¹⁾.
    row_left_out : array of shape (rows,)
        Mean loss of the models that did not see the row; NaN if there is none.
    """

    error: float
    method: str
    loss: str
    apparent: float
    left_out: float
    no_information: float
    overfitting: float
    weight: float
    n_members: int
    n_rows: int
    n_unscored: int
    row_left_out: Floats = field(repr=False)

    def __float__(self) -> float:
        return self.error

    def __str__(self) -> str:
        title = f"{self.loss}, {self.method} estimate from {self.n_members} bootstrap models"
        entries: list[tuple[str, str, float, float | None]] = [
            ("", "estimate", self.error, None),
            ("", "apparent error", self.apparent, None),
            ("", "left-out error", self.left_out, None),
        ]
        if self.method == ".632+":
            entries += [
                ("", "no-information error", self.no_information, None),
                ("", "overfitting rate", self.overfitting, None),
            ]
        entries.append(("", "weight of left-out", self.weight, None))
        note = f"Error of a single model trained on {self.n_rows} rows, not of an ensemble."
        return lines(title, entries, note)


def error_632(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 200,
    loss: Loss | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BootstrapError:
    """Bootstrap .632 estimate of the prediction error: 0.368·err + 0.632·Err⁽¹⁾.

    err is the training error, which is too low. Err⁽¹⁾ is the out-of-bag error of models trained on
    bootstrap samples, averaged per row; such samples hold only 63.2 % of the rows, so it is too
    high. The estimate is that of **one model trained on n rows**. To estimate the error of an
    ensemble of such models, use its out-of-bag score.

    It is too low for estimators that interpolate the training set (err = 0), such as 1-nearest
    neighbour and fully grown trees; use `error_632plus` for these.

    Parameters
    ----------
    estimator : estimator
        Object with `fit` and `predict`. A `random_state` of None is set to a different seed for
        each fit; any other value is kept.
    X : table, shape (rows, columns)
        Array, data frame or sparse matrix.
    y : array, shape (rows,)
        Target. A bootstrap sample that contains a single class is redrawn.
    n_repeats : int, default=200
        Number of bootstrap samples.
    loss : str, callable or None, default=None
        "zero_one", "log_loss", "squared_error", "absolute_error", or a callable with the signature
        (y, predictions) that returns one number per row. None means "zero_one" for classifiers,
        "squared_error" otherwise.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the models.
    n_jobs : int or None, default=None
        Number of processes, as in scikit-learn: None means 1, -1 all cores. Does not affect the
        result.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Returns
    -------
    BootstrapError
        `error` and its components.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import DecisionTreeClassifier
    >>> from weald.theory import error_632
    >>> cancer = load_breast_cancer()
    >>> tree = DecisionTreeClassifier(max_depth=3)
    >>> found = error_632(tree, cancer.data, cancer.target, n_repeats=50, random_state=0)
    >>> found.error == 0.368 * found.apparent + 0.632 * found.left_out
    True
    >>> found.apparent < found.error < found.left_out
    True
    """
    settings = {"n_repeats": n_repeats, "loss": loss, "random_state": random_state}
    return _of_estimator(
        "error_632", estimator, X, y, n_jobs=n_jobs, verbose=verbose, plus=False, **settings
    )


def error_632plus(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int = 200,
    loss: Loss | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BootstrapError:
    """Bootstrap .632+ estimate of the prediction error, which accounts for overfitting.

    With err and Err⁽¹⁾ as in `error_632`, and γ the mean loss over all pairs (y_i, prediction_j) of
    the model trained on all rows: R = (Err⁽¹⁾ - err)/(γ - err), clipped to [0, 1];
    w = .632/(1 - .368R); the estimate is (1 - w)·err + w·min(Err⁽¹⁾, γ). Without overfitting
    (R = 0) it equals the .632 estimate, with complete overfitting (R = 1) it equals Err⁽¹⁾.

    Like the .632 estimate, it is the error of **one model trained on n rows**, not of an ensemble.

    Parameters
    ----------
    estimator : estimator
        Object with `fit` and `predict`. A `random_state` of None is set to a different seed for
        each fit; any other value is kept.
    X : table, shape (rows, columns)
        Array, data frame or sparse matrix.
    y : array, shape (rows,)
        Target. A bootstrap sample that contains a single class is redrawn.
    n_repeats : int, default=200
        Number of bootstrap samples.
    loss : str, callable or None, default=None
        As for `error_632`.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the models.
    n_jobs : int or None, default=None
        Number of processes, as in scikit-learn: None means 1, -1 all cores. Does not affect the
        result.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Returns
    -------
    BootstrapError
        `error` and its components.

    Examples
    --------
    A fully grown tree has no training error:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import DecisionTreeClassifier
    >>> from weald.theory import error_632, error_632plus
    >>> cancer = load_breast_cancer()
    >>> tree, settings = DecisionTreeClassifier(), {"n_repeats": 50, "random_state": 0}
    >>> plus = error_632plus(tree, cancer.data, cancer.target, **settings)
    >>> plus.apparent, plus.error > error_632(tree, cancer.data, cancer.target, **settings).error
    (0.0, True)
    """
    settings = {"n_repeats": n_repeats, "loss": loss, "random_state": random_state}
    return _of_estimator(
        "error_632plus", estimator, X, y, n_jobs=n_jobs, verbose=verbose, plus=True, **settings
    )


def error_632_from_members(
    predictions: Any, in_bag: Any, fitted: Any, y: Any, *, loss: Loss, plus: bool = False
) -> BootstrapError:
    """Compute the .632 or .632+ estimate from predictions and in-bag counts of bootstrap models.

    For an already fitted bagging ensemble. The estimate is the error of its base estimator trained
    on all rows, not of the ensemble. See `error_632`.

    Parameters
    ----------
    predictions : array, shape (models, rows), for "log_loss" (models, rows, classes)
        Predictions of every model for every row; only out-of-bag entries are read. Classes are in
        sorted order.
    in_bag : array, shape (models, rows)
        How often each row is in each model's training sample.
    fitted : array, shape (rows,) or (rows, classes)
        Predictions of the model trained on all rows.
    y : array, shape (rows,)
        Target.
    loss : str or callable
        As for `error_632`.
    plus : bool, default=False
        Whether to compute the .632+ estimate.

    Returns
    -------
    BootstrapError

    Examples
    --------
    >>> import numpy as np
    >>> from weald.theory import error_632_from_members
    >>> y, fitted = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])
    >>> predictions = np.array([[0, 1, 1, 1], [0, 0, 0, 1]])
    >>> in_bag = np.array([[2, 0, 2, 0], [0, 2, 0, 2]])
    >>> found = error_632_from_members(predictions, in_bag, fitted, y, loss="zero_one")
    >>> found.apparent, found.left_out, found.error
    (0.0, 0.5, 0.316)
    """
    function = "error_632_from_members"
    predictions, seen, target = np.asarray(predictions), np.asarray(in_bag), np.asarray(y)
    scorer = scorer_for(function, target, loss)
    if seen.ndim != 2 or predictions.shape[:2] != seen.shape or seen.shape[1:] != target.shape:
        raise ValueError(
            "predictions must have the shape (models, rows) or (models, rows, classes), in_bag "
            f"(models, rows) and y (rows,); got {predictions.shape}, {seen.shape} and "
            f"{target.shape}."
        )
    whole = scorer.checked(np.asarray(fitted), of="The predictions in 'fitted'")
    if len(whole) != len(target):
        raise ValueError(f"fitted must have {len(target)} rows, as y has; it has {len(whole)}.")
    models = (
        (rows, scorer.checked(mine[rows], of=f"The predictions of model {k}"))
        for k, (mine, rows) in enumerate(
            (mine, np.flatnonzero(row == 0)) for mine, row in zip(predictions, seen, strict=True)
        )
    )
    return _estimate(scorer, whole, models, plus=plus)


def _of_estimator(
    function: str,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_repeats: int,
    loss: Any,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
    plus: bool,
) -> BootstrapError:
    """Fit models on all rows and on bootstrap samples, and estimate the error from both."""
    check_estimator_like(function, estimator)
    check_common_arguments(function, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(function, Whole(1), n_repeats=n_repeats)
    table = table_of(X)
    target = target_of(table, y)
    scorer = scorer_for(function, target, loss, estimator)
    is_classification = scorer.loss in ("zero_one", "log_loss")
    bootstrap = Resampling(table, target, len(target), True, is_classification)
    first, *seeds = seeds_of(random_state, int(n_repeats) + 1)
    whole = scorer.predict(seeded_clone(estimator, first).fit(table, target), table)
    models = run_parallel(
        _bootstrap_model,
        seeds,
        estimator,
        bootstrap,
        scorer,
        n_jobs=n_jobs,
        verbose=verbose,
        label=function,
    )
    return _estimate(scorer, whole, iter(models), plus=plus)


def _bootstrap_model(
    seed: np.random.SeedSequence, estimator: Any, bootstrap: Resampling, scorer: Scorer
) -> tuple[NDArray[np.intp], NDArray[Any] | None]:
    """Return the out-of-bag rows of a bootstrap sample, and the predictions for them."""
    for_rows, for_model = seed.spawn(2)
    rows = bootstrap.rows(np.random.default_rng(for_rows))
    others = np.setdiff1d(np.arange(len(bootstrap.y)), rows)
    if not len(others):
        return others, None
    model = seeded_clone(estimator, for_model).fit(take(bootstrap.X, rows), bootstrap.y[rows])
    return others, scorer.predict(model, take(bootstrap.X, others))


def _estimate(
    scorer: Scorer,
    whole: NDArray[Any],
    models: Iterator[tuple[NDArray[np.intp], NDArray[Any] | None]],
    *,
    plus: bool,
) -> BootstrapError:
    """Combine err, Err⁽¹⁾ and γ."""
    n = len(scorer.target)
    sums, n_out, n_members = np.zeros(n), np.zeros(n), 0
    for rows, predictions in models:
        n_members += 1
        if predictions is not None and len(rows):
            sums[rows] += scorer.losses(predictions, rows)
            n_out[rows] += 1
    if not n_out.any():
        raise ValueError(
            "No row is out of bag, so that no error can be estimated: use more bootstrap samples."
        )
    per_row = np.divide(sums, n_out, out=np.full(n, np.nan), where=n_out > 0)
    err, err1 = float(scorer.losses(whole).mean()), float(np.nanmean(per_row))
    gamma = scorer.mean_over_pairs(whole)
    rate = min(1.0, (err1 - err) / (gamma - err)) if min(err1, gamma) > err else 0.0
    weight = 0.632 / (1 - 0.368 * rate) if plus else 0.632
    beyond = min(err1, gamma) if plus else err1
    return BootstrapError(
        error=(1 - weight) * err + weight * beyond if plus else 0.368 * err + 0.632 * err1,
        method=".632+" if plus else ".632",
        loss=scorer.loss_name,
        apparent=err,
        left_out=err1,
        no_information=gamma,
        overfitting=rate,
        weight=weight,
        n_members=n_members,
        n_rows=n,
        n_unscored=int((n_out == 0).sum()),
        row_left_out=read_only(per_row),
    )

"""K-fold and leave-one-out cross-validation."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.parameters import OneOf, Whole
from weald.theory.arguments import Floats, check, table_of, take, target_of
from weald.theory.fitting import (
    Rows,
    check_common_arguments,
    check_estimator_like,
    run_parallel,
    seeded_clone,
    seeds_of,
)
from weald.theory.results import Report, lines, read_only
from weald.theory.scoring import Loss, Scorer, scorer_for


@dataclass(frozen=True, eq=False)
class Validation(Report):
    """Result of `cross_validate`.

    Attributes
    ----------
    mean : float
        Mean of the fold errors.
    pooled : float
        Mean loss over all rows; differs from `mean` if fold sizes differ.
    standard_error : float
        Standard deviation of the fold errors divided by √K. Slightly too small, because the folds
        share training rows.
    fold_errors, fold_sizes : array of shape (folds,)
        Mean loss and number of rows of each fold.
    fold : array of int, shape (rows,)
        Fold in which each row was in the test set.
    predictions : array of shape (rows,)
        Prediction of the model that was not trained on the row.
    row_losses : array of shape (rows,)
        Loss of that prediction.
    """

    loss: str
    mean: float
    pooled: float
    standard_error: float
    fold_errors: Floats = field(repr=False)
    fold_sizes: NDArray[np.intp] = field(repr=False)
    fold: NDArray[np.intp] = field(repr=False)
    predictions: NDArray[Any] = field(repr=False)
    row_losses: Floats = field(repr=False)

    def __str__(self) -> str:
        entries = [
            ("", "mean of folds", self.mean, self.standard_error),
            ("", "pooled over rows", self.pooled, None),
        ]
        title = f"{self.loss}, {len(self.fold_errors)} folds of {len(self.fold)} rows"
        return lines(title, entries, "")


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    k: int | str = 5,
    loss: Loss | None = None,
    groups: Any = None,
    shuffle: bool = False,
    stratify: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Validation:
    """K-fold or leave-one-out cross-validation with per-row predictions and losses.

    The error is that of models trained on (K - 1)/K of the rows, hence slightly too high. The folds
    are those of scikit-learn's `KFold`, `GroupKFold`, `StratifiedKFold` and `StratifiedGroupKFold`
    with the same parameters; leave-one-out is K = n.

    Parameters
    ----------
    estimator : estimator
        Object with `fit` and `predict`. A `random_state` of None is set to a different seed for
        each fold; any other value is kept.
    X : table, shape (rows, columns)
        Array, data frame or sparse matrix.
    y : array, shape (rows,)
        Target.
    k : int or "loo", default=5
        Number of folds; "loo" leaves out one row (with `groups`: one group) at a time.
    loss : str, callable or None, default=None
        "zero_one", "log_loss", "squared_error", "absolute_error", or a callable with the signature
        (y, predictions) that returns one number per row. None means "zero_one" for classifiers,
        "squared_error" otherwise.
    groups : array, shape (rows,), or None, default=None
        Group labels; rows of one group are in the same fold.
    shuffle : bool, default=False
        Whether to shuffle rows (with `groups` and without `stratify`: groups) before splitting.
        Needed for rows that are sorted, for example by class.
    stratify : bool, default=False
        Whether to preserve the class frequencies in every fold.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling and of the models.
    n_jobs : int or None, default=None
        Number of processes, as in scikit-learn: None means 1, -1 all cores. Does not affect the
        result.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Returns
    -------
    Validation
        `mean`, `pooled`, `fold_errors`, and the prediction and loss of every row.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import DecisionTreeClassifier
    >>> from weald.theory import cross_validate
    >>> cancer = load_breast_cancer()
    >>> found = cross_validate(DecisionTreeClassifier(max_depth=3), cancer.data, cancer.target, k=5)
    >>> print(found)
    zero_one, 5 folds of 569 rows
      mean of folds        0.0826424  ± 0.014
      pooled over rows     0.0826011
    """
    function = "cross_validate"
    check_estimator_like(function, estimator)
    check_common_arguments(function, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(function, OneOf((False, True)), shuffle=shuffle, stratify=stratify)
    table = table_of(X)
    target = target_of(table, y)
    scorer = scorer_for(function, target, loss, estimator)
    parts = _folds(table, target, k, groups, shuffle, stratify, random_state)
    jobs = list(zip(parts, seeds_of(random_state, len(parts)), strict=True))
    predictions = run_parallel(
        _fold_predictions,
        jobs,
        estimator,
        table,
        target,
        scorer,
        n_jobs=n_jobs,
        verbose=verbose,
        label=function,
    )
    return _collect(scorer, parts, predictions)


def _fold_predictions(
    job: tuple[Rows, np.random.SeedSequence],
    estimator: Any,
    table: Any,
    target: NDArray[Any],
    scorer: Scorer,
) -> NDArray[Any]:
    """Fit a model on all other rows and return its predictions for the fold."""
    part, seed = job
    others = np.setdiff1d(np.arange(len(target)), part, assume_unique=True)
    model = seeded_clone(estimator, seed).fit(take(table, others), target[others])
    return scorer.predict(model, take(table, part))


def _collect(scorer: Scorer, parts: list[Rows], predictions: list[NDArray[Any]]) -> Validation:
    """Collect the results of all folds in row order."""
    order = np.argsort(np.concatenate(parts))
    sizes = np.array([len(part) for part in parts])
    losses = [scorer.losses(mine, part) for mine, part in zip(predictions, parts, strict=True)]
    row_losses = np.concatenate(losses)[order]
    errors = np.array([mine.mean() for mine in losses])
    return Validation(
        loss=scorer.loss_name,
        mean=float(errors.mean()),
        pooled=float(row_losses.mean()),
        standard_error=float(errors.std(ddof=1) / np.sqrt(len(errors))),
        fold_errors=read_only(errors),
        fold_sizes=read_only(sizes),
        fold=read_only(np.repeat(np.arange(len(parts)), sizes)[order]),
        predictions=read_only(np.concatenate(predictions)[order]),
        row_losses=read_only(row_losses),
    )


def _folds(
    table: Any,
    target: NDArray[Any],
    k: Any,
    groups: Any,
    shuffle: bool,
    stratify: bool,
    random_state: Any,
) -> list[Rows]:
    """Return the test rows of each fold."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    units, unit = (target, "rows") if groups is None else (np.unique(_groups(groups)), "groups")
    if groups is not None:
        target_of(table, groups, of="groups")
    if k == "loo" and stratify:
        raise ValueError("cross_validate: k='loo' cannot be stratified; set stratify=False.")
    if k != "loo":
        check("cross_validate", Whole(2), k=k)
    n_folds = len(units) if k == "loo" else int(k)
    if not 2 <= n_folds <= len(units):
        raise ValueError(
            f"cross_validate needs at least 2 folds and at most as many as {unit}; got k={k!r} "
            f"and {len(units)} {unit}."
        )
    kinds = {
        (False, False): KFold,
        (True, False): StratifiedKFold,
        (False, True): GroupKFold,
        (True, True): StratifiedGroupKFold,
    }
    kind = kinds[bool(stratify), groups is not None]
    splitter = kind(n_folds, shuffle=bool(shuffle), random_state=random_state if shuffle else None)
    labels = None if groups is None else _groups(groups)
    blank = np.zeros((len(target), 1))
    return [test for _, test in splitter.split(blank, target, labels)]


def _groups(groups: Any) -> NDArray[Any]:
    return np.asarray(groups)

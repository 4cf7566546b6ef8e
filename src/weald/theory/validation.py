"""Validation on rows that were not trained on: K folds, and one row at a time."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.parameters import OneOf, Whole
from weald.theory.arguments import Floats, check, table_of, take, target_of
from weald.theory.fitting import (
    Rows,
    check_estimator_like,
    check_work,
    seeds_of,
    share_out,
    unfitted,
)
from weald.theory.judging import Judge, Loss, judge_for
from weald.theory.results import Report, lines, read_only


@dataclass(frozen=True, eq=False)
class Validation(Report):
    """What `cross_validate` found.

    Attributes
    ----------
    mean : float
        Mean of the errors of the folds.
    pooled : float
        Mean loss over all rows; differs from `mean` where folds differ in size.
    standard_error : float
        Of `mean`: the standard deviation over folds divided by √K. The folds share training rows,
        so it is somewhat too small.
    fold_errors, fold_sizes : array, one entry a fold
        Mean loss of each fold and its number of rows.
    fold : array of int, one entry a row
        The fold in which the row was tested.
    predictions : array, one entry a row
        The answer of the model that did not see the row.
    row_losses : array, one entry a row
        Its loss.
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
    """K-fold or leave-one-out validation: every row is judged by a model that did not see it.

    The rows are cut into K parts; K times one part is tested on and the others are trained on.
    Leave-one-out is the same with K = n. The error is that of a learner with (K - 1)/K of the rows,
    hence a little too high. The folds are those of scikit-learn's `KFold`, `GroupKFold`,
    `StratifiedKFold` and `StratifiedGroupKFold` with the same settings.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit` and `predict`. A `random_state` that is None is set, for every fold
        another one; one that is given stays.
    X : table, shape (rows, columns)
        Array, frame or sparse matrix.
    y : array, shape (rows,)
        The target.
    k : int or "loo", default=5
        Number of folds; "loo" leaves out one row (with `groups`: one group) at a time.
    loss : str, callable or None, default=None
        "zero_one", "log_loss", "squared_error", "absolute_error", or a function of (y, answers)
        that gives one number a row. None means "zero_one" for classifiers and "squared_error"
        for all else.
    groups : array, shape (rows,), or None, default=None
        Rows of one group are all in one fold.
    shuffle : bool, default=False
        Deal the rows into the folds at random. Rows that are sorted, by class or by time of
        measurement, need it. With groups that are not stratified, groups are dealt.
    stratify : bool, default=False
        Keep the shares of the classes in every fold.
    random_state : int, RandomState instance or None, default=None
        For shuffling and for the models.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn: None means one, -1 all. The result is the same for any.
    verbose : int, default=0
        1 shows a bar on stderr.

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
    me = "cross_validate"
    check_estimator_like(me, estimator)
    check_work(me, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(me, OneOf((False, True)), shuffle=shuffle, stratify=stratify)
    table = table_of(X)
    target = target_of(table, y)
    judge = judge_for(me, target, loss, estimator)
    parts = _folds(table, target, k, groups, shuffle, stratify, random_state)
    jobs = list(zip(parts, seeds_of(random_state, len(parts)), strict=True))
    answers = share_out(
        _tested,
        jobs,
        estimator,
        table,
        target,
        judge,
        n_jobs=n_jobs,
        verbose=verbose,
        label=me,
    )
    return _collected(judge, parts, answers)


def _tested(
    job: tuple[Rows, np.random.SeedSequence],
    estimator: Any,
    table: Any,
    target: NDArray[Any],
    judge: Judge,
) -> NDArray[Any]:
    """Train on all rows but a part, and answer for the part."""
    part, seed = job
    others = np.setdiff1d(np.arange(len(target)), part, assume_unique=True)
    model = unfitted(estimator, seed).fit(take(table, others), target[others])
    return judge.ask(model, take(table, part))


def _collected(judge: Judge, parts: list[Rows], answers: list[NDArray[Any]]) -> Validation:
    """Put the answers of all folds back into the order of the rows."""
    order = np.argsort(np.concatenate(parts))
    sizes = np.array([len(part) for part in parts])
    losses = [judge.losses(mine, part) for mine, part in zip(answers, parts, strict=True)]
    row_losses = np.concatenate(losses)[order]
    errors = np.array([mine.mean() for mine in losses])
    return Validation(
        loss=judge.loss_name,
        mean=float(errors.mean()),
        pooled=float(row_losses.mean()),
        standard_error=float(errors.std(ddof=1) / np.sqrt(len(errors))),
        fold_errors=read_only(errors),
        fold_sizes=read_only(sizes),
        fold=read_only(np.repeat(np.arange(len(parts)), sizes)[order]),
        predictions=read_only(np.concatenate(answers)[order]),
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
    """The rows that each fold tests on."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

    units, unit = (target, "rows") if groups is None else (np.unique(_groups(groups)), "groups")
    if groups is not None:
        target_of(table, groups, of="groups")
    if k == "loo" and stratify:
        raise ValueError("cross_validate: one row at a time cannot be stratified; drop stratify.")
    if k != "loo":
        check("cross_validate", Whole(2), k=k)
    n_folds = len(units) if k == "loo" else int(k)
    if not 2 <= n_folds <= len(units):
        raise ValueError(
            f"cross_validate needs at least 2 folds and no more than there are {unit}; got k={k!r} "
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
    marks = None if groups is None else _groups(groups)
    blank = np.zeros((len(target), 1))
    return [test for _, test in splitter.split(blank, target, marks)]


def _groups(groups: Any) -> NDArray[Any]:
    return np.asarray(groups)

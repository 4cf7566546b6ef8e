"""The .632 and .632+ estimates of the error of one learner (Efron, Tibshirani)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.parameters import Whole
from weald.theory.arguments import Floats, check, table_of, take, target_of
from weald.theory.fitting import (
    Resampling,
    check_estimator_like,
    check_work,
    seeds_of,
    share_out,
    unfitted,
)
from weald.theory.judging import Judge, Loss, judge_for
from weald.theory.results import Report, lines, read_only


@dataclass(frozen=True, eq=False)
class BootstrapError(Report):
    """What `error_632` and `error_632plus` found: the error of one learner, not of an ensemble.

    Attributes
    ----------
    error : float
        The estimate: (1 - weight)·apparent + weight·left_out (".632+": the smaller of left_out
        and no_information).
    method : str
        ".632" or ".632+".
    apparent : float
        err: loss of the learner trained on all rows, on these rows.
    left_out : float
        Err⁽¹⁾: mean over rows of the mean loss of the members that did not see the row.
    no_information : float
        γ: mean loss over all pairs of a target and an answer, as if y did not depend on x.
    overfitting : float
        R: where Err⁽¹⁾ lies between err (0) and γ (1).
    weight : float
        Weight of Err⁽¹⁾: .632, or from .632 (R = 0) to 1 (R = 1).
    n_members, n_rows : int
        Members, and rows of the table.
    n_unscored : int
        Rows that every member saw; they are left out of Err⁽¹⁾.
    row_left_out : array, one entry a row
        Mean loss of the members that did not see the row; NaN if there is none.
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
        title = f"{self.loss}, {self.method} estimate from {self.n_members} members"
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
        whose = (
            f"This is the error of one learner trained on {self.n_rows} rows, not of an ensemble."
        )
        return lines(title, entries, whose)


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
    """The .632 estimate of the error of a learner: 0.368·err + 0.632·Err⁽¹⁾.

    err is the apparent error, that of the learner on its own training rows, and too low. Err⁽¹⁾ is
    the mean over rows of the mean loss of members, each trained on a bootstrap sample, that did not
    see the row; these have seen 63.2 % of the rows only, so it is too high. The estimate lies in
    between. It is the error of **one learner trained on n rows**, not of an ensemble of such
    members: that one is judged by its out-of-bag error.

    It is too low for learners that fit their training rows perfectly (err = 0 says nothing): one
    neighbour, full trees. `error_632plus` is made for them.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit` and `predict`. A `random_state` that is None is set, for every fit
        another one; one that is given stays.
    X : table, shape (rows, columns)
        Array, frame or sparse matrix.
    y : array, shape (rows,)
        The target. A bootstrap sample of one class only is drawn again.
    n_repeats : int, default=200
        Number of bootstrap samples.
    loss : str, callable or None, default=None
        "zero_one", "log_loss", "squared_error", "absolute_error", or a function of (y, answers)
        that gives one number a row. None means "zero_one" for classifiers and "squared_error"
        for all else.
    random_state : int, RandomState instance or None, default=None
        For the samples and the models.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn: None means one, -1 all. The result is the same for any.
    verbose : int, default=0
        1 shows a bar on stderr.

    Returns
    -------
    BootstrapError
        `error` and what it is made of.

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
    """The .632+ estimate of the error of a learner, which minds overfitting.

    With err and Err⁽¹⁾ as in `error_632`, and γ the mean loss over all pairs (y_i, answer_j) of the
    learner trained on all rows: R = (Err⁽¹⁾ - err)/(γ - err), cut to [0, 1]; w = .632/(1 - .368R);
    the estimate is (1 - w)·err + w·min(Err⁽¹⁾, γ). A learner that does not overfit (R = 0) gets the
    .632 estimate; one that learns nothing but its own rows (R = 1) gets Err⁽¹⁾.

    Like the .632 estimate it is the error of **one learner trained on n rows**, not of an ensemble.

    Parameters
    ----------
    estimator : estimator
        Anything with `fit` and `predict`. A `random_state` that is None is set, for every fit
        another one; one that is given stays.
    X : table, shape (rows, columns)
        Array, frame or sparse matrix.
    y : array, shape (rows,)
        The target. A bootstrap sample of one class only is drawn again.
    n_repeats : int, default=200
        Number of bootstrap samples.
    loss : str, callable or None, default=None
        As for `error_632`.
    random_state : int, RandomState instance or None, default=None
        For the samples and the models.
    n_jobs : int or None, default=None
        Processes, as in scikit-learn: None means one, -1 all. The result is the same for any.
    verbose : int, default=0
        1 shows a bar on stderr.

    Returns
    -------
    BootstrapError
        `error` and what it is made of.

    Examples
    --------
    A full tree knows its training rows by heart:

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
    """The .632 or .632+ estimate from the answers of members and a record of what each has seen.

    For a bag that is already there: the estimate is that of its member, trained on all rows, and
    not of the bag. See `error_632`.

    Parameters
    ----------
    predictions : array, shape (members, rows), for "log_loss" (members, rows, classes)
        Answer of every member for every row; only those for rows it did not see are read. Classes
        stand in sorted order.
    in_bag : array, shape (members, rows)
        How often each member saw each row; 0 means that it did not.
    fitted : array, shape (rows,) or (rows, classes)
        Answers of the learner trained on all rows.
    y : array, shape (rows,)
        The target.
    loss : str or callable
        As for `error_632`.
    plus : bool, default=False
        Give the .632+ estimate.

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
    me = "error_632_from_members"
    answers, seen, target = np.asarray(predictions), np.asarray(in_bag), np.asarray(y)
    judge = judge_for(me, target, loss)
    if seen.ndim != 2 or answers.shape[:2] != seen.shape or seen.shape[1:] != target.shape:
        raise ValueError(
            "predictions must have the shape (members, rows) or (members, rows, classes), in_bag "
            f"(members, rows) and y (rows,); got {answers.shape}, {seen.shape} and {target.shape}."
        )
    whole = judge.checked(np.asarray(fitted), of="The answers in 'fitted'")
    if len(whole) != len(target):
        raise ValueError(f"fitted must have {len(target)} rows, as y has; it has {len(whole)}.")
    members = (
        (rows, judge.checked(mine[rows], of=f"The answers of member {k}"))
        for k, (mine, rows) in enumerate(
            (mine, np.flatnonzero(row == 0)) for mine, row in zip(answers, seen, strict=True)
        )
    )
    return _estimate(judge, whole, members, plus=plus)


def _of_estimator(
    me: str,
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
    """Fit the learner on all rows and members on bootstrap samples, then judge them."""
    check_estimator_like(me, estimator)
    check_work(me, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    check(me, Whole(1), n_repeats=n_repeats)
    table = table_of(X)
    target = target_of(table, y)
    judge = judge_for(me, target, loss, estimator)
    is_classification = judge.loss in ("zero_one", "log_loss")
    bootstrap = Resampling(table, target, len(target), True, is_classification)
    first, *seeds = seeds_of(random_state, int(n_repeats) + 1)
    whole = judge.ask(unfitted(estimator, first).fit(table, target), table)
    members = share_out(
        _member,
        seeds,
        estimator,
        bootstrap,
        judge,
        n_jobs=n_jobs,
        verbose=verbose,
        label=me,
    )
    return _estimate(judge, whole, iter(members), plus=plus)


def _member(
    seed: np.random.SeedSequence, estimator: Any, bootstrap: Resampling, judge: Judge
) -> tuple[NDArray[np.intp], NDArray[Any] | None]:
    """Rows that a bootstrap sample leaves out, and what a member trained on it says of them."""
    for_rows, for_model = seed.spawn(2)
    rows = bootstrap.rows(np.random.default_rng(for_rows))
    others = np.setdiff1d(np.arange(len(bootstrap.y)), rows)
    if not len(others):
        return others, None
    model = unfitted(estimator, for_model).fit(take(bootstrap.X, rows), bootstrap.y[rows])
    return others, judge.ask(model, take(bootstrap.X, others))


def _estimate(
    judge: Judge,
    whole: NDArray[Any],
    members: Iterator[tuple[NDArray[np.intp], NDArray[Any] | None]],
    *,
    plus: bool,
) -> BootstrapError:
    """Put err, Err⁽¹⁾ and γ together."""
    n = len(judge.target)
    sums, n_out, n_members = np.zeros(n), np.zeros(n), 0
    for rows, answers in members:
        n_members += 1
        if answers is not None and len(rows):
            sums[rows] += judge.losses(answers, rows)
            n_out[rows] += 1
    if not n_out.any():
        raise ValueError("No member left out a row, so that none can be judged: draw more of them.")
    per_row = np.divide(sums, n_out, out=np.full(n, np.nan), where=n_out > 0)
    err, err1 = float(judge.losses(whole).mean()), float(np.nanmean(per_row))
    gamma = judge.over_all_pairs(whole)
    rate = min(1.0, (err1 - err) / (gamma - err)) if min(err1, gamma) > err else 0.0
    weight = 0.632 / (1 - 0.368 * rate) if plus else 0.632
    beyond = min(err1, gamma) if plus else err1
    return BootstrapError(
        error=(1 - weight) * err + weight * beyond if plus else 0.368 * err + 0.632 * err1,
        method=".632+" if plus else ".632",
        loss=judge.loss_name,
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

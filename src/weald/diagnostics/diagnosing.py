"""Diagnosis of a fitted model: what its error is made of, what its data hide, what to change."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from weald.diagnostics.base_estimators import BaseEstimators, base_estimators_of
from weald.diagnostics.calibration_error import calibration_error
from weald.diagnostics.copies import copies_of
from weald.diagnostics.diagnosis import Diagnosis
from weald.diagnostics.doubtful_rows import DoubtfulRows, far_rows, mislabelled_rows
from weald.diagnostics.findings import SEVERITIES, Estimate
from weald.diagnostics.judging import (
    judge_calibration,
    judge_columns,
    judge_correlation,
    judge_edges,
    judge_errors,
    judge_learning_curve,
    judge_parts,
    judge_rounds,
    judge_rows,
)
from weald.diagnostics.leaks import column_facts
from weald.diagnostics.reference import Reference, better_predictions, reference_of
from weald.diagnostics.subject import Subject, one_hot
from weald.diagnostics.tables import names_of_columns
from weald.diagnostics.trials import (
    decomposition_of,
    estimate_of,
    learning_curve_of,
    rounds_of,
    split_of,
)
from weald.diagnostics.unseen import (
    Sample,
    Unseen,
    check_rows_of_fit,
    held_out_predictions,
    refitted,
    unseen_predictions,
)
from weald.ensembles.out_of_bag.row_losses import row_losses
from weald.parameters import AnyOf, Jobs, OneOf, Whole
from weald.theory.arguments import check, table_of
from weald.theory.boosting import edges
from weald.theory.correlation import error_correlation_from_members
from weald.theory.pairwise import diversity

Result = TypeVar("Result")
_FUNCTION = "weald.diagnose"
_LEAST_ROWS = 10


def diagnose(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    groups: Any = None,
    refit: bool = True,
    n_repeats: int = 10,
    cv: int = 5,
    learning_curve: bool = False,
    max_rows: int = 5000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Say what the error of a model is made of, what is wrong with its rows, and what to change.

    Judged are: the error on rows that the model has not seen, against that of a constant; bias
    and variance; correlation and diversity of base estimators, and what more of them would bring;
    edges of AdaBoost's weak learners; the number of boosting rounds; calibration; rows that look
    mislabelled, and copies; columns that look like leaks or identifiers. Every claim has its
    number, and advice in plain words.

    Rows are predicted out of bag where the ensemble has out-of-bag rows, else by cross-validation
    of clones. Bias and variance are those of clones fitted on two thirds of the rows. A default
    random forest is fitted beside the model, to see what the columns hold. It takes as long as
    `n_repeats` + 1 fits on at most `max_rows` rows, and `cv` more without out-of-bag rows.

    Parameters
    ----------
    model : fitted model
        Any estimator of scikit-learn's kind with one output.
    X, y : table and array
        The rows that the model was fitted on, in the same order.
    X_test, y_test : table and array, or None, default=None
        Rows that it was not fitted on.
    groups : array, shape (rows,), or None, default=None
        Groups of rows that must not be divided between training and validation.
    refit : bool, default=True
        False: X and y are rows that the model was not fitted on. They are predicted as they are,
        and the model is never refitted: for models that cannot be, or are too large. Bias and
        variance are left out.
    n_repeats : int, default=10
        Number of refits for bias and variance, at least 3; 0 leaves them out.
    cv : int, default=5
        Number of folds, where out-of-bag predictions are not available.
    learning_curve : bool, default=False
        Whether to fit on a quarter and a half of the rows, to see if more rows would help.
    max_rows : int, default=5000
        Number of rows that are looked at and refitted on; of more, a random sample.
    random_state : int, default=0
        Seed of all draws.
    n_jobs : int or None, default=None
        Number of processes of the refits for bias and variance.

    Returns
    -------
    Diagnosis
        Prints as text; `findings` has every claim with severity, number and advice, `to_html()`
        is a page. Everything that was measured is an attribute.

    Examples
    --------
    A fully grown tree fits every training row, and most of its error is variance:

    >>> import weald
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, noise=1.0, random_state=0)
    >>> tree = weald.DecisionTreeRegressor().fit(X, y)
    >>> print(weald.diagnose(tree, X, y))
    Diagnosis of DecisionTreeRegressor: regression, 400 rows, 10 columns
    <BLANKLINE>
    Squared error
      training rows        0 ± 0
      cross-validation     9.64 ± 0.69
      constant prediction  26.3 ± 1.74
    <BLANKLINE>
    Bias and variance, 10 training sets
      bias and noise        6.55
      variance, net         7.75
      their sum, the error  14.3
    <BLANKLINE>
    Findings
      warning, variance: 54 % of the error is variance: 7.75 of 14.3 depends on which rows were
        drawn for training.
        → Bag it (Bagging*, RandomForest*): averaging many such models leaves about 6.55; or
          regularise (larger min_samples_leaf, smaller max_depth, ccp_alpha).
    """
    _check_arguments(n_repeats, cv, learning_curve, max_rows, random_state, n_jobs, refit, X_test)
    subject = Subject.judged(model, X, _FUNCTION)
    sample = _sample(subject, X, y, groups, refit, int(max_rows), int(random_state))
    seed, n_repeats = int(random_state), int(n_repeats) if refit else 0
    unseen = _unseen(subject, sample, refit, int(cv), seed)
    notes: list[str] = []
    errors = _errors(subject, sample, unseen, X_test, y_test)
    reference = _attempt(notes, "a forest", lambda: reference_of(subject, sample, unseen, seed))
    trials = _trials(subject, sample, n_repeats, learning_curve, seed, n_jobs, notes)
    base = base_estimators_of(subject)
    pairs = _pairs(subject, base, sample, unseen, notes)
    data = _data(subject, sample, unseen, reference, X_test, seed)
    findings = [
        *judge_errors(errors, unseen.source, reference),
        *judge_columns(data["columns"], _importances(model, sample)),
        *judge_parts(errors, trials["bias_variance"], reference, _kind(subject, base)),
        *judge_rounds(trials["rounds"], bool(getattr(model, "early_stopping_", False))),
        *judge_correlation(
            pairs["correlation"], _squared_error_of_constant(sample), hasattr(model, "n_estimators")
        ),
        *judge_edges(pairs["edges"]),
        *judge_calibration(data["calibration"]),
        *judge_rows(data["doubtful"], data["copies"], subject.classes, errors, unseen.source),
        *judge_learning_curve(trials["learning_curve"]),
    ]
    return Diagnosis(
        model=subject.name,
        loss="squared_error" if subject.classes is None else "zero_one",
        classes=subject.classes,
        n_rows=sample.n_all,
        n_columns=int(sample.table.shape[1]),
        n_used=sample.n,
        source=unseen.source,
        rows=sample.rows,
        predictions=unseen.predictions,
        errors=errors,
        findings=sorted(findings, key=lambda one: SEVERITIES.index(one.severity)),
        reference=reference,
        notes=notes,
        **trials,
        **pairs,
        **data,
    )


def _check_arguments(
    n_repeats: Any,
    cv: Any,
    learning_curve: Any,
    max_rows: Any,
    random_state: Any,
    n_jobs: Any,
    refit: Any,
    X_test: Any,
) -> None:
    check(_FUNCTION, AnyOf((Whole(0, 0), Whole(3))), n_repeats=n_repeats)
    check(_FUNCTION, Whole(2), cv=cv)
    check(_FUNCTION, OneOf((False, True)), learning_curve=learning_curve)
    check(_FUNCTION, Whole(_LEAST_ROWS), max_rows=max_rows)
    check(_FUNCTION, Whole(0), random_state=random_state)
    check(_FUNCTION, Jobs(), n_jobs=n_jobs)
    check(_FUNCTION, OneOf((False, True)), refit=refit)
    if not refit and (X_test is not None or learning_curve):
        raise ValueError(
            f"{_FUNCTION} with refit=False takes rows that the model was not fitted on as X and y, "
            "and fits nothing: leave out X_test, y_test and learning_curve."
        )


def _unseen(subject: Subject, sample: Sample, refit: bool, n_folds: int, seed: int) -> Unseen:
    if refit:
        return unseen_predictions(subject, sample, n_folds, seed)
    return held_out_predictions(subject, sample)


def _edges_of(subject: Subject) -> NDArray[np.float64] | None:
    """Edges of the weak learners of an AdaBoost classifier over chance; None for other models."""
    errors = getattr(subject.model, "estimator_errors_", None)
    if subject.classes is None or errors is None or len(errors) == 0:
        return None
    # With K classes, chance is wrong in 1 - 1/K of the rows.
    return edges(np.clip(errors, 0.0, 1.0)) + (0.5 - 1.0 / len(subject.classes))


def _sample(
    subject: Subject, X: Any, y: Any, groups: Any, is_of_fit: bool, max_rows: int, seed: int
) -> Sample:
    """Check X and y and draw the rows to look at."""
    table = table_of(X)
    if len(table.shape) != 2:
        raise ValueError(f"X must be a table of rows and columns; got the shape {table.shape}.")
    target = subject.target(table, y)
    n = len(target)
    if n < _LEAST_ROWS:
        raise ValueError(f"{_FUNCTION} needs at least {_LEAST_ROWS} rows to say anything; got {n}.")
    if is_of_fit:
        check_rows_of_fit(subject, table, y)
    labels = np.asarray(y).ravel()
    own = None if groups is None else np.asarray(groups).ravel()
    if own is not None and len(own) != n:
        raise ValueError(f"groups must have one entry for each of the {n} rows; got {len(own)}.")
    whole = Sample(table, labels, target, own, np.arange(n), n)
    if n <= max_rows:
        return whole
    return whole.take(np.sort(np.random.default_rng(seed).permutation(n)[:max_rows]))


def _errors(
    subject: Subject, sample: Sample, unseen: Unseen, X_test: Any, y_test: Any
) -> dict[str, Estimate]:
    """Errors of training rows, unseen rows, test rows and a constant prediction."""
    classes, scored = subject.classes, unseen.scored

    def error(target: NDArray[Any], predictions: NDArray[Any]) -> Estimate:
        return estimate_of(row_losses(None, target, predictions, classes))

    found = {}
    if unseen.source != "held-out":
        found["training"] = error(sample.target, subject.predict(sample.table))
    found[unseen.source] = error(sample.target[scored], unseen.predictions[scored])
    if X_test is not None:
        table = table_of(X_test)
        found["test"] = error(subject.target(table, y_test, "y_test"), subject.predict(table))
    elif y_test is not None:
        raise ValueError("y_test was given without X_test: pass both or neither.")
    if classes is None:
        constant = np.full((sample.n, 1), sample.target.mean())
    else:
        shares = np.bincount(sample.target, minlength=len(classes)) / sample.n
        constant = np.tile(shares, (sample.n, 1))
    found["constant"] = error(sample.target, constant)
    return found


def _squared_error_of_constant(sample: Sample) -> float:
    """Variance of the target, summed over classes."""
    if sample.target.dtype.kind == "f":
        return float(sample.target.var())
    shares = np.bincount(sample.target) / sample.n
    return float(1.0 - (shares**2).sum())


def _trials(
    subject: Subject,
    sample: Sample,
    n_repeats: int,
    learning_curve: bool,
    seed: int,
    n_jobs: int | None,
    notes: list[str],
) -> dict[str, Any]:
    """Fits on two thirds of the rows; what cannot be fitted is noted."""
    names = ("bias_variance", "rounds", "learning_curve")
    found: dict[str, Any] = dict.fromkeys(names)
    if not (n_repeats or learning_curve):
        return found
    split = split_of(sample, subject.classes is not None, seed)
    fitted = _attempt(notes, "refits", lambda: refitted(subject.model, split.train))
    if fitted is None:
        return found
    tasks: dict[str, Callable[[], Any]] = {"rounds": lambda: rounds_of(subject, fitted, split)}
    if n_repeats:
        tasks["bias_variance"] = lambda: decomposition_of(subject, split, n_repeats, seed, n_jobs)
    if learning_curve:
        tasks["learning_curve"] = lambda: learning_curve_of(subject, fitted, split, seed)
    for name, task in tasks.items():
        found[name] = _attempt(notes, name.replace("_", " "), task)
    return found


def _attempt(notes: list[str], what: str, task: Callable[[], Result]) -> Result | None:
    """Run a part that refits models of any library; a failure is noted, not hidden."""
    try:
        return task()
    except Exception as error:
        notes.append(f"{what}, because of {type(error).__name__}: {error}")
        return None


def _pairs(
    subject: Subject,
    base: BaseEstimators | None,
    sample: Sample,
    unseen: Unseen,
    notes: list[str],
) -> dict[str, Any]:
    """Correlation (of a mean) and diversity of base estimators, on rows they have not seen."""
    found: dict[str, Any] = {"correlation": None, "diversity": None, "edges": _edges_of(subject)}
    members = unseen.members
    if base is None or members is None or len(members.predictions) < 2:
        return found
    if ((members.in_bag == 0).sum(axis=0) < 2).all():
        notes.append("correlation of base estimators, because each row is unseen by one of them.")
        return found
    target = sample.target[members.rows]
    goal = target[:, np.newaxis]
    if subject.classes is not None:
        goal = one_hot(target, len(subject.classes))
        labels = members.predictions.argmax(axis=2)
        found["diversity"] = diversity(labels, target, members.in_bag)
    if base.combined_by == "mean":
        found["correlation"] = error_correlation_from_members(
            members.predictions, members.in_bag, goal
        )
    return found


def _data(
    subject: Subject,
    sample: Sample,
    unseen: Unseen,
    reference: Reference | None,
    X_test: Any,
    seed: int,
) -> dict[str, Any]:
    """Calibration, doubtful rows, copies, and columns one by one."""
    of_classes, scored = subject.classes is not None, unseen.scored
    calibration = None
    if subject.has_probabilities:
        calibration = calibration_error(unseen.predictions[scored], sample.target[scored], seed)
    test = None if X_test is None else table_of(X_test)
    names = names_of_columns(subject.model, sample.table)
    return {
        "calibration": calibration,
        "doubtful": _doubtful(subject, sample, unseen, reference),
        "copies": copies_of(sample.table, sample.target, sample.rows, of_classes, test),
        "columns": column_facts(sample.table, names, sample.target, of_classes, seed),
    }


def _doubtful(
    subject: Subject, sample: Sample, unseen: Unseen, reference: Reference | None
) -> DoubtfulRows:
    predictions = better_predictions(subject, sample, unseen, reference)
    scored = ~np.isnan(predictions[:, 0])
    target, rows = sample.target[scored], sample.rows[scored]
    if subject.classes is None:
        return far_rows(predictions[scored, 0], target, rows)
    return mislabelled_rows(predictions[scored], target, rows)


def _importances(model: Any, sample: Sample) -> NDArray[np.float64] | None:
    """Feature importances of the model, if it has one for each column of X."""
    found = getattr(model, "feature_importances_", None)
    if found is None or np.shape(found) != (sample.table.shape[1],):
        return None
    return np.asarray(found, dtype=np.float64)


def _kind(subject: Subject, base: Any) -> str:
    if hasattr(subject.model, "staged_predict"):
        return "booster"
    return "single" if base is None else "ensemble"

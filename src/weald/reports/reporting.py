"""A report on a fitted model as one HTML page."""

from typing import Any

from weald.diagnostics.diagnosing import diagnose
from weald.diagnostics.diagnosis import Diagnosis
from weald.diagnostics.subject import Subject
from weald.diagnostics.tables import names_of_columns
from weald.parameters import Jobs, Whole
from weald.reports import data_parts, error_parts, model_parts, row_parts
from weald.reports.markup import joined
from weald.reports.pages import Report, page
from weald.reports.reasons import importances_of
from weald.reports.subject_facts import Facts
from weald.theory.arguments import check, table_of
from weald.version import __version__

_FUNCTION = "weald.report"


def report(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    diagnosis: Diagnosis | None = None,
    title: str | None = None,
    n_examples: int = 30,
    max_trees: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Report:
    """Write a report on a fitted model: one HTML page that needs no network.

    The page says what the model is and how good it is on rows it has not seen; shows importance
    and dependence of columns, single rows with the reasons for their predictions, errors, the
    diagnosis of `weald.diagnose`, trees to browse, a small tree that imitates the model,
    uncertainty, a summary of the data, and settings with the fingerprint. It is readable in light
    and dark, by keyboard and by screen readers, and printed.

    Parameters
    ----------
    model : fitted model
        Any estimator of scikit-learn's kind with one output.
    X, y : table and array
        The rows that the model was fitted on, in the same order.
    X_test, y_test : table and array, or None, default=None
        Rows that it was not fitted on.
    diagnosis : Diagnosis or None, default=None
        Result of `weald.diagnose` for the same model and rows; None makes one. That of
        ``refit=False`` needs rows that the model was not fitted on as X and y.
    title : str or None, default=None
        Heading; None names the model.
    n_examples : int, default=30
        Number of single rows to show.
    max_trees : int, default=10
        Number of trees to show.
    random_state : int, default=0
        Seed of all draws.
    n_jobs : int or None, default=None
        Number of processes of the diagnosis.

    Returns
    -------
    Report
        `save(path)` writes the page; `html` is its text.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = weald.RandomForestClassifier(random_state=0).fit(X, y)
    >>> found = weald.report(model, X, y)
    >>> found.title
    'Report on a RandomForestClassifier'
    >>> found.save("report.html")  # doctest: +SKIP
    """
    check(_FUNCTION, Whole(1, 500), n_examples=n_examples)
    check(_FUNCTION, Whole(0, 100), max_trees=max_trees)
    check(_FUNCTION, Whole(0), random_state=random_state)
    check(_FUNCTION, Jobs(), n_jobs=n_jobs)
    subject = Subject.judged(model, X, _FUNCTION)
    if diagnosis is None:
        diagnosis = diagnose(
            model, X, y, X_test=X_test, y_test=y_test, random_state=random_state, n_jobs=n_jobs
        )
    facts = _facts(subject, X, y, X_test, y_test, diagnosis, int(random_state))
    parts = [
        model_parts.overview(facts),
        model_parts.importance(facts),
        row_parts.dependence(facts),
        row_parts.single_rows(facts, int(n_examples)),
        error_parts.errors(facts),
        data_parts.diagnosis(facts),
        model_parts.trees(facts, int(max_trees)),
        model_parts.clone(facts),
        error_parts.uncertainty(facts),
        data_parts.data(facts),
        model_parts.settings(facts),
    ]
    heading = f"Report on a {subject.name}" if title is None else str(title)
    footer = f"Made by weald {__version__}. This file needs no network and sends nothing."
    return Report(heading, page(heading, _subtitle(diagnosis), joined(*parts), footer), diagnosis)


def _subtitle(found: Diagnosis) -> str:
    task = "Regression" if found.classes is None else f"{len(found.classes)} classes"
    return f"{task}, {found.n_rows:,} rows, {found.n_columns:,} columns"


def _facts(
    subject: Subject, X: Any, y: Any, X_test: Any, y_test: Any, found: Diagnosis, seed: int
) -> Facts:
    table = table_of(X)
    target = subject.target(table, y)
    if not isinstance(found, Diagnosis) or found.n_rows != len(target):
        raise ValueError(
            f"The 'diagnosis' parameter of {_FUNCTION} must be the result of weald.diagnose for "
            f"the same model and rows; got {type(found).__name__}."
        )
    test = None
    if X_test is not None:
        test = table_of(X_test), subject.target(table_of(X_test), y_test, "y_test")
    importances, measured_by = importances_of(subject, table, target, seed)
    return Facts(
        subject=subject,
        table=table,
        target=target,
        test=test,
        names=names_of_columns(subject.model, table),
        found=found,
        importances=importances,
        measured_by=measured_by,
        seed=seed,
    )

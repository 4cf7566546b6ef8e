"""Cloning an ensemble into one readable model, with a measured fidelity."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from weald.data import finite_target, readable_target
from weald.ensembles.distilling.distilled import Distilled, Measurement
from weald.ensembles.distilling.students import KINDS, student_of, taught
from weald.ensembles.distilling.synthetic import joined_rows, smoothed_bootstrap
from weald.ensembles.distilling.teachers import Teacher
from weald.ensembles.members.members import n_rows_of, take
from weald.ensembles.members.samples import as_table
from weald.parameters import Columns, Jobs, Limit, NoneOr, OneOf, Real, Whole
from weald.resampling import hold_out_rows, seed_of
from weald.resampling.tables import hash_any_rows

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_LIMITS: dict[str, Limit] = {
    "student": OneOf(KINDS),
    "max_leaf_nodes": Whole(2),
    "min_samples_leaf": Whole(1),
    "n_samples": NoneOr(Whole(0)),
    "smoothing": Real(0.0, 1.0),
    "validation_fraction": Real(0.0, 1.0, open_below=True, open_above=True),
    "n_jobs": Jobs(),
}

# New rows by default: so many times the rows, within these bounds and so many cells.
_TIMES, _LEAST, _MOST, _CELLS = 10, 5_000, 50_000, 20_000_000


def distill(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_val: Any = None,
    y_val: Any = None,
    student: str = "tree",
    max_leaf_nodes: int = 16,
    min_samples_leaf: int = 5,
    n_samples: int | None = None,
    smoothing: float = 0.5,
    validation_fraction: float = 0.2,
    categorical_features: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Distilled:
    """Clone a fitted model into one that a person can read, and measure how faithful it is.

    Realistic new rows are drawn from X (a smoothed bootstrap), the model answers them and X
    itself, and a student is fitted to the answers: to probabilities, not only to labels.

    Parameters
    ----------
    model : fitted estimator
        The teacher: any object with `predict`, of any library. A classifier without
        `predict_proba` teaches its labels as if it were certain of them.
    X : array, frame or sparse table, shape (rows, columns)
        Rows as the teacher takes them, usually those it was fitted on; no targets are needed.
    y : array, shape (rows,), or None
        True targets, for the accuracies of teacher and student on the rows that are held back. They
        teach nothing.
    X_val, y_val : table and array, or None
        Rows that the teacher has not seen, and their targets if known: fidelity and accuracies are
        measured on them. Without them `validation_fraction` of X is held back from the student.
    student : {"tree", "option_tree", "rules"}, default="tree"
        A decision tree, an option tree of two options a node, or a list of rules.
    max_leaf_nodes : int, default=16
        Most leaves, or rules.
    min_samples_leaf : int, default=5
        Fewest rows of a leaf or rule, old and new ones.
    n_samples : int or None, default=None
        New rows to draw; None: ten times those of X, at least 5,000 and at most 50,000, fewer
        where a table has very many columns. 0 teaches by the rows of X alone.
    smoothing : float, default=0.5
        How far new rows are from old ones: the probability that a cell moves towards that of a
        near row. 0 repeats old rows, which teaches nothing new; 1 moves every cell.
    validation_fraction : float, default=0.2
        The share of X that is held back when `X_val` is None.
    categorical_features : "from_dtype", list or None, default=None
        Which columns the student takes as categories; None: those that the teacher does, if it
        says, else those whose type says so.
    random_state : int, RandomState or None, default=0
        Decides which rows are held back and drawn, by their content.
    n_jobs : int or None, default=None
        Threads of the student; None means all usable cores.

    Returns
    -------
    Distilled
        `.model`, `.fidelity` with its interval, `.text()`, `.curve()`, `.regions()`.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If a parameter is out of range, or rows, targets and answers do not fit each other.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(random_state=0).fit(X, y)
    >>> clone = weald.distill(forest, X, max_leaf_nodes=4)
    >>> clone.model.get_n_leaves()
    4
    >>> 0.6 < clone.fidelity.low < clone.fidelity.value < clone.fidelity.high
    True
    """
    _check(
        student=student,
        max_leaf_nodes=max_leaf_nodes,
        min_samples_leaf=min_samples_leaf,
        n_samples=n_samples,
        smoothing=smoothing,
        validation_fraction=validation_fraction,
        n_jobs=n_jobs,
    )
    X, X_val = _rows(X, "X"), None if X_val is None else _rows(X_val, "X_val")
    teacher = Teacher.of(model, X)
    teacher.predictions(take(X, np.arange(1)))  # what it says of wrong columns, it says now
    seed = seed_of(random_state)
    parts = _parts(X, y, X_val, y_val, validation_fraction, seed)
    if n_samples is None:
        n_samples = _default_samples(parts.X)
    new = _new_rows(parts.X, n_samples, smoothing, seed, teacher)
    own = {
        "categorical_features": _categories(model, categorical_features),
        "n_jobs": n_jobs,
    }
    lesson = _Lesson(
        new,
        teacher.predictions(new),
        teacher.classes,
        {"kind": student, "min_samples_leaf": min_samples_leaf, **own},
        parts.held_back,
    )
    return _measured(lesson, teacher, parts, max_leaf_nodes, n_samples)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Rows to learn from and rows to measure on, with the numbers of those held back."""

    X: Any
    X_val: Any
    y_val: Any
    held_back: Indices | None


@dataclass(frozen=True, eq=False)
class _Lesson:
    """Rows with answers, from which students of any size learn."""

    X: Any
    predictions: Floats
    classes: NDArray[Any] | None
    settings: dict[str, Any]
    held_back: Indices | None = field(default=None)

    def __call__(self, size: int) -> Any:
        student = student_of(size=size, is_class=self.classes is not None, **self.settings)
        return taught(student, self.X, self.predictions, self.classes)


def _measured(
    lesson: _Lesson, teacher: Teacher, parts: _Parts, size: int, n_samples: int
) -> Distilled:
    truth = None if parts.y_val is None else _truth(teacher, parts.y_val)
    predictions = teacher.predictions(parts.X_val)
    rows = Measurement(parts.X_val, predictions, teacher.classes, truth)
    student = lesson(size)
    predicted = rows.asked(student)
    off = np.abs(predicted - predictions)
    gap = off.mean() if teacher.classes is not None else np.sqrt((off**2).mean())
    return Distilled(
        model=student,
        fidelity=rows.fidelity(predicted),
        gap=float(gap),
        teacher_accuracy=rows.accuracy(predictions),
        student_accuracy=rows.accuracy(predicted),
        unseen_by_teacher=parts.held_back is None,
        n_synthetic=n_samples,
        _measured=rows,
        _teach=lesson,
    )


def _check(**given: Any) -> None:
    for name, value in given.items():
        if not _LIMITS[name].admits(value):
            raise ValueError(
                f"The {name!r} parameter of distill must be {_LIMITS[name].expected}. "
                f"Got {value!r} instead."
            )


def _rows(X: Any, name: str) -> Any:
    X = as_table(X)
    shape = getattr(X, "shape", None)
    if shape is None or len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {type(X).__name__} instead: {name} must be a table of rows "
            "and columns."
        )
    if shape[0] == 0:
        raise ValueError(f"{name} has no rows: found array with 0 sample(s).")
    return X


def _parts(X: Any, y: Any, X_val: Any, y_val: Any, fraction: float, seed: int) -> _Parts:
    if X_val is None:
        if y_val is not None:
            raise ValueError("y_val are the targets of X_val, which is None. Pass X_val too.")
        if y is not None:
            y = _target(y, X, "y")
        n = n_rows_of(X)
        if n < 2:
            raise ValueError("X has 1 row, of which none can be held back. Pass X_val, or more.")
        is_held = hold_out_rows(X, None, None, None, fraction, weight=None, seed=seed)
        held, kept = np.flatnonzero(is_held), np.flatnonzero(~is_held)
        return _Parts(take(X, kept), take(X, held), None if y is None else y[held], held)
    if y is not None:
        raise ValueError(
            "y are the targets of X, which are not needed where X_val is given. Pass y_val instead."
        )
    return _Parts(X, X_val, None if y_val is None else _target(y_val, X_val, "y_val"), None)


def _target(y: Any, X: Any, name: str) -> NDArray[Any]:
    target = column_or_1d(np.asarray(readable_target(y)))
    try:
        check_consistent_length(X, target)
    except ValueError as error:
        raise ValueError(f"{name} does not fit its rows: {error}") from None
    return np.asarray(target)


def _truth(teacher: Teacher, y: NDArray[Any]) -> Floats:
    if teacher.classes is not None:
        return teacher.as_shares(y, "The targets hold")
    return finite_target(y)[:, np.newaxis]


def _default_samples(X: Any) -> int:
    n_rows, n_columns = X.shape
    wanted = min(max(_TIMES * n_rows, _LEAST), _MOST)
    return int(max(1, min(wanted, _CELLS // max(1, n_columns))))


def _new_rows(X: Any, n: int, smoothing: float, seed: int, teacher: Teacher) -> Any:
    """The rows of X, in an order that does not depend on where they stand, and new ones."""
    hashes = hash_any_rows(X, np.zeros(n_rows_of(X)), n_threads=1)
    ordered = take(X, np.lexsort((hashes[:, 0], hashes[:, 1])))
    if n == 0:
        return ordered
    return joined_rows(
        ordered, smoothed_bootstrap(ordered, n, smoothing, seed, teacher.level_columns)
    )


def _categories(model: Any, given: Any) -> Any:
    if given is None:
        given = getattr(model, "categorical_features", None)
        # Of another library the word may mean something else.
        if given is None or not hasattr(model, "_columns"):
            given = "from_dtype"
    if not Columns().admits(given):
        raise ValueError(
            f"The 'categorical_features' parameter of distill must be {Columns().expected}. "
            f"Got {given!r} instead."
        )
    return given

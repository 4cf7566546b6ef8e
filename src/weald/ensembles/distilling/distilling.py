"""Distillation of an ensemble into one interpretable model, with measured fidelity."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from weald.data import finite_target, readable_target
from weald.ensembles.distilling.distilled import Distilled, Measurement
from weald.ensembles.distilling.students import KINDS, fit_student, student_of
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

# Default number of synthetic rows: a multiple of the rows, within bounds on rows and on cells.
_SAMPLES_PER_ROW, _MIN_SAMPLES, _MAX_SAMPLES, _MAX_CELLS = 10, 5_000, 50_000, 20_000_000


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
    """Distil a fitted model (the teacher) into an interpretable one (the student).

    Synthetic rows are drawn from X by a smoothed bootstrap, the teacher predicts them and X itself,
    and the student is fitted to these predictions: class probabilities, not only labels. Its
    fidelity is measured on other rows.

    Parameters
    ----------
    model : fitted estimator
        The teacher: any object with `predict`, of any library. Labels of a classifier without
        `predict_proba` are used as probabilities of 0 and 1.
    X : array, frame or sparse table, shape (rows, columns)
        Rows in a form that the teacher accepts, usually its training rows.
    y : array, shape (rows,), or None
        True targets, only used to measure the accuracies of teacher and student on the held-out
        rows.
    X_val, y_val : table and array, or None
        Validation rows that the teacher was not fitted on, and their targets if known. If X_val is
        None, `validation_fraction` of X is held out from the student instead.
    student : {"tree", "option_tree", "rules"}, default="tree"
        A decision tree, an option tree with at most two options per node, or a rule list.
    max_leaf_nodes : int, default=16
        Maximum number of leaves or rules.
    min_samples_leaf : int, default=5
        Minimum number of rows of a leaf or rule, including synthetic ones.
    n_samples : int or None, default=None
        Number of synthetic rows. None: ten times the rows of X, at least 5,000 and at most 50,000;
        fewer for tables with very many columns. 0: only the rows of X are used.
    smoothing : float, default=0.5
        Probability that a cell of a synthetic row moves towards the value of a neighbouring row. 0
        repeats the rows of X; 1 moves every cell.
    validation_fraction : float, default=0.2
        Fraction of X to hold out if `X_val` is None.
    categorical_features : "from_dtype", list or None, default=None
        Categorical columns of the student. None: those of the teacher if it is a weald estimator,
        else by dtype.
    random_state : int, RandomState or None, default=0
        Seed of the hold-out and of the synthetic rows; independent of the row order.
    n_jobs : int or None, default=None
        Number of threads to fit the student; None means all usable cores.

    Returns
    -------
    Distilled
        `.model`, `.fidelity` with its interval, `.text()`, `.curve()`, `.regions()`.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If a parameter is out of range, or rows, targets and predictions are inconsistent.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(random_state=0).fit(X, y)
    >>> distilled = weald.distill(forest, X, max_leaf_nodes=4)
    >>> distilled.model.get_n_leaves()
    4
    >>> 0.6 < distilled.fidelity.low < distilled.fidelity.value < distilled.fidelity.high
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
    X, X_val = _checked_table(X, "X"), None if X_val is None else _checked_table(X_val, "X_val")
    teacher = Teacher.of(model, X)
    teacher.predict(take(X, np.arange(1)))  # fail early if the teacher rejects the columns
    seed = seed_of(random_state)
    split = _split(X, y, X_val, y_val, validation_fraction, seed)
    if n_samples is None:
        n_samples = _default_samples(split.X)
    rows = _transfer_rows(split.X, n_samples, smoothing, seed, teacher)
    settings = {
        "kind": student,
        "min_samples_leaf": min_samples_leaf,
        "categorical_features": _categories(model, categorical_features),
        "n_jobs": n_jobs,
    }
    transfer_set = _TransferSet(
        rows, teacher.predict(rows), teacher.classes, settings, split.held_back
    )
    return _measure(transfer_set, teacher, split, max_leaf_nodes, n_samples)


@dataclass(frozen=True, eq=False)
class _Split:
    """Training rows, validation rows, and the indices of rows held out from X."""

    X: Any
    X_val: Any
    y_val: Any
    held_back: Indices | None


@dataclass(frozen=True, eq=False)
class _TransferSet:
    """Rows with predictions of the teacher; called with a size, fits a student on them."""

    X: Any
    predictions: Floats
    classes: NDArray[Any] | None
    settings: dict[str, Any]
    held_back: Indices | None = field(default=None)

    def __call__(self, size: int) -> Any:
        student = student_of(size=size, is_class=self.classes is not None, **self.settings)
        return fit_student(student, self.X, self.predictions, self.classes)


def _measure(
    transfer_set: _TransferSet, teacher: Teacher, split: _Split, size: int, n_samples: int
) -> Distilled:
    truth = None if split.y_val is None else _truth(teacher, split.y_val)
    predictions = teacher.predict(split.X_val)
    rows = Measurement(split.X_val, predictions, teacher.classes, truth)
    student = transfer_set(size)
    predicted = rows.predict(student)
    differences = np.abs(predicted - predictions)
    gap = differences.mean() if teacher.classes is not None else np.sqrt((differences**2).mean())
    return Distilled(
        model=student,
        fidelity=rows.fidelity(predicted),
        gap=float(gap),
        teacher_accuracy=rows.accuracy(predictions),
        student_accuracy=rows.accuracy(predicted),
        unseen_by_teacher=split.held_back is None,
        n_synthetic=n_samples,
        _measurement=rows,
        _fit_student=transfer_set,
    )


def _check(**given: Any) -> None:
    for name, value in given.items():
        if not _LIMITS[name].admits(value):
            raise ValueError(
                f"The {name!r} parameter of distill must be {_LIMITS[name].expected}. "
                f"Got {value!r} instead."
            )


def _checked_table(X: Any, name: str) -> Any:
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


def _split(X: Any, y: Any, X_val: Any, y_val: Any, fraction: float, seed: int) -> _Split:
    if X_val is None:
        if y_val is not None:
            raise ValueError("y_val requires X_val, the rows of these targets. Got X_val=None.")
        if y is not None:
            y = _checked_target(y, X, "y")
        n = n_rows_of(X)
        if n < 2:
            raise ValueError(
                "X has 1 row, of which none can be held out. Pass X_val, or more rows in X."
            )
        is_held = hold_out_rows(X, None, None, None, fraction, weight=None, seed=seed)
        held, kept = np.flatnonzero(is_held), np.flatnonzero(~is_held)
        return _Split(take(X, kept), take(X, held), None if y is None else y[held], held)
    if y is not None:
        raise ValueError(
            "y must be None if X_val is given: accuracies are measured on X_val. Pass y_val "
            "instead."
        )
    return _Split(X, X_val, None if y_val is None else _checked_target(y_val, X_val, "y_val"), None)


def _checked_target(y: Any, X: Any, name: str) -> NDArray[Any]:
    target = column_or_1d(np.asarray(readable_target(y)))
    try:
        check_consistent_length(X, target)
    except ValueError as error:
        raise ValueError(f"{name} must have one value per row: {error}") from None
    return np.asarray(target)


def _truth(teacher: Teacher, y: NDArray[Any]) -> Floats:
    if teacher.classes is not None:
        return teacher.one_hot(y, "The targets contain")
    return finite_target(y)[:, np.newaxis]


def _default_samples(X: Any) -> int:
    n_rows, n_columns = X.shape
    wanted = min(max(_SAMPLES_PER_ROW * n_rows, _MIN_SAMPLES), _MAX_SAMPLES)
    return int(max(1, min(wanted, _MAX_CELLS // max(1, n_columns))))


def _transfer_rows(X: Any, n: int, smoothing: float, seed: int, teacher: Teacher) -> Any:
    """The rows of X, ordered by content, followed by n synthetic rows."""
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
        # Parameters of this name in other libraries may differ in meaning.
        if given is None or not hasattr(model, "_columns"):
            given = "from_dtype"
    if not Columns().admits(given):
        raise ValueError(
            f"The 'categorical_features' parameter of distill must be {Columns().expected}. "
            f"Got {given!r} instead."
        )
    return given

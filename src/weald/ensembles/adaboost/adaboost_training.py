"""Training rows of AdaBoost, weighted or resampled, and fits of the user's base estimators."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from weald.cached import cached_property
from weald.data import Rows, SparseTable
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import Floats
from weald.ensembles.row_counts import weighted_as_repeated
from weald.resampling import draw_by_mass, estimator_seed, ordered_rows, seed_of
from weald.returned import numbers_returned

REWEIGHT = ("weighting", "resampling")

# Maximum number of draws per sample: repeated if all drawn rows are of one class, which many
# estimators reject, and if the first base estimator is no better than chance.
ATTEMPTS = 10


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows, and their positions among the rows passed to fit."""

    rows: Rows
    n_draws: int | None  # None: no resampling
    seed: int
    place: NDArray[np.intp]  # position of each row among those passed to fit
    n_given: int
    sparse_format: str = "csr"  # of a sparse table that is passed on to the user's estimator

    @cached_property
    def table(self) -> Any:
        """The table that the user's estimator is fitted on."""
        table = self.rows.table
        if isinstance(table, SparseTable):
            return table.columns if self.sparse_format == "csc" else table.columns.tocsr()
        return table

    def drawn(self, weights: RowWeights, round_: int, attempt: int = 0) -> NDArray[np.int64]:
        """Number of times each row is drawn in a round; `attempt` is part of the seed."""
        assert self.n_draws is not None
        target = self.rows.target
        has_classes = bool((target != target[0]).any())
        for i in range(ATTEMPTS):
            copies = draw_by_mass(
                weights.mass,
                self.n_draws,
                seed=self.seed,
                member=round_,
                attempt=ATTEMPTS * attempt + i,
            )
            if not has_classes or np.ptp(target[copies > 0]) > 0:
                break
        return copies

    def of_given_rows(self, weight_of_rows: Floats) -> Floats:
        """Weights of the rows passed to fit; 0 for rows of sample weight 0."""
        given = np.zeros((*weight_of_rows.shape[:-1], self.n_given))
        given[..., self.place] = weight_of_rows
        return given


def training_of(
    rows: Rows,
    X: object,
    sample_weight: object,
    *,
    reweight: str,
    random_state: object,
    n_threads: int,
) -> Training:
    """Prepare rows for boosting by weighting or by resampling; `X` is the table passed to fit."""
    form = "csc" if getattr(X, "format", "") == "csc" else "csr"
    place, n_given = np.arange(rows.n), rows.n
    given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if given.ndim == 1:
        place, n_given = np.flatnonzero(given > 0), len(given)
    if reweight == "weighting":
        return Training(weighted_as_repeated(rows), None, 0, place, n_given, form)
    # As many draws as rows; rows are ordered by content, so that their order does not matter.
    index = ordered_rows(rows, n_threads=n_threads).index
    return Training(rows.take(index), rows.n, seed_of(random_state), place[index], n_given, form)


@dataclass
class Ensemble:
    """Base estimators, votes and errors of the rounds so far."""

    keeps_weights: bool
    estimators: list[Any] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)

    def add(self, estimator: Any, vote: float, error: float) -> None:
        self.estimators.append(estimator)
        self.votes.append(vote)
        self.errors.append(error)

    def note(self, weights: RowWeights) -> None:
        """Store the current row weights if `keeps_weights`."""
        if self.keeps_weights:
            self.weights.append(weights.of_rows())


def mean_losses(factors: list[float]) -> Floats:
    """Mean exponential loss before the first and after each round, from the factors of the rounds.

    >>> mean_losses([0.5, 0.5]).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.cumprod(np.array([1.0, *factors]))


class ForeignLearner:
    """Fits clones of the user's estimator with the row weights of each round."""

    def __init__(self, estimator: Any, training: Training, labels: NDArray[Any], seed: int) -> None:
        self._estimator = estimator
        self._training = training
        self._labels = labels
        self._seed = seed
        if training.n_draws is None and not has_fit_parameter(estimator, "sample_weight"):
            name = type(estimator).__name__
            raise ValueError(
                f"{name} doesn't support sample_weight: its fit has no such parameter. Use "
                'reweight="resampling", which draws rows in proportion to their weights instead.'
            )

    def fit(self, weights: RowWeights, round_: int, attempt: int = 0) -> Any:
        """Fit a clone with the row weights of this round."""
        training = self._training
        estimator = clone(self._estimator)
        _set_seeds(estimator, estimator_seed(self._seed, round_))
        # What fit returns is not used: some estimators forget to return themselves.
        if training.n_draws is None:
            estimator.fit(training.table, self._labels, sample_weight=weights.of_rows())
        else:
            drawn = np.repeat(np.arange(training.rows.n), training.drawn(weights, round_, attempt))
            estimator.fit(training.table[drawn], self._labels[drawn])
        return estimator


def _set_seeds(estimator: Any, seed: int) -> None:
    """Set every `random_state` parameter of the estimator, nested ones included."""
    names = [name for name in estimator.get_params() if f"__{name}".endswith("__random_state")]
    if names:
        estimator.set_params(**dict.fromkeys(names, seed))


def checked_predictions(
    estimator: Any, table: Any, where: str, *, are_numbers: bool = False
) -> NDArray[Any]:
    """Predict and check the result: one finite value per row."""
    name, n = type(estimator).__name__, table.shape[0]
    predictions = estimator.predict(table)
    if are_numbers or np.ma.isMaskedArray(predictions):
        predictions = numbers_returned(predictions, f"{where} ({name})")
    predictions = np.asarray(predictions)
    if predictions.shape != (n,):
        raise ValueError(
            f"{where} ({name}) predicted an array of shape {predictions.shape} for {n} rows; "
            f"expected ({n},)."
        )
    if predictions.dtype.kind == "f" and not np.isfinite(predictions).all():
        row = int(np.argmin(np.isfinite(predictions)))
        raise ValueError(
            f"{where} ({name}) predicted {predictions[row]} for row {row}. Predictions must be "
            "finite: use another estimator, or impute missing values first."
        )
    return predictions


def class_indices(predictions: NDArray[Any], classes: NDArray[Any], where: str) -> NDArray[np.intp]:
    """Class index of each predicted label."""
    try:
        index = np.minimum(np.searchsorted(classes, predictions), len(classes) - 1)
        unknown = np.flatnonzero(classes[index] != predictions)
    except TypeError:
        index, unknown = np.zeros(len(predictions), dtype=np.intp), np.arange(len(predictions))
    if unknown.size:
        raise ValueError(
            f"{where} predicted {predictions[unknown[0]]!r} for row {unknown[0]}, which is none "
            f"of the {len(classes)} classes of y. The base estimator must be a classifier."
        )
    return index


@dataclass(frozen=True, eq=False)
class HardestRows:
    """Training rows with the largest weights, in descending order.

    Attributes
    ----------
    rows : int array
        Row indices in the table passed to `fit`.
    weights : float array
        Row weights after the last round; the weights of all rows sum to 1.
    times_even : float array
        Ratio of each weight to the uniform weight.
    """

    rows: NDArray[np.intp]
    weights: Floats
    times_even: Floats

    _head: ClassVar[str] = "   row    weight  times an even share"

    def __str__(self) -> str:
        lines = [
            f"{row:6d}  {weight:8.3g}  {times:9.3g}"
            for row, weight, times in zip(self.rows, self.weights, self.times_even, strict=True)
        ]
        return "\n".join([self._head, *lines])


def hardest_rows(weight_of_given: Floats, n: int) -> HardestRows:
    """The `n` rows of largest weight; ties go to the first."""
    order = np.argsort(-weight_of_given, kind="stable")[:n]
    n_weighing = max(1, int((weight_of_given > 0).sum()))
    weights = weight_of_given[order]
    return HardestRows(order, weights, weights * n_weighing)

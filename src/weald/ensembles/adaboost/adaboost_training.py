"""The rows of an AdaBoost fit, weighted or drawn, and members that are other people's."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from weald.data import Rows
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.base import Floats
from weald.ensembles.row_counts import weighted_as_repeated
from weald.resampling import draw_by_mass, member_seed, ordered_rows, seed_of
from weald.returned import numbers_returned

REWEIGHT = ("weighting", "resampling")

# So often is drawn again: when all drawn rows are of one class, which many learners refuse, and
# when the first member is of no use, which is no error if only the draw was bad luck.
ATTEMPTS = 10


@dataclass(frozen=True, eq=False)
class Training:
    """The rows as the rounds see them, and how the user's rows are found again."""

    rows: Rows
    n_draws: int | None  # None: nothing is drawn
    seed: int
    place: NDArray[np.intp]  # of each row among the user's
    n_given: int

    def drawn(self, weights: RowWeights, round_: int, attempt: int = 0) -> NDArray[np.int64]:
        """How often each row is drawn for a member; another attempt draws others."""
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
        """What each of the user's rows weighs; rows without sample weight weigh nothing."""
        given = np.zeros((*weight_of_rows.shape[:-1], self.n_given))
        given[..., self.place] = weight_of_rows
        return given


def training_of(
    rows: Rows, sample_weight: object, *, reweight: str, random_state: object, n_threads: int
) -> Training:
    """Prepare rows for boosting by weighting or by resampling."""
    place, n_given = np.arange(rows.n), rows.n
    given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if given.ndim == 1:
        place, n_given = np.flatnonzero(given > 0), len(given)
    if reweight == "weighting":
        return Training(weighted_as_repeated(rows), None, 0, place, n_given)
    # As many draws as there are rows, which lie in the order of their content.
    index = ordered_rows(rows, n_threads=n_threads).index
    return Training(rows.take(index), rows.n, seed_of(random_state), place[index], n_given)


@dataclass
class Ensemble:
    """What the rounds have brought so far."""

    keeps_weights: bool
    members: list[Any] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    weights: list[Floats] = field(default_factory=list)

    def add(self, member: Any, vote: float, error: float) -> None:
        self.members.append(member)
        self.votes.append(vote)
        self.errors.append(error)

    def note(self, weights: RowWeights) -> None:
        """Keep the weights of the rows as they are now, if that is wanted."""
        if self.keeps_weights:
            self.weights.append(weights.of_rows())


class ForeignLearner:
    """Fits clones of an estimator, each to the weights of its round."""

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
        """A new member for the weights of this round."""
        training = self._training
        member = clone(self._estimator)
        _set_seeds(member, member_seed(self._seed, round_))
        if training.n_draws is None:
            return member.fit(training.rows.table, self._labels, sample_weight=weights.of_rows())
        drawn = np.repeat(np.arange(training.rows.n), training.drawn(weights, round_, attempt))
        return member.fit(training.rows.table[drawn], self._labels[drawn])


def _set_seeds(estimator: Any, seed: int) -> None:
    """Give the estimator, and those inside it, a random_state where they have one."""
    names = [name for name in estimator.get_params() if f"__{name}".endswith("__random_state")]
    if names:
        estimator.set_params(**dict.fromkeys(names, seed))


def checked_answers(
    member: Any, table: Any, where: str, *, are_numbers: bool = False
) -> NDArray[Any]:
    """What a member predicts: one answer a row, and none of them NaN."""
    name, n = type(member).__name__, table.shape[0]
    answers = member.predict(table)
    if are_numbers or np.ma.isMaskedArray(answers):
        answers = numbers_returned(answers, f"{where} ({name})")
    answers = np.asarray(answers)
    if answers.shape != (n,):
        raise ValueError(
            f"{where} ({name}) predicted an array of the shape {answers.shape} for {n} rows; "
            f"expected ({n},)."
        )
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        row = int(np.argmin(np.isfinite(answers)))
        raise ValueError(
            f"{where} ({name}) predicted {answers[row]} for row {row}. A member must answer every "
            "row: use an estimator that can, or impute missing values before it."
        )
    return answers


def class_numbers(answers: NDArray[Any], classes: NDArray[Any], where: str) -> NDArray[np.intp]:
    """The number of the class that each answer names."""
    try:
        numbers = np.minimum(np.searchsorted(classes, answers), len(classes) - 1)
        unknown = np.flatnonzero(classes[numbers] != answers)
    except TypeError:
        numbers, unknown = np.zeros(len(answers), dtype=np.intp), np.arange(len(answers))
    if unknown.size:
        raise ValueError(
            f"{where} predicted {answers[unknown[0]]!r} for row {unknown[0]}, which is none of the "
            f"{len(classes)} classes of y. A member must be a classifier."
        )
    return numbers


@dataclass(frozen=True, eq=False)
class HardestRows:
    """The training rows of largest weight, the heaviest first.

    Attributes
    ----------
    rows : int array
        Their places in the table given to `fit`.
    weights : float array
        What they weigh after the last round; all rows together weigh 1.
    times_even : float array
        How many times what it would weigh if all rows weighed the same.
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
    """The `n` rows that weigh most; of equal ones those that come first."""
    order = np.argsort(-weight_of_given, kind="stable")[:n]
    n_weighing = max(1, int((weight_of_given > 0).sum()))
    weights = weight_of_given[order]
    return HardestRows(order, weights, weights * n_weighing)

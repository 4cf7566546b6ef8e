"""Scoring of the validation set with a scikit-learn scorer or the estimator's `score`."""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.advice import advise
from weald.cached import cached_property
from weald.data import ColumnTable, ValidationSet, as_one_array
from weald.data.parts.table import PartsTable
from weald.data.validation import ONE_SET
from weald.ensembles.base import Floats
from weald.ensembles.members.members import is_frame, take
from weald.ensembles.rounds.loop import Training
from weald.ensembles.rounds.scorer_names import instead_of, is_scorer_name
from weald.errors import listing
from weald.losses import Loss, NotFiniteError, TargetLosses
from weald.returned import number_returned
from weald.trees import Forest

_LN2 = 0.6931471805599453

# Name of the loss of the fit among the metrics.
LOSS = "loss"


@dataclass(frozen=True)
class Scoring:
    """Validation of the `scoring` parameter; `named` are the names that `metrics` gives."""

    named: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        own = f"a name in metrics ({listing(self.named)}), " if self.named else ""
        return f"'loss', {own}the name of a scorer (sklearn.metrics.get_scorer_names()), a callable"

    def beside(self, parameters: Mapping[str, Any]) -> "Scoring":
        """The limit for an estimator with these parameters."""
        metrics = parameters.get("metrics")
        names = metrics if isinstance(metrics, Mapping) else ()
        return Scoring(tuple(name for name in names if isinstance(name, str)))

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            # The default does not need sklearn.metrics, which is slow to import.
            return value == LOSS or value in self.named or is_scorer_name(value)
        return callable(value) and not isinstance(value, type)

    def advice(self, value: object) -> str:
        return instead_of([value])


@dataclass(frozen=True)
class Metrics:
    """Validation of the `metrics` parameter."""

    @property
    def expected(self) -> str:
        return (
            "a list of 'loss' and names of scorers (sklearn.metrics.get_scorer_names()), or a dict "
            "of names and scorers"
        )

    def admits(self, value: object) -> bool:
        scorers: Iterable[object]
        if isinstance(value, Mapping):
            scorers = value.values()
            if not all(isinstance(name, str) and name for name in value):
                return False
        elif isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
            scorers = value
        else:
            return False
        limit = Scoring()
        return len(value) > 0 and all(limit.admits(one) for one in scorers)

    def advice(self, value: object) -> str:
        if isinstance(value, str):
            return f"Pass a list: metrics=[{value!r}]. {instead_of([value])}".rstrip()
        if isinstance(value, Mapping):
            return instead_of(value.values())
        if not isinstance(value, (list, tuple)):
            return ""
        if any(callable(one) for one in value):
            return "Functions need names: pass a dict, metrics={'name': function}."
        return instead_of(one for one in value if one != LOSS)


def metrics_of(model: Any) -> dict[str, Any]:
    """Scorers by name, other than the loss: that of `scoring` first, then those of `metrics`."""
    wanted = model.metrics or ()
    given = dict(wanted if isinstance(wanted, Mapping) else zip(wanted, wanted, strict=True))
    found = {}
    if not is_loss(model.scoring):
        watched, scoring = watched_metric(model), model.scoring
        is_entry = isinstance(scoring, str) and scoring in given and not is_scorer_name(scoring)
        found[watched] = given[scoring] if is_entry else scoring
    for name, scorer in given.items():
        if is_loss(scorer) != (name == LOSS) or found.get(name, scorer) != scorer:
            raise ValueError(
                f"metrics has two meanings of the name {name!r}, which is that of "
                f"{'the loss' if LOSS in (name, scorer) else 'scoring'}. Choose another name."
            )
        if name != LOSS:
            found[name] = scorer
    return found


def is_loss(scoring: Any) -> bool:
    """Whether validation rows are to be scored by the loss of the fit."""
    return isinstance(scoring, str) and scoring == LOSS


def watched_metric(model: Any) -> str:
    """Name of the metric that `scoring` names, or "score" for a function or the `score` method."""
    return model.scoring if isinstance(model.scoring, str) else "score"


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The table passed to `fit`, and the mask of its rows that have a weight."""

    X: Any
    kept: NDArray[np.bool_]

    def rows(self, index: NDArray[np.intp]) -> Any:
        """Select some of the rows that have a weight."""
        return take(self.X, np.flatnonzero(self.kept)[index])


@dataclass(frozen=True, eq=False)
class HeldOutSet:
    """Some of the held-out rows: a validation set of the user, or all rows that are left out.

    Attributes
    ----------
    name : str
        Name of the set.
    index : intp [rows]
        Where its rows are among those of the fit.
    training : Training
        All rows of the fit.
    given : ValidationSet or None
        The set as passed by the user; None: its rows were held out from the training rows.
    fitted : FittedTable or None
        The table of the fit as passed by the user, from which rows were held out.
    """

    name: str
    index: NDArray[np.intp]
    training: Training
    given: ValidationSet | None
    fitted: "FittedTable | None" = None

    @cached_property
    def X(self) -> Any:
        """The rows as passed by the user; of arrays of numbers and unread tables, numbers."""
        if self.given is not None:
            return self.given.X
        rows, order = self.training.rows, self.training.index
        if isinstance(rows.table, PartsTable):
            return rows.table  # unread: scorers by name predict this object only
        if self.fitted is not None and order is not None:
            return self.fitted.rows(order[self.index])
        return as_one_array(rows.table[self.index])

    def labels(self, model: Any) -> NDArray[Any]:
        """The target in the user's units, or class labels."""
        as_given = getattr(model, "_as_given", None)  # of models whose target is encoded
        if self.given is not None:
            labels = self.given.labels
            return labels if as_given is None else np.asarray(as_given(labels, is_given=True))
        rows = self.training.rows
        target = rows.target[self.index]
        if as_given is not None:
            return np.asarray(as_given(target, is_given=False))
        if hasattr(model, "classes_"):
            return np.asarray(model.classes_[target.astype(np.intp)])
        loss = model._fitted_loss if hasattr(model, "_fitted_loss") else None
        if isinstance(loss, TargetLosses):
            target = loss.in_units_of_targets(target)
        return np.ldexp(target, rows.target_exponent)


def held_out_sets(training: Training, fitted: FittedTable) -> list[HeldOutSet]:
    """The sets of held-out rows; the first of them is the one of early stopping."""
    if training.held_out is None:
        return []
    if training.validation is None:
        # Categories and dates of arrays are other columns than the user's once they are read.
        is_array = isinstance(fitted.X, np.ndarray)
        is_read = is_array and isinstance(training.rows.table, ColumnTable)
        known = fitted if is_read or is_frame(fitted.X) else None
        return [HeldOutSet(ONE_SET, np.flatnonzero(training.held_out), training, None, known)]
    first = training.rows.n - training.validation.n
    return [
        HeldOutSet(one.name, np.arange(first + place.start, first + place.stop), training, one)
        for one, place in training.validation.parts()
    ]


class HeldOutScorer:
    """Scores held-out rows after a round.

    The scorer receives a copy of the estimator. Its predictions for the set are derived
    from the scores of the boosting loop, without traversing any tree; for any other table, the
    trees so far are evaluated.

    Parameters
    ----------
    model : estimator
        The model that is being fitted.
    scoring : str, callable or None
        Scorer, or None for the `score` method.
    held_out : HeldOutSet
        The rows.
    loss : Loss
        The loss, which converts scores to predictions.
    forest : callable
        Returns the trees so far, in the user's units.
    called : str
        What messages call the scorer.
    """

    def __init__(
        self,
        model: Any,
        scoring: Any,
        held_out: HeldOutSet,
        loss: Loss,
        forest: Callable[[], Forest],
        *,
        called: str,
    ) -> None:
        _check_scorer(scoring, called)
        if callable(scoring) and held_out.given is None and _is_in_parts(held_out):
            raise ValueError(
                f"{called.partition('=')[0]} is a function, which needs the validation rows in "
                "memory, but X is a table in parts (weald.parts): pass X_val and y_val, or the "
                "name of a scorer."
            )
        self._scoring, self._called = scoring, called
        self._held_out = held_out
        self._loss = loss
        self._forest = forest
        self._model = copy.copy(model)
        self._model._fitted_loss, self._model.forest_ = loss, forest()
        self._warned = False
        self._X, self._y = held_out.X, held_out.labels(self._model)
        self._weights = self._weights_for(self._scorer())

    def _scorer(self) -> Callable[..., Any]:
        if self._scoring is None:
            return type(self._model).score  # type: ignore[no-any-return]
        from sklearn.metrics import get_scorer

        scorer: Callable[..., Any] = get_scorer(self._scoring)
        return scorer

    def _weights_for(self, scorer: Callable[..., Any]) -> dict[str, Floats]:
        """Keyword argument with the sample weights, unless these are all equal."""
        training, index = self._held_out.training, self._held_out.index
        weight = training.validation_copies[index].astype(np.float64)
        if training.validation_weight is not None:
            weight = weight * training.validation_weight[index]
        if (weight == weight[0]).all():
            return {}
        if not _takes_weights(scorer):
            raise ValueError(
                f"{self._called} has no parameter sample_weight, and the validation rows have "
                "weights. Add one: scorer(estimator, X, y, sample_weight=None)."
            )
        return {"sample_weight": weight}

    def __call__(self, scores: Floats) -> float:
        """Return the score of the held-out rows at these raw scores."""
        exponent = self._held_out.training.rows.target_exponent
        own = scores[:, self._held_out.index].T
        if isinstance(self._loss, TargetLosses):
            own = self._loss.in_units_of_targets(own)
        own = own + exponent * _LN2 if self._loss.has_log_link else np.ldexp(own, exponent)
        model, forest = self._model, None
        if callable(self._scoring):
            forest = model.forest_ = self._forest()

        def scores_of(X: Any) -> Floats:
            if X is self._X:
                return np.ascontiguousarray(own)
            self._warn_of_training_rows()
            model.forest_ = self._forest() if forest is None else forest
            return type(model)._scores(model, X)  # type: ignore[no-any-return]

        model._scores = scores_of
        try:
            score = self._scorer()(model, self._X, self._y, **self._weights)
        except (TypeError, ValueError) as error:
            error.add_note(f"Raised by {self._called}, for the validation rows.")
            raise
        who = f"{self._called}, for the validation rows,"
        number = number_returned(score, who, finite=False)
        if not np.isfinite(number):
            raise NotFiniteError(f"{who} returned {number}; expected one finite number.")
        return number

    def _warn_of_training_rows(self) -> None:
        """Warn, once, if the rows that are scored are training rows of some boosters."""
        held_out = self._held_out.training.held_out
        if self._warned or held_out is None or not held_out.all():
            return
        self._warned = True
        advise(
            f"{self._called} predicts other rows than all of its X. Without X_val, the predictions "
            "for X are those of boosters that left the row out, but those for any other table are "
            "of all boosters, which were trained on these rows: such a score is far too good. Let "
            "the function predict all rows of X, or pass X_val or n_bags=None."
        )


def _is_in_parts(held_out: HeldOutSet) -> bool:
    return isinstance(held_out.training.rows.table, PartsTable)


def _check_scorer(scoring: Any, called: str) -> None:
    """Raise a TypeError for a callable without a scorer's signature, such as a metric."""
    if not callable(scoring):
        return
    try:
        signature = inspect.signature(scoring)
    except (TypeError, ValueError):
        return  # no signature to check
    try:
        signature.bind("estimator", "X", "y")
    except TypeError:
        name = getattr(scoring, "__name__", type(scoring).__name__)
        raise TypeError(
            f"{called.partition('=')[0]} must be a callable(estimator, X, y) that returns a number "
            f"to maximise; got {name}{signature}. Convert a metric of y_true and y_pred with "
            f"sklearn.metrics.make_scorer({name}), with greater_is_better=False if it is an error."
        ) from None


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer accepts `sample_weight`."""
    try:
        parameters = inspect.signature(scorer).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)

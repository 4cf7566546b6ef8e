"""AdaBoost for classification."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import class_rows, read_once
from weald.ensembles.adaboost.adaboost_base import LIMITS, AdaBoost
from weald.ensembles.adaboost.adaboost_forms import FORMS, Form
from weald.ensembles.adaboost.adaboost_training import (
    ATTEMPTS,
    Ensemble,
    ForeignLearner,
    Training,
    checked_predictions,
    class_indices,
    mean_losses,
    training_of,
)
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.adaboost.stumps import CRITERIA, FoundStump, Stump, StumpSearch, stump_forest
from weald.ensembles.base import Floats
from weald.ensembles.rounds.history import TRAIN_LOSS, History
from weald.losses import BuiltinLoss
from weald.parameters import Limit, NoneOr, OneOf
from weald.resampling import seed_of

# Defined for two classes only, with votes of +1 and -1.
_TWO_CLASSES = ("half-log", "log")


class _StumpLearner:
    """Fits one stump per round, on weighted or resampled rows."""

    def __init__(self, training: Training, n_classes: int, criterion: str, n_threads: int) -> None:
        self._training = training
        self._search = StumpSearch(training.rows, n_classes, criterion, n_threads=n_threads)

    def learn(
        self, weights: RowWeights, round_: int, attempt: int
    ) -> tuple[FoundStump, NDArray[np.bool_]]:
        """Fit a base estimator; return it and the mask of misclassified rows."""
        if self._training.n_draws is None:
            return self._search.find(weights.mass)
        drawn = self._training.drawn(weights, round_, attempt)
        return self._search.find(drawn.astype(np.float64), self._training.n_draws)


class _ForeignLearner:
    """Fits one clone of the user's estimator per round."""

    def __init__(self, estimator: Any, training: Training, classes: NDArray[Any], seed: int):
        self._classes = classes
        self._table = training.table
        self._target = training.rows.target.astype(np.intp)
        self._learner = ForeignLearner(estimator, training, classes[self._target], seed)

    def learn(
        self, weights: RowWeights, round_: int, attempt: int
    ) -> tuple[Any, NDArray[np.bool_]]:
        """Fit a base estimator; return it and the mask of misclassified rows."""
        estimator = self._learner.fit(weights, round_, attempt)
        where = f"Base estimator {round_ + 1}"
        predictions = checked_predictions(estimator, self._table, where)
        return estimator, class_indices(predictions, self._classes, where) != self._target


class AdaBoostClassifier(ClassifierMixin, AdaBoost):
    """AdaBoost: a weighted vote of base estimators fitted to reweighted rows.

    Each base estimator is fitted with larger weights on the rows that earlier ones misclassified.
    With the default parameters it is scikit-learn's class of the same name, with native stumps.

    Parameters
    ----------
    form : {"half-log", "log", "m1", "samme"}, default="samme"
        Variant of the algorithm. e is the weighted error of a base estimator, K the number of
        classes; each form gives the vote and the factors of the row weights.

        - "half-log": vote ½ ln((1 - e)/e); correct rows times exp(-vote), misclassified ones times
          exp(vote); two classes;
        - "log": vote ln((1 - e)/e); misclassified rows times exp(vote); two classes;
        - "m1" (AdaBoost.M1): the same vote for any number of classes; correct rows times e/(1 - e);
        - "samme": vote ln((1 - e)/e) + ln(K - 1); misclassified rows times exp(vote).

        With two classes and `learning_rate=1` all forms give the same normalised row weights. A
        base estimator is rejected if e >= ½; with "samme" if e >= 1 - 1/K.
    reweight : {"weighting", "resampling"}, default="weighting"
        Fit base estimators with sample weights, or on rows drawn in proportion to their weights,
        which works with an `estimator` that does not support sample weights.
    on_bad_member : {"stop", "flip"}, default="stop"
        A base estimator worse than chance ends the fit, or gets a negative vote (two classes only).
    criterion : {"error", "gini", "entropy"} or None, default=None
        Split criterion of the stumps: weighted misclassification error, Gini impurity or entropy.
        None: "gini" for "samme", "error" for the other forms. Only for `estimator=None`.

    Attributes
    ----------
    forest_ : Forest
        The stumps as flat arrays (only with `estimator=None`).
    classes_ : array
        Class labels, sorted.
    n_classes_ : int
        Number of classes.
    edges_ : array, shape (estimators,)
        Edge of each base estimator: ½ minus its error.
    training_error_bound_ : float
        Upper bound of the training error: the product over the base estimators of
        (1 - e) exp(-a) + e exp(a), with a the vote on the scale of "half-log". For
        `learning_rate=1` and two classes a factor is 2 √(e (1 - e)).
    train_loss_ : array, shape (estimators + 1,)
        Mean exponential loss of the training rows before the first and after each round. That of a
        row is the product of exp(-a) over the base estimators that are right and exp(a) over those
        that are wrong; with "samme" and K classes of exp(-v (K - 1)/K) and exp(v/K), v the vote.

    Examples
    --------
    >>> from weald import AdaBoostClassifier
    >>> X = [[1, 5], [2, 2], [3, 1], [4, 6], [6, 8], [6, 5], [7, 9], [8, 7], [9, 8], [10, 2]]
    >>> y = [1, 1, -1, -1, 1, -1, 1, 1, -1, -1]
    >>> model = AdaBoostClassifier(n_estimators=3, form="half-log").fit(X, y)
    >>> model.estimator_errors_.round(6).tolist(), model.estimator_weights_.round(6).tolist()
    ([0.3, 0.214286, 0.136364], [0.423649, 0.649641, 0.922913])
    >>> model.score(X, y), round(model.training_error_bound_, 6)
    (1.0, 0.51623)
    """

    _limits: ClassVar[Mapping[str, Limit]] = {
        **LIMITS,
        "form": OneOf(FORMS),
        "on_bad_member": OneOf(("stop", "flip")),
        "criterion": NoneOr(OneOf(CRITERIA)),
    }

    classes_: NDArray[Any]
    _form: Form

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        form: str = "samme",
        reweight: str = "weighting",
        on_bad_member: str = "stop",
        criterion: str | None = None,
        categorical_features: Any = "from_dtype",
        target_statistics: Any = "auto",
        store_weights: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.form = form
        self.reweight = reweight
        self.on_bad_member = on_bad_member
        self.criterion = criterion
        self.categorical_features = categorical_features
        self.target_statistics = target_statistics
        self.store_weights = store_weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting ----

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Numbers, text, categories and dates; missing values if the base estimator supports
            them (weald's own do).
        y : array, shape (rows,)
            Class labels of any type.
        sample_weight : array, shape (rows,), or None
            Initial row weights; only their ratios matter.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            rows = self._rows_for_estimators(self._encoded(rows, len(self.classes_)))
            self._check_choices()
            form = Form(str(self.form), len(self.classes_), float(self.learning_rate))
            training = training_of(
                rows,
                X,
                sample_weight,
                reweight=self.reweight,
                random_state=self.random_state,
                n_threads=self._n_threads,
            )
            weights = RowWeights(training.rows)
            found = self._boost(self._learner(training), weights, form)
            self._keep(found, form)
            self._keep_weights(training, weights, found.weights)
        return self

    def _check_choices(self) -> None:
        """Check combinations of parameters and data."""
        n_classes = len(self.classes_)
        if self.form in _TWO_CLASSES and n_classes > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"form={self.form!r} supports two classes and y has {n_classes}. "
                'Use form="m1" or form="samme".'
            )
        if self.on_bad_member == "flip" and n_classes > 2:
            raise ValueError(
                f'on_bad_member="flip" supports two classes and y has {n_classes}. '
                'Use on_bad_member="stop".'
            )
        if self.estimator is not None and self.criterion is not None:
            raise ValueError(
                f"criterion={self.criterion!r} is a parameter of the default stumps and has no "
                f"effect with estimator={type(self.estimator).__name__}. Leave one of them out."
            )

    def _learner(self, training: Training) -> _StumpLearner | _ForeignLearner:
        if self.estimator is None:
            by_form = "gini" if self.form == "samme" else "error"
            criterion = str(self.criterion or by_form)
            self.estimator_ = Stump(criterion=criterion, n_jobs=self.n_jobs)
            return _StumpLearner(training, len(self.classes_), criterion, self._n_threads)
        self.estimator_ = self._base_estimator()
        seed = training.seed if training.n_draws is not None else seed_of(self.random_state)
        return _ForeignLearner(self.estimator_, training, self.classes_, seed)

    def _boost(
        self, learner: _StumpLearner | _ForeignLearner, weights: RowWeights, form: Form
    ) -> Ensemble:
        """Run the boosting rounds."""
        found = Ensemble(keeps_weights=self.store_weights)
        found.note(weights)
        for round_ in range(self.n_estimators):
            estimator, wrong, error = self._fit_round(learner, weights, form, round_)
            if self._is_rejected(form, error):
                if not found.estimators:
                    raise ValueError(_no_better(form, error))
                break
            vote = form.vote(error)
            self._check_vote(vote, round_)
            found.add(estimator, vote, error)
            is_perfect = error in (0.0, 1.0)
            if not is_perfect:
                weights.multiply_two(wrong, *form.factors(error, vote))
            found.note(weights)
            if is_perfect:
                break
        return found

    def _fit_round(
        self,
        learner: _StumpLearner | _ForeignLearner,
        weights: RowWeights,
        form: Form,
        round_: int,
    ) -> tuple[Any, NDArray[np.bool_], float]:
        """Fit a base estimator; return it, the misclassified rows and its weighted error."""
        # In the first round an unlucky sample must not end the fit.
        may_retry = round_ == 0 and self.reweight == "resampling"
        for attempt in range(ATTEMPTS if may_retry else 1):
            estimator, wrong = learner.learn(weights, round_, attempt)
            error = weights.share_of(wrong)
            if not self._is_rejected(form, error):
                break
        return estimator, wrong, error

    def _is_rejected(self, form: Form, error: float) -> bool:
        if form.n_classes == 1:
            return False
        return form.is_chance(error) or (self.on_bad_member == "stop" and form.is_worse(error))

    def _keep(self, found: Ensemble, form: Form) -> None:
        self.n_classes_ = len(self.classes_)
        self.estimator_weights_ = np.array(found.votes)
        self.estimator_errors_ = np.array(found.errors)
        self._form = form
        self._keep_bound()
        self.__dict__.pop("forest_", None)
        if self.estimator is not None:
            self._estimators = found.estimators
            return
        self._estimators = None
        self._stumps = found.estimators
        ballots = ballots_of(form)
        values = [
            ballots[list(stump.leaf_classes)][: len(stump.sides)] for stump in found.estimators
        ]
        self.forest_ = stump_forest(
            found.estimators, values, self.estimator_weights_, self._plan.n_columns
        )

    def _keep_bound(self) -> None:
        errors, votes = self.estimator_errors_.tolist(), self.estimator_weights_.tolist()
        self.edges_ = 0.5 - self.estimator_errors_
        bounds = map(self._form.bound_factor, errors, votes)
        self.training_error_bound_ = min(1.0, float(np.prod(list(bounds))))
        losses = mean_losses(list(map(self._form.loss_factor, errors, votes)))
        self._keep_history(History({TRAIN_LOSS: losses}))

    def _keep_rounds(self, n_rounds: int) -> None:
        super()._keep_rounds(n_rounds)
        if hasattr(self, "forest_"):
            self._stumps = self._stumps[:n_rounds]
        self._keep_bound()

    def _own_estimators(self) -> list[Any]:
        criterion = self.estimator_.criterion
        return [Stump.of(stump, self, self.classes_, criterion) for stump in self._stumps]

    # ---- prediction ----

    def _votes(self, X: object) -> Floats:
        """Sum of the votes, shape (rows, scores); one score for up to two classes."""
        if hasattr(self, "forest_"):
            return self._scores(X)
        *_, votes = self._staged_votes(X)
        return votes[0]

    def _staged_votes(self, X: object) -> Iterator[tuple[Floats, float]]:
        """Yield the sum of the votes and the total vote weight after each base estimator."""
        ballots, counts = ballots_of(self._form), np.abs(self.estimator_weights_)
        if hasattr(self, "forest_"):
            leaves = self._leaves(X)
            leaves = leaves + self.forest_.first_leaf[:-1]
            votes = np.zeros((len(leaves), ballots.shape[1]))
            for i, weight in enumerate(self.estimator_weights_):
                votes = votes + (weight * self.forest_.value)[leaves[:, i]]
                yield votes, float(counts[: i + 1].sum())
            return
        table = self._checked_table(X)
        votes = np.zeros((table.shape[0], ballots.shape[1]))
        for i, (estimator, weight) in enumerate(
            zip(self.estimators_, self.estimator_weights_, strict=True)
        ):
            where = f"Base estimator {i + 1}"
            predictions = checked_predictions(estimator, table, where)
            votes = votes + (weight * ballots)[class_indices(predictions, self.classes_, where)]
            yield votes, float(counts[: i + 1].sum())

    def _decision(self, votes: Floats, total: float) -> Floats:
        if self.n_classes_ == 1:
            return np.zeros((len(votes), 1))
        if self._form.name == "samme":
            votes = votes / total
        if self.n_classes_ > 2:
            return votes
        # scikit-learn subtracts the scores of the two classes, which are opposite.
        return votes[:, 0] * 2.0 if self._form.name == "samme" else votes[:, 0]

    def _probabilities(self, decision: Floats) -> Floats:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        scores = decision.reshape(len(decision), -1)
        if self._form.name == "half-log":
            scores = scores * 2.0
        elif self._form.name == "samme" and self.n_classes_ > 2:
            scores = scores / (self.n_classes_ - 1)
        link = BuiltinLoss("log_loss", scores.shape[1], self._n_threads)
        return link.predictions(np.ascontiguousarray(scores))

    def _labels(self, decision: Floats) -> NDArray[Any]:
        if self.n_classes_ == 2:
            # A score of 0 is +1 in the textbooks, the first class in scikit-learn.
            is_second = decision >= 0 if self._form.name in _TWO_CLASSES else decision > 0
            return np.asarray(self.classes_[is_second.astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(decision, axis=1)])

    def decision_function(self, X: object, *, n_rounds: int | None = None) -> Floats:
        """Weighted vote of the base estimators.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            As in `fit`.
        n_rounds : int or None, default=None
            Use the first `n_rounds` base estimators only; None: all.

        Returns
        -------
        array, shape (rows,) for two classes, (rows, classes) for more
            Two classes: positive for the second. "samme" divides by the total vote weight, as
            scikit-learn does; the other forms return the sum.
        """
        check_is_fitted(self)
        if n_rounds is not None:
            return self.truncate(n_rounds).decision_function(X)
        votes = self._votes(X)
        return self._decision(votes, float(np.abs(self.estimator_weights_).sum()))

    def predict_proba(self, X: object, *, n_rounds: int | None = None) -> Floats:
        """Class probabilities, in the order of `classes_`.

        1/(1 + exp(-2F)) for two classes, with F the vote on the scale of "half-log", and the
        softmax for more; "samme" gives scikit-learn's, which are never close to 0 or 1.

        Parameters
        ----------
        X, n_rounds
            As in `decision_function`.
        """
        return self._probabilities(self.decision_function(X, n_rounds=n_rounds))

    def predict_log_proba(self, X: object, *, n_rounds: int | None = None) -> Floats:
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X, n_rounds
            As in `decision_function`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, n_rounds=n_rounds))

    def predict(self, X: object, *, n_rounds: int | None = None) -> NDArray[Any]:
        """Class with the largest vote; ties go to the first, with "half-log" and "log" to +1.

        Parameters
        ----------
        X, n_rounds
            As in `decision_function`.
        """
        return self._labels(self.decision_function(X, n_rounds=n_rounds))

    def staged_decision_function(self, X: object) -> Iterator[Floats]:
        """Decision function after each base estimator."""
        check_is_fitted(self)
        for votes, total in self._staged_votes(X):
            yield self._decision(votes, total)

    def staged_predict_proba(self, X: object) -> Iterator[Floats]:
        """Class probabilities after each base estimator."""
        return map(self._probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: object) -> Iterator[NDArray[Any]]:
        """Predictions after each base estimator."""
        return map(self._labels, self.staged_decision_function(X))

    def staged_score(self, X: object, y: Any, sample_weight: object = None) -> Iterator[float]:
        """Accuracy after each base estimator."""
        from sklearn.metrics import accuracy_score

        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    # ---- inspection ----

    def _leaf_text(self, value: Floats) -> str:
        # One score: positive for the second class. Several: the class that gets the vote.
        is_many = self.n_classes_ > 2
        best = int(np.argmax(value)) if is_many else int(value[0] > 0)
        return str(self.classes_[best])

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        form = np.array([self._form.name])
        return {**super()._fingerprint_arrays(), "classes": self.classes_, "form": form}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.form not in _TWO_CLASSES
        return tags


def ballots_of(form: Form) -> Floats:
    """Contribution of a vote for each class to the scores: ±1 to one score, or one per class."""
    n_classes = form.n_classes
    if n_classes <= 2:
        return np.array([[-1.0], [1.0]])[:n_classes]
    others = -1.0 / (n_classes - 1.0) if form.name == "samme" else 0.0
    return np.where(np.eye(n_classes, dtype=bool), 1.0, others)


def _no_better(form: Form, error: float) -> str:
    return (
        "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can not be "
        f"fit: the weighted error of the first base estimator is {error:.6g}, but it must be below "
        f"{form.limit:.6g}. Use a stronger estimator, such as a deeper tree, or check whether the "
        "columns are informative about y."
    )

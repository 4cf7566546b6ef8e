"""AdaBoost for classes, in all the forms it is told in."""

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
    checked_answers,
    class_numbers,
    training_of,
)
from weald.ensembles.adaboost.row_weights import RowWeights
from weald.ensembles.adaboost.stumps import CRITERIA, FoundStump, Stump, StumpSearch, stump_forest
from weald.ensembles.base import Floats
from weald.losses import BuiltinLoss
from weald.parameters import Limit, NoneOr, OneOf
from weald.resampling import seed_of

# Stated by the texts for two classes, as votes of +1 and -1.
_TWO_CLASSES = ("half-log", "log")


class _StumpLearner:
    """Finds a stump a round, on weighted or drawn rows."""

    def __init__(self, training: Training, n_classes: int, criterion: str, n_threads: int) -> None:
        self._training = training
        self._search = StumpSearch(training.rows, n_classes, criterion, n_threads=n_threads)

    def learn(
        self, weights: RowWeights, round_: int, attempt: int
    ) -> tuple[FoundStump, NDArray[np.bool_]]:
        """A new member, and which rows it gets wrong."""
        if self._training.n_draws is None:
            return self._search.find(weights.mass)
        drawn = self._training.drawn(weights, round_, attempt)
        return self._search.find(drawn.astype(np.float64), self._training.n_draws)


class _ForeignLearner:
    """Fits an estimator a round."""

    def __init__(self, estimator: Any, training: Training, classes: NDArray[Any], seed: int):
        self._classes = classes
        self._table = training.rows.table
        self._target = training.rows.target.astype(np.intp)
        self._learner = ForeignLearner(estimator, training, classes[self._target], seed)

    def learn(
        self, weights: RowWeights, round_: int, attempt: int
    ) -> tuple[Any, NDArray[np.bool_]]:
        """A new member, and which rows it gets wrong."""
        member, where = self._learner.fit(weights, round_, attempt), f"Member {round_ + 1}"
        answers = checked_answers(member, self._table, where)
        return member, class_numbers(answers, self._classes, where) != self._target


class AdaBoostClassifier(ClassifierMixin, AdaBoost):
    """AdaBoost: a weighted vote of members that each learn what those before got wrong.

    With its defaults it is scikit-learn's class of the same name, with stumps found natively.

    Parameters
    ----------
    form : {"half-log", "log", "m1", "samme"}, default="samme"
        How it is written down. e is the weighted error of a member, K the number of classes.

        - "half-log": votes of ½ ln((1 - e)/e); right rows times exp(-vote), wrong ones times
          exp(vote); two classes;
        - "log": votes of ln((1 - e)/e); wrong rows times exp(vote); two classes;
        - "m1" (AdaBoost.M1): the same votes for any number of classes; right rows times e/(1 - e);
        - "samme": votes of ln((1 - e)/e) + ln(K - 1); wrong rows times exp(vote).

        With two classes and `learning_rate` 1 all give the same normalised weights. A member is of
        no use from e = ½ on; with "samme" from 1 - 1/K on.
    reweight : {"weighting", "resampling"}, default="weighting"
        Members learn from weighted rows, or from rows drawn in proportion to their weights, which
        works with an `estimator` that knows no weights.
    on_bad_member : {"stop", "flip"}, default="stop"
        A member worse than guessing ends the fit, or its vote counts against what it says (two
        classes only).
    criterion : {"error", "gini", "entropy"} or None, default=None
        What the question of a stump makes least: the weight of wrong rows, the impurity, or the
        entropy. None: "gini" for "samme", "error" for the other forms. Only for `estimator=None`.

    Attributes
    ----------
    forest_ : Forest
        The stumps as flat arrays (only with `estimator=None`).
    classes_ : array
        The class labels, sorted.
    n_classes_ : int
        How many there are.
    edges_ : array, shape (members,)
        How much better than ½ each member is: ½ minus its error.
    training_error_bound_ : float
        The training error is at most this: the product over the members of
        (1 - e) exp(-a) + e exp(a), with a the vote on the scale of "half-log". For
        `learning_rate=1` and two classes a factor is 2 √(e (1 - e)).

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
        self.store_weights = store_weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting ----

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array or frame, shape (rows, columns)
            Numbers, text, categories and dates; what is missing, where the members can deal with
            it (weald's own can).
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            What the rows weigh before the first round; only their ratios matter.
        """
        with self._fitting():
            y, sample_weight = read_once(y, sample_weight)
            rows, self.classes_ = class_rows(self, X, y, sample_weight)
            rows = self._rows_for_members(rows)
            self._check_choices()
            form = Form(str(self.form), len(self.classes_), float(self.learning_rate))
            training = training_of(
                rows,
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
        """What fits together only for some data or for some other parameter."""
        n_classes = len(self.classes_)
        if self.form in _TWO_CLASSES and n_classes > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"form={self.form!r} is written for two classes and y has {n_classes}. "
                'Use form="m1" or form="samme".'
            )
        if self.on_bad_member == "flip" and n_classes > 2:
            raise ValueError(
                f'on_bad_member="flip" needs two classes, for what is not one is the other; y has '
                f'{n_classes}. Use on_bad_member="stop".'
            )
        if self.estimator is not None and self.criterion is not None:
            raise ValueError(
                f"criterion={self.criterion!r} is of the default stump, but "
                f"estimator={type(self.estimator).__name__} has its own. Leave one of them out."
            )

    def _learner(self, training: Training) -> _StumpLearner | _ForeignLearner:
        if self.estimator is None:
            by_form = "gini" if self.form == "samme" else "error"
            criterion = str(self.criterion or by_form)
            self.estimator_ = Stump(criterion=criterion, n_jobs=self.n_jobs)
            return _StumpLearner(training, len(self.classes_), criterion, self._n_threads)
        self.estimator_ = self._told_member()
        seed = training.seed if training.n_draws is not None else seed_of(self.random_state)
        return _ForeignLearner(self.estimator_, training, self.classes_, seed)

    def _boost(
        self, learner: _StumpLearner | _ForeignLearner, weights: RowWeights, form: Form
    ) -> Ensemble:
        """The rounds: learn, judge, vote, reweight."""
        found = Ensemble(keeps_weights=self.store_weights)
        found.note(weights)
        for round_ in range(self.n_estimators):
            member, wrong, error = self._member(learner, weights, form, round_)
            if self._is_of_no_use(form, error):
                if not found.members:
                    raise ValueError(_no_better(form, error))
                break
            vote = form.vote(error)
            self._check_vote(vote, round_)
            found.add(member, vote, error)
            is_certain = error in (0.0, 1.0)
            if not is_certain:
                weights.multiply_two(wrong, *form.factors(error, vote))
            found.note(weights)
            if is_certain:
                break
        return found

    def _member(
        self,
        learner: _StumpLearner | _ForeignLearner,
        weights: RowWeights,
        form: Form,
        round_: int,
    ) -> tuple[Any, NDArray[np.bool_], float]:
        """A new member, what it gets wrong, and how much that weighs."""
        may_be_luck = round_ == 0 and self.reweight == "resampling"
        for attempt in range(ATTEMPTS if may_be_luck else 1):
            member, wrong = learner.learn(weights, round_, attempt)
            error = weights.share_of(wrong)
            if not self._is_of_no_use(form, error):
                break
        return member, wrong, error

    def _is_of_no_use(self, form: Form, error: float) -> bool:
        if form.n_classes == 1:
            return False
        return form.is_chance(error) or (self.on_bad_member == "stop" and form.is_worse(error))

    def _keep(self, found: Ensemble, form: Form) -> None:
        self.n_classes_ = len(self.classes_)
        self.estimator_weights_ = np.array(found.votes)
        self.estimator_errors_ = np.array(found.errors)
        self.edges_ = 0.5 - self.estimator_errors_
        factors = map(form.bound_factor, found.errors, found.votes)
        self.training_error_bound_ = min(1.0, float(np.prod(list(factors))))
        self._form = form
        self.__dict__.pop("forest_", None)
        if self.estimator is not None:
            self._members = found.members
            return
        self._members = None
        self._stumps = found.members
        ballots = _ballots(form)
        values = [ballots[list(stump.answers)][: len(stump.sides)] for stump in found.members]
        self.forest_ = stump_forest(
            found.members, values, self.estimator_weights_, self._plan.n_columns
        )

    def _own_members(self) -> list[Any]:
        criterion = self.estimator_.criterion
        return [Stump.of(stump, self, self.classes_, criterion) for stump in self._stumps]

    # ---- predicting ----

    def _votes(self, X: object) -> Floats:
        """The sum of the votes, of the shape (rows, scores): one score for up to two classes."""
        if hasattr(self, "forest_"):
            return self._scores(X)
        *_, votes = self._staged_votes(X)
        return votes[0]

    def _staged_votes(self, X: object) -> Iterator[tuple[Floats, float]]:
        """The sums of the votes after each member, and of what the votes count."""
        ballots, counts = _ballots(self._form), np.abs(self.estimator_weights_)
        if hasattr(self, "forest_"):
            leaves = self.apply(X)
            leaves = leaves + self.forest_.first_leaf[:-1]
            votes = np.zeros((len(leaves), ballots.shape[1]))
            for member, weight in enumerate(self.estimator_weights_):
                votes = votes + (weight * self.forest_.value)[leaves[:, member]]
                yield votes, float(counts[: member + 1].sum())
            return
        table = self._checked_table(X)
        votes = np.zeros((len(table), ballots.shape[1]))
        for i, (member, weight) in enumerate(
            zip(self.estimators_, self.estimator_weights_, strict=True)
        ):
            where = f"Member {i + 1}"
            answers = checked_answers(member, table, where)
            votes = votes + (weight * ballots)[class_numbers(answers, self.classes_, where)]
            yield votes, float(counts[: i + 1].sum())

    def _decision(self, votes: Floats, total: float) -> Floats:
        if self.n_classes_ == 1:
            return np.zeros((len(votes), 1))
        if self._form.name == "samme":
            votes = votes / total
        if self.n_classes_ > 2:
            return votes
        # scikit-learn adds up the scores of both classes, which are opposite.
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
            # The texts count 0 as +1, scikit-learn as the first class.
            is_second = decision >= 0 if self._form.name in _TWO_CLASSES else decision > 0
            return np.asarray(self.classes_[is_second.astype(np.intp)])
        return np.asarray(self.classes_[np.argmax(decision, axis=1)])

    def decision_function(self, X: object) -> Floats:
        """The weighted vote of the members.

        Returns
        -------
        array, shape (rows,) for two classes, (rows, classes) for more
            Two classes: positive for the second. "samme" divides by the sum of the votes, as
            scikit-learn does; the other forms give the sum itself.
        """
        check_is_fitted(self)
        votes = self._votes(X)
        return self._decision(votes, float(np.abs(self.estimator_weights_).sum()))

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, in the order of `classes_`.

        1/(1 + exp(-2F)) for two classes, F being the vote on the scale of "half-log", and its like
        for more; "samme" has scikit-learn's, which are never near 0 or 1.
        """
        return self._probabilities(self.decision_function(X))

    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: object) -> NDArray[Any]:
        """The class with the most votes; ties go to the first, with "half-log" and "log" to +1."""
        return self._labels(self.decision_function(X))

    def staged_decision_function(self, X: object) -> Iterator[Floats]:
        """The decision function after each member."""
        check_is_fitted(self)
        for votes, total in self._staged_votes(X):
            yield self._decision(votes, total)

    def staged_predict_proba(self, X: object) -> Iterator[Floats]:
        """Probabilities after each member."""
        return map(self._probabilities, self.staged_decision_function(X))

    def staged_predict(self, X: object) -> Iterator[NDArray[Any]]:
        """Predictions after each member."""
        return map(self._labels, self.staged_decision_function(X))

    def staged_score(self, X: object, y: Any, sample_weight: object = None) -> Iterator[float]:
        """Accuracy after each member."""
        from sklearn.metrics import accuracy_score

        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    # ---- looking ----

    def _leaf_text(self, value: Floats) -> str:
        # One score: positive for the second class. Many: the class that is voted for.
        is_many = self.n_classes_ > 2
        best = int(np.argmax(value)) if is_many else int(value[0] > 0)
        return str(self.classes_[best])

    def _learnt(self) -> dict[str, NDArray[Any]]:
        form = np.array([self._form.name])
        return {**super()._learnt(), "classes": self.classes_, "form": form}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.form not in _TWO_CLASSES
        return tags


def _ballots(form: Form) -> Floats:
    """What a vote for each class adds to the scores: ±1 to one score, or something to each."""
    n_classes = form.n_classes
    if n_classes <= 2:
        return np.array([[-1.0], [1.0]])[:n_classes]
    others = -1.0 / (n_classes - 1.0) if form.name == "samme" else 0.0
    return np.where(np.eye(n_classes, dtype=bool), 1.0, others)


def _no_better(form: Form, error: float) -> str:
    return (
        "BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can not be "
        f"fit: the first member's weighted error is {error:.6g}, but it must be below "
        f"{form.limit:.6g}. Use a stronger estimator, such as a deeper tree, or look whether the "
        "columns tell anything about y."
    )

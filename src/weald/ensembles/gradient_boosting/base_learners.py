"""Foreign regressors as base estimators, fitted with sample weights if they support them."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from weald.data import Rows
from weald.ensembles.base import Floats
from weald.ensembles.rounds.loop import Copies, Stage, check_divergence
from weald.ensembles.rounds.tree_learners import searched_step
from weald.returned import numbers_returned, refuse_not_finite


def fit_foreign(estimator: Any, rows: Rows, target: Any, copies: Copies) -> Any:
    """Fit an estimator on the rows with at least one copy.

    Weights and copies are passed as sample weights. For an estimator without sample weights,
    copies are repeated rows; other weights are passed to the last step if it is a pipeline.
    """
    table: Any = rows.table
    takes_weights = has_fit_parameter(estimator, "sample_weight")
    weight: Any = rows.weight
    if takes_weights and rows.weight_unit != 1.0:
        weight = np.full(rows.n, rows.weight_unit) if weight is None else weight * rows.weight_unit
    if copies is not None:
        times = (copies > 0).astype(np.int64) if takes_weights else copies
        index = np.repeat(np.arange(rows.n), times)
        table, target = table[index], target[index]
        weight = None if weight is None else weight[index]
        if takes_weights and (copies[index] > 1).any():
            weight = copies[index] * (1.0 if weight is None else weight)
    # What fit returns is not used: some estimators forget to return themselves.
    if weight is None:
        estimator.fit(table, target)
    elif takes_weights:
        estimator.fit(table, target, sample_weight=weight)
    else:
        estimator.fit(table, target, **{_of_last_step(estimator): weight})
    return estimator


def _of_last_step(pipeline: Any) -> str:
    """Fit parameter of a pipeline for the sample weights of its last step."""
    steps = getattr(pipeline, "steps", None)
    if steps and steps[-1][1] is not None and has_fit_parameter(steps[-1][1], "sample_weight"):
        return f"{steps[-1][0]}__sample_weight"
    raise ValueError(
        f"The estimator {type(pipeline).__name__} does not support sample weights, and rows cannot "
        "be repeated instead: the weights are not multiples of one number. Use an estimator whose "
        "fit takes sample_weight."
    )


def predictions_of(estimator: Any, table: Any, method: str = "predict") -> Floats:
    """Predict and check the result: finite, one value (or row of probabilities) per row."""
    name = type(estimator).__name__
    predictions = numbers_returned(getattr(estimator, method)(table), f"{method} of {name}")
    if method == "predict" and predictions.shape == (len(table), 1):
        predictions = predictions[:, 0]
    n_dims = 1 if method == "predict" else 2
    if predictions.ndim != n_dims or len(predictions) != len(table):
        raise ValueError(
            f"{method} of {name} must return one prediction per row for {len(table)} rows; got "
            f"shape {predictions.shape}."
        )
    refuse_not_finite(predictions.reshape(len(table), -1), f"{method} of {name}")
    return predictions


def seeded(estimator: Any, *key: int) -> Any:
    """Clone an estimator and seed every `random_state` that is None, nested ones included."""
    fresh = clone(estimator)
    names = sorted(
        name
        for name, value in fresh.get_params(deep=True).items()
        if name.rpartition("__")[2] == "random_state" and value is None
    )
    states = np.random.SeedSequence(key).generate_state(len(names))
    return fresh.set_params(**{name: int(state) for name, state in zip(names, states, strict=True)})


class ForeignLearner:
    """Fits one regressor per score to the negative gradient, and takes a step along it."""

    weighs_gradients = False

    def __init__(self, estimator: Any, *, step: str, learning_rate: float, seed: int) -> None:
        self._estimator = estimator
        self._step = step
        self._learning_rate = learning_rate
        self._seed = seed
        self.estimators: list[Any] = []
        self.step_sizes: list[float] = []

    def learn(self, stage: Stage) -> None:
        """Fit the base estimators of a round, all with the gradients at its start."""
        rows, directions = stage.training.rows, np.empty_like(stage.scores)
        for k in range(stage.n_scores):
            estimator = seeded(self._estimator, self._seed, stage.number, k)
            fit_foreign(estimator, rows, -stage.gradient[k], stage.copies)
            directions[k] = predictions_of(estimator, rows.table)
            self.estimators.append(estimator)
        size = self._learning_rate
        if self._step == "line_search":
            size *= searched_step(stage, directions)
        self.step_sizes += [size] * stage.n_scores
        moves = directions * size
        check_divergence(moves, stage.number, self._learning_rate)
        stage.scores += moves

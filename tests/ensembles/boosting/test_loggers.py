"""Callbacks of the guide: pruning by Optuna, and loggers in the manner of MLflow."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None, reason="scikit-learn before 1.9"
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + RNG.normal(size=400) / 2
GIVEN = {"X_val": X[300:], "y_val": Y[300:]}


class Callback:
    """What scikit-learn's protocol asks for, and nothing done."""

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...


class Pruning(Callback):
    """Reports a curve to an Optuna trial, and ends the fit if the trial is pruned."""

    def __init__(self, trial: Any, curve: str) -> None:
        self.trial, self.curve = trial, curve

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "round":
            return
        values = estimator.history_[self.curve]
        self.trial.report(float(values[-1]), len(values) - 1)
        if self.trial.should_prune():
            import optuna

            raise optuna.TrialPruned


class Logging(Callback):
    """Logs the latest value of every curve, as MLflow's `log_metrics` takes them."""

    def __init__(self, logger: Any) -> None:
        self.logger = logger

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "round":
            history = estimator.history_
            latest = {name: float(values[-1]) for name, values in history.items()}
            self.logger.log_metrics(latest, step=history.n_rounds)


class StandIn:
    """The part of MLflow's interface that the callback uses."""

    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, float], int]] = []

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert step is not None and all(type(value) is float for value in metrics.values())
        self.logged.append((metrics, step))


def test_optuna_prunes_bad_trials() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        rate = trial.suggest_float("learning_rate", 1e-4, 0.3, log=True)
        model = BoostedTreesRegressor(quality="fast", n_estimators=30, learning_rate=rate)
        model.set_callbacks(Pruning(trial, "validation loss"))
        try:
            model.fit(X[:300], Y[:300], **GIVEN)
        except optuna.TrialPruned:
            assert not hasattr(model, "forest_")  # a failed fit leaves no trace
            raise
        return float(model.validation_loss_[-1])

    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=3)
    study = optuna.create_study(
        pruner=pruner, sampler=optuna.samplers.GridSampler({"learning_rate": [0.2, 0.1, 0.001]})
    )
    study.enqueue_trial({"learning_rate": 0.2})
    study.enqueue_trial({"learning_rate": 0.1})
    study.enqueue_trial({"learning_rate": 0.001})
    study.optimize(objective, n_trials=3)
    states = [trial.state for trial in study.trials[:3]]
    complete, pruned = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED
    assert states == [complete, complete, pruned]
    rounds = [len(trial.intermediate_values) for trial in study.trials]
    assert rounds[:2] == [30, 30] and 3 <= rounds[2] < 30
    assert study.best_params["learning_rate"] in (0.1, 0.2)


@pytest.mark.parametrize("n_bags", [None, 3])
def test_a_logger_gets_every_curve_of_every_round(n_bags: int | None) -> None:
    logger = StandIn()
    model = BoostedTreesClassifier(
        quality="fast", n_estimators=6, n_bags=n_bags, metrics=["roc_auc"]
    )
    model.set_callbacks(Logging(logger)).fit(X[:300], Y[:300] > 0, X_val=X[300:], y_val=Y[300:] > 0)
    assert [step for _, step in logger.logged] == [1, 2, 3, 4, 5, 6]
    for latest, step in logger.logged:
        assert list(latest) == ["train loss", "validation loss", "validation roc_auc"]
        for name, value in latest.items():
            assert value == model.history_[name][step]


def test_mlflow_stores_every_curve(tmp_path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.set_experiment("trial")
    model = BoostedTreesRegressor(quality="fast", n_estimators=4, metrics=["r2"])
    with mlflow.start_run() as run:
        model.set_callbacks(Logging(mlflow)).fit(X[:300], Y[:300], **GIVEN)
    for name, values in model.history_.items():
        stored = mlflow.MlflowClient().get_metric_history(run.info.run_id, name)
        assert [(one.step, one.value) for one in stored] == list(enumerate(values))[1:]


def test_a_fit_that_fails_restores_the_history() -> None:
    class Broken(Callback):
        def on_fit_task_end(self, estimator, context):
            if estimator.history_.n_rounds == 3:
                raise RuntimeError("no connection")

    model = BoostedTreesRegressor(quality="fast", n_estimators=5).fit(X, Y)
    before = model.history_
    model.set_callbacks(Broken())
    with pytest.raises(RuntimeError, match="no connection"):
        model.fit(X, -Y)
    assert model.history_ is before

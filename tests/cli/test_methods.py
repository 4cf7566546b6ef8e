"""Task and target are guessed as documented, and scores are those of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import weald
from weald.cli.scores import scores_of
from weald.cli.tables import task_of


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        ([0.5, 1.0, 2.0], "regression"),
        (list(range(20)), "classification"),
        (list(range(21)), "regression"),
    ],
)
def test_task(values: list[object], task: str) -> None:
    assert task_of(pd.Series(values), "auto") == task
    assert task_of(pd.Series(values), "classification") == "classification"


def test_text_is_no_regression() -> None:
    with pytest.raises(ValueError, match="needs numbers"):
        task_of(pd.Series(["a", "b"]), "regression")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes(n_classes: int, rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(90, 3)), np.arange(90) % n_classes
    model = weald.RandomForestClassifier(5, random_state=0).fit(X[:60], y[:60])
    found, shares = scores_of(model, X[60:], y[60:]), model.predict_proba(X[60:])
    area = shares[:, 1] if n_classes == 2 else shares
    assert found == pytest.approx(
        {
            "log_loss": metrics.log_loss(y[60:], shares),
            "accuracy": model.score(X[60:], y[60:]),
            "balanced_accuracy": metrics.balanced_accuracy_score(y[60:], model.predict(X[60:])),
            "roc_auc": metrics.roc_auc_score(y[60:], area, multi_class="ovr"),
        }
    )


def test_scores_of_unknown_classes(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    found = scores_of(model, X, np.where(y == 1, 2, 0))
    assert np.isnan(found["log_loss"])
    assert np.isnan(found["roc_auc"])
    assert found["accuracy"] <= 0.5

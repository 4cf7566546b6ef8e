"""Usual scores of unseen rows, beside those of a constant prediction."""

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text
from weald.reports.subject_facts import Facts

Floats = NDArray[np.float64]


def scores_of(facts: Facts) -> list[tuple[str, str, str]]:
    """Name, score of the model and score of a constant, formatted."""
    _, target, predictions = facts.unseen
    pairs = (
        _of_numbers(target, predictions[:, 0])
        if facts.classes is None
        else _of_classes(target, predictions, facts.subject.has_probabilities)
    )
    return [(name, number_text(own), number_text(constant)) for name, own, constant in pairs]


def _of_numbers(target: Floats, predicted: Floats) -> list[tuple[str, float, float]]:
    error, away = target - predicted, target - target.mean()
    total = float((away**2).mean())
    r2 = 1 - float((error**2).mean()) / total if total > 0 else float("nan")
    median = target - np.median(target)
    return [
        ("R²", r2, 0.0),
        ("root mean squared error", float(np.sqrt((error**2).mean())), float(np.sqrt(total))),
        ("mean absolute error", float(np.abs(error).mean()), float(np.abs(median).mean())),
    ]


def _of_classes(
    target: NDArray[np.intp], shares: Floats, has_probabilities: bool
) -> list[tuple[str, float, float]]:
    from sklearn.metrics import roc_auc_score

    n_classes = shares.shape[1]
    counts = np.bincount(target, minlength=n_classes)
    present = np.flatnonzero(counts)
    is_right = shares.argmax(axis=1) == target
    recall = np.array([is_right[target == k].mean() for k in present])
    found = [
        ("accuracy", float(is_right.mean()), float(counts.max() / len(target))),
        ("balanced accuracy", float(recall.mean()), 1 / len(present)),
    ]
    if has_probabilities:
        own = shares[np.arange(len(target)), target]
        base = counts[present] / len(target)
        found.append(
            (
                "log loss",
                float(-np.log(np.clip(own, np.finfo(float).eps, 1)).mean()),
                float(-(base * np.log(base)).sum()),
            )
        )
        if n_classes == 2 and len(present) == 2:
            found.append(
                ("area under the ROC curve", float(roc_auc_score(target, shares[:, 1])), 0.5)
            )
    return found

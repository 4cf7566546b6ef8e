"""Repeated measurements of one thing: with groups= every estimate is about new things.

Rows of one group share what x does not tell, so a row whose group was seen is easier to predict
than one of a new group. `fit(..., groups=)` draws, holds out and leaves out whole groups.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from truth.agreement import ALLOWED_BIAS, assert_agrees, by_group, losses_of, losses_of_shares
from truth.populations import CONTINUOUS, N_TEST
from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BlendingClassifier,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
    StackingClassifier,
)
from weald.resampling import ContentKFold

BIAS = ALLOWED_BIAS  # as in test_out_of_bag.py
OOB: dict[str, Any] = {"oob_score": True, "random_state": 0}
N_GROUPS, SIZE = 300, 6


@dataclass(frozen=True)
class Measured:
    """Groups of rows: x nearly the same, y moved by something that the group shares."""

    X: np.ndarray
    groups: np.ndarray
    numbers: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        return (self.numbers > 0).astype(np.int64)


def measured(n_groups: int, seed: int) -> Measured:
    rng = np.random.default_rng([seed, n_groups])
    groups = np.repeat(np.arange(n_groups), SIZE)
    own = rng.normal(size=(n_groups, 3))
    X = own[groups] + 0.01 * rng.normal(size=(len(groups), 3))
    shared = rng.normal(size=n_groups)
    numbers = own[groups, 0] + np.abs(own[groups, 1]) - 0.8 + shared[groups]
    order = rng.permutation(len(groups))
    noise = 0.3 * rng.normal(size=len(groups))
    return Measured(X[order], groups[order], (numbers + noise)[order])


TRAIN, TEST = measured(N_GROUPS, 1), measured(3000, 2)

CLASSIFIERS = {
    "forest": RandomForestClassifier(60, **OOB),
    "extra trees": ExtraTreesClassifier(60, bootstrap=True, **OOB),
    "rotation forest": RotationForestClassifier(60, bootstrap=True, **OOB),
    "bagged trees": BaggingClassifier(n_estimators=60, **OOB),
    "pasted trees": BaggingClassifier(n_estimators=60, bootstrap=False, max_samples=0.6, **OOB),
    "bagged trees of depth 6": BaggingClassifier(DecisionTreeClassifier(max_depth=6), 40, **OOB),
    "naive Bayes": BaggingClassifier(GaussianNB(), 40, **OOB),
    "boosters": BoostedTreesClassifier(quality="fast", n_bags=20, n_estimators=30, random_state=0),
}
REGRESSORS = {
    "forest": RandomForestRegressor(60, **OOB),
    "extra trees": ExtraTreesRegressor(60, bootstrap=True, **OOB),
    "rotation forest": RotationForestRegressor(60, bootstrap=True, **OOB),
    "bagged trees": BaggingRegressor(n_estimators=60, **OOB),
    "neighbours": BaggingRegressor(KNeighborsRegressor(3), 40, **OOB),
    "boosters": BoostedTreesRegressor(quality="fast", n_bags=20, n_estimators=30, random_state=0),
}
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def losses_of_groups(model: Any, loss: str) -> np.ndarray:
    y = TEST.numbers if loss == "squared_error" else TEST.labels
    return by_group(losses_of(model, TEST.X, y, loss), TEST.groups)


# ---- out of bag ----


@every_classifier
def test_out_of_bag_labels_of_new_groups(name: str) -> None:
    model = clone(CLASSIFIERS[name]).fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups)
    for loss in ("zero_one", "brier"):
        assert_agrees(model.oob_.error(loss), losses_of_groups(model, loss), N_GROUPS, bias=BIAS)


@every_regressor
def test_out_of_bag_numbers_of_new_groups(name: str) -> None:
    model = clone(REGRESSORS[name]).fit(TRAIN.X, TRAIN.numbers, groups=TRAIN.groups)
    losses = losses_of_groups(model, "squared_error")
    assert_agrees(model.oob_.error(), losses, N_GROUPS, bias=BIAS)


def test_without_groups_the_error_of_rows_of_known_groups() -> None:
    """The population is such that groups matter: without them the error is half of the truth."""
    model = clone(REGRESSORS["forest"]).fit(TRAIN.X, TRAIN.numbers)
    assert model.oob_.error() < 0.6 * losses_of_groups(model, "squared_error").mean()


@every_classifier
def test_groups_are_in_the_bag_together(name: str) -> None:
    model = clone(CLASSIFIERS[name]).fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups)
    for counts in list(model.oob_.in_bag)[:5]:
        seen = np.bincount(TRAIN.groups, counts > 0)
        assert set(seen.astype(int)) == {0, SIZE}
        # A draw of a group is a draw of all its rows.
        assert len(set(zip(TRAIN.groups.tolist(), counts.tolist(), strict=True))) == N_GROUPS


@pytest.mark.parametrize("kind", [int, str])
@every_classifier
def test_order_of_rows_and_kind_of_labels(name: str, kind: type) -> None:
    groups = np.array([kind(one) for one in TRAIN.groups])
    model = clone(CLASSIFIERS[name]).fit(TRAIN.X, TRAIN.labels, groups=groups)
    order = np.random.default_rng(0).permutation(len(groups))
    again = clone(CLASSIFIERS[name]).fit(
        TRAIN.X[order], TRAIN.labels[order], groups=list(groups[order])
    )
    if name == "naive Bayes":  # scikit-learn's sums depend on the order of rows
        assert again.predict_proba(TEST.X) == pytest.approx(model.predict_proba(TEST.X), abs=1e-9)
        return
    assert again.fingerprint() == model.fingerprint()


# ---- early stopping ----


STOPPING: dict[str, Any] = {"validation_fraction": 0.3, "random_state": 0}


def test_validation_loss_of_new_groups() -> None:
    model = BoostedTreesClassifier(quality="fast", early_stopping=True, n_estimators=60, **STOPPING)
    model.fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups)
    assert model.n_estimators_ > 0
    staged = list(model.staged_predict_proba(TEST.X))
    for stage in {1, model.n_estimators_}:
        losses = losses_of_shares(staged[stage - 1], TEST.labels, "log_loss")
        losses = by_group(losses, TEST.groups)
        assert_agrees(model.validation_loss_[stage], losses, 0.3 * N_GROUPS, bias=BIAS)


def test_rounds_are_those_that_new_groups_would_choose() -> None:
    """Held-out rows of groups that were seen would let it go on learning groups by heart."""
    for model, y in (
        (
            BoostedTreesRegressor(
                quality="fast",
                early_stopping=True,
                min_samples_leaf=2,
                n_estimators=200,
                **STOPPING,
            ),
            TRAIN.numbers,
        ),
        (
            GradientBoostingRegressor(
                n_iter_no_change=5, max_depth=6, n_estimators=200, **STOPPING
            ),
            TRAIN.numbers,
        ),
    ):
        honest = clone(model).fit(TRAIN.X, y, groups=TRAIN.groups)
        misled = clone(model).fit(TRAIN.X, y)
        assert 0 < honest.n_estimators_ < 0.7 * misled.n_estimators_
        mean = {one: losses_of_groups(one, "squared_error").mean() for one in (honest, misled)}
        assert mean[honest] < mean[misled]


def test_gradient_boosting_of_labels_takes_groups() -> None:
    model = GradientBoostingClassifier(n_iter_no_change=5, max_depth=6, **STOPPING)
    honest = clone(model).fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups)
    assert 0 < honest.n_estimators_ < clone(model).fit(TRAIN.X, TRAIN.labels).n_estimators_


# ---- folds, coverage ----


def test_content_folds_keep_groups_together() -> None:
    for train, test in ContentKFold(5).split(TRAIN.X, TRAIN.labels, TRAIN.groups):
        assert not set(TRAIN.groups[train]) & set(TRAIN.groups[test])
        assert abs(len(test) / len(TRAIN.X) - 0.2) < 0.02


@pytest.mark.parametrize("kind", [StackingClassifier, BlendingClassifier])
def test_out_of_fold_predictions_for_new_groups(kind: type) -> None:
    members = [
        ("trees", BoostedTreesClassifier(quality="fast", n_estimators=30, min_samples_leaf=3))
    ]
    settings: dict[str, Any] = {"cv": ContentKFold(5)}
    if kind is BlendingClassifier:
        settings = {"validation_fraction": 0.4, "random_state": 0}
    model = kind(members, "nonnegative", **settings)
    model.fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups)
    second = model.out_of_fold_[:, 0]
    known = ~np.isnan(second)
    shares = np.stack([1 - second, second], axis=1)[known]
    found = losses_of_shares(shares, TRAIN.labels[known], "brier").mean()
    n = len(np.unique(TRAIN.groups[known]))
    # Trained on fewer groups than the base estimators in the end.
    assert_agrees(found, losses_of_groups(model.estimators_[0], "brier"), n, bias=BIAS)


@pytest.mark.parametrize("name", ["forest", "bagged trees", "boosters"])
def test_intervals_for_rows_of_new_groups(name: str) -> None:
    model = clone(REGRESSORS[name]).fit(TRAIN.X, TRAIN.numbers, groups=TRAIN.groups)
    lower, upper = model.predict_interval(TEST.X, 0.8).T
    held = (lower <= TEST.numbers) & (TEST.numbers <= upper)
    missed = by_group(1.0 - held, TEST.groups)
    off = 3 * missed.std() * np.sqrt(1 / N_GROUPS + 1 / len(missed))
    assert 0.2 - 0.03 - off <= missed.mean() <= 0.2 + off


# ---- exact copies of a measurement ----


def repeated(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = CONTINUOUS.labels(400, seed=1)
    return np.repeat(X, k, axis=0), np.repeat(y, k), np.repeat(np.arange(400), k)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("name", ["forest", "extra trees", "bagged trees", "naive Bayes"])
def test_copies_of_one_measurement_with_groups(name: str, k: int) -> None:
    X, y, groups = repeated(k)
    model = clone(CLASSIFIERS[name]).fit(X, y, groups=groups)
    new, true = CONTINUOUS.labels(N_TEST, seed=2)
    assert_agrees(model.oob_.error(), losses_of(model, new, true, "zero_one"), 400, bias=BIAS)


@pytest.mark.parametrize("k", [2, 5])
def test_copies_without_groups_leak_as_everywhere(k: int) -> None:
    """The same settings in scikit-learn: most rows have a copy in the bag."""
    X, y, _ = repeated(k)
    settings: dict[str, Any] = {"criterion": "gini", "max_features": 2, "min_samples_leaf": 1}
    ours = RandomForestClassifier(100, **OOB, **settings).fit(X, y)
    theirs = TheirForest(100, **OOB, **settings).fit(X, y)
    error, expected = 1 - ours.oob_score_, 1 - theirs.oob_score_
    # Copies err together: the rows that count are the 400 different ones.
    off = 3 * np.sqrt(2 * max(expected, 0.002) / 400)
    assert abs(error - expected) <= off
    new, true = CONTINUOUS.labels(N_TEST, seed=2)
    assert error < 0.6 * losses_of(ours, new, true, "zero_one").mean()


# ---- what is refused ----


@every_classifier
def test_groups_of_another_length_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="groups|inconsistent"):
        clone(CLASSIFIERS[name]).fit(TRAIN.X, TRAIN.labels, groups=TRAIN.groups[1:])

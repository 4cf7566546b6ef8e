"""Errors of rows that a fold or a held-out part tests are those of new rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB

from truth.agreement import ALLOWED_BIAS, assert_agrees, losses_of, losses_of_shares
from truth.populations import EVERY_POPULATION, FEW_VALUES, LEVELS, N_TEST, OF_NUMBERS, Population
from weald import (
    BlendingClassifier,
    BlendingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from weald.resampling import ContentKFold
from weald.theory import cross_validate

# A fold's model is trained on four rows in five, so its error is higher than that of the one that
# is kept.
BIAS = ALLOWED_BIAS


def bias_of(population: Population) -> float:
    """Of 500 categories each row counts: those of fewer than ten rows are merged."""
    return 2 * BIAS if population is LEVELS else BIAS


every_population = pytest.mark.parametrize("population", EVERY_POPULATION, ids=str)
of_numbers = pytest.mark.parametrize("population", OF_NUMBERS, ids=str)

LABELS = BoostedTreesClassifier(quality="fast", n_estimators=20)
NUMBERS = BoostedTreesRegressor(quality="fast", n_estimators=20)


@every_population
@pytest.mark.parametrize("stratify", [False, True])
def test_content_folds_of_labels(population: Population, stratify: bool) -> None:
    X, y = population.labels(population.n, seed=1)
    folds = ContentKFold(5, stratify=stratify)
    losses = losses_of(clone(LABELS).fit(X, y), *population.labels(N_TEST, seed=2), "zero_one")
    assert_agrees(
        1 - cross_val_score(LABELS, X, y, cv=folds).mean(), losses, len(y), bias=bias_of(population)
    )


@every_population
def test_content_folds_of_numbers(population: Population) -> None:
    X, y = population.numbers(population.n, seed=1)
    new = population.numbers(N_TEST, seed=2)
    said = cross_val_predict(NUMBERS, X, y, cv=ContentKFold(5))
    losses = losses_of(clone(NUMBERS).fit(X, y), *new, "squared_error")
    assert_agrees(np.square(said - y).mean(), losses, len(y), bias=bias_of(population))


def test_content_folds_agree_with_shuffled_folds() -> None:
    X, y = FEW_VALUES.labels(FEW_VALUES.n, seed=1)
    shuffled = StratifiedKFold(5, shuffle=True, random_state=0)
    ours = cross_val_score(LABELS, X, y, cv=ContentKFold(5, stratify=True)).mean()
    theirs = cross_val_score(LABELS, X, y, cv=shuffled).mean()
    # The same rows are scored both times, by other models.
    assert abs(ours - theirs) < 3 * np.sqrt(theirs * (1 - theirs) / len(y)) / 2


@of_numbers
def test_folds_hold_rows_and_not_contents(population: Population) -> None:
    """Copies of a row are dealt out like any rows: folds differ by one row at most."""
    X, y = population.labels(population.n, seed=1)
    sizes = [len(test) for _, test in ContentKFold(7).split(X, y)]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == len(y)
    for _, test in ContentKFold(7, stratify=True).split(X, y):
        assert abs(y[test].sum() - y.sum() / 7) < 1.5


@of_numbers
def test_cross_validate(population: Population) -> None:
    X, y = population.labels(population.n, seed=1)
    losses = losses_of(clone(LABELS).fit(X, y), *population.labels(N_TEST, seed=2), "zero_one")
    found = cross_validate(LABELS, X, y, k=5, shuffle=True, random_state=0)
    assert_agrees(found.pooled, losses, len(y), bias=BIAS)


# ---- out of fold ----


def two_of(kind: str) -> list[tuple[str, Any]]:
    if kind == "labels":
        return [("boosted", LABELS), ("tree", DecisionTreeClassifier(min_samples_leaf=10))]
    return [("boosted", NUMBERS), ("tree", DecisionTreeRegressor(min_samples_leaf=10))]


STACKS_OF_LABELS = {
    "stacking": StackingClassifier(two_of("labels"), "nonnegative", cv=ContentKFold(5)),
    "stacking, folds of scikit-learn": StackingClassifier(two_of("labels"), "nonnegative", cv=5),
    "blending": BlendingClassifier(
        two_of("labels"), "nonnegative", validation_fraction=0.2, random_state=0
    ),
}
STACKS_OF_NUMBERS = {
    "stacking": StackingRegressor(two_of("numbers"), "nonnegative", cv=ContentKFold(5)),
    "blending": BlendingRegressor(
        two_of("numbers"), "nonnegative", validation_fraction=0.2, random_state=0
    ),
}


@pytest.mark.parametrize("name", STACKS_OF_LABELS)
@every_population
def test_out_of_fold_shares(name: str, population: Population) -> None:
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    model = clone(STACKS_OF_LABELS[name]).fit(X, y)
    second = model.out_of_fold_  # of two classes, the probability of the second
    assert second.shape == (len(y), 2)
    known = ~np.isnan(second[:, 0])
    for column, member in zip(second.T, model.estimators_, strict=True):
        shares = np.stack([1 - column, column], axis=1)[known]
        found = losses_of_shares(shares, y[known], "brier").mean()
        losses = losses_of(member, new, true, "brier")
        assert_agrees(found, losses, known.sum(), bias=bias_of(population))


@pytest.mark.parametrize("name", STACKS_OF_NUMBERS)
@every_population
def test_out_of_fold_numbers(name: str, population: Population) -> None:
    X, y = population.numbers(population.n, seed=1)
    new, true = population.numbers(N_TEST, seed=2)
    model = clone(STACKS_OF_NUMBERS[name]).fit(X, y)
    known = ~np.isnan(model.out_of_fold_[:, 0])
    for column, member in zip(model.out_of_fold_.T, model.estimators_, strict=True):
        found = np.square(column - y)[known].mean()
        losses = losses_of(member, new, true, "squared_error")
        assert_agrees(found, losses, known.sum(), bias=bias_of(population))


@of_numbers
def test_blending_holds_out_the_given_fraction(population: Population) -> None:
    X, y = population.labels(population.n, seed=1)
    model = clone(STACKS_OF_LABELS["blending"]).fit(X, y)
    held = ~np.isnan(model.out_of_fold_[:, 0])
    for label in (0, 1):
        assert held[y == label].mean() == pytest.approx(0.2, abs=0.001)


@of_numbers
def test_weights_of_votes(population: Population) -> None:
    """weights='oof' of a hard vote: ln((1 - e) / e), e the out-of-fold error."""
    X, y = population.labels(population.n, seed=1)
    new, true = population.labels(N_TEST, seed=2)
    members = [*two_of("labels"), ("bayes", GaussianNB())]
    model = VotingClassifier(members, voting="hard", weights="oof", cv=ContentKFold(5)).fit(X, y)
    errors = 1 / (1 + np.exp(model.weights_))
    for error, member in zip(errors, model.estimators_, strict=True):
        wrong = (model.classes_[member.predict(new)] != true).astype(float)
        assert_agrees(error, wrong, len(y), bias=BIAS)


@pytest.mark.parametrize(
    "model",
    [
        StackingClassifier(two_of("labels"), "nonnegative", cv=ContentKFold(3)),
        BlendingClassifier(two_of("labels"), "nonnegative", random_state=0),
        VotingClassifier(two_of("labels"), voting="hard", weights="oof", cv=ContentKFold(3)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_order_of_equal_rows_of_unequal_weight(model: Any) -> None:
    """Equal rows are numbered by rising weight, so that their order decides nothing."""
    X, y = FEW_VALUES.labels(600, seed=1)
    rng = np.random.default_rng(0)
    weight, order = rng.uniform(0.5, 2.0, size=len(y)), rng.permutation(len(y))
    before = clone(model).fit(X, y, sample_weight=weight).fingerprint()
    again = clone(model).fit(X[order], y[order], sample_weight=weight[order])
    assert again.fingerprint() == before

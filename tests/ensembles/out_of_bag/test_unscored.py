"""Rows that every base estimator drew: warnings, and errors if there are no others."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestRegressor,
)
from weald.ensembles.out_of_bag.unscored import unscored_share, warn_of_unscored
from weald.resampling import RowSamples

N = 100
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + np.abs(X[:, 1])

KINDS = [
    RandomForestRegressor(max_features=2, min_samples_leaf=1),
    RandomForestClassifier(max_features=2, min_samples_leaf=1),
    ExtraTreesRegressor(bootstrap=True),
    RotationForestRegressor(bootstrap=True),
    BaggingRegressor(),
    BaggingRegressor(LinearRegression()),
    BaggingClassifier(GaussianNB()),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda model: type(model).__name__)


def target(model: Any, n: int = N) -> np.ndarray:
    return (Y > 0.8).astype(int)[:n] if hasattr(model, "predict_proba") else Y[:n]


def fitted(kind: Any, n_estimators: int, *given: Any, groups: Any = None, **settings: Any) -> Any:
    """The model, and the warnings of the fit."""
    settings = {"oob_score": True, "random_state": 0, **settings}
    model = clone(kind).set_params(n_estimators=n_estimators, **settings)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, target(kind), *given, groups=groups)
    return model, [str(one.message) for one in said]


# ---- the warning ----


@every_kind
def test_too_few_base_estimators(kind: Any) -> None:
    model, (said,) = fitted(kind, 3)
    unscored = (model.oob_.in_bag.toarray() > 0).all(axis=0)
    assert np.array_equal(model.oob_.unscored, np.flatnonzero(unscored))
    assert model.oob_.unscored_weight == unscored.mean() > 0.1
    share = f"{unscored.sum()} of 100 rows, {unscored.mean():.1%} of the weight"
    assert said.startswith("Some inputs do not have OOB scores.")
    assert f"{share}, were drawn by every base estimator" in said
    assert "too few estimators" in said and "increase n_estimators" in said
    model, said = fitted(kind, 60)
    assert not said and model.oob_.unscored_weight == 0.0


@every_kind
def test_heavy_rows_are_in_every_sample(kind: Any) -> None:
    weight = np.where(np.arange(N) % 10 == 0, 30.0, 1.0)
    model, (said,) = fitted(kind, 60, weight)
    unscored = model.oob_.unscored
    share = weight[unscored].sum() / weight.sum()
    assert model.oob_.unscored_weight == pytest.approx(share, rel=1e-12) and share > 0.7
    assert f"{len(unscored)} of 100 rows, {share:.1%} of the weight" in said
    assert "in proportion to their weights" in said and "Set max_samples to fewer draws" in said
    # The way out that it names.
    model, said = fitted(kind, 60, weight, max_samples=10)
    assert not said and model.oob_.unscored_weight == 0.0


@every_kind
def test_few_groups(kind: Any) -> None:
    groups = np.arange(N) % 3
    model, (said,) = fitted(kind, 2, groups=groups)
    unscored = (model.oob_.in_bag.toarray() > 0).all(axis=0)
    assert model.oob_.unscored_weight == pytest.approx(unscored.mean()) and unscored.any()
    assert "There are only 3 groups to draw" in said and "cross-validation with groups" in said


@every_kind
def test_more_draws_than_leave_rows_out(kind: Any) -> None:
    model, (said,) = fitted(kind, 20, max_samples=1000)
    assert "max_samples makes 1000 draws from 100" in said and "Draw fewer" in said
    assert model.oob_.unscored_weight > 0.9


def test_a_hundredth_of_the_weight_is_no_cause() -> None:
    samples = RowSamples(0, 100, np.arange(100), 100)
    counts = np.ones(100, dtype=np.int32)
    counts[7] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unscored(counts, samples, None)
        warn_of_unscored(counts, samples, np.where(np.arange(100) == 7, 0.5, 1.0))
    with pytest.warns(UserWarning, match=r"1 of 100 rows, 2\.0% of the weight"):
        warn_of_unscored(counts, samples, np.where(np.arange(100) == 7, 99 / 49, 1.0))
    assert unscored_share(counts > 0, None) == 0.01


def test_rows_without_weight_are_not_unscored() -> None:
    weight = np.where(np.arange(N) < 60, 0.0, 1.0)
    model, said = fitted(KINDS[0], 60, weight)
    assert not said
    assert model.oob_.unscored.size == 0 and model.oob_.unscored_weight == 0.0


# ---- no row out of bag ----

# A hundred draws of four rows leave none out.
FEW = {"n_estimators": 2, "max_samples": 100, "oob_score": True, "random_state": 0}


def without_evidence(kind: Any) -> Any:
    model = clone(kind).set_params(**FEW)
    with pytest.warns(UserWarning, match="4 of 4 rows, 100.0% of the weight"):
        return model.fit(X[:4], np.arange(4) % 2 if hasattr(kind, "predict_proba") else Y[:4])


@every_kind
def test_no_estimates_without_out_of_bag_rows(kind: Any) -> None:
    model = without_evidence(kind)
    assert model.oob_.unscored.tolist() == [0, 1, 2, 3] and model.oob_.unscored_weight == 1.0
    assert np.isnan(model.oob_score_)
    asked = [model.oob_.error, model.oob_.standard_error]
    if hasattr(model, "predict_set"):
        asked.append(lambda: model.predict_set(X, 0.5))
    else:
        asked.append(lambda: model.predict_interval(X, 0.5))
        asked.append(lambda: model.predict_interval(X, 0.5, method="jackknife+"))
        asked.append(lambda: model.predict_quantiles(X, [0.5]))
    for one in asked:
        with pytest.raises(ValueError, match="every base estimator drew every row.*max_samples"):
            one()


def test_a_single_tree_on_very_few_rows() -> None:
    """A bootstrap of two rows often holds both."""
    model = RandomForestRegressor(1, random_state=0)
    while model.fit(X[:2], Y[:2]).in_bag_counts(0).max() > 1:
        model.random_state += 1
    model.oob_score = True
    with pytest.warns(UserWarning, match="2 of 2 rows"):
        model.fit(X[:2], Y[:2])
    assert model.in_bag_counts(0).tolist() == [1, 1]
    with pytest.raises(ValueError, match="There are no out-of-bag predictions"):
        model.predict_interval(X)


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, BoostedTreesClassifier])
def test_boosters_of_one_group_leave_no_row_out(kind: type) -> None:
    model = kind(n_estimators=2, n_bags=2, random_state=0)
    with pytest.raises(ValueError, match="n_bags=2 needs at least two groups"):
        model.fit(X, target(model), groups=np.zeros(N))


# ---- the .632 estimates ----


@pytest.mark.parametrize(
    "kind",
    [*KINDS[:2], *KINDS[4:]],
    ids=lambda model: type(model).__name__,
)
def test_632_estimates_require_plain_bootstrap(kind: Any) -> None:
    model, y = clone(kind).set_params(random_state=0, n_estimators=20), target(kind)
    plain = model.fit(X, y).member_error_632(X, y)
    equal = model.fit(X, y, np.full(N, 3.0)).member_error_632(X, y)
    assert equal.error == plain.error
    fits: list[dict[str, Any]] = [
        {"sample_weight": np.arange(1, N + 1)},
        {"groups": np.arange(N) % 30},
    ]
    for given in fits:
        with pytest.raises(ValueError, match=r"use oob_\.error\(\) instead"):
            model.fit(X, y, **given).member_error_632(X, y)
    drawn: list[dict[str, Any]] = [
        {"max_samples": 99},
        {"max_samples": 0.5},
        {"bootstrap": False, "max_samples": 0.5},
    ]
    if isinstance(kind, BoostedTreesRegressor):
        drawn = [{"early_stopping": True}]
    for settings in drawn:
        with pytest.raises(ValueError, match=r"use oob_\.error\(\) instead"):
            clone(model).set_params(**settings).fit(X, y).member_error_632(X, y)

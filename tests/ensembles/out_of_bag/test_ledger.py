"""The out-of-bag ledger against naive code (R3), for every kind of bag."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.ensembles.out_of_bag.tally import Tally, steps_of

NUMBERS = [
    RandomForestRegressor(12, oob_score=True, random_state=0),
    ExtraTreesRegressor(12, bootstrap=True, oob_score=True, random_state=0),
    BaggingRegressor(n_estimators=12, oob_score=True, random_state=0),
    BaggingRegressor(LinearRegression(), 12, oob_score=True, random_state=0),
    BaggingRegressor(
        LinearRegression(), 12, bootstrap=False, max_samples=0.5, oob_score=True, random_state=0
    ),
]
CLASSES = [
    RandomForestClassifier(12, oob_score=True, random_state=0),
    RandomForestClassifier(12, voting="hard", oob_score=True, random_state=0),
    BaggingClassifier(n_estimators=12, oob_score=True, random_state=0),
    BaggingClassifier(GaussianNB(), 12, oob_score=True, random_state=0, weights="oob"),
]


def task(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X = np.concatenate([X, X[:10]])
    y = X[:, 0] + np.abs(X[:, 1])
    return X, y


def fitted(model, X, y, weight=None):
    """Fit a model, which warns of unscored rows with more than 1 % of the weight."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y, weight)
    own = np.ones(len(X)) if weight is None else weight
    share = own[model.oob_.unscored].sum() / own.sum()
    assert model.oob_.unscored_weight == pytest.approx(share, abs=1e-12)
    assert len(said) == (share > 0.01)
    assert all("do not have OOB scores" in str(one.message) for one in said)
    return model


def naive(model, X: np.ndarray, weights=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each row over the base estimators that did not draw it."""
    is_classifier = hasattr(model, "predict_proba")
    said = [m.predict_proba(X) if is_classifier else m.predict(X) for m in model.estimators_]
    weights = np.ones(len(said)) if weights is None else weights
    means, stds = [], []
    for i in range(len(X)):
        out = [k for k in range(len(said)) if model.oob_.in_bag[k][i] == 0]
        own = np.array([said[k][i] for k in out])
        if not out:
            means.append(np.full(said[0].shape[1:], np.nan))
            stds.append(means[-1])
            continue
        mean = np.average(own, axis=0, weights=weights[out])
        means.append(mean)
        few = np.full_like(mean, np.nan)
        squares = ((own - mean) ** 2).sum(axis=0)
        stds.append(few if len(out) < 2 else np.sqrt(squares / (len(out) - 1)))
    return np.array(means), np.array(stds)


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
def test_out_of_bag_regression(model) -> None:
    X, y = task()
    ledger = fitted(model, X, y).oob_
    means, stds = naive(model, X)
    assert ledger.predictions == pytest.approx(means, abs=1e-12, nan_ok=True)
    assert ledger.std == pytest.approx(stds, abs=1e-12, nan_ok=True)
    assert np.array_equal(ledger.unscored, np.flatnonzero(np.isnan(means)))
    known = ~np.isnan(means)
    losses = (y - means)[known] ** 2
    assert ledger.error() == pytest.approx(losses.mean())
    assert ledger.error("absolute_error") == pytest.approx(np.abs(y - means)[known].mean())
    assert ledger.error(lambda y, f: np.maximum(y, f)) == pytest.approx(
        np.maximum(y, means)[known].mean()
    )
    r2 = 1 - losses.sum() / ((y[known] - y[known].mean()) ** 2).sum()
    assert model.oob_score_ == pytest.approx(r2)
    assert model.oob_prediction_ == pytest.approx(means, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("model", CLASSES, ids=lambda m: type(m).__name__)
def test_out_of_bag_classification(model) -> None:
    X, y = task()
    y = np.array(["a", "b", "c"])[np.digitize(y, [0.3, 1.0])]
    ledger = fitted(model, X, y).oob_
    shares, stds = naive(model, X, getattr(model, "weights_", None))
    assert ledger.predictions == pytest.approx(shares, abs=1e-12, nan_ok=True)
    assert ledger.std == pytest.approx(stds, abs=1e-12, nan_ok=True)
    known = ~np.isnan(shares[:, 0])
    said, true = model.classes_[shares[known].argmax(axis=1)], y[known]
    assert ledger.error() == pytest.approx((said != true).mean())
    assert model.oob_score_ == pytest.approx((said == true).mean())
    own = shares[known][np.arange(known.sum()), np.searchsorted(model.classes_, true)]
    assert ledger.error("log_loss") == pytest.approx(-np.log(np.clip(own, 2.3e-16, 1)).mean(), 1e-3)
    one_hot = true[:, np.newaxis] == model.classes_
    brier = ((shares[known] - one_hot) ** 2).sum(axis=1)
    assert ledger.error("brier") == pytest.approx(brier.mean())
    assert ledger.error(lambda y, label: y == label) == pytest.approx((said == true).mean())
    by_shares = ledger.error(lambda y, p: p.max(axis=1), probabilities=True)
    assert by_shares == pytest.approx(shares[known].max(axis=1).mean())


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("model", [NUMBERS[0], NUMBERS[3]], ids=lambda m: type(m).__name__)
def test_curve_is_the_error_of_the_first_base_estimators(model, is_weighted: bool) -> None:
    """Weighted rows count as (Σw)² / Σw² rows of equal weight."""
    X, y = task()
    weight = np.random.default_rng(0).integers(1, 4, len(X)) if is_weighted else np.ones(len(X))
    curve = fitted(model, X, y, weight).oob_.curve()
    said = np.array([m.predict(X) for m in model.estimators_])
    out = model.oob_.in_bag.toarray() == 0
    for n_members, error, lower, upper in zip(
        curve.n_members, curve.error, curve.lower, curve.upper, strict=True
    ):
        known = out[:n_members].any(axis=0)
        mean = (said * out)[:n_members].sum(axis=0)[known] / out[:n_members].sum(axis=0)[known]
        losses, own = (mean - y[known]) ** 2, weight[known]
        assert error == pytest.approx(np.average(losses, weights=own))
        n_rows = own.sum() ** 2 / (own**2).sum()
        variance = np.average((losses - error) ** 2, weights=own)
        assert (upper - lower) / 2 == pytest.approx(1.96 * np.sqrt(variance / n_rows))
    assert curve.n_members.tolist() == list(range(1, 13))
    assert model.oob_.error() == pytest.approx(error)
    assert 1.96 * model.oob_.standard_error() == pytest.approx((upper - lower) / 2)
    assert steps_of(100)[-1] == 100 and len(steps_of(100)) == 20


@pytest.mark.parametrize("model", [NUMBERS[0], NUMBERS[3]], ids=lambda m: type(m).__name__)
def test_the_scale_of_weights_changes_nothing_and_zero_is_absence(model) -> None:
    X, y = task()
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    ledger = fitted(model, X, y, weight).oob_
    error, predictions = ledger.error(), ledger.predictions
    errors = ledger.curve().error, ledger.standard_error()
    assert np.isnan(predictions[weight == 0]).all()
    assert not np.isin(ledger.unscored, np.flatnonzero(weight == 0)).any()
    scaled = fitted(model, X, y, weight * 4).oob_
    assert np.array_equal(scaled.predictions, predictions, equal_nan=True)
    assert scaled.error() == pytest.approx(error, rel=1e-12)
    assert scaled.curve().error == pytest.approx(errors[0], rel=1e-12)
    assert scaled.standard_error() == pytest.approx(errors[1], rel=1e-12)
    kept = weight > 0
    fewer = fitted(model, X[kept], y[kept], weight[kept]).oob_
    assert np.array_equal(fewer.predictions, predictions[kept], equal_nan=True)


def test_rows_drawn_by_every_base_estimator_are_excluded() -> None:
    X, y = task()
    forest = fitted(RandomForestRegressor(2, oob_score=True, random_state=0), X, y)
    ledger = forest.oob_
    assert 20 < len(ledger.unscored) < 60
    assert np.isnan(ledger.predictions[ledger.unscored]).all()
    assert (ledger.n_out[ledger.unscored] == 0).all()
    # As if these rows had been predicted as 0: larger, and wrong.
    wrong = np.where(np.isnan(ledger.predictions), 0.0, ledger.predictions)
    assert ledger.error() != pytest.approx(((y - wrong) ** 2).mean(), rel=0.05)
    seen_by_all = BaggingRegressor(LinearRegression(), 2, max_samples=2000, oob_score=True)
    ledger = fitted(seen_by_all, X, y).oob_
    assert len(ledger.unscored) == len(X) and np.isnan(seen_by_all.oob_score_)
    with pytest.raises(ValueError, match="every base estimator drew every row"):
        ledger.error()


def test_in_bag_counts_without_out_of_bag_predictions() -> None:
    X, y = task()
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    assert next(iter(forest.oob_.in_bag)).sum() >= len(X) - 20
    with pytest.raises(ValueError, match="^Fit with oob_score=True"):
        _ = forest.oob_.predictions
    with pytest.raises(IndexError, match="There is no base estimator 5"):
        forest.oob_.in_bag[5]
    assert np.array_equal(forest.oob_.in_bag[-1], forest.oob_.in_bag[4])


def test_bad_losses() -> None:
    X, y = task()
    ledger = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y).oob_
    with pytest.raises(ValueError, match="must be one of 'squared_error', 'absolute_error'"):
        ledger.error("zero_one")
    with pytest.raises(ValueError, match="one finite number per row"):
        ledger.error(lambda y, f: 1.0)
    with pytest.raises(ValueError, match="recorded during fit"):
        ledger.curve("hinge")


def test_ledger_is_pickled_with_the_model() -> None:
    X, y = task()
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(forest)).oob_
    assert again.error() == forest.oob_.error()
    assert np.array_equal(again.in_bag.toarray(), forest.oob_.in_bag.toarray())
    assert len(pickle.dumps(forest.oob_.in_bag)) < 16 * len(X) + 2000


def test_spread_is_stable_far_from_zero() -> None:
    """Sums of squares would lose all digits here."""
    rng = np.random.default_rng(0)
    answers = 1e9 + rng.normal(size=(50, 3, 1))
    tally = Tally(3, 1)
    for answer in answers:
        tally.add(slice(None), answer)
    assert tally.spreads == pytest.approx(answers.std(axis=0, ddof=1), rel=1e-6)
    assert tally.means == pytest.approx(answers.mean(axis=0), rel=1e-15)

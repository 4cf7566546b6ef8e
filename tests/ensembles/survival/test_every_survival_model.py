"""What holds for every survival model: same bits, bad input, copies, scikit-learn's checks."""

import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import weald
from ensembles.survival.tables import hazards_table
from weald import BoostedTreesSurvival, RandomSurvivalForest
from weald.losses.survival import median_error
from weald.survival import target

MODELS = {
    "forest": RandomSurvivalForest(8, oob_score=True),
    "deep forest": RandomSurvivalForest(
        4, bootstrap=False, min_samples_split=2, min_samples_leaf=1, max_features=None
    ),
    "cox": BoostedTreesSurvival(n_estimators=15, n_bags=3, early_stopping=True),
    "cox, Efron": BoostedTreesSurvival(ties="efron", quality="fast", n_estimators=10),
    "aft": BoostedTreesSurvival(loss="aft", n_estimators=15, early_stopping=True),
    "aft, Weibull": BoostedTreesSurvival(
        loss="aft", distribution="extreme", scale=0.7, n_estimators=10
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
one_of_each = pytest.mark.parametrize("name", ["forest", "cox", "aft"])


def curves(model, X):
    return model.predict_survival_function(X, return_array=True)


@every_model
def test_neither_threads_nor_row_order_change_a_bit(model):
    X, y = hazards_table(missing=0.1)
    y["time"] += 0.25  # aft has no times of zero
    order = np.random.default_rng(0).permutation(len(X))
    first = clone(model).set_params(n_jobs=1).fit(X, y)
    second = clone(model).set_params(n_jobs=2).fit(X[order], y[order])
    assert first.fingerprint() == second.fingerprint()
    assert (curves(first, X) == curves(second, X)).all()
    if hasattr(first, "oob_prediction_"):
        np.testing.assert_array_equal(first.oob_prediction_[order], second.oob_prediction_)
        assert first.oob_score_ == second.oob_score_


@every_model
def test_weights_of_any_scale(model):
    X, y = hazards_table()
    y["time"] += 0.25
    weight = np.random.default_rng(0).random(len(X)) + 0.1
    plain = clone(model).fit(X, y)
    assert clone(model).fit(X, y, sample_weight=np.full(len(X), 3.0)).fingerprint() == (
        plain.fingerprint()
    )
    weighted = clone(model).fit(X, y, sample_weight=weight)
    assert weighted.fingerprint() != plain.fingerprint()
    scaled = clone(model).fit(X, y, sample_weight=2.0**40 * weight)
    assert scaled.fingerprint() == weighted.fingerprint()


@every_model
def test_copies_are_the_same(model, tmp_path):
    X, y = hazards_table()
    y["time"] += 0.25
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        kind=pd.Categorical(np.where(X[:, 0] > 3, "high", "low"))
    )
    fitted = clone(model).fit(frame, y)
    fitted.save(tmp_path / "model.weald")
    for copy in (pickle.loads(pickle.dumps(fitted)), weald.load(tmp_path / "model.weald")):
        assert copy.fingerprint() == fitted.fingerprint()
        assert (copy.predict(frame) == fitted.predict(frame)).all()
        assert (curves(copy, frame) == curves(fitted, frame)).all()


@every_model
def test_tables_of_any_kind(model):
    X, y = hazards_table()
    y["time"] += 0.25
    fitted = clone(model).fit(X, y)
    frame = pd.DataFrame(y)
    assert clone(model).fit(X, frame).fingerprint() == fitted.fingerprint()
    for other in (X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        assert clone(model).fit(other, y).fingerprint() == fitted.fingerprint()


@one_of_each
def test_other_seeds_give_other_models(name):
    X, y = hazards_table()
    y["time"] += 0.25
    models = [clone(MODELS[name]).set_params(random_state=seed).fit(X, y) for seed in (None, 0, 1)]
    first, second, other = (model.fingerprint() for model in models)
    assert first == second != other


@one_of_each
def test_search_and_cross_validation_of_scikit_learn(name):
    X, y = hazards_table()
    y["time"] += 0.25
    assert cross_val_score(MODELS[name], X, y, cv=3).mean() > 0.6
    search = GridSearchCV(MODELS[name], {"max_depth": [1, 3]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.6


@one_of_each
@pytest.mark.parametrize(
    ("make_y", "message"),
    [
        (lambda y: y["time"], "whether the event was seen, and when"),
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:-1], "inconsistent numbers of samples"),
        (lambda y: target(np.zeros(len(y)), y["time"]), "rows of y are censored"),
        (lambda y: y.astype([("event", "<i8"), ("time", "<f8")]), "must be boolean"),
        (lambda y: np.array([(True, -1.0)] * len(y), dtype=y.dtype), "a negative time"),
        (lambda y: np.array([(True, np.nan)] * len(y), dtype=y.dtype), "contains NaN"),
    ],
    ids=["numbers", "none", "short", "censored", "integers", "negative", "NaN"],
)
def test_a_failed_fit_changes_nothing(name, make_y, message):
    X, y = hazards_table(100)
    y["time"] += 0.25
    model = clone(MODELS[name]).fit(X, y)
    before = model.fingerprint()
    with pytest.raises(ValueError, match=message):
        model.fit(X, make_y(y))
    assert model.fingerprint() == before
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, make_y(y))


@one_of_each
def test_no_rows_and_few_rows(name):
    X, y = hazards_table(100)
    y["time"] += 0.25
    with pytest.raises(ValueError, match="0 sample"):
        clone(MODELS[name]).fit(X[:0], y[:0])
    for n in (4, 7):
        own = y[:n].copy()
        own["event"][0] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = clone(MODELS[name]).set_params(**{"n_jobs": 1}).fit(X[:n], own)
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(curves(model, X)).all()


@every_model
def test_no_pair_of_rows_can_be_compared(model):
    X, y = hazards_table(60)
    y["event"], y["time"] = True, 5.0
    fitted = clone(model).fit(X, y)
    assert np.isfinite(fitted.predict(X)).all()
    assert np.isnan(getattr(fitted, "oob_score_", np.nan))
    with pytest.raises(ValueError, match="No pair of rows can be compared"):
        fitted.score(X, y)


def test_times_near_the_end_of_the_range():
    X, y = hazards_table(100)
    y["time"] = np.exp2(np.linspace(-1000, 990, 100)[np.argsort(np.argsort(X[:, 0]))])
    for name in ("forest", "cox", "aft", "aft, Weibull"):
        fitted = clone(MODELS[name]).fit(X, y)
        assert np.isfinite(fitted.predict(X)).all()
        assert np.isfinite(curves(fitted, X)).all()


@one_of_each
def test_wrong_times(name):
    X, y = hazards_table(100)
    y["time"] += 0.25
    model = clone(MODELS[name]).fit(X, y)
    for times in ([2.0, 1.0], [-1.0], 3.0):
        with pytest.raises(ValueError, match="increasing, not negative times"):
            model.predict_survival_function(X, times=times)


@one_of_each
def test_predictions_in_many_threads(name):
    X, y = hazards_table(100)
    y["time"] += 0.25
    model = clone(MODELS[name]).fit(X, y)
    expected, found = curves(model, X), [None] * 4

    def predict(k):
        found[k] = curves(model, X)

    threads = [threading.Thread(target=predict, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((one == expected).all() for one in found)


@every_model
def test_explanations_and_single_rows(model):
    X, y = hazards_table(missing=0.1)
    y["time"] += 0.25
    fitted = clone(model).fit(X, y)
    shap = weald.explain.shap(fitted, X[:6])
    predicted = fitted.predict(X[:6])
    if "log" in shap.scale:
        loss = fitted._fitted_loss
        predicted = np.log(predicted) - loss.scale * median_error(loss)
    assert shap.base_values + shap.values.sum(axis=1) == pytest.approx(predicted)
    assert ("log" in shap.scale) == (getattr(fitted, "loss", "") == "aft")
    if model is MODELS["aft, Weibull"]:
        with pytest.raises(TypeError, match="the median 0"):
            fitted.predictor()
        return
    alone = fitted.predictor()
    for row in X[:6]:
        assert alone.predict(row) == fitted.predict(row[np.newaxis])[0]


@one_of_each
def test_shown_in_notebooks_and_refused_by_export(name):
    X, y = hazards_table(100)
    y["time"] += 0.25
    model = clone(MODELS[name]).fit(X, y)
    assert "Fitted model" in model._repr_html_()
    with pytest.raises(ValueError, match="its survival functions are no sum of trees"):
        weald.export.to_c(model)


class _OfTimes:
    """Takes times, as scikit-learn's checks pass numbers: all events are seen."""

    def fit(self, X, y, sample_weight=None):
        if y is None:
            return super().fit(X, y)
        times = np.real(np.asarray(y)).astype(np.float64)
        times = times.ravel() if times.ndim == 2 and times.shape[1] == 1 else times
        times = times + 1.0 - min(times.min(), 0.0)
        return super().fit(X, target(np.ones(len(times)), times), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, target(np.ones(len(y)), np.asarray(y) + 10.0), sample_weight)


class ForestOfTimes(_OfTimes, RandomSurvivalForest):
    """A forest that scikit-learn can check."""


class BoostedOfTimes(_OfTimes, BoostedTreesSurvival):
    """Boosted trees that scikit-learn can check."""


# As for other ensembles; see `why_weights_are_no_repetitions` in contract/subjects.py.
_DRAWS = "rows are drawn, and min_samples_leaf counts rows: weights are factors in sums"
_NOT_FOR_SURVIVAL = {
    "check_sample_weight_equivalence_on_dense_data": _DRAWS,
    "check_sample_weight_equivalence_on_sparse_data": _DRAWS,
}


@parametrize_with_checks(
    [ForestOfTimes(5), BoostedOfTimes(n_estimators=5)],
    expected_failed_checks=lambda _: _NOT_FOR_SURVIVAL,
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)

"""Offsets: raw scores of the rows that a model adds to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from weald import (
    AdaBoostClassifier,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from weald.losses import BuiltinLoss, base_scores_given, quantile_losses

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
YEARS = RNG.uniform(0.1, 3.0, N)
LOG_YEARS = np.log(YEARS)
COUNTS = RNG.poisson(YEARS * np.exp(X[:, 0] / 2 - 0.5)).astype(float)
NUMBERS = 3 * X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=N)
THREE = np.digitize(X[:, 0] + RNG.normal(size=N) / 3, [-0.5, 0.5])
TWO = (THREE > 0).astype(int)
WEIGHT = RNG.integers(0, 4, N).astype(float)


def quick(kind: Any, **parameters: Any) -> Any:
    quality = {} if "Gradient" in kind.__name__ else {"quality": "fast", "random_state": 0}
    return kind(**{**quality, "n_estimators": 10, "min_samples_leaf": 5, **parameters})


# ---- what an offset means ----


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, GradientBoostingRegressor])
@pytest.mark.parametrize("more", [{}, {"loss": "absolute_error"}, {"subsample": 0.5}])
def test_of_identity_links_it_is_a_fit_to_the_rest(kind, more: dict) -> None:
    """Whole numbers, so that y - offset is exact."""
    y, offset = np.round(NUMBERS), np.round(5 * X[:, 1])
    more = {**more, "random_state": 0}
    model = quick(kind, **more).fit(X, y, offset=offset)
    if "subsample" not in more:  # rows are drawn by their content, the target included
        rest = quick(kind, **more).fit(X, y - offset)
        assert model.predict(X) == pytest.approx(rest.predict(X), rel=1e-9, abs=1e-9)
    assert np.array_equal(model.predict(X, offset=offset), model.predict(X) + offset)


def test_log_exposure_is_a_rate_weighted_by_exposure() -> None:
    """Poisson: the same gradients and hessians as for the rate with the exposure as weight.

    Exact splits, because bins depend on weights.
    """
    model, rate = (quick(BoostedTreesRegressor, loss="poisson", exact=True) for _ in range(2))
    model.fit(X, COUNTS, offset=LOG_YEARS)
    rate.fit(X, COUNTS / YEARS, sample_weight=YEARS)
    assert model.predict(X) == pytest.approx(rate.predict(X), rel=1e-6)
    assert model.predict(X, offset=LOG_YEARS) == pytest.approx(model.predict(X) * YEARS, rel=1e-12)
    assert model.predict(X, offset=LOG_YEARS).sum() == pytest.approx(COUNTS.sum(), rel=0.05)


def test_a_model_continues_where_another_ended() -> None:
    """Ten rounds on the raw scores of ten rounds: twenty rounds, if the base score is zero."""
    first = quick(GradientBoostingClassifier).fit(X, TWO)
    raw = first.decision_function(X)
    then = quick(GradientBoostingClassifier, init="zero").fit(X, TWO, offset=raw)
    whole = quick(GradientBoostingClassifier, n_estimators=20).fit(X, TWO)
    assert then.decision_function(X, offset=raw) == pytest.approx(
        whole.decision_function(X), abs=1e-9
    )
    loss = BuiltinLoss("log_loss", 1, 1)
    fitted = quick(GradientBoostingClassifier).fit(X, TWO, offset=raw)
    base = loss.mean(TWO.astype(float), raw[np.newaxis] + fitted._start.base, None, None)
    assert base < loss.mean(TWO.astype(float), raw[np.newaxis], None, None)


@pytest.mark.parametrize("multi_class", ["tree_per_class", "vector_leaves"])
def test_three_classes_start_from_a_linear_model(multi_class: str) -> None:
    linear = LogisticRegression().fit(X, THREE)
    raw = linear.decision_function(X)
    model = quick(BoostedTreesClassifier, multi_class=multi_class, max_leaf_nodes=4)
    model.fit(X, THREE, offset=raw)
    loss = BuiltinLoss("log_loss", 3, 1)
    scores = model.decision_function(X, offset=raw)
    assert np.array_equal(model.predict_proba(X, offset=raw), loss.predictions(scores))
    assert model.score(X, THREE, offset=raw) > linear.score(X, THREE)
    given = np.mean(model.predict(X, offset=raw) == THREE)
    assert model.score(X, THREE, offset=raw) == pytest.approx(given)
    *_, last = model.staged_predict_proba(X, offset=raw)
    assert np.array_equal(last, model.predict_proba(X, offset=raw))
    *_, last = model.staged_decision_function(X, offset=raw)
    assert np.array_equal(last, scores)


def test_several_quantiles_have_an_offset_each() -> None:
    levels = [0.2, 0.8]
    offset = np.column_stack([X[:, 0] - 1, X[:, 0] + 1])
    model = quick(BoostedTreesRegressor, loss="quantile", quantile=levels)
    model.fit(X, NUMBERS, offset=offset)
    own = [
        quick(BoostedTreesRegressor, loss="quantile", quantile=level).fit(
            X, NUMBERS, offset=offset[:, k]
        )
        for k, level in enumerate(levels)
    ]
    for k, one in enumerate(own):
        assert one.forest_.base_score[0] == model.forest_.base_score[k]
    together = model.predict(X, offset=offset)
    assert (together[:, 0] <= together[:, 1]).all()
    assert 0.6 < np.mean((together[:, 0] <= NUMBERS) & (together[:, 1] >= NUMBERS)) < 0.9
    base = base_scores_given(quantile_losses(levels, 1), NUMBERS, None, None, offset.T.copy())
    assert np.array_equal(base, model.forest_.base_score)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_of_extreme_size(scale: float) -> None:
    offset = 2 * X[:, 1]
    model = quick(BoostedTreesRegressor).fit(X, NUMBERS * scale, offset=offset * scale)
    plain = quick(BoostedTreesRegressor).fit(X, NUMBERS, offset=offset)
    found = model.predict(X, offset=offset * scale) / scale
    assert found == pytest.approx(plain.predict(X, offset=offset), rel=1e-6)
    wide = quick(BoostedTreesRegressor).fit(X, NUMBERS, offset=offset * 1e200)
    assert np.isfinite(wide.predict(X)).all()


# ---- sampling, validation, folds ----

HOW = {
    "one booster": {},
    "early stopping": {"early_stopping": True, "n_estimators": 30},
    "folds": {"quality": "default", "n_estimators": "auto", "n_bags": 3, "learning_rate": 0.3},
    "subsample": {"subsample": 0.6},
    "exact": {"exact": True},
}


@pytest.mark.parametrize("how", HOW)
def test_rows_in_any_order_of_weight_zero_or_repeated(how: str) -> None:
    """Offsets belong to their rows, however these are sampled, dropped, held out or repeated."""
    settings = {"loss": "poisson", "min_samples_leaf": 1, **HOW[how]}
    model = quick(BoostedTreesRegressor, **settings)
    model.fit(X, COUNTS, sample_weight=WEIGHT, offset=LOG_YEARS)
    order = np.random.default_rng(2).permutation(N)
    turned = quick(BoostedTreesRegressor, **settings)
    turned.fit(X[order], COUNTS[order], sample_weight=WEIGHT[order], offset=LOG_YEARS[order])
    assert turned.fingerprint() == model.fingerprint()
    kept = WEIGHT > 0
    without = quick(BoostedTreesRegressor, **settings)
    without.fit(X[kept], COUNTS[kept], sample_weight=WEIGHT[kept], offset=LOG_YEARS[kept])
    assert without.fingerprint() == model.fingerprint()
    if how in ("one booster", "exact"):
        times = WEIGHT.astype(int)
        repeated = quick(BoostedTreesRegressor, **settings)
        repeated.fit(
            np.repeat(X, times, axis=0),
            np.repeat(COUNTS, times),
            offset=np.repeat(LOG_YEARS, times),
        )
        assert repeated.fingerprint() == model.fingerprint()


def test_equal_rows_with_different_offsets_are_told_apart() -> None:
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.tile([0.0, 1.0], 50)
    offset = np.linspace(-1, 1, 100)
    order = np.random.default_rng(0).permutation(100)
    settings = {"loss": "poisson", "subsample": 0.5, "early_stopping": True}
    model = quick(BoostedTreesRegressor, **settings).fit(x, y, offset=offset)
    turned = quick(BoostedTreesRegressor, **settings)
    turned.fit(x[order], y[order], offset=offset[order])
    assert turned.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("n_bags", [None, 3])
def test_validation_losses_include_the_offsets(n_bags: int | None) -> None:
    model = quick(BoostedTreesRegressor, loss="poisson", n_bags=n_bags)
    model.fit(
        X[:300],
        COUNTS[:300],
        X_val=X[300:],
        y_val=COUNTS[300:],
        offset=LOG_YEARS[:300],
        offset_val=LOG_YEARS[300:],
    )
    loss = BuiltinLoss("poisson", 1, 1)
    held = slice(300, N)
    for n, predicted in enumerate(model.staged_predict(X[held], offset=LOG_YEARS[held]), 1):
        mean = loss.mean(COUNTS[held], np.log(predicted)[np.newaxis], None, None)
        assert model.validation_loss_[n] == pytest.approx(mean, rel=1e-9)
    if n_bags is None:
        train = model.predict(X[:300], offset=LOG_YEARS[:300])
        mean = loss.mean(COUNTS[:300], np.log(train)[np.newaxis], None, None)
        assert model.train_loss_[-1] == pytest.approx(mean, rel=1e-9)


def test_a_scorer_sees_predictions_with_the_offsets() -> None:
    model = quick(BoostedTreesRegressor, loss="poisson", scoring="neg_mean_poisson_deviance")
    model.fit(
        X[:300],
        COUNTS[:300],
        X_val=X[300:],
        y_val=COUNTS[300:],
        offset=LOG_YEARS[:300],
        offset_val=LOG_YEARS[300:],
    )
    from sklearn.metrics import mean_poisson_deviance

    last = mean_poisson_deviance(COUNTS[300:], model.predict(X[300:], offset=LOG_YEARS[300:]))
    assert model.validation_score_[-1] == pytest.approx(-last, rel=1e-9)


def test_folds_their_ledger_and_standard_deviations() -> None:
    model = BoostedTreesRegressor(loss="poisson", learning_rate=0.05)
    model.fit(X, COUNTS, offset=LOG_YEARS)
    assert model.n_bags_ == 5
    ratio = model.oob_.predictions.sum() / COUNTS.sum()
    assert ratio == pytest.approx(1, abs=0.05)  # counts, not rates
    assert np.corrcoef(np.log(model.oob_.predictions), LOG_YEARS)[0, 1] > 0.8
    mean, std = model.predict(X, return_std=True, offset=LOG_YEARS)
    rates, std_of_rates = model.predict(X, return_std=True)
    assert np.array_equal(mean, model.predict(X, offset=LOG_YEARS))
    assert std == pytest.approx(std_of_rates * YEARS, rel=1e-9)
    assert mean == pytest.approx(rates * YEARS, rel=1e-12)
    for name in ("predict_interval", "predict_quantiles", "oob_permutation_importance"):
        with pytest.raises(AttributeError, match="fitted with an offset.*oob_ has"):
            getattr(model, name)
    short, std = model.predict(X, return_std=True, offset=LOG_YEARS, n_rounds=3)
    assert np.array_equal(short, model.predict(X, offset=LOG_YEARS, n_rounds=3))


def test_refitted_leaves_know_the_offsets() -> None:
    """After early stopping, leaves and base score are estimated on all rows, with offsets."""
    model = quick(BoostedTreesRegressor, loss="poisson", early_stopping=True, n_estimators=30).fit(
        X, COUNTS, offset=LOG_YEARS
    )
    base = base_scores_given(
        BuiltinLoss("poisson", 1, 1), COUNTS, None, None, LOG_YEARS[np.newaxis]
    )
    assert model.forest_.base_score[0] == base[0]
    assert model.predict(X, offset=LOG_YEARS).sum() == pytest.approx(COUNTS.sum(), rel=0.02)


def test_class_weights() -> None:
    raw = LogisticRegression().fit(X, THREE).decision_function(X)
    model = quick(BoostedTreesClassifier, class_weight={0: 2.0, 1: 1.0, 2: 0.0})
    model.fit(X, THREE, offset=raw)
    kept = THREE < 2
    other = quick(BoostedTreesClassifier, class_weight={0: 2.0, 1: 1.0, 2: 0.0})
    weight = kept.astype(float)
    other.fit(X, THREE, sample_weight=weight, offset=raw)
    assert model.fingerprint() == other.fingerprint()


def test_gradient_boosting_holds_out_rows_and_draws_them() -> None:
    settings = {"loss": "poisson", "subsample": 0.7, "n_iter_no_change": 5, "random_state": 0}
    model = quick(GradientBoostingRegressor, n_estimators=20, **settings)
    model.fit(X, COUNTS, offset=LOG_YEARS)
    order = np.random.default_rng(2).permutation(N)
    turned = quick(GradientBoostingRegressor, n_estimators=20, **settings)
    turned.fit(X[order], COUNTS[order], offset=LOG_YEARS[order])
    assert turned.fingerprint() == model.fingerprint()
    assert np.array_equal(turned.oob_scores_, model.oob_scores_)
    shares = np.column_stack([TWO == 0, TWO == 1]).astype(float)
    soft = quick(GradientBoostingClassifier, loss="kl").fit(X, shares, offset=X[:, 0])
    hard = quick(GradientBoostingClassifier).fit(X, TWO, offset=X[:, 0])
    assert soft.predict_proba(X) == pytest.approx(hard.predict_proba(X), rel=1e-9)
    assert np.array_equal(
        hard.predict_log_proba(X, offset=X[:, 0]), np.log(hard.predict_proba(X, offset=X[:, 0]))
    )


# ---- continuing ----


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"subsample": 0.6},
        {"n_bags": 2, "learning_rate": 0.3},
        {"early_stopping": True, "learning_rate": 0.3},
    ],
)
def test_parts_end_where_the_whole_does(more: dict) -> None:
    whole = quick(BoostedTreesRegressor, loss="poisson", **more)
    whole.fit(X, COUNTS, offset=LOG_YEARS)
    parts = quick(BoostedTreesRegressor, loss="poisson", warm_start=True, **more)
    for rounds in (3, 10):
        parts.set_params(n_estimators=rounds).fit(X, COUNTS, offset=LOG_YEARS)
    assert parts.fingerprint() == whole.fingerprint()
    raw = LogisticRegression().fit(X, THREE).decision_function(X)
    for form in ("tree_per_class", "vector_leaves"):
        whole = quick(BoostedTreesClassifier, multi_class=form, **more).fit(X, THREE, offset=raw)
        parts = quick(BoostedTreesClassifier, multi_class=form, warm_start=True, **more)
        for rounds in (3, 10):
            parts.set_params(n_estimators=rounds).fit(X, THREE, offset=raw)
        assert parts.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, GradientBoostingRegressor])
def test_a_warm_start_wants_the_same_offsets(kind) -> None:
    model = quick(kind, warm_start=True).fit(X, NUMBERS, offset=X[:, 0])
    before = model.fingerprint()
    model.set_params(n_estimators=15)
    with pytest.raises(ValueError, match="with offset, and this one lacks it"):
        model.fit(X, NUMBERS)
    with pytest.raises(ValueError, match="same rows with other offsets"):
        model.fit(X, NUMBERS, offset=X[:, 1])
    assert model.fingerprint() == before
    model.fit(X[:200], NUMBERS[:200], offset=X[:200, 1])  # other rows have other offsets
    plain = quick(kind, warm_start=True).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="without offset, and this one has it"):
        plain.set_params(n_estimators=15).fit(X, NUMBERS, offset=X[:, 0])


@pytest.mark.parametrize("kind", [BoostedTreesRegressor, GradientBoostingRegressor])
def test_a_warm_start_of_gradient_boosting_ends_where_the_whole_does(kind) -> None:
    whole = quick(kind, loss="poisson").fit(X, COUNTS, offset=LOG_YEARS)
    parts = quick(kind, loss="poisson", warm_start=True, n_estimators=4)
    parts.fit(X, COUNTS, offset=LOG_YEARS).set_params(n_estimators=10)
    parts.fit(X, COUNTS, offset=LOG_YEARS)
    assert parts.fingerprint() == whole.fingerprint()


def test_a_checkpoint_wants_the_same_offsets(tmp_path) -> None:
    def model(**more: Any) -> Any:
        return quick(BoostedTreesRegressor, checkpoint=tmp_path / "fit.npz", **more)

    model(n_estimators=4).fit(X, NUMBERS, offset=X[:, 0])
    for offset in (None, X[:, 1]):
        with pytest.raises(ValueError, match="fit on other data"):
            model().fit(X, NUMBERS, offset=offset)
    order = np.random.default_rng(0).permutation(N)
    resumed = model().fit(X[order], NUMBERS[order], offset=X[order, 0])
    whole = quick(BoostedTreesRegressor).fit(X, NUMBERS, offset=X[:, 0])
    assert resumed.fingerprint() == whole.fingerprint()


# ---- containers and metadata ----


def test_any_container() -> None:
    plain = quick(BoostedTreesRegressor, loss="poisson").fit(X, COUNTS, offset=LOG_YEARS)
    given: list[Any] = [pd.Series(LOG_YEARS), pl.Series(LOG_YEARS), LOG_YEARS.tolist()]
    given += [LOG_YEARS[:, np.newaxis], pd.DataFrame({"log_years": LOG_YEARS})]
    for offset in given:
        model = quick(BoostedTreesRegressor, loss="poisson").fit(X, COUNTS, offset=offset)
        assert model.fingerprint() == plain.fingerprint()
        assert np.array_equal(model.predict(X, offset=offset), plain.predict(X, offset=LOG_YEARS))
    raw = pd.DataFrame(LogisticRegression().fit(X, THREE).decision_function(X))
    model = quick(BoostedTreesClassifier).fit(X, THREE, offset=raw)
    same = quick(BoostedTreesClassifier).fit(X, THREE, offset=raw.to_numpy())
    assert model.fingerprint() == same.fingerprint()


def test_it_is_routed_like_weights() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick(BoostedTreesRegressor, loss="poisson")
        model.set_fit_request(offset=True).set_score_request(offset=True)
        found = cross_validate(
            model, X, COUNTS, params={"offset": LOG_YEARS}, cv=3, return_estimator=True
        )
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_validate(
                quick(BoostedTreesRegressor), X, COUNTS, params={"offset": LOG_YEARS}, cv=3
            )
    from sklearn.model_selection import KFold

    (train, test), *_ = KFold(3).split(X)
    own = quick(BoostedTreesRegressor, loss="poisson")
    own.fit(X[train], COUNTS[train], offset=LOG_YEARS[train])
    assert own.fingerprint() == found["estimator"][0].fingerprint()
    score = own.score(X[test], COUNTS[test], offset=LOG_YEARS[test])
    assert score == pytest.approx(found["test_score"][0], rel=1e-12)


# ---- bad input ----

BAD = {
    "too few": (LOG_YEARS[:-1], r"offset has the shape \(399,\), expected \(400,\): one number"),
    "two columns": (np.zeros((N, 2)), r"shape \(400, 2\), expected \(400,\)"),
    "a number": (0.5, r"shape \(\), expected \(400,\)"),
    "NaN": (np.where(np.arange(N) == 7, np.nan, 0.0), "NaN or infinity: row 7 has nan"),
    "infinite": (np.where(np.arange(N) == 7, -np.inf, 0.0), "row 7 has -inf.*exposure of 0"),
    "exposure in days": (YEARS * 365, r"offset holds \d+.*np.log\(exposure\)"),
    "text": (["a"] * N, "offset must hold a number for each row"),
    "masked": (np.ma.masked_array(LOG_YEARS, LOG_YEARS > 0), "offset is a masked array"),
    "complex": (LOG_YEARS + 1j, "Complex data not supported in offset"),
    "dates": (np.full(N, np.datetime64("2020-01-01")), "offset holds dates"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("kind", [BoostedTreesRegressor, GradientBoostingRegressor])
def test_bad_offsets(kind, case: str) -> None:
    offset, message = BAD[case]
    model = quick(kind, loss="poisson")
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, COUNTS, offset=offset)
    model.fit(X, COUNTS, offset=LOG_YEARS)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict(X, offset=offset)
    with pytest.raises((ValueError, TypeError), match=message):
        next(iter(model.staged_predict(X, offset=offset)))
    if kind is BoostedTreesRegressor:
        with pytest.raises((ValueError, TypeError), match=message.replace("offset", "offset_val")):
            model.fit(X, COUNTS, X_val=X, y_val=COUNTS, offset=LOG_YEARS, offset_val=offset)
        bags = quick(kind, loss="poisson", n_bags=2).fit(X, COUNTS, offset=LOG_YEARS)
        with pytest.raises((ValueError, TypeError), match=message):
            bags.predict(X, offset=offset, return_std=True)


def test_bad_offsets_of_classes_and_numbers() -> None:
    model = quick(BoostedTreesClassifier)
    with pytest.raises(ValueError, match=r"expected \(400, 3\): one row of 3 raw scores"):
        model.fit(X, THREE, offset=LOG_YEARS)
    with pytest.raises(ValueError, match=r"offset holds 1e\+302 in row 0, at most .* Scale"):
        quick(BoostedTreesRegressor).fit(X, NUMBERS, offset=np.full(N, 1e302))
    with pytest.raises(ValueError, match="offset is given without offset_val"):
        model.fit(X, TWO, X_val=X, y_val=TWO, offset=LOG_YEARS)
    with pytest.raises(ValueError, match="offset_val is given without offset"):
        model.fit(X, TWO, X_val=X, y_val=TWO, offset_val=LOG_YEARS)
    with pytest.raises(ValueError, match="offset_val is given without X_val and y_val"):
        model.fit(X, TWO, offset=LOG_YEARS, offset_val=LOG_YEARS)
    with pytest.raises(ValueError, match="init=LogisticRegression and offset cannot be combined"):
        GradientBoostingClassifier(init=LogisticRegression()).fit(X, TWO, offset=LOG_YEARS)
    zero = GradientBoostingClassifier(init="zero", n_estimators=1, learning_rate=1e-9)
    zero.fit(X, TWO, offset=LOG_YEARS)
    assert zero.decision_function(X, offset=LOG_YEARS) == pytest.approx(LOG_YEARS, abs=1e-6)


def test_one_class_with_an_offset() -> None:
    model = quick(BoostedTreesClassifier).fit(X, np.ones(N), offset=LOG_YEARS)
    assert np.array_equal(model.predict_proba(X, offset=LOG_YEARS), np.ones((N, 1)))


def test_names_of_other_libraries_lead_to_it() -> None:
    for name in ("init_score", "base_margin", "baseline"):
        with pytest.raises(TypeError, match="Use offset, the raw scores"):
            BoostedTreesRegressor().fit(X, COUNTS, **{name: LOG_YEARS})
    with pytest.raises(
        TypeError, match="no given scores; weald.BoostedTreesClassifier takes offset"
    ):
        AdaBoostClassifier().fit(X, TWO, init_score=LOG_YEARS)
    with pytest.raises(TypeError, match="takes offset"):
        RandomForestRegressor().fit(X, COUNTS, base_margin=LOG_YEARS)

"""Metrics without a value in some round, and early stopping by one of the metrics."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.advice import WealdWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=500) / 5
TWO = (Y > 0).astype(int)
TRAIN, A, B = slice(0, 300), slice(300, 400), slice(400, 500)


def quick(kind: Any, **parameters: Any) -> Any:
    settings = {"quality": "fast", "n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**settings, **parameters})


def both(y: np.ndarray) -> dict[str, Any]:
    """Two validation sets."""
    return {"X_val": {"near": X[A], "far": X[B]}, "y_val": {"near": y[A], "far": y[B]}}


# ---- metrics without a value ----


def _undefined_at(*rounds: int, number: float = np.nan) -> Any:
    """A metric that is 0.5, but not after these calls."""
    calls = iter(range(10**6))
    return lambda model, X, y: number if next(calls) in rounds else 0.5


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("more", [{"early_stopping": True}, {"n_bags": 3}])
def test_a_metric_that_decides_nothing_may_have_no_value(more: dict, number: float) -> None:
    metric = _undefined_at(3, 5, number=number)
    model = quick(BoostedTreesClassifier, metrics={"mine": metric}, **more)
    said = rf"'validation mine' .* NaN after round 3, .*metrics\['mine'\].* returned {number}"
    with pytest.warns(WealdWarning, match=said) as caught:
        model.fit(X, TWO)
    assert len(caught) == 1
    curve = model.history_["validation mine"]
    assert np.isnan(curve[[3, 5]]).all() and np.isfinite(np.delete(curve, [3, 5])).all()
    assert "nan" in repr(model.history_).splitlines()[4]
    plain = quick(BoostedTreesClassifier, **more).fit(X, TWO)
    assert plain.fingerprint() == model.fingerprint()


def test_scikit_learn_warns_once_of_an_undefined_metric() -> None:
    model = quick(BoostedTreesClassifier, metrics=["roc_auc"])
    own = "'validation roc_auc' of history_ is NaN before the first round"
    with (
        pytest.warns(UndefinedMetricWarning, match="Only one class") as caught,
        pytest.warns(WealdWarning, match=own),
    ):
        model.fit(X, TWO, X_val=X, y_val=np.zeros(500, dtype=int))
    assert len(caught) == 1
    assert np.isnan(model.history_["validation roc_auc"]).all()


def test_what_early_stopping_follows_must_have_a_value() -> None:
    followed = {"metrics": {"mine": _undefined_at(3)}, "scoring": "mine", "early_stopping": True}
    message = (
        r"scoring='mine', for the validation rows, returned nan; expected one finite number\. "
        r"This is 'validation mine' after round 3, which early stopping follows\."
    )
    with pytest.raises(ValueError, match=message):
        quick(BoostedTreesClassifier, **followed).fit(X, TWO)
    # Without early stopping, and for sets after the first, it decides nothing.
    followed["metrics"] = {"mine": _undefined_at(3)}
    with pytest.warns(WealdWarning, match="'validation mine' .* after round 3"):
        quick(BoostedTreesClassifier, **{**followed, "early_stopping": False}).fit(
            X[TRAIN], TWO[TRAIN], X_val=X[A], y_val=TWO[A]
        )
    calls = iter(range(100))  # of the first set, then of the second, in every round
    followed["metrics"] = {"mine": lambda *_: np.nan if next(calls) == 3 else 0.5}
    with pytest.warns(WealdWarning, match="'far mine' of history_ is NaN after round 1"):
        model = quick(BoostedTreesClassifier, **followed).fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    assert model.history_.watched == "near mine"


def test_errors_of_a_metric_in_the_middle_of_a_fit() -> None:
    def share(model, X, y):
        return 1 / (0.5 - (model.forest_.n_trees == 2) * 0.5)

    model = quick(BoostedTreesRegressor, metrics={"share": share})
    with pytest.warns(WealdWarning, match="'validation share' .* round 2, .*: .*zero"):
        model.fit(X[TRAIN], Y[TRAIN], X_val=X[A], y_val=Y[A])
    assert np.flatnonzero(np.isnan(model.history_["validation share"])).tolist() == [2]
    model.set_params(scoring=share, metrics=None, early_stopping=True)
    with pytest.raises(ZeroDivisionError):
        model.fit(X[TRAIN], Y[TRAIN], X_val=X[A], y_val=Y[A])


def test_a_loss_without_a_value_beside_another_scoring() -> None:
    class Sometimes:
        """The squared error, undefined for predictions above 1."""

        def gradient_hessian(self, y, score):
            return score - y, np.ones_like(y)

        def loss(self, y, score):
            return np.where(score > 1, np.nan, (y - score) ** 2 / 2)

    model = quick(BoostedTreesRegressor, loss=Sometimes(), scoring="r2", early_stopping=True)
    with pytest.warns(WealdWarning, match="'near loss' of history_ is NaN after round"):
        model.fit(X[TRAIN], Y[TRAIN], **both(Y))
    assert np.isnan(model.validation_loss_[-1]) and np.isfinite(model.validation_score_).all()
    with pytest.raises(ValueError, match="'near loss' after round .* early stopping follows"):
        model.set_params(scoring="loss").fit(X[TRAIN], Y[TRAIN], **both(Y))


# ---- scoring by one of the metrics ----


def test_scoring_names_one_of_the_metrics() -> None:
    def second_half(model, X, y):
        return accuracy_score(y[50:], model.predict(X[50:]))

    more = {"early_stopping": True, "n_estimators": 60, "n_iter_no_change": 5}
    metrics = {"auc": "roc_auc", "half": second_half}
    model = quick(BoostedTreesClassifier, scoring="half", metrics=metrics, **more)
    model.fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    assert list(model.history_)[1:4] == ["near loss", "near half", "near auc"]
    assert model.history_.watched == "near half"
    assert np.array_equal(model.validation_score_, model.history_["near half"])
    assert model.n_estimators_ == np.argmax(model.history_["near half"])
    other = quick(BoostedTreesClassifier, scoring=second_half, **more)
    other.fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    assert other.fingerprint() == model.fingerprint()
    by_auc = quick(BoostedTreesClassifier, scoring="auc", metrics=metrics, **more)
    by_auc.fit(X[TRAIN], TWO[TRAIN], **both(TWO))
    assert by_auc.n_estimators_ == np.argmax(by_auc.history_["near auc"])
    assert clone(model).get_params()["scoring"] == "half"


def test_a_scoring_that_names_nothing_is_told_what_metrics_has() -> None:
    model = quick(BoostedTreesClassifier, scoring="half", metrics={"auc": "roc_auc"})
    with pytest.raises(ValueError, match=r"a name in metrics \('auc'\), the name of a scorer"):
        model.fit(X, TWO)
    model.set_params(scoring="auc", metrics={"auc": None})
    with pytest.raises(ValueError, match="'metrics' parameter"):
        model.fit(X, TWO)


# ---- the table that a function of the user receives ----


def _with_dates(n: int = 240) -> tuple[pd.DataFrame, Any, Any]:
    """A table that is read as other columns than it has; column `y` repeats the target."""
    rng = np.random.default_rng(0)
    code, x = rng.integers(0, 60, n), rng.normal(size=n)
    y = np.round(rng.normal(size=60)[code] + x, 3)
    X = pd.DataFrame(
        {
            "x": x,
            "city": pd.Categorical([f"c{i}" for i in code]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "y": y,
        }
    )
    return X, y, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("n_bags", [None, 2, 5])
@pytest.mark.parametrize("library", ["pandas", "only numbers", "polars", "object array"])
def test_a_function_receives_held_out_rows_of_the_table_of_the_fit(
    n_bags: int | None, library: str
) -> None:
    X, y, weight = _with_dates()
    table: Any = X
    if library == "polars":
        table = pytest.importorskip("polars").from_pandas(X)
    elif library == "only numbers":
        table = X[["x", "y"]]
    elif library == "object array":
        table = X[["x", "city", "y"]].to_numpy(dtype=object)
    seen = []

    def scorer(model: Any, part: Any, target: Any, sample_weight: Any = None) -> float:
        assert type(part) is type(table)
        copied = part[:, 2] if library == "object array" else part["y"]
        assert np.array_equal(np.asarray(copied, dtype=float), target)
        if n_bags is None:
            assert model.predict(part[:9]) == pytest.approx(model.predict(part)[:9])
        seen.append(len(target))
        return float(-np.mean((model.predict(part) - target) ** 2))

    model = BoostedTreesRegressor(
        n_estimators=5, early_stopping=True, scoring=scorer, n_bags=n_bags, random_state=0
    )
    model.fit(table, y, sample_weight=weight)
    assert seen and set(seen) == {(weight > 0).sum() if n_bags else seen[0]}


def test_predicting_some_rows_of_several_boosters_warns_once() -> None:
    """Only the predictions of all rows are of boosters that were not trained on them."""

    def of_some(model: Any, part: Any, target: Any) -> float:
        return float(-np.mean((model.predict(part[:50]) - target[:50]) ** 2))

    model = BoostedTreesRegressor(n_estimators=5, n_bags=5, early_stopping=True, scoring=of_some)
    with pytest.warns(WealdWarning, match="predict all rows of X") as caught:
        model.fit(X, Y)
    assert len([one for one in caught if issubclass(one.category, WealdWarning)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[TRAIN], Y[TRAIN], X_val=X[A], y_val=Y[A])
        model.set_params(n_bags=None).fit(X, Y)


def test_a_function_receives_labels_with_their_rows() -> None:
    X, y, _ = _with_dates()
    labels = np.where(y > 0, "high", "low")

    def scorer(model: Any, part: Any, target: Any) -> float:
        assert np.array_equal(np.where(part["y"] > 0, "high", "low"), target)
        return float(np.mean(model.predict(part) == target))

    by_function = BoostedTreesClassifier(
        n_estimators=8, early_stopping=True, scoring=scorer, random_state=0
    ).fit(X, labels)
    by_name = BoostedTreesClassifier(
        n_estimators=8, early_stopping=True, scoring="accuracy", random_state=0
    ).fit(X, labels)
    assert by_function.fingerprint() == by_name.fingerprint()
    assert np.array_equal(by_function.validation_score_, by_name.validation_score_)

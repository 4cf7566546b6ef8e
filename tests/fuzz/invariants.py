"""What must hold for any parameters and any table.

Every function takes a case that fits, raises AssertionError if its invariant is broken, and says
whether there was anything to check.
"""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from contract.subjects import has
from fuzz.cases import Case

Invariant = Callable[[Case], bool]


def answers(model: Any, X: Any) -> np.ndarray:
    if is_classifier(model) and hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X)


def some_rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def threads(case: Case) -> bool:
    """One thread and three grow the same model."""
    assert case.fitted(n_jobs=3).fingerprint() == case.first.fingerprint()
    return True


def order_of_rows(case: Case) -> bool:
    """The order of rows changes nothing."""
    order = np.random.default_rng(case.seed).permutation(len(case.table.y))
    assert case.fitted(case.table.take(order)).fingerprint() == case.first.fingerprint()
    return True


def container(case: Case) -> bool:
    """Numbers in a frame, or in columns that lie one behind another, are the same numbers."""
    if case.table.has_text:
        return False
    names = [f"column {i}" for i in range(case.table.X.shape[1])]
    frame = replace(case.table, X=pd.DataFrame(case.table.X, columns=names))
    assert case.fitted(frame).fingerprint() == case.first.fingerprint()
    by_column = replace(case.table, X=np.asfortranarray(case.table.X))
    assert case.fitted(by_column).fingerprint() == case.first.fingerprint()
    return True


def pickled(case: Case) -> bool:
    """A model that was pickled predicts the same, bit for bit."""
    again = pickle.loads(pickle.dumps(case.first))
    assert again.fingerprint() == case.first.fingerprint()
    assert np.array_equal(answers(again, case.table.new), answers(case.first, case.table.new))
    return True


def row_by_row(case: Case) -> bool:
    """A row is predicted the same alone and among others."""
    together = answers(case.first, case.table.new)
    for row in range(0, len(together), 7):
        alone = answers(case.first, some_rows(case.table.new, [row]))
        assert np.array_equal(alone[0], together[row]), f"row {row}"
    return True


def probabilities(case: Case) -> bool:
    """Probabilities lie in [0, 1], sum to 1 and agree with the class; numbers are finite."""
    said = answers(case.first, case.table.new)
    assert np.isfinite(said).all()
    if not (is_classifier(case.first) and said.ndim == 2):
        return True
    assert (said >= 0).all() and (said <= 1).all()
    assert np.abs(said.sum(axis=1) - 1).max() < 1e-12
    if "final_estimator" not in case.first.get_params() and case.parameters.get("voting") != "hard":
        label = case.first.classes_[np.argmax(said, axis=1)]
        assert (case.first.predict(case.table.new) == label).all()
    return True


# ---- weights ----


def scaled_weights(case: Case) -> bool:
    """A common factor of all weights, a power of two, changes nothing.

    Unless a penalty is in units of weight, or the number of draws is a share of its sum.
    """
    penalties = ("l1_regularization", "l2_regularization", "min_gain", "min_child_weight")
    if any(case.parameters.get(name) for name in penalties):
        return False
    if isinstance(case.parameters.get("max_samples"), float):
        return False
    plain = np.ones(len(case.table.y)) if case.table.weight is None else case.table.weight
    free = {"min_child_weight": 0.0} if has(case.kind, "min_child_weight") else {}
    expected = case.fitted(**free).fingerprint()
    for power in (-9, 1, 13):
        table = replace(case.table, weight=np.ldexp(plain, power))
        assert case.fitted(table, **free).fingerprint() == expected, f"weights times 2**{power}"
    return True


def whole_weights(case: Case) -> bool:
    """A whole-number weight gives the model of repeated rows, where no row is counted.

    Rows may be drawn only with replacement, and as many as an int says.
    """
    overrides = without_counts(case)
    if overrides is None:
        return False
    rng = np.random.default_rng(case.seed)
    weight = rng.integers(0, 4, size=len(case.table.y))
    table = replace(case.table, weight=weight.astype(np.float64), groups=None)
    repeated = table.take(np.repeat(np.arange(len(weight)), weight))
    repeated = replace(repeated, weight=None)
    expected = case.fitted(repeated, **overrides).fingerprint()
    assert case.fitted(table, **overrides).fingerprint() == expected
    return True


def without_counts(case: Case) -> dict[str, Any] | None:
    """What to change so that nothing counts rows; None: rows are drawn or counted anyway."""
    params = case.model().get_params(deep=False)
    if params.get("quality", "fast") != "fast":
        return None  # rows are dealt out into folds and drawn
    of_fast = {"early_stopping": False, "subsample": 1.0, "n_bags": None, "n_iter_no_change": 0}
    if "quality" in params:
        params |= {name: one for name, one in of_fast.items() if params[name] == "auto"}
    if case.table.has_text or "categorical_features" in case.parameters:
        return None  # categories of few rows are merged
    if "reweight" in params and params["estimator"] is not None:
        return None  # the base estimator gets weights of any size, which are rounded
    draws = (
        params.get("early_stopping"),
        params.get("subsample", 1.0) < 1.0,
        params.get("n_bags") is not None,
        params.get("reweight") == "resampling",
        "n_iter_no_change" in params and params.get("early_stopping", params["n_iter_no_change"]),
        "final_estimator" in params,
        "portfolio" in params,  # models are scored on folds
        "sample_fraction" in params,  # rotation forests draw rows for their axes
        isinstance(params.get("weights"), str),
        params.get("rule") == "rank_mean",
        params.get("diversifiers") is not None,
        params.get("n_estimators") == "auto",
    )
    if any(draws):
        return None
    overrides: dict[str, Any] = {"min_samples_leaf": 1, "min_samples_split": 2}
    if params.get("max_features") == "auto":
        overrides["max_features"] = "sqrt"
    if params.get("bootstrap"):
        overrides["max_samples"] = 150
    elif params.get("max_samples") is not None:
        return None
    return {name: value for name, value in overrides.items() if has(case.kind, name)}


INVARIANTS: dict[str, Invariant] = {
    "threads": threads,
    "order_of_rows": order_of_rows,
    "container": container,
    "pickled": pickled,
    "row_by_row": row_by_row,
    "probabilities": probabilities,
    "scaled_weights": scaled_weights,
    "whole_weights": whole_weights,
}

"""Errors of validation sets that name the argument, what it is and what it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weald import BoostedTreesRegressor, GradientBoostingRegressor, RandomForestRegressor

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.abs(X[:, 0]) + 1
ZEROS = np.zeros(60)

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "pairs": ({"X_val": [(X, Y)]}, r"X_val must be .* dict of tables by name; got a list of"),
    "tables": ({"X_val": (X, X), "y_val": (Y, Y)}, r"got a tuple of tables\. Pass X_val=\{'fi"),
    "text": ({"X_val": X.astype(str)}, "^X_val: Column 0 holds text"),
    "text of a set": (
        {"X_val": {"a": X, "b": X.astype(str)}, "y_val": {"a": Y, "b": Y}},
        r"^X_val\['b'\]: Column 0 holds text",
    ),
    "no rows": (
        {"X_val": {"a": X, "b": X[:0]}, "y_val": {"a": Y, "b": Y[:0]}},
        r"^X_val\['b'\]: Found array with 0 sample",
    ),
    "columns": ({"X_val": X[:, :2]}, "^X_val: X has 2 features, but .* expecting 3"),
    "weights": ({"sample_weight_val": ZEROS[:3] + 1}, r"\(3,\), expected \(60,\): .* of X_val\.$"),
    "no weight": ({"sample_weight_val": ZEROS}, "^sample_weight_val: .* all weights are zero.$"),
    "targets": ({"y_val": -Y, "loss": "poisson"}, "requires non-negative y_val; got -"),
    "offsets": ({"offset": ZEROS}, "offset is given without offset_val"),
    "no offsets": ({"offset_val": ZEROS}, "offset_val is given without offset"),
    "infinite": ({"offset": ZEROS, "offset_val": ZEROS - np.inf}, "offset_val contains .* -inf"),
    "text offset": ({"offset": ["a"] * 60, "offset_val": ZEROS}, "offset must hold a number"),
    "one offset": ({"offset": 1.0, "offset_val": ZEROS}, r"offset has .* \(\), expected \(60,\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_validation_sets(case: str) -> None:
    given, message = WRONG[case]
    given = {"X_val": X, "y_val": Y, **given}
    model = BoostedTreesRegressor(quality="fast", loss=given.pop("loss", "squared_error"))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, Y, **given)
    assert not hasattr(model, "forest_")


def test_rows_in_lists_are_one_table() -> None:
    model = BoostedTreesRegressor(quality="fast", n_estimators=3)
    plain = model.fit(X, Y, X_val=X, y_val=Y).validation_loss_
    for rows in (X.tolist(), list(X), tuple(X)):
        given = model.fit(X, Y, X_val=rows, y_val=Y.tolist())
        assert np.array_equal(given.validation_loss_, plain)


def test_models_without_validation_sets_say_what_there_is() -> None:
    with pytest.raises(TypeError, match="n_iter_no_change=10 holds out validation_fraction"):
        GradientBoostingRegressor().fit(X, Y, X_val=X)
    with pytest.raises(TypeError, match=r"evaluate it after fit with score\(X_val, y_val\)"):
        RandomForestRegressor().fit(X, Y, X_val=X)

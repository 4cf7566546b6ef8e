"""Every model with `predictor()`: the same methods, bit-identical predictions."""

import numpy as np
import pytest

from contract.frames import cells, container, labels
from contract.subjects import (
    EVERY_ESTIMATOR,
    EVERY_VARIANT,
    has,
    quick,
    table,
    task,
    variant_id,
    variants_of,
)

OFFERED = [
    (estimator, v) for estimator, v in EVERY_VARIANT if hasattr(quick(estimator), "predictor")
]


@pytest.mark.parametrize(("estimator", "variant"), OFFERED, ids=variant_id)
def test_it_predicts_as_the_model(estimator, variant: str) -> None:
    X, y = task(estimator, missing=0.1, variant=variant)
    model = quick(estimator, **variants_of(estimator)[variant]).fit(X, y)
    predictor, fresh = model.predictor(), table(90, seed=1, missing=0.1)
    for method in ("predict", "predict_proba", "decision_function"):
        assert hasattr(predictor, method) == hasattr(model, method)
        if not hasattr(model, method):
            continue
        expected, predict = getattr(model, method)(fresh), getattr(predictor, method)
        assert np.array_equal(predict(fresh), expected)
        assert np.array_equal([predict(row) for row in fresh], expected)


@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in EVERY_ESTIMATOR
        if has(e, "categorical_features") and hasattr(quick(e), "predictor")
    ],
)
@pytest.mark.parametrize("kind", ["pandas", "polars", "objects"])
def test_rows_of_any_columns(estimator, kind: str) -> None:
    X = container(kind)
    model = quick(estimator).fit(X, labels())
    predictor, columns = model.predictor(), cells()
    lists = list(map(list, zip(*columns.values(), strict=True)))[:30]
    dicts = [dict(zip(columns, row, strict=True)) for row in lists]
    for method in ("predict", "predict_proba", "decision_function"):
        assert hasattr(predictor, method) == hasattr(model, method)
        if not hasattr(model, method):
            continue
        expected, predict = getattr(model, method)(X), getattr(predictor, method)
        assert np.array_equal(predict(X), expected)
        assert np.array_equal([predict(row) for row in lists], expected[:30])
        if kind != "objects":
            assert np.array_equal([predict(row) for row in dicts], expected[:30])

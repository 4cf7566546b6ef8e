"""Every model that offers `predictor()`: the same methods, the same bits."""

import numpy as np
import pytest

from contract.subjects import EVERY_VARIANT, quick, table, task, variant_id, variants_of

OFFERED = [
    (estimator, v) for estimator, v in EVERY_VARIANT if hasattr(quick(estimator), "predictor")
]


@pytest.mark.parametrize(("estimator", "variant"), OFFERED, ids=variant_id)
def test_it_answers_as_the_model(estimator, variant: str) -> None:
    X, y = task(estimator, missing=0.1, variant=variant)
    model = quick(estimator, **variants_of(estimator)[variant]).fit(X, y)
    predictor, asked = model.predictor(), table(90, seed=1, missing=0.1)
    for method in ("predict", "predict_proba", "decision_function"):
        assert hasattr(predictor, method) == hasattr(model, method)
        if not hasattr(model, method):
            continue
        expected, answer = getattr(model, method)(asked), getattr(predictor, method)
        assert np.array_equal(answer(asked), expected)
        assert np.array_equal([answer(row) for row in asked], expected)

"""The out-of-bag ledger of rotation forests: trees predict rotated rows."""

import numpy as np
import pytest

from ensembles.forests.test_rotation_forest import every_kind, fitted


@every_kind
def test_the_ledger_predicts_rotated_rows(kind: type) -> None:
    model, X, _ = fitted(kind, n_trees=12, bootstrap=True, oob_score=True)
    predicted = np.concatenate(list(model._estimator_predictions(X)), axis=1)
    assert predicted.mean(axis=0) == pytest.approx(model._ensemble_predictions(X))
    out = model.oob_.in_bag.toarray() == 0
    some = out.any(axis=0)
    means = (predicted * out[:, :, np.newaxis]).sum(axis=0)[some] / out.sum(axis=0)[
        some, np.newaxis
    ]
    kept = model.oob_.predictions[some]
    assert kept.reshape(means.shape) == pytest.approx(means)
    noted = model.oob_decision_function_ if hasattr(model, "classes_") else model.oob_prediction_
    assert kept == pytest.approx(noted[some])


@every_kind
def test_predictions_of_pruned_trees(kind: type) -> None:
    model, X, y = fitted(kind, n_trees=12, bootstrap=True, oob_score=True)
    smaller = model.prune_oob(X, y).model
    assert len(smaller.forest_.value) < len(model.forest_.value)
    predicted = np.concatenate(list(smaller._estimator_predictions(X)), axis=1)
    assert predicted.mean(axis=0) == pytest.approx(smaller._ensemble_predictions(X))
    assert not np.array_equal(smaller._ensemble_predictions(X), model._ensemble_predictions(X))


@every_kind
def test_enough_trees_are_a_number(kind: type) -> None:
    with pytest.raises(ValueError, match="n_estimators"):
        fitted(kind, n_trees="auto", bootstrap=True)

"""Every estimator, in every variant: a loaded model equals the saved one, and so does a pickle."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier

from contract.subjects import (
    EVERY_ESTIMATOR,
    EVERY_VARIANT,
    made,
    quick,
    same_parameters,
    settings,
    task,
    variant_id,
    variants_of,
)
from weald.persist.model_file import model_bytes, model_of_bytes


@pytest.mark.parametrize(("estimator", "variant"), EVERY_VARIANT, ids=variant_id)
def test_a_loaded_model_is_the_same(estimator, variant) -> None:
    X, y = task(estimator, missing=0.1, variant=variant)
    model = quick(estimator, **variants_of(estimator)[variant]).fit(X, y)
    content = model_bytes(model, oob=True)
    loaded, unpickled = model_of_bytes(content), pickle.loads(pickle.dumps(model))
    fingerprint, predictions = model.fingerprint(), model.predict(X)
    has_shares = is_classifier(model) and hasattr(model, "predict_proba")
    for one in (loaded, unpickled):
        assert type(one) is estimator
        assert same_parameters(one, model)
        assert one.fingerprint() == fingerprint
        assert np.array_equal(one.predict(X), predictions)
        if has_shares:
            assert np.array_equal(one.predict_proba(X), model.predict_proba(X))
        assert vars(one).keys() == vars(model).keys()
    assert model_bytes(loaded, oob=True) == content


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_defaults_and_labels_of_text(estimator) -> None:
    """The default final estimator of a stack is scikit-learn's."""
    X, y = task(estimator)
    if is_classifier(made(estimator)):
        y = np.array([f"label {one}" for one in y])
    model = made(estimator, **settings(estimator, random_state=np.random.RandomState(3)))
    model.fit(X, y)
    loaded = model_of_bytes(model_bytes(model))
    assert np.array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_a_file_without_row_records_has_no_targets(estimator) -> None:
    X, y = task(estimator)
    if not is_classifier(quick(estimator)):
        y = y + np.random.default_rng(0).normal(size=len(y))  # found nowhere else in the model
    model = quick(estimator, min_samples_leaf=10, bootstrap=True).fit(X, y)
    for name, array in _arrays_of(model_bytes(model)).items():
        holds_targets = len(array) == len(y) and np.isin(array, y).mean() > 0.5
        assert not holds_targets or array.dtype.kind not in "f", name


def _arrays_of(content: bytes) -> dict[str, np.ndarray]:
    from weald.persist.archive import parse_archive

    arrays = parse_archive(content)[1]
    return {name: array for name, array in arrays.items() if array.ndim == 1}


@pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
def test_a_warm_start_continues_a_loaded_model(estimator) -> None:
    parameters = settings(estimator, warm_start=True, n_estimators=3)
    if len(parameters) < 2:
        pytest.skip("has no warm start")
    X, y = task(estimator)
    model = quick(estimator, **parameters).fit(X, y)
    loaded = model_of_bytes(model_bytes(model, oob=True))
    for one in (model, loaded):
        one.set_params(n_estimators=6).fit(X, y)
    assert loaded.fingerprint() == model.fingerprint()

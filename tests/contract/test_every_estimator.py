"""Contract of every public estimator: the same model for the same rows, in any form."""

import copy
import io
import pickle
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from contract.subjects import (
    EVERY_CLASSIFIER,
    EVERY_ESTIMATOR,
    EVERY_TREE_MODEL,
    EVERY_VARIANT,
    always_draws,
    answers,
    draws_columns,
    has,
    made,
    quick,
    same_parameters,
    searches,
    settings,
    table,
    target,
    task,
    variant_id,
    variants_of,
    why_weights_are_no_repetitions,
)

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
every_variant = pytest.mark.parametrize(("estimator", "variant"), EVERY_VARIANT, ids=variant_id)


def test_there_are_estimators() -> None:
    assert len(EVERY_ESTIMATOR) >= 4


# ---- the same model ----


@every_variant
def test_same_for_any_number_of_threads(estimator, variant: str) -> None:
    n = 2_000 if searches(estimator) else 12_000
    X, y = task(estimator, variant=variant, n=n, n_columns=9, missing=0.05)
    numbers = (1, 8, 2, None) if variant == "defaults" else (1, 3)
    fits = [
        quick(estimator, **variants_of(estimator)[variant])
        .set_params(n_jobs=n_jobs, **settings(estimator, n_estimators=2, max_leaf_nodes=12))
        .fit(X, y)
        for n_jobs in numbers
    ]
    assert len({fit.fingerprint() for fit in fits}) == 1
    assert np.array_equal(answers(fits[0], X), answers(fits[1], X))


@every_variant
def test_same_for_shuffled_rows(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant, missing=0.1)
    X, y = np.concatenate([X, X[:30]]), np.concatenate([y, y[:30]])
    rng = np.random.default_rng(1)
    weights = {"none": None, "whole": rng.integers(1, 4, 150), "fractional": rng.random(150) + 0.1}
    order = rng.permutation(150)
    model = quick(estimator, **variants_of(estimator)[variant])
    for kind, w in weights.items():
        first = clone(model).fit(X, y, w).fingerprint()
        second = clone(model).fit(X[order], y[order], None if w is None else w[order])
        assert second.fingerprint() == first, kind


@every_variant
def test_whole_number_weights_are_repetitions(estimator, variant: str) -> None:
    """If no limit counts rows and none are drawn, except a fixed number with replacement."""
    X, y = task(estimator, variant=variant, missing=0.1)
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    model = quick(
        estimator, **{**variants_of(estimator)[variant], **settings(estimator, min_samples_leaf=1)}
    )
    if getattr(model, "bootstrap", False) and model.max_samples is None:
        model.set_params(max_samples=100)
    if getattr(model, "max_features", None) == "auto":
        model.set_params(max_features="sqrt")
    reason = why_weights_are_no_repetitions(model)
    if reason is not None:
        pytest.skip(reason)
    weighted = clone(model).fit(X, y, weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.fingerprint() == repeated.fingerprint()
    assert len(np.unique(answers(weighted, X), axis=0)) > 1


def test_most_estimators_take_weights_as_repetitions() -> None:
    """Exceptions are listed, and only for sampling and counts."""
    known = {why_weights_are_no_repetitions(made(estimator)) for estimator in EVERY_ESTIMATOR}
    free = [e for e in EVERY_ESTIMATOR if why_weights_are_no_repetitions(made(e)) is None]
    assert len(known) <= 6 and len(free) >= 8


@every_variant
def test_zero_weight_is_a_row_removed(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant, missing=0.1)
    rng = np.random.default_rng(3)
    weight = np.where(rng.random(len(X)) < 0.3, 0.0, rng.random(len(X)) + 0.5)
    seen = weight > 0
    X_wild = X.copy()
    X_wild[~seen] = 1e6
    model = quick(estimator, **variants_of(estimator)[variant])
    weighted = clone(model).fit(X_wild, y, weight)
    removed = clone(model).fit(X[seen], y[seen], weight[seen])
    assert weighted.fingerprint() == removed.fingerprint()


@every_variant
def test_same_seed_same_model_and_clone_is_unfitted(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant)
    model = quick(estimator, **variants_of(estimator)[variant]).fit(X, y)
    assert clone(model).fit(X, y).fingerprint() == model.fingerprint()
    assert model.fit(X, y).fingerprint() == clone(model).fit(X, y).fingerprint()


@pytest.mark.parametrize(
    ("estimator", "parameter", "value"),
    [
        (estimator, parameter, value)
        for estimator in EVERY_ESTIMATOR
        for parameter, value in {"subsample": 0.5, "early_stopping": True}.items()
        if has(estimator, parameter)
    ],
)
def test_another_seed_draws_another_model(estimator, parameter: str, value: Any) -> None:
    X, y = task(estimator)
    fits = [
        quick(estimator, **{parameter: value}).set_params(random_state=seed).fit(X, y)
        for seed in range(3)
    ]
    assert len({fit.fingerprint() for fit in fits}) == 3


@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in EVERY_ESTIMATOR
        if has(e, "random_state") and not always_draws(e) and not draws_columns(e)
    ],
)
def test_a_fit_that_draws_nothing_needs_no_seed(estimator) -> None:
    X, y = task(estimator)
    state = np.random.RandomState(0)
    seeds = (0, 1, None, state)
    fits = [quick(estimator).set_params(random_state=seed).fit(X, y) for seed in seeds]
    assert len({fit.fingerprint() for fit in fits}) == 1
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)


# ---- containers ----


def layouts_of(X: np.ndarray) -> dict[str, Any]:
    n, n_columns = X.shape
    wide = np.full((2 * n, 3 * n_columns), 99.0)
    wide[::-2, ::3] = X
    unaligned = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "fortran": np.asfortranarray(X),
        "strided": wide[::-2, ::3],
        "read_only": read_only,
        "unaligned": unaligned.reshape(X.shape),
        "float32": X.astype(np.float32),
        "fortran_float32": np.asfortranarray(X, dtype=np.float32),
        "big_endian": X.astype(">f8"),
        "big_endian_float32": X.astype(">f4"),
        "longdouble": X.astype(np.longdouble),
        "object": X.astype(object),
        "list": X.tolist(),
    }


@every_estimator
def test_same_for_any_array(estimator) -> None:
    X, y = task(estimator, missing=0.1)
    model = quick(estimator, subsample=0.5)
    expected = clone(model).fit(X, y)
    fingerprint, predictions = expected.fingerprint(), answers(expected, X)
    for layout, other in layouts_of(X).items():
        assert clone(model).fit(other, y).fingerprint() == fingerprint, layout
        assert np.array_equal(answers(expected, other), predictions), layout


@every_estimator
def test_same_for_any_array_of_targets_and_weights(estimator) -> None:
    X, y = task(estimator)
    weight = np.random.default_rng(0).random(len(X)) + 0.5
    model = quick(estimator, subsample=0.5)
    expected = clone(model).fit(X, y, weight).fingerprint()

    def strided(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 2)[::2]

    others: list[tuple[Any, Any]] = [
        (y.tolist(), weight.tolist()),
        (strided(y), strided(weight)),
        (y[::-1].copy()[::-1], weight[::-1].copy()[::-1]),
        (y.astype(y.dtype.newbyteorder(">")), weight.astype(">f8")),
    ]
    for labels, weights in others:
        assert clone(model).fit(X, labels, weights).fingerprint() == expected


@every_estimator
def test_narrow_types_are_their_values(estimator) -> None:
    many = np.random.default_rng(0).integers(0, 100, (120, 3))
    y = target(estimator, many)
    for X, kinds in (
        (many, (np.int8, np.int64, np.uint8, np.float16)),
        (many % 2, (np.bool_,)),
    ):
        expected = quick(estimator).fit(X.astype(np.float64), y).fingerprint()
        for kind in kinds:
            assert quick(estimator).fit(X.astype(kind), y).fingerprint() == expected, kind


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_same_for_frames(estimator, library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = task(estimator, missing=0.1)
    names = ["a", "b", "c", "d"]
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    series = frames.Series(y)
    model = quick(estimator, subsample=0.5)
    expected = clone(model).fit(X, y)
    fitted = clone(model).fit(frame, series, frames.Series(np.ones(len(X))))
    assert fitted.fingerprint() == expected.fingerprint()
    assert np.array_equal(answers(fitted, frame), answers(expected, X))
    assert fitted.feature_names_in_.tolist() == names


SPARSE = [f"{layout}_{kind}" for layout in ("csr", "csc", "coo") for kind in ("array", "matrix")]


@every_variant
def test_sparse_is_dense(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant, n_columns=5, missing=0.05)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    model = quick(estimator, **variants_of(estimator)[variant])
    dense = clone(model).fit(X, y)
    fingerprint, predictions = dense.fingerprint(), answers(dense, X)
    for layout in SPARSE if variant == "defaults" else ["csc_array"]:
        sparse = getattr(scipy.sparse, layout)(X)
        assert clone(model).fit(sparse, y).fingerprint() == fingerprint, layout
        assert np.array_equal(answers(dense, sparse), predictions), layout
        if estimator in EVERY_TREE_MODEL:
            assert np.array_equal(dense.apply(sparse), dense.apply(X)), layout


@every_variant
def test_parameters_and_the_caller_s_arrays_are_left_alone(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant, missing=0.1)
    weight = np.random.default_rng(0).random(len(X)) + 0.5
    kept = [array.copy() for array in (X, y, weight)]
    for array in (X, y, weight):
        array.flags.writeable = False
    model = quick(estimator, **variants_of(estimator)[variant])
    untouched = clone(model)
    model.fit(X, y, weight)
    fitted = dict(vars(model))
    answers(model, X)
    assert same_parameters(model, untouched)
    assert vars(model).keys() == fitted.keys()
    assert all(vars(model)[name] is fitted[name] for name in fitted)
    for array, before in zip((X, y, weight), kept, strict=True):
        assert np.array_equal(array, before, equal_nan=array.dtype.kind == "f")


# ---- copies of a model ----


def by_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


DUPLICATES = [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy, by_joblib]


@every_estimator
@pytest.mark.parametrize("has_predicted", [False, True])
def test_a_copy_predicts_the_same(estimator, has_predicted: bool) -> None:
    X, y = task(estimator, missing=0.1)
    model = quick(estimator).fit(X, y)
    if has_predicted:
        answers(model, X)
    copies = [duplicate(model) for duplicate in DUPLICATES]
    fingerprint, predictions = model.fingerprint(), answers(model, X)
    for other in copies:
        assert other.fingerprint() == fingerprint
        assert np.array_equal(answers(other, X), predictions)
        if estimator in EVERY_TREE_MODEL:
            assert np.array_equal(other.feature_importances_, model.feature_importances_)
        assert same_parameters(other, model)


@every_estimator
def test_a_pickle_with_another_number_of_threads_is_the_same_model(estimator) -> None:
    """n_jobs changed between fit and pickle, and again in the copy."""
    X, y = task(estimator, missing=0.1)
    model = quick(estimator, n_jobs=1).fit(X, y)
    expected, predictions = model.fingerprint(), answers(model, X)
    copied = pickle.loads(pickle.dumps(model.set_params(n_jobs=2)))
    assert copied.n_jobs == 2 and same_parameters(copied, model)
    for n_jobs in (2, 1, None):
        copied.set_params(n_jobs=n_jobs)
        assert copied.fingerprint() == expected
        assert np.array_equal(answers(copied, X), predictions)
    assert copied.fit(X, y).fingerprint() == expected


@every_estimator
def test_an_unfitted_model_can_be_copied(estimator) -> None:
    model = quick(estimator)
    assert same_parameters(pickle.loads(pickle.dumps(model)), model)


# ---- prediction ----


@every_variant
def test_rows_are_predicted_one_by_one_as_in_a_batch(estimator, variant: str) -> None:
    X, y = task(estimator, variant=variant, missing=0.1)
    model = quick(estimator, **variants_of(estimator)[variant]).fit(X, y)
    together = answers(model, X)
    for row in (0, 17, 119):
        assert np.array_equal(answers(model, X[row : row + 1])[0], together[row])
    assert np.array_equal(answers(model, X[::-1])[::-1], together)


@pytest.mark.parametrize("estimator", EVERY_CLASSIFIER)
def test_probabilities_are_probabilities(estimator) -> None:
    for n_classes in (2, 3, 12):
        X = table(240)
        y = target(estimator, X, n_classes)
        model = quick(estimator).fit(X, y)
        shares = model.predict_proba(X)
        assert shares.shape == (240, n_classes)
        assert ((shares >= 0) & (shares <= 1)).all()
        assert np.abs(shares.sum(axis=1) - 1).max() < 1e-12
        assert np.array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
        assert model.score(X, y) > 1.5 / n_classes


@pytest.mark.parametrize("estimator", EVERY_TREE_MODEL)
def test_importances_are_shares(estimator) -> None:
    X, y = task(estimator)
    X = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), np.nan)])
    model = quick(estimator, max_leaf_nodes=5, min_samples_leaf=10).fit(X, y)
    shares = model.feature_importances_
    assert shares.shape == (6,) and (shares >= 0).all()
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares[:2].sum() > shares[2:4].sum()
    assert not shares[4:].any()

"""Frames in scikit-learn's tools: cross-validation, search, pipelines, metadata routing, tags."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

from contract.frames import N, container, labels
from contract.subjects import EVERY_ESTIMATOR, answers, draws_columns, has, quick

FRAMED = [e for e in EVERY_ESTIMATOR if has(e, "categorical_features")]
every_estimator = pytest.mark.parametrize("estimator", FRAMED)
every_library = pytest.mark.parametrize("library", ["pandas", "polars"])


@every_estimator
@every_library
def test_cross_validation(estimator, library: str) -> None:
    X, y = container(library), labels()
    scores = cross_val_score(quick(estimator), X, y, cv=3)
    assert scores.shape == (3,) and np.isfinite(scores).all()
    other = container("polars" if library == "pandas" else "pandas")
    assert np.array_equal(cross_val_score(quick(estimator), other, y, cv=3), scores)
    assert len(cross_val_predict(quick(estimator), X, y, cv=3)) == N


@every_estimator
@every_library
def test_search(estimator, library: str) -> None:
    X, y = container(library), labels()
    sizes = ("min_samples_leaf", "n_estimators", "random_state")
    size = next(name for name in sizes if has(estimator, name))
    grid: dict[str, list[Any]] = {size: [1, 5]}
    grid["categorical_features"] = ["from_dtype", ["city"]]
    search = GridSearchCV(quick(estimator), grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    assert len(search.predict(X)) == N


@every_estimator
@every_library
def test_pipelines(estimator, library: str) -> None:
    X, y = container(library), labels()
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), ["size"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    if library == "polars":
        X = X.with_columns(X["size"].fill_null(float("nan")))
    columns.set_output(transform=library)
    model = make_pipeline(columns, quick(estimator)).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    plain = quick(estimator).fit(X, y)
    if not draws_columns(estimator):  # rows are drawn by content, which scaling changes
        assert np.array_equal(model[-1].forest_.feature, plain.forest_.feature)
        assert np.array_equal(answers(model, X), answers(plain, X))
    same = make_pipeline(FunctionTransformer(), quick(estimator)).fit(X, y)
    assert same[-1].fingerprint() == plain.fingerprint()


@every_estimator
def test_weights_are_routed(estimator) -> None:
    X, y = container("pandas"), labels()
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    expected = quick(estimator).fit(X, y, weight).fingerprint()
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick(estimator).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
        assert pipe[-1].fingerprint() == expected
        scores = cross_val_score(model, X, y, cv=3, params={"sample_weight": weight + 1})
        assert np.isfinite(scores).all()


@every_estimator
def test_tags_are_true(estimator) -> None:
    tags = get_tags(estimator()).input_tags
    assert tags.categorical and tags.allow_nan and tags.sparse and tags.two_d_array
    assert not tags.string and not tags.pairwise and not tags.one_d_array and not tags.three_d_array
    assert get_tags(estimator()).target_tags.required


@every_estimator
def test_feature_names_follow_scikit_learn(estimator) -> None:
    """scikit-learn's check of names, except that there another order is an error."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = np.array([f"col_{i}" for i in range(8)])
    X = pandas.DataFrame(rng.normal(size=(150, 8)), columns=names)
    y = rng.integers(0, 2, 150)
    model = quick(estimator).fit(X, y)
    assert isinstance(model.feature_names_in_, np.ndarray)
    assert model.feature_names_in_.dtype == object
    for wrong, fragment in [
        (
            [f"another_prefix_{i}" for i in range(8)],
            "Feature names unseen at fit time:\n- another_prefix_0\n- another_prefix_1\n",
        ),
        (names[:3], "Feature names seen at fit time, yet now missing:\n- col_3\n"),
    ]:
        bad = pandas.DataFrame(X.to_numpy()[:, : len(wrong)], columns=wrong)
        for method in ("predict", "predict_proba", "decision_function", "apply"):
            if not hasattr(model, method):
                continue
            start = "The feature names should match those that were passed during fit.\n"
            with pytest.raises(ValueError, match=start + fragment):
                getattr(model, method)(bad)
    turned = X[names[::-1]]
    assert np.array_equal(answers(model, turned), answers(model, X))
    assert clone(model).fit(turned, y).feature_names_in_.tolist() == names[::-1].tolist()

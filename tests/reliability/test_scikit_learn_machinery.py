"""Frames with categories in scikit-learn's tools, for bags, combinations and base estimators.

tests/contract/test_sklearn_face.py tests the same for the models that split categories themselves.
"""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

import weald
from contract.frames import N, container, labels
from contract.subjects import EVERY_ESTIMATOR, answers, has, quick

COMBINED = [one for one in EVERY_ESTIMATOR if not has(one, "categorical_features")]
every_combined = pytest.mark.parametrize("estimator", COMBINED)
every_library = pytest.mark.parametrize("library", ["pandas", "polars"])
every_combiner = pytest.mark.parametrize("estimator", [e for e in COMBINED if has(e, "estimators")])


def small(estimator: type) -> Any:
    return quick(estimator, n_estimators=3)


@every_combined
@every_library
def test_cross_validation(estimator, library: str) -> None:
    X, y = container(library), labels()
    scores = cross_validate(small(estimator), X, y, cv=2, return_train_score=True)
    assert np.isfinite(scores["test_score"]).all() and np.isfinite(scores["train_score"]).all()
    assert np.array_equal(cross_val_score(small(estimator), X, y, cv=2), scores["test_score"])
    assert len(cross_val_predict(small(estimator), X, y, cv=2)) == N


@every_combined
@every_library
def test_search(estimator, library: str) -> None:
    X, y = container(library), labels()
    grid = (
        {"n_estimators": [2, 3]} if has(estimator, "n_estimators") else {"tree__max_depth": [1, 2]}
    )
    search = GridSearchCV(small(estimator), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    drawn = RandomizedSearchCV(small(estimator), grid, n_iter=1, cv=2, random_state=0).fit(X, y)
    assert len(drawn.predict(X)) == N


@every_combined
@every_library
def test_pipelines(estimator, library: str) -> None:
    X, y = container(library), labels()
    if library == "polars":
        X = X.with_columns(X["size"].fill_null(float("nan")))
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), ["size"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=library)
    model = make_pipeline(columns, small(estimator)).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == ["size", "city", "flag", "when"]
    assert np.isfinite(answers(model, X)).all()
    same = make_pipeline(FunctionTransformer(), small(estimator)).fit(X, y)
    assert same[-1].fingerprint() == small(estimator).fit(X, y).fingerprint()


@every_combined
def test_weights_are_routed(estimator) -> None:
    X, y = container("pandas"), labels()
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    expected = small(estimator).fit(X, y, weight).fingerprint()
    with sklearn.config_context(enable_metadata_routing=True):
        model = small(estimator).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        if has(estimator, "estimators"):
            model.set_params(
                estimators=[
                    (name, clone(one).set_fit_request(sample_weight=True))
                    for name, one in model.estimators
                ]
            )
        pipe = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
        assert pipe[-1].fingerprint() == expected
        scores = cross_val_score(model, X, y, cv=2, params={"sample_weight": weight + 1})
        assert np.isfinite(scores).all()


@every_combiner
@every_library
def test_transform_returns_a_frame(estimator, library: str) -> None:
    frames = pytest.importorskip(library)
    X, y = container(library), labels()
    model = small(estimator).fit(X, y)
    plain = model.transform(X)
    framed = model.set_output(transform=library).transform(X)
    assert isinstance(framed, frames.DataFrame)
    assert list(framed.columns) == model.get_feature_names_out().tolist()
    assert np.array_equal(framed.to_numpy(), plain)
    pipe = make_pipeline(model, quick(weald.DecisionTreeRegressor)).fit(X, y)
    assert pipe[-1].feature_names_in_.tolist() == list(framed.columns)


# ---- tags ----

TREES = {
    "Classifier": (
        weald.DecisionTreeClassifier,
        LogisticRegression,
        HistGradientBoostingClassifier,
    ),
    "Regressor": (weald.DecisionTreeRegressor, LinearRegression, HistGradientBoostingRegressor),
}


def tagged(kind: str) -> list[Any]:
    tree, line, others = TREES[kind]
    ada, bag = getattr(weald, f"AdaBoost{kind}"), getattr(weald, f"Bagging{kind}")
    vote = getattr(weald, f"Voting{kind}")
    return [
        ada(n_estimators=2),
        ada(tree(max_depth=2), n_estimators=2, random_state=0),
        ada(tree(max_depth=2, categorical_features=None), n_estimators=2, random_state=0),
        ada(line(), n_estimators=2, random_state=0),
        ada(others(max_iter=2), n_estimators=2, random_state=0),
        bag(n_estimators=2),
        bag(tree(), n_estimators=2),
        bag(line(), n_estimators=2),
        vote([("a", tree()), ("b", tree(max_depth=1))]),
        vote([("a", tree()), ("b", line())]),
        getattr(weald, f"GradientBoosting{kind}")(n_estimators=2),
        getattr(weald, f"GradientBoosting{kind}")(n_estimators=2, init=line()),
    ]


OF_MEDIANS = [
    weald.DecisionTreeRegressor(criterion="absolute_error"),
    weald.RandomForestRegressor(criterion="absolute_error", n_estimators=2),
    weald.AdaBoostRegressor(weald.DecisionTreeRegressor(criterion="absolute_error")),
    weald.BaggingRegressor(weald.DecisionTreeRegressor(criterion="absolute_error")),
]


@pytest.mark.parametrize(
    "model", [*tagged("Classifier"), *tagged("Regressor"), *OF_MEDIANS], ids=lambda m: str(m)[:70]
)
def test_the_tag_of_categories_is_true(model) -> None:
    """Whether a fit on text succeeds is what the tag says, for any base estimators."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["a", "b", "c"] * 20, "size": np.arange(60.0)})
    y = np.arange(60) % 3 // 2
    if get_tags(model).input_tags.categorical:
        assert np.isfinite(clone(model).fit(frame, y).predict(frame)).all()
    else:
        with pytest.raises((TypeError, ValueError), match="categories|could not convert string"):
            clone(model).fit(frame, y)


@pytest.mark.parametrize("name", ["Stacking", "Blending"])
def test_what_passes_through_is_read_by_the_final_model(name: str) -> None:
    members = [("tree", weald.DecisionTreeRegressor())]
    kind = getattr(weald, f"{name}Regressor")
    assert get_tags(kind(members)).input_tags.allow_nan
    assert not get_tags(kind(members, passthrough=True)).input_tags.allow_nan
    own = kind(members, weald.DecisionTreeRegressor(), passthrough=True)
    assert get_tags(own).input_tags.allow_nan
    # So many that any part held out has some.
    X = np.full((60, 1), np.nan)
    X[::10, 0] = np.arange(6.0)
    assert np.isfinite(clone(own).fit(X, np.arange(60.0)).predict(X)).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        kind(members, passthrough=True).fit(X, np.arange(60.0))

"""Imported models of scikit-learn predict what scikit-learn predicts."""

import numpy as np
import pytest
from sklearn import ensemble, svm, tree
from sklearn.base import is_classifier

import weald


def task(model) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=400) / 5
    if not isinstance(
        model, (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor)
    ):
        X[rng.random(X.shape) < 0.1] = np.nan
    if getattr(model, "loss", "") in ("poisson", "gamma"):
        y = np.exp(y / 3)
    if is_classifier(model):
        return X, np.array(["no", "yes"])[(y > 1).astype(int)]
    return X, y


MODELS = [
    tree.DecisionTreeClassifier(random_state=0),
    tree.DecisionTreeRegressor(max_leaf_nodes=20, random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
    ensemble.RandomForestClassifier(10, random_state=0),
    ensemble.RandomForestRegressor(10, random_state=0),
    ensemble.ExtraTreesClassifier(10, random_state=0),
    ensemble.ExtraTreesRegressor(10, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=10),
    ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=10),
    ensemble.GradientBoostingClassifier(init="zero", n_estimators=10),
    ensemble.GradientBoostingRegressor(n_estimators=10),
    ensemble.GradientBoostingRegressor(loss="quantile", n_estimators=10),
    ensemble.HistGradientBoostingClassifier(max_iter=10),
    ensemble.HistGradientBoostingRegressor(max_iter=10),
    ensemble.HistGradientBoostingRegressor(loss="gamma", max_iter=10),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_predictions(model) -> None:
    X, y = task(model)
    theirs = model.fit(X, y)
    ours = weald.from_sklearn(theirs)
    new = np.vstack([X, np.nextafter(X, 9), np.nextafter(X, -9)])
    if is_classifier(model):
        assert ours.classes_.tolist() == ["no", "yes"]
        assert ours.predict_proba(new) == pytest.approx(theirs.predict_proba(new), abs=1e-12)
        assert np.array_equal(ours.predict(X), theirs.predict(X))
    else:
        assert ours.predict(new) == pytest.approx(theirs.predict(new), rel=1e-12)
    if hasattr(theirs, "feature_importances_") and not hasattr(theirs, "learning_rate"):
        assert ours.importances().argmax() == theirs.feature_importances_.argmax()


@pytest.mark.parametrize(
    "kind", [ensemble.RandomForestClassifier, ensemble.HistGradientBoostingClassifier]
)
def test_many_classes(kind) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=300) / 3, [-1, 0, 1])
    theirs = kind(random_state=0).fit(X, y)
    found = weald.from_sklearn(theirs).predict_proba(X)
    assert found == pytest.approx(theirs.predict_proba(X), abs=1e-12)


def test_several_outputs() -> None:
    X, y = task(MODELS[1])
    theirs = ensemble.RandomForestRegressor(5, random_state=0).fit(X, np.column_stack([y, -y]))
    assert weald.from_sklearn(theirs).predict(X) == pytest.approx(theirs.predict(X))


def test_categories_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("uvwxyz"), 300)})
    y = X["a"] + X["b"].isin(["u", "x"]) * 2
    X = X.astype({"b": "category"})
    X.loc[::17, "b"] = None
    theirs = ensemble.HistGradientBoostingRegressor(categorical_features="from_dtype").fit(X, y)
    assert weald.from_sklearn(theirs).predict(X) == pytest.approx(theirs.predict(X), rel=1e-12)


def test_what_cannot_be_imported() -> None:
    X, y = task(MODELS[0])
    X = np.nan_to_num(X)
    with pytest.raises(TypeError, match="from_sklearn imports .* got SVC of sklearn"):
        weald.from_sklearn(svm.SVC().fit(X, y))
    with pytest.raises(TypeError, match="got DecisionTreeClassifier of weald"):
        weald.from_sklearn(weald.DecisionTreeClassifier().fit(X, y))
    with pytest.raises(ValueError, match="not fitted"):
        weald.from_sklearn(tree.DecisionTreeClassifier())
    model = ensemble.GradientBoostingClassifier(init=tree.DecisionTreeClassifier(max_depth=1))
    with pytest.raises(ValueError, match="not a sum of trees"):
        weald.from_sklearn(model.fit(X, y))
    several = tree.DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="several outputs"):
        weald.from_sklearn(several)

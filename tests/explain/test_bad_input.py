"""Wrong and extreme input to every public function of explanations, pictures, diagnosis, report.

A clear error, or a result of bounded size in bounded time.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import weald
from weald import explain

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")
pytest.importorskip("pandas")

SECONDS = 60.0  # on a busy machine

# Functions of a model, a table and its target.
OF_MODELS: dict[str, Callable[..., Any]] = {
    "shap": lambda m, X, y: explain.shap(m, X),
    "permutation_importance": lambda m, X, y: explain.permutation_importance(m, X, y, n_repeats=1),
    "partial_dependence": lambda m, X, y: explain.partial_dependence(m, X, 0, n_points=3),
    "accumulated_effects": lambda m, X, y: explain.accumulated_effects(m, X, 0, n_intervals=2),
    "diagnose": lambda m, X, y: weald.diagnose(m, X, y, n_repeats=0, cv=2),
    "report": lambda m, X, y: weald.report(
        m, X, y, diagnosis=weald.diagnose(m, X, y, n_repeats=0, cv=2), n_examples=2, max_trees=1
    ),
    "plot.calibration": lambda m, X, y: weald.plot.calibration(m, X, y),
    "plot.confusion_matrix": lambda m, X, y: weald.plot.confusion_matrix(m, X, y),
    "plot.decision_boundary": lambda m, X, y: weald.plot.decision_boundary(
        m, X, y, grid_resolution=10
    ),
    "plot.partial_dependence": lambda m, X, y: weald.plot.partial_dependence(
        m, X, [0], n_points=3, target=None if len(m.classes_) < 9 else 0
    ),
    "plot.training_curve": lambda m, X, y: weald.plot.training_curve(m, X, y),
    "plot.uncertainty": lambda m, X, y: weald.plot.uncertainty(m, X, y),
}
WITH_TARGET = [
    name
    for name in OF_MODELS
    if name not in ("shap", "partial_dependence", "accumulated_effects", "plot.partial_dependence")
]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def model(rows: Any) -> Any:
    return weald.RandomForestClassifier(30, random_state=0).fit(*rows)


@pytest.mark.parametrize("name", OF_MODELS)
def test_models_that_are_not_fitted(name: str, rows: Any) -> None:
    function = OF_MODELS[name]
    if name == "plot.partial_dependence":
        function = lambda m, X, y: weald.plot.partial_dependence(m, X, [0])  # noqa: E731
    with pytest.raises(NotFittedError, match="not fitted"):
        function(weald.RandomForestClassifier(), *rows)
    with pytest.raises((TypeError, AttributeError), match="fitted"):
        function(weald.RandomForestClassifier, *rows)


@pytest.mark.parametrize("name", OF_MODELS)
def test_other_columns(name: str, rows: Any, model: Any) -> None:
    X, y = rows
    with pytest.raises(ValueError, match=r"(?i)3 features|4 features|columns"):
        OF_MODELS[name](model, X[:, :3], y)


@pytest.mark.parametrize("name", OF_MODELS)
def test_no_rows(name: str, rows: Any, model: Any) -> None:
    X, y = rows
    with pytest.raises(ValueError, match=r"(?i)rows|sample"):
        OF_MODELS[name](model, X[:0], y[:0])


@pytest.mark.parametrize("name", OF_MODELS)
def test_one_row(name: str, rows: Any, model: Any) -> None:
    X, y = rows
    tree = weald.DecisionTreeClassifier(max_depth=2).fit(X, y) if "diag" in name else model
    if name in ("diagnose", "report", "accumulated_effects"):
        message = "only one value" if name == "accumulated_effects" else "row"
        with pytest.raises(ValueError, match=message):
            OF_MODELS[name](tree, X[:1], y[:1])
    else:
        assert OF_MODELS[name](model, X[:1], y[:1]) is not None


@pytest.mark.parametrize("name", WITH_TARGET)
def test_targets_of_another_length_and_missing_ones(name: str, rows: Any, model: Any) -> None:
    X, y = rows
    with pytest.raises(ValueError, match=r"inconsistent|length|rows"):
        OF_MODELS[name](model, X, y[:-1])
    missing = y.astype(float)
    missing[3] = np.nan
    with pytest.raises(ValueError, match=r"(?i)nan|missing"):
        OF_MODELS[name](model, X, missing)


@pytest.mark.parametrize("name", ["diagnose", "plot.training_curve", "plot.uncertainty"])
def test_missing_numbers_as_targets(name: str, rows: Any) -> None:
    X, _ = rows
    y = X[:, 0].copy()
    regressor = weald.RandomForestRegressor(30, random_state=0).fit(X, y)
    y[3] = np.nan
    with pytest.raises(ValueError, match=r"(?i)nan|missing"):
        OF_MODELS[name](regressor, X, y)


def test_backgrounds_with_other_columns(rows: Any, model: Any) -> None:
    X, y = rows
    for one in (model, KNeighborsClassifier().fit(X, y)):
        with pytest.raises(ValueError, match=r"features|columns"):
            explain.shap(one, X[:5], background=X[:, :3])
        with pytest.raises(ValueError, match="rows|sample"):
            explain.shap(one, X[:5], background=X[:0])


def test_models_without_trees(rows: Any) -> None:
    X, y = rows
    neighbours = KNeighborsClassifier().fit(X, y)
    for draw in (weald.plot.tree, weald.plot.graphviz):
        with pytest.raises(TypeError, match=r"KNeighborsClassifier has none.*distill"):
            draw(neighbours)
    with pytest.raises(TypeError, match="no feature_importances_"):
        weald.plot.importance(neighbours)
    with pytest.raises(TypeError, match="neither staged predictions nor base estimators"):
        weald.plot.training_curve(neighbours, X, y)
    with pytest.raises(TypeError, match="return_std"):
        weald.plot.uncertainty(neighbours, X)
    for name in ("shap", "permutation_importance", "partial_dependence", "diagnose", "report"):
        assert OF_MODELS[name](neighbours, X[:60], y[:60]) is not None


def test_many_classes(model: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), np.arange(900) % 300
    tree = weald.RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, y)
    for name, function in OF_MODELS.items():
        begin = time.process_time()
        found = function(tree, X, y)
        assert time.process_time() - begin < SECONDS, name
        if name in ("shap", "diagnose"):
            assert len(str(found)) < 60_000
        if name == "report":
            assert len(found.html) < 3_000_000
    axes = weald.plot.tree(tree)
    assert len(axes.texts) < 300
    with pytest.raises(ValueError, match="set output to one of 0 to 299"):
        weald.plot.shap_summary(explain.shap(tree, X[:3]))


def test_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5000))
    y = (X[:, 7] > 0).astype(int)
    forest = weald.RandomForestClassifier(30, max_depth=3, random_state=0).fit(X, y)
    for name, function in OF_MODELS.items():
        if name == "permutation_importance":
            continue  # 5,000 predictions of all rows by design
        begin = time.process_time()
        found = function(forest, X, y)
        assert time.process_time() - begin < SECONDS, name
        if name in ("shap", "diagnose"):
            assert len(str(found)) < 5000
            assert len(found._repr_html_()) < 10_000
        if name == "report":
            assert len(found.html) < 3_000_000
    explained = explain.shap(forest, X[:20])
    assert len(weald.plot.importance(forest).get_yticks()) == 15
    assert len(weald.plot.shap_summary(explained, output=1).get_yticks()) == 15
    assert len(weald.plot.shap_waterfall(explained, output=1).get_yticks()) == 11

"""Every picture: axes in and out, what it shows, what it leaves behind."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression

import weald
from weald import plot

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

CANCER = load_breast_cancer(as_frame=True)
X, Y, X_TEST, Y_TEST = (
    CANCER.data[::2], CANCER.target[::2], CANCER.data[1::2], CANCER.target[1::2]
)  # fmt: skip
DIABETES = load_diabetes(as_frame=True, scaled=False)


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def forest() -> Any:
    return weald.RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def regressor() -> Any:
    model = weald.RandomForestRegressor(30, oob_score=True, random_state=0)
    return model.fit(DIABETES.data[::2], DIABETES.target[::2])


@pytest.fixture(scope="module")
def attributions() -> Any:
    """Those of the model 3a + b on rows with a category, a date and missing values."""
    rng = np.random.default_rng(0)
    n = 60
    data = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b $ and $": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["Rome", "<b>Oslo</b>"], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D"),
        }
    )
    values = np.column_stack(
        [
            3 * data.a,
            data.iloc[:, 1].fillna(0),
            np.where(data.city == "Rome", 0.5, -0.5),
            0 * data.a,
        ]
    )
    return SimpleNamespace(
        values=values, base_values=2.0, data=data, feature_names=list(data.columns)
    )


def picture_calls(forest: Any, regressor: Any, attributions: Any) -> dict[str, Callable[..., Any]]:
    found = weald.theory.bias_variance(
        weald.DecisionTreeClassifier(max_depth=2), X, Y, X_TEST, Y_TEST, n_repeats=5, random_state=0
    )
    rows = DIABETES.data[1::2], DIABETES.target[1::2]
    times = weald.survival.target(np.ones(len(X)), 1.0 + np.arange(len(X)))
    survival = weald.RandomSurvivalForest(3, random_state=0).fit(X, times)
    return {
        "bias_variance": lambda **kw: plot.bias_variance({"tree": found}, **kw),
        "calibration": lambda **kw: plot.calibration(forest, X_TEST, Y_TEST, **kw),
        "confusion_matrix": lambda **kw: plot.confusion_matrix(forest, X_TEST, Y_TEST, **kw),
        "decision_boundary": lambda **kw: plot.decision_boundary(
            forest, X_TEST, Y_TEST, grid_resolution=10, **kw
        ),
        "errors": lambda **kw: plot.errors(weald.diagnose(forest, X, Y, n_repeats=0), **kw),
        "importance": lambda **kw: plot.importance(forest, **kw),
        "learning_curve": lambda **kw: plot.learning_curve(
            weald.DecisionTreeClassifier(max_depth=2), X, Y, train_sizes=(0.5, 1.0), cv=2, **kw
        ),
        "partial_dependence": lambda **kw: plot.partial_dependence(
            regressor, DIABETES.data, ["bmi"], n_points=5, **kw
        )[0],
        "shap_dependence": lambda **kw: plot.shap_dependence(attributions, "a", **kw),
        "shap_summary": lambda **kw: plot.shap_summary(attributions, **kw),
        "shap_waterfall": lambda **kw: plot.shap_waterfall(attributions, 3, **kw),
        "survival_curves": lambda **kw: plot.survival_curves(survival, X_TEST[:3], **kw),
        "training_curve": lambda **kw: plot.training_curve(forest, X_TEST, Y_TEST, **kw),
        "tree": lambda **kw: plot.tree(forest, max_depth=2, **kw),
        "uncertainty": lambda **kw: plot.uncertainty(regressor, *rows, **kw),
    }


NAMES = [name for name in plot.__all__ if name != "graphviz"]


@pytest.mark.parametrize("name", NAMES)
def test_axes(name: str, forest: Any, regressor: Any, attributions: Any) -> None:
    """One new figure, or the axes given; nothing else of the user's changes."""
    draw = picture_calls(forest, regressor, attributions)[name]
    before, figures = dict(matplotlib.rcParams), plt.get_fignums()
    made = draw()
    assert len(plt.get_fignums()) == len(figures) + 1
    made.figure.canvas.draw()
    assert made.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    plt.close(made.figure)

    mine, other = Figure(figsize=(6, 4)).add_subplot(), plt.figure()
    assert draw(ax=mine) is mine
    mine.figure.canvas.draw()
    assert plt.gcf() is other and not other.axes
    assert dict(matplotlib.rcParams) == before
    with pytest.raises(TypeError, match="ax must be axes of matplotlib"):
        draw(ax="here")


@pytest.mark.parametrize("name", NAMES)
def test_dark_style_stays_readable(
    name: str, forest: Any, regressor: Any, attributions: Any
) -> None:
    with plt.style.context("dark_background"):
        axes = picture_calls(forest, regressor, attributions)[name]()
    assert axes.figure.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert matplotlib.colors.to_hex(axes.xaxis.label.get_color()) != "#ffffff"


@pytest.mark.parametrize("name", ["shap_summary", "shap_waterfall", "importance"])
def test_labels_lie_within_the_figure(
    name: str, forest: Any, regressor: Any, attributions: Any
) -> None:
    axes = picture_calls(forest, regressor, attributions)[name]()
    figure = axes.figure
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [*axes.get_yticklabels(), *axes.texts, axes.xaxis.label, axes.yaxis.label]
    for text in texts:
        box = text.get_window_extent()
        if text.get_text() and text.get_visible():
            assert box.x0 >= -1 and box.x1 <= width + 1, text.get_text()
            assert box.y0 >= -1 and box.y1 <= height + 1, text.get_text()


def test_importing_weald_imports_no_matplotlib() -> None:
    code = (
        "import sys, weald; weald.plot; print('matplotlib' in sys.modules); "
        "model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]); "
        "weald.plot.graphviz(model); print('matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, forest: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'weald\[plot\]'"):
        plot.importance(forest)


# ---- importance ----


def ticks(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


def test_importance_is_ordered_and_cut(forest: Any) -> None:
    axes = plot.importance(forest, max_num_features=4)
    best = np.argsort(-forest.feature_importances_)[:4]
    assert ticks(axes) == [str(CANCER.data.columns[i]) for i in best]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx(sorted(forest.feature_importances_)[::-1][:4])
    assert axes.get_title() == "The 4 most important of 30 columns"
    assert len(plot.importance(forest).patches) == 15


def test_importance_of_other_things(forest: Any, regressor: Any) -> None:
    assert plot.importance([0.5, 0.2, 0.3]).get_title() == ""
    named = plot.importance(np.array([0.2, 0.8]), feature_names=["x" * 50, "y"])
    assert ticks(named) == ["y", "x" * 17 + "…" + "x" * 10]
    by_count = plot.importance(forest, by="count", max_num_features=1)
    assert by_count.patches[0].get_width() == forest.importances("count").max()
    result = permutation_importance(regressor, DIABETES.data, DIABETES.target, n_repeats=2)
    names = list(DIABETES.data.columns)
    axes = plot.importance(result, feature_names=names, max_num_features=2)
    assert set(ticks(axes)) == {"bmi", "s5"}
    own = regressor.oob_permutation_importance(
        DIABETES.data[::2], DIABETES.target[::2], n_repeats=1
    )
    assert "squared error: change" in plot.importance(own).get_xlabel()
    assert ticks(plot.importance({"a": 1.0, "b": 2.0})) == ["b", "a"]


def test_importance_of_what_has_none(forest: Any) -> None:
    with pytest.raises(TypeError, match="has no feature_importances_"):
        plot.importance(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(NotFittedError):
        plot.importance(weald.RandomForestClassifier())
    with pytest.raises(TypeError, match="takes a fitted model"):
        plot.importance("forest")
    with pytest.raises(ValueError, match="feature_names must hold 30 names"):
        plot.importance(forest, feature_names=["a"])
    with pytest.raises(ValueError, match="max_num_features"):
        plot.importance(forest, max_num_features=0)
    with pytest.raises(ValueError, match="needs a fitted model"):
        plot.importance([1.0, 2.0], by="gain")


# ---- curves ----


def curve_names(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_training_curve_of_boosters() -> None:
    model = weald.BoostedTreesClassifier(quality="fast", n_estimators=30)
    model.fit(X, Y, X_val=X_TEST, y_val=Y_TEST)
    axes = plot.training_curve(model, X_TEST, Y_TEST)
    least = int(np.argmin(model.validation_loss_))
    value = f"{model.validation_loss_[least]:.3g}"
    names = curve_names(axes)
    assert names[:2] == ["training rows", f"validation rows: least {value} after {least}"]
    assert names[2].startswith(f"rows of X: least {value} after")
    lines = {line.get_label().partition(":")[0]: line for line in axes.get_lines()}
    # The validation rows are the rows of X, from the first round on.
    np.testing.assert_allclose(
        lines["validation rows"].get_ydata()[1:], lines["rows of X"].get_ydata(), rtol=1e-9
    )


def test_training_curve_of_forests(forest: Any) -> None:
    axes = plot.training_curve(forest, X_TEST, Y_TEST, loss="brier")
    line = {line.get_label(): line for line in axes.get_lines()}["rows of X"]
    shares = forest.predict_proba(X_TEST)
    brier = ((shares - np.eye(2)[Y_TEST]) ** 2).sum(axis=1).mean()
    assert line.get_ydata()[-1] == pytest.approx(brier)
    assert axes.get_ylabel() == "Brier score"


def test_training_curve_of_adaboost_and_scikit_learn() -> None:
    ada = weald.AdaBoostClassifier(n_estimators=10).fit(X, Y)
    axes = plot.training_curve(ada, X_TEST, Y_TEST)
    losses, errors = (
        next(one.get_ydata() for one in axes.get_lines() if one.get_label().startswith(name))
        for name in ("training rows (exponential loss)", "rows of X (share of wrong predictions)")
    )
    assert np.array_equal(losses, ada.train_loss_)
    np.testing.assert_allclose(errors, 1 - np.array(list(ada.staged_score(X_TEST, Y_TEST))))
    rows = DIABETES.data, DIABETES.target
    theirs = GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=0).fit(*rows)
    names = curve_names(plot.training_curve(theirs))
    assert [name.partition(":")[0] for name in names] == ["training rows", "out-of-bag rows"]
    histograms = HistGradientBoostingClassifier(max_iter=5, early_stopping=True).fit(X, Y)
    axes = plot.training_curve(histograms)
    assert curve_names(axes)[1].startswith("validation rows: least ")
    (losses,) = (one.get_ydata() for one in axes.get_lines() if one.get_label() == "training rows")
    assert losses[0] > losses[-1] > 0


def test_training_curve_of_a_history() -> None:
    model = weald.BoostedTreesRegressor(quality="fast", n_estimators=2)
    model.fit(DIABETES.data, DIABETES.target)
    table = {
        "train loss": [3.0, 2.0, 1.0],
        "validation loss": [3.0, 2.0, 2.5],
        "validation r2": [0.0, 0.1, 0.2],
        "other loss": [4.0, 3.0, 2.0],
    }
    for history in (table, pd.DataFrame(table)):
        model.history_ = history
        axes = plot.training_curve(model)
        names = ["training rows", "validation rows: least 2 after 1", "other rows: least 2 after 2"]
        assert curve_names(axes) == names


def test_training_curve_of_what_has_none(forest: Any) -> None:
    with pytest.raises(ValueError, match="has no curve to draw"):
        plot.training_curve(weald.DecisionTreeClassifier().fit(X, Y))
    with pytest.raises(TypeError, match="neither staged predictions nor base estimators"):
        plot.training_curve(weald.DecisionTreeClassifier().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="loss"):
        plot.training_curve(forest, loss="squared_error")
    with pytest.raises(ValueError, match="needs y"):
        plot.training_curve(forest, X)


# ---- displays ----


def test_confusion_matrix_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(900, 3)), np.array([f"class {i % 300}" for i in range(900)])
    model = weald.DecisionTreeClassifier(max_depth=4).fit(rows, labels)
    axes = plot.confusion_matrix(model, rows, labels)
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert len(names) == 20 and names[-1] == "281 others"
    assert sum(int(text.get_text()) for text in axes.texts) == 900


def test_confusion_matrix_counts(forest: Any) -> None:
    axes = plot.confusion_matrix(forest, X_TEST, Y_TEST)
    right = forest.predict(X_TEST) == Y_TEST
    shown = [int(text.get_text()) for text in axes.texts]
    assert shown[0] + shown[3] == right.sum() and sum(shown) == len(Y_TEST)
    shares = plot.confusion_matrix(forest, X_TEST, Y_TEST, normalize="all")
    assert sum(float(text.get_text()) for text in shares.texts) == pytest.approx(1, abs=0.02)


def test_wrong_rows(forest: Any, regressor: Any) -> None:
    with pytest.raises(ValueError, match="holds the label 7 in row 0"):
        plot.confusion_matrix(forest, X_TEST, np.full(len(X_TEST), 7))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot.confusion_matrix(forest, X_TEST, Y_TEST[:5])
    with pytest.raises(TypeError, match="takes a classifier"):
        plot.calibration(regressor, DIABETES.data, DIABETES.target)
    with pytest.raises(NotFittedError):
        plot.calibration(weald.RandomForestClassifier(), X, Y)


# ---- decision boundary, uncertainty, bias and variance ----


def test_boundary_of_one_and_of_hundred() -> None:
    rows, labels = make_moons(150, noise=0.3, random_state=0)
    bag = weald.BaggingClassifier(n_estimators=100, random_state=0).fit(rows, labels)
    axes = plot.decision_boundary(bag, rows, labels, n_estimators=[1, 100], grid_resolution=40)
    assert [one.get_title() for one in axes] == ["1 base estimator", "100 base estimators"]
    first, all_ = (np.asarray(one.collections[0].get_array()) for one in axes)
    x, y = (one.ravel() for one in np.meshgrid(*_lines(rows, 40)))
    grid = np.column_stack([x, y])
    np.testing.assert_array_equal(all_.ravel(), bag.predict(grid))
    np.testing.assert_array_equal(first.ravel(), bag.estimators_[0].predict(grid))
    staged = weald.AdaBoostClassifier(n_estimators=20).fit(rows, labels)
    drawn = plot.decision_boundary(staged, rows, n_estimators=3, grid_resolution=40)
    expected = list(staged.staged_predict(grid))[2]
    assert (np.asarray(drawn.collections[0].get_array()).ravel() == expected).mean() > 0.99
    with pytest.raises(ValueError, match="more than the 100 base estimators"):
        plot.decision_boundary(bag, rows, n_estimators=101)
    with pytest.raises(ValueError, match="needs an ensemble"):
        plot.decision_boundary(bag.estimators_[0], rows, n_estimators=2)


def _lines(rows: np.ndarray, n: int) -> list[np.ndarray]:
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.05 * (high - low)
    return [np.linspace(a, b, n) for a, b in zip(low - margin, high + margin, strict=True)]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_boundary_of_more_columns(library: str) -> None:
    """Other columns keep their kind and hold their median or most frequent value."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["city"] = rng.choice(["Rome", "Oslo", "Rome"], 60)
    y = frame.a + 10 * (frame.city == "Rome")
    if library == "polars":
        import polars as pl

        table: Any = pl.DataFrame(frame.to_dict("list"))
    elif library == "pyarrow":
        import pyarrow as pa

        table = pa.table(frame.to_dict("list"))
    else:
        table = frame if library == "pandas" else frame.to_numpy(dtype=object)
    model = weald.DecisionTreeRegressor().fit(table, y)
    axes = plot.decision_boundary(model, table, y, features=[0, 1], grid_resolution=10)
    assert axes.figure.axes[1].get_ylim()[0] > 5  # the colours' range: all of them are in Rome
    with pytest.raises(ValueError, match="draws columns of numbers"):
        plot.decision_boundary(model, table, features=[0, 2])


def test_uncertainty(forest: Any, regressor: Any) -> None:
    rows, target = DIABETES.data[1::2], DIABETES.target[1::2]
    axes = plot.uncertainty(regressor, rows, target, coverage=0.8)
    lower, upper = regressor.predict_interval(rows, 0.8).T
    outside = 100 * ((target < lower) | (target > upper)).mean()
    assert f"outside: {outside:.1f} %" in curve_names(axes)
    assert plot.uncertainty(regressor, rows, feature="bmi", kind="std").get_xlabel() == "bmi"
    wrong = 100 * (forest.predict(X_TEST) != Y_TEST).mean()
    assert f"wrong: {wrong:.1f} %" in curve_names(plot.uncertainty(forest, X_TEST, Y_TEST))
    linear = LinearRegression().fit(rows, target)
    with pytest.raises(TypeError, match="takes return_std=True"):
        plot.uncertainty(linear, rows)
    with pytest.raises(ValueError, match="needs a regressor"):
        plot.uncertainty(forest, X_TEST, kind="interval")
    with pytest.raises(ValueError, match="coverage"):
        plot.uncertainty(regressor, rows, coverage=1.0)


def test_bias_variance_adds_up() -> None:
    rows = DIABETES.data[::2], DIABETES.target[::2], DIABETES.data[1::2], DIABETES.target[1::2]
    found = weald.theory.bias_variance(
        weald.DecisionTreeRegressor(), *rows, n_repeats=5, random_state=0
    )
    axes = plot.bias_variance(found)
    tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
    assert max(tops) == pytest.approx(found.error)
    with pytest.raises(TypeError, match="takes a result of weald.theory.bias_variance"):
        plot.bias_variance({})
    with pytest.raises(TypeError, match="takes a result"):
        plot.bias_variance({"a": 3})


# ---- SHAP ----


def test_shap_waterfall_adds_up(attributions: Any) -> None:
    axes = plot.shap_waterfall(attributions, 3, max_num_features=2)
    names = ticks(axes)
    assert len(names) == 3 and names[-1] == "2 other columns"
    total = attributions.values[3].sum()
    assert axes.get_title().startswith(f"prediction: {2 + total:.4g} = 2 ")
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(total)
    assert ticks(plot.shap_waterfall(attributions, -1))[0].startswith("a = ")


def test_shap_dependence_of_every_kind(attributions: Any) -> None:
    city = plot.shap_dependence(attributions, "city")
    assert [text.get_text() for text in city.get_xticklabels()] == ["<b>Oslo</b>", "Rome"]
    missing = plot.shap_dependence(attributions, 1, color_by="a")
    assert any("missing" in text.get_text() for text in missing.texts)
    assert missing.get_title() == "coloured by a"
    missing.figure.canvas.draw()  # a formula of two dollars would fail here
    plot.shap_dependence(attributions, "when").figure.canvas.draw()


def test_shap_of_several_outputs(attributions: Any) -> None:
    both = SimpleNamespace(
        values=np.stack([-attributions.values, attributions.values], axis=2),
        base_values=np.array([-2.0, 2.0]),
        data=attributions.data,
        feature_names=attributions.feature_names,
    )
    title = plot.shap_waterfall(both, 3).get_title()
    assert title == plot.shap_waterfall(attributions, 3).get_title()
    assert plot.shap_waterfall(both, 3, output=0).get_title().startswith("prediction: -")
    named = SimpleNamespace(**vars(both), output_names=["no", "yes"], scale="log odds")
    same = plot.shap_waterfall(named, 3, output="yes").get_title()
    assert same == title.replace("prediction", "log odds of yes")
    assert plot.shap_summary(named).get_xlabel() == "SHAP value (effect on the log odds of yes)"
    with pytest.raises(ValueError, match="There is no output 'maybe'"):
        plot.shap_summary(named, output="maybe")
    three = SimpleNamespace(**{**vars(both), "values": np.zeros((5, 4, 3))})
    with pytest.raises(ValueError, match="set output to one of 0 to 2"):
        plot.shap_summary(three)


def test_shap_of_wrong_things(attributions: Any) -> None:
    with pytest.raises(TypeError, match="has no values"):
        plot.shap_summary(object())
    with pytest.raises(ValueError, match="There is no row 60"):
        plot.shap_waterfall(attributions, 60)
    with pytest.raises(ValueError, match="There is no column 'c'"):
        plot.shap_dependence(attributions, "c")
    wrong = SimpleNamespace(**{**vars(attributions), "feature_names": ["a"]})
    with pytest.raises(ValueError, match="1 feature_names for 4 columns"):
        plot.shap_summary(wrong)
    without = SimpleNamespace(**{**vars(attributions), "data": None})
    assert plot.shap_summary(without) is not None
    with pytest.raises(ValueError, match="data of the result is None"):
        plot.shap_dependence(without, "a")


def test_dependence_coloured_by_categories(attributions: Any) -> None:
    axes = plot.shap_dependence(attributions, "a", color_by="city")
    assert sorted(text.get_text() for text in axes.get_legend().get_texts()) == [
        "<b>Oslo</b>",
        "Rome",
    ]
    assert sum(len(one.get_offsets()) for one in axes.collections) == 60


def test_band_of_classifiers(forest: Any) -> None:
    """Standard errors of the mean of the trees; standard deviations on request."""
    shares, std = forest.predict_proba(X_TEST, return_std=True)
    best = shares.argmax(axis=1)
    half = {"error": 2 / np.sqrt(len(forest.estimators_)), "std": 2.0}
    for kind, factor in half.items():
        axes = plot.uncertainty(forest, X_TEST, kind=kind)
        order = np.argsort(np.argsort(shares.max(axis=1), kind="stable"))
        rows = np.arange(len(best))
        lower = np.maximum(0, shares[rows, best] - factor * std[rows, best])
        drawn = np.array([line[0, 1] for line in axes.collections[0].get_segments()])
        assert drawn[order] == pytest.approx(lower)
    assert "standard errors of the mean of" in curve_names(plot.uncertainty(forest, X_TEST))[0]

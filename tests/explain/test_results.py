"""Results of explanations and diagnoses: printed, in notebooks, as data frames, as pictures."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import weald
from weald.explain import accumulated_effects, partial_dependence, permutation_importance, shap

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")

SCRIPT = "<script>alert(1)</script>"
NAMES = ("shap", "permutation", "dependence", "effects", "diagnosis")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One result of each kind, of a column, a level and classes whose names are markup."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({SCRIPT: rng.normal(size=200), "b": rng.choice([SCRIPT, "y"], 200)})
    y = np.where(X[SCRIPT] + (X.b == "y") > 0.5, SCRIPT, "<b>no</b>")
    model = weald.RandomForestClassifier(10, random_state=0).fit(X, y)
    return {
        "shap": shap(model, X[:30]),
        "permutation": permutation_importance(model, X, y, n_repeats=2),
        "dependence": partial_dependence(model, X, "b"),
        "effects": accumulated_effects(model, X, SCRIPT, n_intervals=4),
        "diagnosis": weald.diagnose(model, X, y, n_repeats=3, cv=3),
        "model": model,
    }


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", NAMES)
def test_printed_and_in_notebooks(results: dict[str, Any], name: str) -> None:
    found = results[name]
    assert repr(found) == str(found) and len(str(found).splitlines()) > 2
    tags = Tags(found._repr_html_())
    assert "table" in tags.seen and not {"script", "b"} & tags.seen


@pytest.mark.parametrize("name", ["shap", "permutation", "dependence", "effects"])
def test_notebooks_have_the_numbers_that_are_printed(results: dict[str, Any], name: str) -> None:
    found = results[name]
    words = set(str(found).split())
    assert SCRIPT in found._repr_html_().replace("&lt;", "<").replace("&gt;", ">")
    assert words & set(Tags(found._repr_html_()).text.split()) >= {
        word for word in words if word.replace(".", "").isdigit()
    }


@pytest.mark.parametrize("name", NAMES)
def test_frames(results: dict[str, Any], name: str) -> None:
    pandas, polars = results[name].to_pandas(), results[name].to_polars()
    assert list(pandas.columns) == polars.columns and pandas.shape == polars.shape
    assert len(pandas) > 0 or name == "diagnosis"
    if name == "diagnosis":
        assert pandas["text"].tolist() == [one.text for one in results[name].findings]


@pytest.mark.parametrize("name", NAMES)
def test_pictures(results: dict[str, Any], name: str) -> None:
    """plot() draws on new axes, or on those given."""
    axes = results[name].plot()
    assert axes.has_data() or axes.patches
    own = plt.figure().add_subplot()
    assert results[name].plot(ax=own) is own
    own.figure.canvas.draw()


def test_pictures_of_shapley_values(results: dict[str, Any]) -> None:
    found = results["shap"]
    assert found.plot().get_xlabel().startswith("SHAP value (")
    assert "of the row" in found.plot(row=3).get_xlabel()
    assert found.plot(feature="b", output=0).get_xlabel() == "b"
    with pytest.raises(ValueError, match="a row or a feature; got both"):
        found.plot(row=1, feature="b")


def test_pictures_show_the_numbers(results: dict[str, Any]) -> None:
    effects = results["effects"]
    lines = effects.plot().get_lines()
    assert lines[0].get_ydata() == pytest.approx(effects.effects[:, 1])
    dependence = results["dependence"]
    assert dependence.plot().get_lines()[0].get_ydata() == pytest.approx(dependence.average[:, 1])
    diagnosis = results["diagnosis"]
    widths = [bar.get_width() for bar in diagnosis.plot().patches]
    assert widths == [one.value for one in diagnosis.errors.values()]
    axes = weald.plot.partial_dependence([dependence, effects])
    assert [ax.get_ylabel()[:6] for ax in axes] == ["mean p", ""]


def test_results_without_lines_of_rows(results: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="compute it with kind='individual'"):
        results["dependence"].plot(kind="both")
    with pytest.raises(TypeError, match="takes results without X"):
        weald.plot.partial_dependence(results["dependence"], pd.DataFrame({"a": [1]}))
    with pytest.raises(TypeError, match=r"takes the result of weald\.diagnose; got int"):
        weald.plot.errors(3)


def test_fitted_models_in_notebooks(results: dict[str, Any]) -> None:
    """scikit-learn's view of the parameters, then facts of the fit; escaped."""
    model = results["model"]
    html = model._repr_html_()
    assert "sk-" in html
    ours = html[html.index('<div class="weald-table">') :]
    assert model._repr_mimebundle_()["text/html"].endswith(ours)
    tags = Tags(ours)
    assert "script" not in tags.seen
    assert "trees\n10" in tags.text and f"2: {SCRIPT}, b" in tags.text
    assert "weald-table" not in weald.RandomForestClassifier()._repr_html_()
    import sklearn

    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
    pair = weald.VotingClassifier([("a", model), ("b", model)]).fit([[0.0], [1.0]], [0, 1])
    assert "base estimators" in pair._repr_html_()

"""The report: complete, escaped, self-contained, of bounded size, for any model and table."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import weald
from weald.diagnostics.subject import Subject
from weald.reports import reasons, row_parts

IRIS = load_iris(return_X_y=True, as_frame=True)
PARTS = (
    "overview", "importance", "dependence", "rows", "errors", "diagnosis", "trees", "clone",
    "uncertainty", "data", "settings",
)  # fmt: skip
VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Elements, ids and texts of a page; fails if they are not nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data


def reported(model: Any, X: Any, y: Any, **kwargs: Any) -> tuple[Any, Page]:
    diagnosis = weald.diagnose(
        model, X, y, n_repeats=0, cv=3, X_test=kwargs.get("X_test"), y_test=kwargs.get("y_test")
    )
    found = weald.report(model, X, y, diagnosis=diagnosis, **kwargs)
    assert len(found.html.encode()) < 3_000_000
    page = Page(found.html)
    assert [name for name in page.ids if name != "content"] == list(PARTS)
    assert page.tags.count("script") == 1
    return found, page


@pytest.fixture(scope="module")
def hostile() -> pd.DataFrame:
    """Names and values that are markup, dates, missing values."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": np.where(rng.random(n) < 0.3, np.nan, 1.5)})
    frame["<script>alert(1)</script>"] = rng.choice(["<img src=x onerror=alert(2)>", "\"'&"], n)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D")
    return frame


def test_everything_is_escaped(hostile: pd.DataFrame, tmp_path: Path) -> None:
    labels = np.where(hostile.a > 0, "</script><script>alert(3)</script>", "<b>no</b>")
    model = weald.RandomForestClassifier(30, random_state=0).fit(hostile, labels)
    found, page = reported(model, hostile, labels, title="<i>mine</i> $title ${x}")
    assert not {"img", "b", "i"} & set(page.tags)
    assert "<img src=x onerror=alert(2)>" in page.text
    assert "</script><script>alert(3)</script>" in page.text
    assert found.title == "<i>mine</i> $title ${x}"
    file = found.save(tmp_path / "report.html")
    assert file.read_text(encoding="utf-8") == found.html


def test_nothing_is_loaded(hostile: pd.DataFrame) -> None:
    """The policy of the page allows its own script only, and nothing is fetched."""
    found, page = reported(*fitted_on(hostile))
    assert not re.search(r"https?://|url\(|@import|<link|<img|<iframe", found.html)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', found.html)
    script = re.search(r"<script>(.*?)</script>", found.html, re.DOTALL)
    assert policy is not None and script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in found.html and "@media print" in found.html
    assert page.tags.count("main") == 1


def fitted_on(frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    y = frame.a + (frame.b == 1.5)
    return weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(frame, y), frame, y


def test_numbers_are_those_of_the_diagnosis() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X[::2], y[::2])
    found, page = reported(model, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2])
    errors = found.diagnosis.errors
    for name in ("out-of-bag", "test", "constant"):
        assert f"{errors[name].value:.3g}" in page.text
    assert f"{1 - errors['out-of-bag'].value:.4g}" in page.text  # accuracy
    assert model.fingerprint() in page.text
    matrix = re.search(r'class="matrix">(.*?)</table>', found.html, re.DOTALL)
    assert matrix is not None
    counts = [int(one) for one in re.findall(r"<td[^>]*>(\d+)</td>", matrix[1])]
    assert sum(counts) == len(X[::2])
    assert (counts[1] + counts[2]) / sum(counts) == pytest.approx(errors["out-of-bag"].value)


def test_intervals_of_a_regression(hostile: pd.DataFrame) -> None:
    y = hostile.a * 2
    model = weald.RandomForestRegressor(60, oob_score=True, random_state=0)
    model.fit(hostile[:200], y[:200])
    _, page = reported(
        model, hostile[:200], y[:200], X_test=hostile[200:], y_test=y[200:], n_examples=12
    )
    held = model.predict_interval(hostile[200:], 0.8)
    share = ((held[:, 0] <= y[200:]) & (y[200:] <= held[:, 1])).mean()
    assert f"{100 * share:.1f} %" in page.text
    assert "2024-01-01 to 2024-04-" in page.text  # the range of dates
    assert "<script>alert(1)</script>" in page.text


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(),
        LinearSVC(),
        weald.OptionTreeClassifier(max_depth=2),
        weald.BoostedTreesClassifier(quality="fast", n_estimators=5),
        weald.AdaBoostClassifier(n_estimators=5, form="samme"),
        weald.VotingClassifier([("a", KNeighborsClassifier()), ("b", LinearSVC())], voting="hard"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_classifier(model: Any) -> None:
    X, y = IRIS
    _, page = reported(model.fit(X, y), X, y, n_examples=5, max_trees=2)
    assert "petal length (cm)" in page.text
    assert type(model).__name__ in page.text


@pytest.mark.parametrize("library", ["polars", "pyarrow", "numpy"])
def test_any_table(library: str) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X[:150], y[:150].to_numpy()
    table: Any = X.to_numpy()
    if library == "polars":
        import polars as pl

        table = pl.DataFrame(X.to_dict("list"))
    elif library == "pyarrow":
        import pyarrow as pa

        table = pa.table(X.to_dict("list"))
    _, page = reported(LinearRegression().fit(table, y), table, y, n_examples=10)
    assert ("bmi" in page.text) == (library != "numpy")


def test_many_classes_and_columns() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 120)), np.arange(600) % 300
    model = weald.DecisionTreeClassifier(max_depth=3).fit(X, y)
    found, page = reported(model, X, y, n_examples=5)
    assert len(found.html) < 600_000
    assert "20 more are left out" in page.text and "286 others" in page.text


def test_reasons_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With SHAP values, a row shows its strongest ones, the rest and their sum."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y)

    def linear(model: Any, rows: Any, background: Any) -> Any:
        values = ((rows - X.mean()) * model.coef_).to_numpy()
        return SimpleNamespace(
            values=values, base_values=float(y.mean()), data=rows, feature_names=list(X.columns)
        )

    monkeypatch.setattr(row_parts, "reasons_of", linear)
    monkeypatch.setattr(row_parts, "_SHOWN_REASONS", 4)
    _, page = reported(model, X, y, n_examples=2)
    captions = re.findall(r"prediction (\S+) = mean (\S+) and these", page.text)
    assert len(captions) == 2 and "6 other columns" in page.text
    assert captions[0][1] == f"{y.mean():.4g}"
    assert float(captions[0][0]) in [float(f"{one:.4g}") for one in model.predict(X)]


def test_importance_by_shuffling() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = LinearRegression().fit(X, 3 * X[:, 1] + 0.1 * rng.normal(size=300))
    subject = Subject.of(model, "test")
    found, text = reasons.importances_of(subject, X, 3 * X[:, 1], 0)
    assert found is not None and found.argmax() == 1 and found[1] == pytest.approx(18, rel=0.2)
    assert "squared error" in text
    assert reasons.importances_of(subject, np.zeros((5, 301)), X[:5, 0], 0) == (None, "")


def test_wrong_input() -> None:
    X, y = IRIS
    model = weald.DecisionTreeClassifier().fit(X, y)
    with pytest.raises(NotFittedError):
        weald.report(weald.DecisionTreeClassifier(), X, y)
    other = weald.diagnose(model, X[:100], y[:100], n_repeats=0)
    with pytest.raises(ValueError, match="must be the result of weald.diagnose for the same"):
        weald.report(model, X, y, diagnosis=other)
    with pytest.raises(ValueError, match="must be the result of weald.diagnose"):
        weald.report(model, X, y, diagnosis="good")
    with pytest.raises(ValueError, match="n_examples"):
        weald.report(model, X, y, n_examples=0)
    with pytest.raises(ValueError, match="max_trees"):
        weald.report(model, X, y, max_trees=-1)


# ---- for every reader ----


def luminance(colour: str) -> float:
    """Relative luminance as in WCAG 2."""
    digits = colour.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(theme: str) -> None:
    """4.5 for text and 3 for drawings, as WCAG asks for."""
    style = Path(row_parts.__file__).with_name("page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w+)", blocks[theme == "dark"]))
    assert contrast("#000", "#fff") == pytest.approx(21) and len(colours) > 15
    for text in ("ink", "faint", "link"):
        for ground in ("paper", "panel"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for line in ("up", "down", "bar", *(f"c{i}" for i in range(8))):
        assert contrast(colours[line], colours["paper"]) >= 3, line


def test_tables_keep_their_roles() -> None:
    """On narrow screens cells are blocks, which are no table cells without a role."""
    X, y = IRIS
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    found, _ = reported(model, X, y, n_examples=2, max_trees=1)
    tables = re.findall(r'<table class="stack".*?</table>', found.html, re.DOTALL)
    assert len(tables) > 3
    for one in tables:
        assert 'role="table"' in one and one.count("<tr ") == one.count('role="row"')
        assert one.count("<td") == one.count('role="cell"') == one.count("data-head=")
    for button in re.findall(r"<button.*?</button>", found.html):
        assert len(re.sub("<.*?>", "", button)) > 6  # "next Row", not "next"
    assert found.html.count("<figure>") == found.html.count("<svg viewBox") > 0
    assert all("<title>" in one for one in re.findall(r"<svg.*?</svg>", found.html, re.DOTALL))

"""Numbers as text: readable, close to the value, and the same everywhere."""

import datetime
import math
import re

import numpy as np
import pytest

import weald
from weald.number_text import number_text, signed_text, value_text

pd = pytest.importorskip("pandas")

EXPONENT = re.compile(r"\d(?:\.\d+)?e[+-]?\d+")


def test_values_are_kept_to_four_digits() -> None:
    rng = np.random.default_rng(0)
    for value in (rng.choice([-1, 1], 3000) * 10 ** rng.uniform(-6, 15, 3000)).tolist():
        text = number_text(value)
        assert math.isclose(float(text.replace(",", "")), value, rel_tol=5.1e-4), value
        assert "e" not in text and not text.endswith(".")
        assert signed_text(value) == ("+" if value > 0 else "") + text


def test_whole_numbers_are_exact() -> None:
    for value in (0, 7, 1999, 12_345, 123_456_789, -10_000):
        assert number_text(value).replace(",", "") == str(value)
    assert number_text(9999.6) == "10,000" and number_text(-0.00004) == "-0.00004"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pd.Timestamp("2024-02-03"), "2024-02-03"),
        (pd.Timestamp("2024-02-03 04:05"), "2024-02-03 04:05:00"),
        (pd.NaT, "missing"),
        (pd.NA, "missing"),
        (np.datetime64("NaT"), "missing"),
        (np.timedelta64("NaT"), "missing"),
        (datetime.timedelta(hours=1), "01:00:00"),
        (True, "True"),
        (np.bool_(False), "False"),
        (np.int64(12_345), "12,345"),
        ("29610.5", "29610.5"),
    ],
)
def test_values_of_tables(value: object, text: str) -> None:
    assert value_text(value) == text


@pytest.fixture(scope="module")
def prices() -> tuple[object, np.ndarray]:
    """Columns and a target of large numbers."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"area": rng.uniform(20_000, 90_000, 300), "rooms": rng.integers(1, 9, 300)})
    return X, 12.0 * X["area"].to_numpy() + 50_000 * X["rooms"].to_numpy()


def test_trees_have_no_exponents(prices: tuple[object, np.ndarray]) -> None:
    X, y = prices
    model = weald.DecisionTreeRegressor(max_depth=3).fit(X, y)
    boosted = weald.BoostedTreesRegressor(n_estimators=2, n_bags=None).fit(X, y)
    texts = [model.text(), boosted.text(), weald.plot.graphviz(model), weald.plot.graphviz(boosted)]
    for text in texts:
        assert not EXPONENT.search(text) and re.search(r"\d,\d{3}", text)


def test_results_have_no_exponents(prices: tuple[object, np.ndarray]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = prices
    model = weald.RandomForestRegressor(10, random_state=0).fit(X, y)
    explained = weald.explain.shap(model, X[:20])
    axes = explained.plot(row=0)
    drawn = [axes.get_title(), *(text.get_text() for text in axes.texts)]
    drawn += [tick.get_text() for tick in axes.get_yticklabels()]
    found = weald.diagnose(model, X, y, n_repeats=3)
    drawn += [str(explained), str(weald.explain.partial_dependence(model, X, "area")), str(found)]
    page = re.sub(
        r"<style>.*?</style>|<script>.*?</script>|<svg.*?>|[0-9a-f]{64}",
        "",
        weald.report(model, X, y, diagnosis=found, n_examples=4, max_trees=2).html,
        flags=re.DOTALL,
    )
    assert len(page) > 10_000
    for text in [*drawn, page.replace("1e-05", "")]:
        assert not EXPONENT.search(text), EXPONENT.search(text)
    assert re.search(r": [\d,]+,\d{3} = ", axes.get_title())

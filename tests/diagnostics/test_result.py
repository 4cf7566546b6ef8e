"""The result: frozen, printed, and as HTML in which everything is escaped."""

import dataclasses
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import weald
from weald.diagnostics import Diagnosis, Finding


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    """A leak in a column with a hostile name."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200)})
    labels = np.where(frame.a > 0, "<b>yes</b>", "no & never")
    frame["<script>alert(1)</script>"] = np.where(frame.a > 0, 1.0, 2.0)
    return weald.diagnose(
        weald.RandomForestClassifier(30, random_state=0).fit(frame, labels), frame, labels
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_well_formed_and_escaped(found: Diagnosis) -> None:
    for page in (found.to_html(), found._repr_html_()):
        tags = Tags()
        tags.feed(page)
        assert tags.open == [] and "script" not in tags.seen
        assert "&lt;script&gt;" in page and "http" not in page
    assert found.to_html().startswith("<!DOCTYPE html>")
    assert "prefers-color-scheme: dark" in found.to_html()


def test_frozen_and_readable(found: Diagnosis) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.loss = "other"  # type: ignore[misc]
    assert set(found.to_dict()) == {one.name for one in dataclasses.fields(found)}
    assert repr(found) == str(found)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 100
    for finding in found.findings:
        assert isinstance(finding, Finding)
        assert finding.severity in ("critical", "warning", "info")
    order = [("critical", "warning", "info").index(one.severity) for one in found.findings]
    assert order == sorted(order)


def test_numbers_of_the_text_are_those_of_the_result(found: Diagnosis) -> None:
    assert f"rho = c / v    {found.correlation.rho:.3f}" in str(found)
    assert found.errors["training"].value == 0
    assert found.predictions.shape == (200, 2) and found.rows.tolist() == list(range(200))
    assert float(found.errors["constant"]) == found.errors["constant"].value

"""The list of differences from scikit-learn's tests, and the table of the guide made from it."""

import ast
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from sklearn_suite.differences import (
    FILES,
    GUIDE,
    OLDEST,
    Difference,
    read_differences,
    table,
    with_table,
)


def test_the_guide_has_the_table_of_the_list() -> None:
    guide = GUIDE.read_text("utf-8")
    assert with_table(guide) == guide, "run: PYTHONPATH=tests python -m sklearn_suite.differences"


def test_every_entry_says_what_either_library_does() -> None:
    for one in read_differences():
        assert one.of and one.there and one.here and one.tests
        assert "|" not in one.there + one.here  # would break the table


def test_no_pattern_is_listed_twice() -> None:
    patterns = [pattern for one in read_differences() for pattern in one.tests]
    assert len(set(patterns)) == len(patterns)


def test_every_pattern_names_a_test_of_scikit_learn() -> None:
    """`make test-sklearn` checks the parameters of the tests, too."""
    if parse_version(sklearn.__version__) < parse_version(OLDEST):
        pytest.skip(f"the list is about scikit-learn {OLDEST}")
    folder = Path(sklearn.__file__).parent
    known = {
        f"{Path(file).name}::{node.name}"
        for file in FILES
        for node in ast.parse((folder / file).read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    named = {p.split("[")[0].rstrip("*") for one in read_differences() for p in one.tests}
    assert named <= known


def test_brackets_of_a_pattern_mean_themselves() -> None:
    one = Difference("trees", "a", "b", ("test_a.py::test_b[1-*", "test_a.py::test_c"))
    assert one.matching("test_a.py::test_b[1-x]") == {"test_a.py::test_b[1-*"}
    assert one.matching("test_a.py::test_c") == {"test_a.py::test_c"}
    assert not one.matching("test_a.py::test_b[2-x]") | one.matching("test_a.py::test_c[1]")
    assert table([one]).splitlines()[-1] == "| trees | a | b |"
    assert len(table([Difference("internals", "a", "b", ("test_a.py::test_d",))]).splitlines()) == 2

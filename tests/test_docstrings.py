"""Docstrings that show what the bases document."""

import inspect
import subprocess
import sys

from weald import DecisionTreeRegressor
from weald.docstrings import with_inherited_sections


class Base:
    """What all share.

    Some more about it.

    Parameters
    ----------
    first : int, default=1
        Of the base:
        two lines.
    second : int, default=2
        Of the base.

    Attributes
    ----------
    model_ : object
        Of the base.
    """


class Middle(Base):
    """Between.

    Attributes
    ----------
    extra_ : int
        Of the middle.
    """


class Foreign:
    """Of another package.

    Parameters
    ----------
    foreign : int
        Not ours to show.
    """


class Silent(Foreign, Middle):
    pass


class Leaf(Foreign, Middle):
    """What a user sees.

    Parameters
    ----------
    second : str, default="b"
        Of the leaf.
    third : float
        Of the leaf.

    Notes
    -----
    A note.

    Examples
    --------
    >>> 1 + 1
    2
    """


for ours in (Base, Middle, Silent, Leaf):
    ours.__module__ = "weald.somewhere"

EXPECTED = """What a user sees.

Parameters
----------
second : str, default="b"
    Of the leaf.
third : float
    Of the leaf.
first : int, default=1
    Of the base:
    two lines.

Attributes
----------
extra_ : int
    Of the middle.
model_ : object
    Of the base.

Notes
-----
A note.

Examples
--------
>>> 1 + 1
2
"""


def test_own_entries_come_first_and_win_and_examples_stay_last() -> None:
    assert with_inherited_sections(Leaf) == EXPECTED


def test_a_class_without_bases_of_ours_stays_as_it_is() -> None:
    assert with_inherited_sections(Base) == inspect.cleandoc(Base.__doc__ or "") + "\n"


def test_merging_twice_changes_nothing() -> None:
    again = type("Leaf", (Foreign, Middle), {"__doc__": EXPECTED, "__module__": "weald.somewhere"})
    assert with_inherited_sections(again) == EXPECTED


def test_a_class_without_docstring_shows_the_sections_of_its_bases() -> None:
    text = with_inherited_sections(Silent)
    assert "first : int" in text and "model_ : object" in text
    assert "foreign" not in text and "What all share" not in text


def test_a_user_s_subclass_keeps_its_docstring() -> None:
    class Mine(DecisionTreeRegressor):
        """My own words."""

    assert (Mine.__doc__ or "").startswith("My own words.")


def test_the_package_works_without_docstrings() -> None:
    code = (
        "import weald\n"
        "tree = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0])\n"
        "print(tree.predict([[2.0]])[0], len((type(tree).__doc__ or '').strip()))"
    )
    run = subprocess.run(
        [sys.executable, "-OO", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["2.0", "0"]

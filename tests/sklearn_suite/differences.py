"""The list of differences from scikit-learn, and the table of the guide that is made from it.

``PYTHONPATH=tests python -m sklearn_suite.differences`` writes the table into the guide.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

LIST = Path(__file__).with_name("differences.toml")
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "coming_from.md"
BEGIN = "<!-- table of tests/sklearn_suite/differences.toml: begin -->\n"
END = "<!-- table of tests/sklearn_suite/differences.toml: end -->\n"

# The version of scikit-learn whose tests the list is about, and the files with these tests.
OLDEST = "1.9"
FILES = (
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_forest.py",
    "ensemble/tests/test_gradient_boosting.py",
    "ensemble/tests/test_iforest.py",
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_weight_boosting.py",
    "tree/tests/test_tree.py",
)


@dataclass(frozen=True)
class Difference:
    """One entry of the list.

    Attributes
    ----------
    of : str
        The classes it concerns; "internals" for tests of private names, exact random numbers and
        numbers of scikit-learn's own defaults, which the guide does not list.
    there, here : str
        What scikit-learn does, and what weald does instead.
    tests : tuple of str
        The tests that show it, as patterns: "test_forest.py::test_name*".
    always : bool
        Whether these tests fail in every run.
    """

    of: str
    there: str
    here: str
    tests: tuple[str, ...]
    always: bool = True

    def matching(self, test: str) -> set[str]:
        """The patterns that match a test, such as "test_forest.py::test_name[parameters]"."""
        # In the name of a test brackets hold its parameters; in a pattern they mean themselves.
        return {p for p in self.tests if fnmatchcase(test, p.replace("[", "[[]"))}


def read_differences() -> list[Difference]:
    """Read differences.toml."""
    listed = tomllib.loads(LIST.read_text("utf-8"))["difference"]
    return [Difference(**{**entry, "tests": tuple(entry["tests"])}) for entry in listed]


def table(differences: Iterable[Difference]) -> str:
    """The table of the guide."""
    lines = ["| of | scikit-learn | weald |", "|---|---|---|"]
    lines += [
        f"| {one.of} | {one.there} | {one.here} |" for one in differences if one.of != "internals"
    ]
    return "\n".join(lines) + "\n"


def with_table(guide: str) -> str:
    """The text of the guide with the table of today."""
    before, rest = guide.split(BEGIN)
    after = rest.split(END)[1]
    return before + BEGIN + "\n" + table(read_differences()) + "\n" + END + after


if __name__ == "__main__":
    GUIDE.write_text(with_table(GUIDE.read_text("utf-8")), "utf-8")

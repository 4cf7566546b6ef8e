"""Messages of `verbose` go to the logger "weald", by default to stdout."""

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

import weald

PROGRAM = """
import logging
import sys
import weald
{}
forest = weald.RandomForestRegressor(2, min_samples_leaf=1, max_features=1.0, verbose=1)
forest.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
"""
LINES = ["1 of 2 trees grown", "2 of 2 trees grown"]


def run(setting: str = "") -> tuple[list[str], list[str]]:
    """Lines on stdout and on stderr, without times."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setting)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return tuple(  # type: ignore[return-value]
        [line.partition(",")[0] for line in text.splitlines()]
        for text in (done.stdout, done.stderr)
    )


def test_without_any_handler_lines_are_printed() -> None:
    assert run() == (LINES, [])


def test_handlers_of_the_program_get_them_instead() -> None:
    assert run("logging.basicConfig(format='%(message)s')") == ([], LINES)
    own = "logging.getLogger('weald').addHandler(logging.StreamHandler())"
    assert run(own) == ([], LINES)


def test_a_level_of_the_program_is_kept() -> None:
    assert run("logging.getLogger('weald').setLevel(logging.WARNING)") == ([], [])


@pytest.fixture
def as_before() -> Iterator[None]:
    logger = logging.getLogger("weald")
    level, handlers = logger.level, logger.handlers[:]
    yield
    logger.level, logger.handlers[:] = level, handlers


@pytest.mark.usefixtures("as_before")
def test_records_have_a_level_and_a_name(caplog) -> None:
    weald.RandomForestRegressor(2, verbose=1).fit([[1.0], [2.0]], [1.0, 2.0])
    assert {(one.name, one.levelno) for one in caplog.records} == {("weald", logging.INFO)}
    caplog.clear()
    weald.RandomForestRegressor(2).fit([[1.0], [2.0]], [1.0, 2.0])
    assert caplog.records == []

"""The link check of the site finds what it is there to find."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def links() -> ModuleType:
    found = importlib.util.spec_from_file_location("links", ROOT / "tools" / "links.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("link", "is_right"),
    [
        ('<a href="b.html">', True),
        ('<a href="b.html#there">', True),
        ('<a href="#here">', True),
        ('<a href="https://example.org/x">', True),
        ('<a href="c.html">', False),
        ('<a href="b.html#here">', False),
        ('<a href="#there">', False),
        ('<img src="none.png">', False),
        ('<script src="https://example.org/x.js">', False),
        ('<link rel="stylesheet" href="//example.org/x.css">', False),
    ],
)
def test_a_broken_link_is_found(
    link: str, is_right: bool, links: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text(f'<p id="here">{link}')
    (tmp_path / "b.html").write_text('<p id="there">')
    assert (links.complaints(tmp_path) == []) is is_right


def test_an_empty_folder_is_no_site(links: ModuleType, tmp_path: Path) -> None:
    assert links.complaints(tmp_path)

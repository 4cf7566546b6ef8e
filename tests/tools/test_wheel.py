"""The check of wheels accepts a whole one, and names what is missing or foreign."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _complaints(names: list[str]) -> list[str]:
    found = importlib.util.spec_from_file_location("wheel", ROOT / "tools" / "wheel.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.complaints(names)


def _whole() -> list[str]:
    package = ROOT / "src"
    files = [str(file.relative_to(package)) for file in package.rglob("*") if file.is_file()]
    files = [name for name in files if not name.endswith((".so", ".pyc"))]
    about = ["licenses/LICENSE", "licenses/NOTICE", "entry_points.txt", "METADATA"]
    return [*files, "weald/_native.cpython-311.so", *(f"weald-0.1.dist-info/{x}" for x in about)]


def test_a_whole_wheel() -> None:
    assert _complaints(_whole()) == []


@pytest.mark.parametrize("part", ["NOTICE", "_native.cpython-311.so", "page.html", "main.py"])
def test_a_missing_part(part: str) -> None:
    names = [name for name in _whole() if not name.endswith(part)]
    assert any(part.partition(".")[0] in one for one in _complaints(names))


def test_foreign_files() -> None:
    assert _complaints([*_whole(), "tests/test_x.py"]) == ["carries tests/test_x.py"]

"""The gates of `make check` on the C++ core find what they are there to find, and only that."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def _tool(name: str) -> Iterator[ModuleType]:
    before = set(sys.modules)
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "tools"))
        for loaded in set(sys.modules) - before:
            del sys.modules[loaded]


@pytest.fixture
def one_definition() -> Iterator[ModuleType]:
    yield from _tool("one_definition")


@pytest.fixture
def cpp_modules() -> Iterator[ModuleType]:
    yield from _tool("cpp_modules")


@pytest.fixture
def size() -> Iterator[ModuleType]:
    yield from _tool("size")


@pytest.fixture
def core(tmp_path: Path) -> Path:
    """A copy of the core, to plant faults in."""
    return Path(copytree(ROOT / "cpp", tmp_path / "cpp"))


def test_the_core_passes(one_definition: ModuleType, cpp_modules: ModuleType) -> None:
    assert one_definition.main(ROOT / "cpp") == 0
    assert cpp_modules.main(ROOT / "cpp") == 0


@pytest.mark.parametrize(
    "planted",
    [
        "namespace weald::tree { struct Forest { int other; }; }",
        "namespace weald::split { struct Forest { int other; }; }",  # a reader finds two
        "namespace weald::data {\ntemplate <class A, class B = X<A>>\nclass Table final : A {}; }",
        "namespace weald::tree { enum class [[nodiscard]] Growth : int { one }; }",
        "namespace weald::tree {\n#if 1\n// }\ninline bool planted(const Forest& o) { return 1;} }",
    ],
)
def test_a_second_definition_is_found(one_definition: ModuleType, core: Path, planted: str) -> None:
    (core / "tree" / "first.hpp").write_text(
        "namespace weald::tree { inline bool planted(const Forest& o) { return 0; } }"
    )
    assert one_definition.main(core) == 0
    (core / "tree" / "planted.hpp").write_text(planted)
    assert one_definition.main(core) == 1


@pytest.mark.parametrize(
    "planted",
    [
        "namespace weald { struct Tree; class Table; }",
        "namespace weald { namespace { struct Tree { int other; }; } }",
        "namespace weald { struct Outer { struct Tree { int other; }; }; }",
        'namespace weald { const char* text = "struct Tree {"; /* struct Tree {} */ }',
    ],
)
def test_what_is_no_second_definition(one_definition: ModuleType, planted: str) -> None:
    assert "Tree" not in set(one_definition.definitions(planted))


@pytest.mark.parametrize(
    ("place", "planted", "complaint"),
    [
        ("split/planted.hpp", '#include "tree/forest.hpp"', "split may not include"),
        ("engine/planted.hpp", '#include "forest/scan.hpp"', "engine may not include"),
        ("split/planted.hpp", '#include "histogram.hpp"', 'as "module/file.hpp"'),
        ("split/planted.hpp", "namespace weald::tree {\n}", "expected weald::split"),
        ("planted/planted.hpp", "", "is no module"),
    ],
)
def test_a_file_that_breaks_the_layers_is_found(
    cpp_modules: ModuleType,
    core: Path,
    capsys: pytest.CaptureFixture[str],
    place: str,
    planted: str,
    complaint: str,
) -> None:
    (core / place).parent.mkdir(exist_ok=True)
    (core / place).write_text(planted)
    assert cpp_modules.main(core) == 1
    assert complaint in capsys.readouterr().out


def test_a_long_function_is_found(size: ModuleType, tmp_path: Path) -> None:
    body = "  x += 1;\n" * 60
    for suffix, text in {
        ".cpp": f"namespace weald::tree {{\nint longest(int x) {{\n{body}  return x;\n}}\n}}\n",
        ".py": "def longest(x):\n" + "    x += 1\n" * 60,
    }.items():
        (file := tmp_path / f"planted{suffix}").write_text(text)
        (found,) = size.too_large(file)
        assert found.place.endswith(":longest")
        assert found.size > found.limit
    file.write_text("def short(x):\n" + "    x += 1\n" * 59)
    assert list(size.too_large(file)) == []

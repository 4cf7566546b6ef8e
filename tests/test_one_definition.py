"""The gate against two definitions of one name finds them, and nothing else."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "one_definition.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("one_definition", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_defines_every_name_once(tool: ModuleType) -> None:
    assert tool.main(TOOL.parents[1] / "cpp") == 0


@pytest.mark.parametrize(
    "planted",
    [
        "namespace weald { struct Tree { int other; }; }",
        "namespace weald {\ntemplate <class A, class B = X<A>>\nclass Table final : Base<A> {};\n}",
        "namespace weald { enum class [[nodiscard]] Growth : int { one }; }",
        "namespace weald {\n#if 1\n// }\ninline bool is_sound(const Forest& one) { return 1; }\n}",
    ],
)
def test_a_second_definition_is_found(tool: ModuleType, tmp_path: Path, planted: str) -> None:
    core = tmp_path / "cpp"
    core.mkdir()
    for file in (TOOL.parents[1] / "cpp").glob("*.hpp"):
        (core / file.name).write_bytes(file.read_bytes())
    (core / "is_sound.hpp").write_text(
        "namespace weald { inline bool is_sound(const Forest& one) { return 0; } }"
    )
    assert tool.main(core) == 0
    (core / "planted.hpp").write_text(planted)
    assert tool.main(core) == 1


@pytest.mark.parametrize(
    "planted",
    [
        "namespace weald { struct Tree; class Table; }",
        "namespace weald { namespace { struct Tree { int other; }; } }",
        "namespace weald::other { struct Tree { int other; }; }",
        "namespace weald { struct Outer { struct Tree { int other; }; }; }",
        'namespace weald { const char* text = "struct Tree {"; /* struct Tree {} */ }',
    ],
)
def test_what_is_no_second_definition(tool: ModuleType, planted: str) -> None:
    assert "weald::Tree" not in set(tool.definitions(planted))

"""Fail if a file of the C++ core includes upwards, or is not in the namespace of its module.

Modules are folders of cpp/. A file may include files of its own module and of lower layers, and
writes them as "module/file.hpp".
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# From the bottom to the top; modules of one layer do not include each other.
LAYERS = [
    {"base"},
    {"criteria", "losses"},
    {"kernels"},
    {"data"},
    {"target", "ranking"},
    {"split"},
    {"tree"},
    {"engine", "forest"},
    {"grow"},
    {"stumps", "predict", "explain", "survival"},
    {"rotation"},
    {"bindings"},
]
LAYER_OF = {module: number for number, layer in enumerate(LAYERS) for module in layer}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
NAMESPACE = re.compile(r"^namespace (weald[\w:]*) \{", re.MULTILINE)


def namespace_of(module: str) -> str:
    """The namespace of a module; what everybody uses, `base`, lies in the outermost one."""
    return "weald" if module == "base" else f"weald::{module}"


def complaints(core: Path, file: Path) -> Iterator[str]:
    """Say what is wrong with one file."""
    module, text = file.relative_to(core).parts[0], file.read_text(encoding="utf-8")
    if module not in LAYER_OF:
        yield f"{file}: {module} is no module; add it to LAYERS in tools/cpp_modules.py"
        return
    for name in INCLUDE.findall(text):
        if not (core / name).is_file():
            yield f'{file}: write "{name}" as "module/file.hpp"'
            continue
        other = Path(name).parts[0]
        if other != module and LAYER_OF[other] >= LAYER_OF[module]:
            yield f"{file}: {module} may not include {name}: {other} is no lower layer"
    own = namespace_of(module)
    for name in NAMESPACE.findall(text):
        if name != own and not name.startswith(f"{own}::"):
            yield f"{file}: namespace {name}, expected {own}"


def main(core: Path) -> int:
    files = sorted(core.rglob("*.[ch]pp"))
    found = [complaint for file in files for complaint in complaints(core, file)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "cpp")))

"""Fail if the C++ core defines a type or an inline function twice under one name.

The linker keeps one of two inline functions of the same name (a destructor, say) without a word,
and objects of the other type are then destroyed by the wrong one. Types of different modules must
differ in name, too: a reader who searches for one finds one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from cpp_source import Block, blocks

IS_INLINE = re.compile(r"\b(?:inline|constexpr|template)\b.*\(")


def shared_name(block: Block) -> str | None:
    """What a definition is called, if other files would share it.

    Nothing inside a type, a function or an unnamed namespace is shared.
    """
    if block.is_namespace or not all(block.scopes):
        return None
    if block.type_name is not None:
        return block.type_name
    place = "::".join(str(scope) for scope in block.scopes)
    return f"{place}: {block.head}" if IS_INLINE.search(block.head) else None


def definitions(text: str) -> Iterator[str]:
    """Give the name of every type, and the signature of every inline function, of a file."""
    for block in blocks(text):
        name = shared_name(block)
        if name is not None:
            yield name


def main(folder: Path) -> int:
    places: dict[str, set[Path]] = {}
    for file in sorted(folder.rglob("*.[ch]pp")):
        for name in definitions(file.read_text(encoding="utf-8")):
            places.setdefault(name, set()).add(file)
    twice = {name: files for name, files in places.items() if len(files) > 1}
    for name, files in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(map(str, sorted(files)))}: rename one")
    if len(places) < 100:  # the core has hundreds
        print(f"only {len(places)} definitions found below {folder}: is this the core?")
        return 1
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "cpp")))

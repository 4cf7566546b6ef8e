"""Fail if the C++ core defines a type or an inline function twice under one name.

The linker keeps one of two inline functions of the same name (a destructor, say) without a word,
and objects of the other type are then destroyed by the wrong one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Comments, raw strings, strings, characters and preprocessor lines: no braces in them count.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*)$")
TYPE = re.compile(
    r"(?:struct|class|union|enum(?: class| struct)?) (?:alignas ?\([^)]*\) ?|\[\[.*?\]\] ?)*"
    r"((?:\w+::)*\w+(?: ?<.*>)?)(?= final| ?:(?!:)| ?$)"
)
IS_INLINE = re.compile(r"\b(?:inline|constexpr|template)\b.*\(")


def without_template(head: str) -> str:
    """Take `template <...>` off."""
    if not head.startswith("template"):
        return head
    depth = 0
    for place, one in enumerate(head):
        depth += (one == "<") - (one == ">")
        if one == ">" and depth == 0:
            return without_template(head[place + 1 :].strip())
    return head


def shared_name(scopes: list[str | None], head: str) -> str | None:
    """What a definition is called, if other files would share it: by linkage, it is the same one.

    Nothing inside a type, a function or an unnamed namespace is shared.
    """
    if not all(scopes):
        return None
    place = "::".join(str(scope) for scope in scopes)
    kind = TYPE.match(without_template(head))
    if kind:
        return f"{place}::{kind[1]}"
    return f"{place}: {head}" if IS_INLINE.search(head) else None


def definitions(text: str) -> Iterator[str]:
    """Give the full name of every type, and the signature of every inline function, of a file."""
    text = NO_CODE.sub(lambda found: "0" if found[0][0] in "R\"'" else " ", text)
    scopes: list[str | None] = []  # names of namespaces; None: anything else
    head = ""
    for token in re.split(r"([{};])", text):
        if token == "{":
            head = " ".join(head.split())
            space = NAMESPACE.search(head)
            name = None if space else shared_name(scopes, head)
            scopes.append((space[1] or None) if space else None)
            if name is not None:
                yield name
        elif token == "}" and scopes:
            scopes.pop()
        head = "" if token in "{};" else token


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

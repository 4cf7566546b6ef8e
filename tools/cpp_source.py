"""Reading C++ sources far enough for the gates: their blocks, and what these are called."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Block:
    """Braces and what stands before them.

    `scopes` are the names of the namespaces around it; None stands for anything else: a type, a
    function, an unnamed namespace.
    """

    head: str
    scopes: tuple[str | None, ...]
    first_line: int
    last_line: int

    @property
    def n_lines(self) -> int:
        return self.last_line - self.first_line + 1

    @property
    def is_namespace(self) -> bool:
        return NAMESPACE.search(self.head) is not None

    @property
    def type_name(self) -> str | None:
        """The name of the type that the block defines, if it does."""
        found = TYPE.match(without_template(self.head))
        return found[1] if found else None


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


def blocks(text: str) -> Iterator[Block]:
    """Give every block of a source, inner ones before those around them."""
    text = NO_CODE.sub(_blank, text)
    opened: list[tuple[str, tuple[str | None, ...], int]] = []
    scopes: list[str | None] = []
    head, line = "", 1
    for token in re.split(r"([{};])", text):
        if token == "{":
            own = " ".join(head.split())
            first = line - head.lstrip().count("\n")
            opened.append((own, tuple(scopes), first))
            space = NAMESPACE.search(own)
            scopes.append((space[1] or None) if space else None)
        elif token == "}" and opened:
            scopes.pop()
            own, around, first = opened.pop()
            yield Block(own, around, first, line)
        head = "" if token in "{};" else token
        line += token.count("\n")


def _blank(found: re.Match[str]) -> str:
    """What takes the place of text that is no code: as many lines."""
    return ("0" if found[0][0] in "R\"'" else " ") + "\n" * found[0].count("\n")

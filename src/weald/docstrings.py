"""Docstrings of estimators: what a base class documents once is shown by every class below it."""

import inspect
import re

_TITLE = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)


def with_inherited_sections(cls: type) -> str:
    """Write the Parameters and Attributes of all bases of `cls` into its own docstring.

    An entry of a class stands in for that of a base with the same name. Examples stay last.
    """
    head, sections = _sections(cls)
    for title in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for base in filter(lambda base: base is cls or _is_ours(base), cls.__mro__):
            for name, text in _entries(_sections(base)[1].get(title, "")):
                entries.setdefault(name, text)
        if title == "Parameters" and "__init__" in vars(cls):
            # A class that takes fewer parameters than its base shows only its own.
            taken = inspect.signature(cls).parameters
            entries = {name: text for name, text in entries.items() if name in taken}
        if entries:
            sections[title] = "\n".join(entries.values())
    order = sorted(sections, key=lambda t: ("Parameters", "Attributes", t).index(t))
    parts = [head] + [f"{t}\n{'-' * len(t)}\n{sections[t].strip()}" for t in order]
    return "\n\n".join(parts) + "\n"


def _sections(cls: type) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the sections by title, of a class's own docstring."""
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    pieces = _TITLE.split(text)
    return pieces[0].strip(), dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "weald"


def _entries(section: str) -> list[tuple[str, str]]:
    """Name and text of each entry: a line that is not indented begins one."""
    starts = [m.start() for m in re.finditer(r"^\S", section, re.MULTILINE)]
    ends = [*starts[1:], len(section)]
    texts = [section[a:b].rstrip() for a, b in zip(starts, ends, strict=False)]
    return [(text.split(":")[0].strip(), text) for text in texts]

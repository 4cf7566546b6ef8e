"""Inheritance of docstring sections of estimators."""

import inspect
import re
from functools import cache

_TITLE = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)


def with_inherited_sections(cls: type) -> str:
    """Return the docstring of `cls` with the Parameters and Attributes of all its bases.

    An entry of a class overrides that of a base with the same name. Examples stay last.
    """
    head, own = _sections(_own_docstring(cls))
    sections = dict(own)
    for title in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for base in filter(lambda base: base is cls or _is_ours(base), cls.__mro__):
            for name, text in _entries(_sections(_own_docstring(base))[1].get(title, "")):
                entries.setdefault(name, text)
        if title == "Parameters" and "__init__" in vars(cls):
            # A class may have fewer parameters than its base.
            taken = inspect.signature(cls).parameters
            entries = {name: text for name, text in entries.items() if name in taken}
        if entries:
            sections[title] = "\n".join(entries.values())
    order = sorted(sections, key=lambda t: ("Parameters", "Attributes", t).index(t))
    parts = [head] + [f"{t}\n{'-' * len(t)}\n{sections[t].strip()}" for t in order]
    return "\n\n".join(parts) + "\n"


def _own_docstring(cls: type) -> str:
    return vars(cls).get("__doc__") or ""


# Cached: every subclass reads the docstrings of the same bases when it is imported.
@cache
def _sections(docstring: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into the text before the first section and the sections."""
    pieces = _TITLE.split(inspect.cleandoc(docstring))
    return pieces[0].strip(), dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _is_ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "weald"


@cache
def _entries(section: str) -> list[tuple[str, str]]:
    """Split a section into (name, text) entries, which begin at lines without indentation."""
    starts = [m.start() for m in re.finditer(r"^\S", section, re.MULTILINE)]
    ends = [*starts[1:], len(section)]
    texts = [section[a:b].rstrip() for a, b in zip(starts, ends, strict=False)]
    return [(text.split(":")[0].strip(), text) for text in texts]

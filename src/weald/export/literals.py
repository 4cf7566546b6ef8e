"""Numbers and names as source text, shared by the exporters to C and Python."""

from collections.abc import Iterable

from weald.export.additive import Additive
from weald.version import __version__

_WIDTH = 98


def wrapped(items: Iterable[str], indent: str) -> str:
    """Join items by commas, in lines of at most 100 characters.

    >>> wrapped(["1", "2"], "  ")
    '  1, 2'
    """
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) > _WIDTH and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += f"{item}, "
    return "\n".join([*lines, line.removesuffix(", ")])


def facts(model: Additive) -> list[str]:
    """Lines that describe the model, for the comment at the top of a source file."""
    lines = [
        f"{model.kind} exported by weald {__version__}.",
        f"Fingerprint: {model.fingerprint}",
        f"Trees: {model.forest.n_trees}, inputs: {len(model.names)}, outputs: {model.n_outputs}.",
        "",
        "Inputs (NaN: missing, or a category that is not listed):",
    ]
    for i, (name, levels) in enumerate(zip(model.names, model.levels, strict=True)):
        lines.append(f"  {i}: {name!a}")
        if levels is not None:
            lines += [f"      {code} = {level!a}" for code, level in enumerate(levels)]
    lines += ["", "Outputs:"]
    if not model.classes:
        several = model.n_outputs > 1
        lines.append(f"  0 to {model.n_outputs - 1}: predictions" if several else "  0: prediction")
    k = 0
    for number, classes in enumerate(model.classes):
        of_target = f" of target {number}" if len(model.classes) > 1 else ""
        for label in classes.tolist():
            lines.append(f"  {k}: probability of class {label!a}{of_target}")
            k += 1
    return lines


def check_name(name: object, keywords: Iterable[str]) -> str:
    """The name of the exported function, if it can be one."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a str; got {type(name).__name__}.")
    if not (name.isascii() and name.isidentifier()) or name in keywords:
        raise ValueError(
            f"name must be a name of a function: letters, digits and _, no keyword; got {name!r}."
        )
    return name

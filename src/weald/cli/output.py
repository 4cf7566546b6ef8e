"""Output: text or JSON on stdout, and files that are never overwritten by accident."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from weald.plain_values import plain


def check_free(path: str | None, force: bool) -> None:
    """Raise UsageError if a file to be written exists (without --force), or has no folder."""
    if path is None:
        return
    file = Path(path)
    if file.is_dir():
        raise click.UsageError(f"'{path}' is a folder; expected the name of a file")
    if file.exists() and not force:
        raise click.UsageError(f"'{path}' exists; --force overwrites it")
    if not file.parent.is_dir():
        raise click.UsageError(f"there is no folder '{file.parent}' for '{file.name}'")


def write_text(path: str, text: str, force: bool) -> None:
    """Write a text file; fails if it exists, unless forced."""
    try:
        with Path(path).open("w" if force else "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error  # a full disk names no file


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; NaN and infinities become null."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def table_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Align a table: the first column to the left, the others to the right.

    >>> print(table_lines(["method", "error"], [["forest", "0.1"], ["tree", "0.25"]]))
    method  error
    forest    0.1
    tree     0.25
    """
    lines = [[_visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _visible(text: str) -> str:
    r"""Replace control characters of the data, which could steer a terminal.

    >>> _visible("Ulm\x1b[31m") == "Ulm\ufffd[31m"
    True
    """
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def fingerprint_of(model: Any) -> str | None:
    """Fingerprint of a model; None if it has parts of another library."""
    try:
        return str(model.fingerprint())
    except TypeError:
        return None

"""Output: text or JSON on stdout, and files that are never overwritten by accident."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

# A spreadsheet may run text that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    >>> plain({"a": np.float64(0.5), "b": [np.int64(1), float("nan")], "c": np.array(["x"])})
    {'a': 0.5, 'b': [1, None], 'c': ['x']}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as csv whose text no spreadsheet takes for a formula.

    Text that begins like a formula, and is not a number, gets an apostrophe in front.

    >>> print(csv_text([["=1+1", 0.5], ["-1", -2.0], ["a,b", 1.0]]), end="")
    '=1+1,0.5
    -1,-2.0
    "a,b",1.0
    """
    return "".join(",".join(_cell(value) for value in row) + "\n" for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str):
        return "" if isinstance(value, float) and math.isnan(value) else str(value)
    text = f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if set(text) & set(',;"\n\r\t') else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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

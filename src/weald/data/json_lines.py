"""JSON lines: one object per line, as columns of the installed frame library."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from weald.data.frame_library import frame_library
from weald.data.text_files import decoded

_KINDS = {bool: "boolean", int: "number", float: "number", str: "text"}


def read_json_lines(file: Path) -> nw.DataFrame[Any]:
    """Read the objects of a file; keys are columns, and a key that a line lacks is missing."""
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, tuple[str, int]] = {}
    n_rows = 0
    with decoded(file) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            for name, value in _cells(line, number, file).items():
                _check_kind(kinds, name, value, number, file)
                column = columns.setdefault(name, [])
                column.extend([None] * (n_rows - len(column)))
                column.append(value)
            n_rows += 1
    if not columns:
        raise ValueError(f"'{file}' is empty; expected at least one row of data")
    for name, column in columns.items():
        column.extend([None] * (n_rows - len(column)))
        if any(isinstance(value, float) or _is_long(value) for value in column):
            columns[name] = [None if value is None else _float(value) for value in column]
    module = importlib.import_module(frame_library())
    return nw.from_dict(columns, native_namespace=module)


def _is_long(value: object) -> bool:
    """Whether a number does not fit 64 bits."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _cells(line: str, number: int, file: Path) -> dict[str, Any]:
    try:
        cells = json.loads(line)
    except json.JSONDecodeError as error:
        where = f"line {number}, column {error.pos + 1} of '{file}'"
        raise ValueError(f"{where} is not valid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a number of very many digits; nesting
        raise ValueError(f"line {number} of '{file}' is not valid JSON: {error}") from error
    if not isinstance(cells, dict):
        raise ValueError(
            f"line {number} of '{file}' holds a JSON {type(cells).__name__}; expected an object "
            'such as {"age": 31, "city": "Ulm"} on every line'
        )
    return cells


def _check_kind(
    kinds: dict[str, tuple[str, int]], name: str, value: object, number: int, file: Path
) -> None:
    """Cells of a column are all numbers, all text or all booleans."""
    if value is None:
        return
    kind = _KINDS.get(type(value))
    if kind is None:
        raise ValueError(
            f"line {number} of '{file}' holds a {type(value).__name__} in column '{name}'; "
            "expected a number, text, a boolean or null"
        )
    before, where = kinds.setdefault(name, (kind, number))
    if kind != before:
        raise ValueError(
            f"line {number} of '{file}' holds {kind} in column '{name}', which holds {before} in "
            f"line {where}; write all its values as one of them"
        )

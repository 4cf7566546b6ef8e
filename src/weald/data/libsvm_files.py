"""Files in the form of libsvm: a label, then index:value of the cells that are not zero."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from weald.data.text_files import decoded, opened

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)"
_LABEL = re.compile(_NUMBER)
_CELL = re.compile(rf"(?:\d+|qid):{_NUMBER}")
_MOST_INDEX = 2**31 - 2  # of the columns of SciPy's sparse matrices here


def read_libsvm(file: Path) -> tuple[Any, Any]:
    """Read a sparse table and its labels. The first index is 0 if there is a 0, else 1."""
    from sklearn.datasets import load_svmlight_file

    _check_lines(file)
    with opened(file) as stream:
        X, y = load_svmlight_file(io.BytesIO(stream.read()))
    return X, y


def _check_lines(file: Path) -> None:
    """Raise ValueError that names the line and the cell that is none."""
    n_rows = 0
    with decoded(file) as text:
        for number, line in enumerate(text, start=1):
            cells = line.partition("#")[0].split()
            n_rows += bool(cells)
            for position, cell in enumerate(cells):
                kind = _CELL if position else _LABEL
                if not kind.fullmatch(cell) or (position and _index(cell) > _MOST_INDEX):
                    raise ValueError(_wrong_cell(file, number, position, cell))
    if n_rows == 0:
        raise ValueError(f"'{file}' is empty; expected at least one row of data")


def _index(cell: str) -> int:
    digits = cell.partition(":")[0]
    return _MOST_INDEX + 1 if len(digits) > len(str(_MOST_INDEX)) else int(digits)


def _wrong_cell(file: Path, number: int, position: int, cell: str) -> str:
    expected = (
        f"index:value, such as 3:0.5, of an index up to {_MOST_INDEX}"
        if position
        else "a number, the label"
    )
    return (
        f"line {number} of '{file}' holds {cell!r} as entry {position + 1}; expected {expected} "
        "(for other text pass format='csv', after the name: '?format=csv')"
    )

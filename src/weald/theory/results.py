"""What the results of this room share: they print a small table and turn into a dictionary."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Report:
    """Base of frozen dataclasses that hold numbers and arrays."""

    def to_dict(self) -> dict[str, Any]:
        """Every field by its name; arrays are not copied."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def lines(title: str, entries: Iterable[tuple[str, str, float, float | None]], note: str) -> str:
    """A title, one line for each (sign, name, value, standard error), and what is to be said."""
    written = [(f"{sign:1s} {name}", value, error) for sign, name, value, error in entries]
    width = max(len(name) for name, _, _ in written)
    rows = [
        f"{name:{width}s}  {value:12.6g}" + ("" if error is None else f"  ± {_two_digits(error)}")
        for name, value, error in written
    ]
    return "\n".join([title, *rows, *([note] if note else [])])


def _two_digits(error: float) -> str:
    """Two digits, without an exponent for what is larger: 360 and not 3.6e+02."""
    return f"{float(f'{error:.2g}'):.6g}"


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, closed for writing: results do not change."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view

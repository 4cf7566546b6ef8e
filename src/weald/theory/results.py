"""Common base of the result classes: conversion to a dict, printing as a table."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Report:
    """Base of the frozen dataclasses returned by `weald.theory`."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name; arrays are not copied."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def lines(title: str, entries: Iterable[tuple[str, str, float, float | None]], note: str) -> str:
    """Format a title, one line per (sign, name, value, standard error), and a note."""
    written = [(f"{sign:1s} {name}", value, error) for sign, name, value, error in entries]
    width = max(len(name) for name, _, _ in written)
    rows = [
        f"{name:{width}s}  {value:12.6g}" + ("" if error is None else f"  ± {_two_digits(error)}")
        for name, value, error in written
    ]
    return "\n".join([title, *rows, *([note] if note else [])])


def _two_digits(error: float) -> str:
    """Format with two significant digits and no exponent: 360 instead of 3.6e+02."""
    return f"{float(f'{error:.2g}'):.6g}"


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view

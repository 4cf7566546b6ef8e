"""The rows of a request as numbers for a predictor, and as a table for the model itself."""

import contextlib
import difflib
import importlib
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from weald.data import RowReader
from weald.data.frame_library import frame_library
from weald.ensembles.base import TreeModel
from weald.errors import listing
from weald.service.columns import column_plan, input_columns
from weald.service.refusals import Refused

Floats = NDArray[np.float64]

# What the row reader cannot read as it comes in JSON.
_CONVERTED = frozenset({"date", "duration", "unused"})


class RequestRows:
    """Converts rows of requests: arrays in the order of the fit, or objects by column name.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Attributes
    ----------
    columns : tuple of InputColumn
        The columns.
    names : tuple of str or None
        Their names, if the model was fitted with names.
    called : list of str
        Their names in answers.
    """

    def __init__(self, model: Any) -> None:
        plan = column_plan(model)
        self.columns = input_columns(model)
        has_names = getattr(model, "feature_names_in_", None) is not None
        self.called = [one.name for one in self.columns]
        self.names = tuple(self.called) if has_names else None
        self._reader = RowReader(plan, self.names)
        self._is_plain = plan.is_plain
        self._converted = [
            (place, one) for place, one in enumerate(self.columns) if one.kind in _CONVERTED
        ]
        self._library = frame_library() if has_names and passes_names_on(model) else None

    def numbers(self, rows: Sequence[Any]) -> Floats:
        """The numeric columns that trees split on."""
        found = [self._row(row, place) for place, row in enumerate(rows)]
        return found[0][np.newaxis] if len(found) == 1 else np.stack(found)

    def table(self, rows: Sequence[Any]) -> Any:
        """A table as the model takes it: an array, or a frame if names matter."""
        numbers = self.numbers(rows)  # checks all values
        if self._library is None and self._is_plain:
            return numbers
        values = [
            [
                column.value(one)
                for column, one in zip(self.columns, self._in_order(row, 0), strict=True)
            ]
            for row in rows
        ]
        if self._library is not None:
            return self._frame(values, self._library)
        table = np.empty((len(values), len(self.columns)), dtype=object)
        table[:] = values
        return table

    def _frame(self, values: list[list[Any]], library: str) -> Any:
        cells = zip(*values, strict=True)
        data = {
            column.name: column.cells(own) for column, own in zip(self.columns, cells, strict=True)
        }
        return nw.from_dict(data, native_namespace=importlib.import_module(library)).to_native()

    def _row(self, row: Any, place: int) -> Floats:
        values = self._in_order(row, place)
        try:
            for number, column in self._converted:
                values[number] = column.value(values[number])
            return self._reader.row(values)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._odd(row, place) or Refused(422, f"rows[{place}]: {error}") from None

    def _in_order(self, row: Any, place: int) -> list[Any]:
        """Values in the order of the columns."""
        if type(row) is list:
            if len(row) != len(self.columns):
                raise Refused(
                    422, f"rows[{place}] has {len(row)} values; the model has {len(self.columns)} "
                    "columns"
                )  # fmt: skip
            return [*row]
        if type(row) is not dict:
            raise Refused(422, f"rows[{place}] must be an object by column name, or an array")
        if self.names is None:
            raise Refused(
                422, f"rows[{place}] must be an array: the model was fitted without column names"
            )
        if len(row) == len(self.names):
            with contextlib.suppress(KeyError):
                return [row[name] for name in self.names]
        raise self._wrong_names(row, place, self.names)

    def _wrong_names(self, row: dict[str, Any], place: int, names: Sequence[str]) -> Refused:
        missing = [name for name in names if name not in row]
        unknown = [name for name in row if name not in set(names)]
        parts = []
        if missing:
            parts.append(f"has no value for {listing(missing)} (null is a missing value)")
        if unknown:
            near = difflib.get_close_matches(unknown[0], missing or names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            parts.append(f"names {listing(unknown)}, which the model does not know{hint}")
        return Refused(422, f"rows[{place}] {' and '.join(parts)}")

    def _odd(self, row: Any, place: int) -> Refused | None:
        """Name the first value of a row that its column does not take."""
        for column, value in zip(self.columns, self._in_order(row, place), strict=True):
            try:
                column.value(value)
            except ValueError as error:
                return Refused(422, f"rows[{place}]: {error}")
        return None


def passes_names_on(model: Any) -> bool:
    """Whether a model hands its table to other estimators, which look for its names."""
    return not isinstance(model, TreeModel)

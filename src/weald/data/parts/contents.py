"""Values of a column in a batch, and a running digest of them."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.data.columns import level_of
from weald.data.values import ArrayValues, Kind, Values, is_missing

# Kinds whose values are levels with codes.
CODED = (Kind.TEXT, Kind.CATEGORY, Kind.ORDERED)


class BatchValues:
    """A column of a batch: each accessor is computed once."""

    def __init__(self, values: Values, label: str) -> None:
        self._values, self.label = values, label
        self._kind: Kind | None = None
        self._coded: tuple[NDArray[Any], list[Any]] | None = None
        self._numbers: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self._values)

    @property
    def kind(self) -> Kind:
        if self._kind is None:
            self._kind = self._values.kind
        return self._kind

    def numbers(self) -> NDArray[Any]:
        if self._numbers is None:
            self._numbers = self._values.numbers()
        return self._numbers

    def coded(self) -> tuple[NDArray[Any], list[Any]]:
        if self._coded is None:
            self._coded = self._values.coded()
        return self._coded

    def moments(self, zone: str | None) -> Any:
        return self._values.moments(zone)

    def seconds(self) -> Any:
        return self._values.seconds()

    @property
    def zone(self) -> str | None:
        return self._values.zone

    @property
    def has_values(self) -> bool:
        """Whether any value is not missing."""
        if self.kind in CODED:
            codes, found = self.coded()
            occurs = np.zeros(len(found) + 1, dtype=bool)
            occurs[codes] = True  # the last entry is for code -1
            return any(not is_missing(found[i]) for i in np.flatnonzero(occurs[:-1]))
        numbers = self._content()
        missing = np.isnat(numbers) if numbers.dtype.kind == "M" else np.isnan(numbers)
        return not missing.all()

    def digest(self, before: int) -> int:
        """Continue a checksum of the column by the values of the batch, in their order."""
        if self.kind in CODED:
            codes, found = self.coded()
            marks = [0 if is_missing(one) else _mark(level_of(one)) for one in found]
            return zlib.crc32(np.array([*marks, 0], dtype=np.uint32)[codes].tobytes(), before)
        return zlib.crc32(np.ascontiguousarray(self._content()).view(np.uint8).data, before)

    def _content(self) -> NDArray[Any]:
        """Values of a column that has no levels, as floats or times."""
        if self.kind is Kind.MOMENT:
            times: NDArray[Any] = self.moments(self.zone)[0]
            return times
        array = self.seconds() if self.kind is Kind.SPAN else self.numbers()
        return np.asarray(array, dtype=np.float64)


def _mark(level: Any) -> int:
    return zlib.crc32(repr(level).encode(errors="surrogatepass"))


def without_values(values: BatchValues) -> Values:
    """A column that is missing in all rows of a batch, in a form that is read as any kind."""
    return ArrayValues(np.full(len(values), np.nan), values.label)

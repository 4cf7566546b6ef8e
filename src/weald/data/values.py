"""One column of a table in any container: its kind and its values."""

import datetime
import importlib
import numbers
from enum import Enum
from typing import Any, Protocol

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64] | NDArray[np.float32]
Moments = NDArray[np.datetime64]

_MISSING = -1  # code of missing values
_LARGEST = int(np.finfo(np.float64).max)


class Kind(Enum):
    """Kind of a column; the value is its name in messages."""

    NUMBER = "numbers"
    TEXT = "text"
    CATEGORY = "categories"
    ORDERED = "ordered categories"
    MOMENT = "dates or times"
    SPAN = "durations or times of day"


class Values(Protocol):
    """A column; each kind supports the accessors that suit it."""

    label: str  # name of the column in messages

    def __len__(self) -> int: ...
    @property
    def kind(self) -> Kind: ...
    def numbers(self) -> NDArray[Any]:
        """Return numbers of any dtype, without a copy if possible; missing values are NaN."""

    def coded(self) -> tuple[NDArray[Any], list[Any]]:
        """Return a code per row, -1 if missing, and the list of (ordered) values."""

    def moments(self, zone: str | None) -> tuple[Moments, Moments]:
        """Return times in UTC, and local times in `zone` (None: no time zone)."""

    def seconds(self) -> Floats:
        """Return durations, or times since midnight, in seconds."""

    @property
    def zone(self) -> str | None:
        """Time zone; None for naive times."""


def values_of(column: Any, label: str) -> Values:
    """Wrap a narwhals series or an array as `Values`."""
    if not isinstance(column, nw.Series):
        return ArrayValues(column, label)
    values = SeriesValues(column, label)
    if isinstance(values.dtype, (nw.Object, nw.Unknown)):
        # Python objects, pandas' sparse and period types, times of day, all-null columns.
        return ArrayValues(column.to_numpy(), label)
    return values


class SeriesValues:
    """A column of a pandas, polars or pyarrow frame."""

    def __init__(self, series: "nw.Series[Any]", label: str) -> None:
        self._series = series
        self.label = label
        self.dtype = series.dtype  # cached: constructed on each access

    def __len__(self) -> int:
        return len(self._series)

    @property
    def kind(self) -> Kind:
        dtype = self.dtype
        if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
            return Kind.NUMBER
        if isinstance(dtype, nw.String):
            return Kind.TEXT
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            return Kind.ORDERED if self._is_ordered() else Kind.CATEGORY
        if isinstance(dtype, (nw.Datetime, nw.Date)):
            return Kind.MOMENT
        if isinstance(dtype, (nw.Duration, getattr(nw, "Time", nw.Duration))):
            return Kind.SPAN
        raise TypeError(
            f"{self.label} holds {dtype}, which is not supported. Convert it to numbers, text, "
            "categories or dates, or drop it."
        )

    def _is_ordered(self) -> bool:
        native = self._series.to_native()
        if isinstance(self.dtype, nw.Enum):
            return True
        if nw.dependencies.is_pandas_series(native):
            return bool(getattr(native.dtype, "ordered", False))
        return nw.dependencies.is_pyarrow_chunked_array(native) and bool(native.type.ordered)

    def numbers(self) -> NDArray[Any]:
        series = self._series
        if isinstance(self.dtype, nw.Decimal):
            series = series.cast(nw.Float64)
        array = np.asarray(series.to_numpy())
        return ArrayValues(array, self.label).numbers() if array.dtype == object else array

    def coded(self) -> tuple[NDArray[Any], list[Any]]:
        native = self._series.to_native()
        if nw.dependencies.is_pandas_series(native):
            if hasattr(native.dtype, "categories"):
                # The codes of the array, because those of the series are a copy.
                return native.array.codes, native.array.categories.tolist()
            codes, values = native.factorize()
            return codes, values.tolist()
        if nw.dependencies.is_polars_series(native):
            return _coded_polars(native)
        if nw.dependencies.is_pyarrow_chunked_array(native):
            return _coded_arrow(native)
        return ArrayValues(self._series.to_numpy(), self.label).coded()

    @property
    def zone(self) -> str | None:
        return getattr(self.dtype, "time_zone", None)

    def moments(self, zone: str | None) -> tuple[Moments, Moments]:
        series = self._series
        if self.zone is None:
            wall = _microseconds(series.to_numpy())
            return wall, wall
        utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        local = series.dt.convert_time_zone(zone or self.zone).dt.replace_time_zone(None)
        return _microseconds(utc.to_numpy()), _microseconds(local.to_numpy())

    def seconds(self) -> Floats:
        return _seconds_of(self._series.to_numpy())


def _coded_polars(series: Any) -> tuple[NDArray[Any], list[Any]]:
    polars = importlib.import_module("polars")
    if isinstance(series.dtype, polars.Enum):
        values = series.dtype.categories.to_list()
        codes = series.to_physical().cast(polars.Int64).fill_null(_MISSING).to_numpy()
        return codes, values
    if series.dtype == polars.String:
        series = series.cast(polars.Categorical)
    codes = series.to_physical().cast(polars.Int64).fill_null(_MISSING).to_numpy()
    # The string cache may be global: select the categories that occur here.
    compact, at = _compact(codes)
    return compact, series.gather(at).cast(polars.String).to_list()


def _compact(codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Renumber codes without gaps, and return a row in which each occurs."""
    if not len(codes):
        return codes, codes
    row_of = np.full(int(codes.max()) + 2, -1, dtype=np.int64)
    row_of[codes] = np.arange(len(codes))
    row_of = row_of[:-1]  # drop the entry of missing values
    present = np.flatnonzero(row_of >= 0)
    new = np.full(len(row_of) + 1, _MISSING, dtype=np.int64)
    new[present] = np.arange(len(present))
    return new[codes], row_of[present]


def _coded_arrow(column: Any) -> tuple[NDArray[Any], list[Any]]:
    pyarrow = importlib.import_module("pyarrow")
    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    # Chunks may have different dictionaries.
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
    # Indices may be unsigned, as written by polars.
    parts = [chunk.indices.cast("int64").fill_null(_MISSING).to_numpy() for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), values


class ArrayValues:
    """A 1-D NumPy array; objects are inspected one by one."""

    def __init__(self, array: NDArray[Any], label: str) -> None:
        self._array = array
        self.label = label

    def __len__(self) -> int:
        return len(self._array)

    @property
    def kind(self) -> Kind:
        kinds = {"M": Kind.MOMENT, "m": Kind.SPAN, "U": Kind.TEXT}
        letter = self._array.dtype.kind
        if letter in "biuf":
            return Kind.NUMBER
        if letter == "O":
            return self._kind_of_objects()
        if letter in kinds:
            return kinds[letter]
        raise TypeError(
            f"{self.label} holds values of the type {self._array.dtype}, which is not supported. "
            "Convert it to numbers, text or dates first."
        )

    def _kind_of_objects(self) -> Kind:
        found: Kind | None = None
        for row, value in enumerate(self._array):
            if is_missing(value):
                continue
            kind = _kind_of(value)
            if kind is None:
                raise TypeError(
                    f"{self.label} holds a {type(value).__name__} in row {row}; the argument must "
                    "be a string or a number, or a date. Convert the column first."
                )
            if found not in (None, kind):
                assert found is not None
                raise TypeError(
                    f"{self.label} mixes {found.value} and {kind.value} ({value!r} in row {row}). "
                    "Convert all of its values to one kind, for example to text by .astype(str)."
                )
            found = kind
        return found or Kind.NUMBER

    def numbers(self) -> NDArray[Any]:
        if self._array.dtype != object:
            return self._array
        try:
            return np.array([np.nan if is_missing(v) else float(v) for v in self._array])
        except OverflowError as error:
            row = next(row for row, v in enumerate(self._array) if abs(v) > _LARGEST)
            raise ValueError(
                f"{self.label} holds an integer too large for float64 in row {row}. Scale the "
                "column, or convert it to text, so that its values are categories."
            ) from error

    def coded(self) -> tuple[NDArray[Any], list[Any]]:
        array = self._array
        if array.dtype != object:
            values, codes = np.unique(array, return_inverse=True)
            codes = codes.reshape(-1)
            if array.dtype.kind == "f" and len(values) and np.isnan(values[-1]):
                codes = np.where(np.isnan(array), _MISSING, codes)
                values = values[~np.isnan(values)]
            return codes, values.tolist()
        place: dict[Any, int] = {}
        codes = np.array(
            [_MISSING if is_missing(v) else place.setdefault(v, len(place)) for v in array],
            dtype=np.int64,
        )
        return codes, list(place)

    @property
    def zone(self) -> str | None:
        if self._array.dtype == object:
            zones = {str(v.tzinfo) for v in self._array if getattr(v, "tzinfo", None) is not None}
            if len(zones) > 1:
                return "UTC"
            return zones.pop() if zones else None
        return None

    def moments(self, zone: str | None) -> tuple[Moments, Moments]:
        if self._array.dtype != object or self.zone is None:
            wall = _microseconds(self._array)
            return wall, wall
        utc = [v if is_missing(v) else _in_zone(v, "UTC") for v in self._array]
        local = [v if is_missing(v) else _in_zone(v, zone) for v in self._array]
        return _microseconds(_objects(utc)), _microseconds(_objects(local))

    def seconds(self) -> Floats:
        return _seconds_of(self._array)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _kind_of(value: Any) -> Kind | None:
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, numbers.Real) or type(value).__name__ == "Decimal":
        return Kind.NUMBER
    if isinstance(value, (datetime.date, np.datetime64)):
        return Kind.MOMENT
    if isinstance(value, (datetime.timedelta, datetime.time, np.timedelta64)):
        return Kind.SPAN
    return Kind.NUMBER if isinstance(value, np.bool_) else None


def _in_zone(moment: datetime.datetime, zone: str | None) -> datetime.datetime:
    from zoneinfo import ZoneInfo

    return moment if zone is None else moment.astimezone(ZoneInfo(zone))


def _microseconds(array: NDArray[Any]) -> Moments:
    """Convert times of any unit, or Python objects, to datetime64[us]."""
    if array.dtype != object:
        return array.astype("M8[us]")
    plain = [
        "NaT" if is_missing(v) else v.replace(tzinfo=None) if hasattr(v, "tzinfo") else v
        for v in array
    ]
    return np.array([np.datetime64(v, "us") for v in plain], dtype="M8[us]")


def _seconds_of(array: NDArray[Any]) -> Floats:
    if array.dtype.kind == "m":
        seconds: Floats = array / np.timedelta64(1, "s")
        return seconds
    return np.array([np.nan if is_missing(v) else _seconds(v) for v in array])


def _seconds(value: Any) -> float:
    if isinstance(value, datetime.time):
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return whole + value.microsecond / 1e6
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    return float(value.total_seconds())

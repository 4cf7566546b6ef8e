"""The columns that a service takes: their values in JSON, and typical values."""

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from weald.data import ColumnPlan, plan_of
from weald.data.columns import Category, Column, Level, Moment, Number, Ordered, Span
from weald.data.level_means import CodedCategory
from weald.ensembles.base import TreeModel
from weald.errors import shown
from weald.trees import Forest

Floats = NDArray[np.float64]
Json = dict[str, Any]

_LARGEST = float(np.finfo(np.float64).max)
# Durations are microseconds in 64 bits.
_LONGEST = 9e12

_LEAP_YEAR = "([12][0-9](0[48]|[2468][048]|[13579][26])|(1[26]|2[048])00)"
_DAY = (
    "([12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_OFFSET = "(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"
# Dates as JSON schema and this module understand them.
_LOCAL, _ZONED = f"^{_DAY}([T ]{_CLOCK})?$", f"^{_DAY}[T ]{_CLOCK}{_OFFSET}$"


@dataclass(frozen=True)
class InputColumn:
    """A column of the model, as requests name and fill it.

    Attributes
    ----------
    name : str
        Its name, or "column 0" and so on if the model was fitted without names.
    kind : str
        number, category, ordered (categories), date, duration, or unused: it had no value in fit.
    levels : tuple or None
        Its categories.
    zone : str or None
        Time zone of a date column.
    typical : str, float or None
        A value that is neither low nor high among those at which the trees split.
    """

    name: str
    kind: str
    levels: tuple[Level, ...] | None
    zone: str | None
    typical: Level | None

    def value(self, given: Any) -> Any:
        """The value of a table that a JSON value stands for; ValueError says what was expected."""
        if given is None:
            return None
        if isinstance(given, (list, dict)):
            raise ValueError(f"{self._expected()}; got {_kind_of(given)}")
        if self.kind == "date":
            return self._moment(given)
        if self.kind == "unused":
            return None
        if self.kind in ("category", "ordered"):
            return self._level(given)
        if isinstance(given, str):
            raise ValueError(f"{self._expected()}; got {_kind_of(given)}")
        largest = _LONGEST if self.kind == "duration" else _LARGEST
        if abs(given) > largest:
            raise ValueError(f"{self._expected()} of at most {largest:.4g}; got a larger one")
        if self.kind == "duration":
            return np.timedelta64(round(given * 1e6), "us")
        return given

    def _moment(self, given: Any) -> datetime.datetime:
        pattern = _LOCAL if self.zone is None else _ZONED
        # fullmatch: `$` alone admits a line break.
        if isinstance(given, str) and re.fullmatch(pattern, given, re.ASCII):
            return datetime.datetime.fromisoformat(given)
        raise ValueError(f"{self._expected()}; got {_kind_of(given)}")

    def _level(self, given: Any) -> Any:
        if self.levels and isinstance(self.levels[0], str) != isinstance(given, str):
            raise ValueError(f"{self._expected()}; got {_kind_of(given)}")
        if not isinstance(given, str) and abs(given) > _LARGEST:
            raise ValueError(f"{self._expected()} of at most {_LARGEST:.4g}; got a larger one")
        return given

    def cells(self, values: Sequence[Any]) -> Any:
        """A column of a data frame with values that `value` has returned."""
        if all(one is None for one in values):
            return np.full(len(values), np.nan)
        if self.kind == "date":
            zone = None if self.zone is None else ZoneInfo(self.zone)
            return [one if one is None or zone is None else one.astimezone(zone) for one in values]
        if self.kind == "duration":
            missing = np.timedelta64("NaT", "us")
            return np.array([missing if one is None else one for one in values])
        if any(isinstance(one, str) for one in values):
            return list(values)
        return np.array(values, dtype=np.float64)

    def _expected(self) -> str:
        if self.kind in ("category", "ordered"):
            text = not self.levels or isinstance(self.levels[0], str)
            return f"column {self.name!r} takes {'text' if text else 'numbers'} or null"
        if self.kind == "date":
            how = "without an offset" if self.zone is None else "with an offset, as +01:00 or Z"
            return (
                f"column {self.name!r} takes an ISO 8601 date and time {how}, of the "
                "years 1000 to 2999, or null"
            )
        unit = " of seconds" if self.kind == "duration" else ""
        return f"column {self.name!r} takes a number{unit} or null"

    def schema(self) -> Json:
        """JSON schema of its values."""
        # Of finite doubles; their limits would be noise here.
        number = {"type": ["number", "boolean", "null"]}
        text = {"type": ["string", "null"]}
        if self.kind == "number":
            return number
        if self.kind == "duration":
            return {
                "type": ["number", "boolean", "null"],
                "minimum": -_LONGEST,
                "maximum": _LONGEST,
                "description": "Seconds.",
            }
        if self.kind == "unused":
            return {
                "type": ["number", "boolean", "string", "null"],
                "description": "Not used: the column had no value when the model was fitted.",
            }
        if self.kind == "date":
            return self._date_schema()
        if not self.levels:
            return {"type": ["number", "boolean", "string", "null"]}
        own = text if isinstance(self.levels[0], str) else number
        few = list(self.levels[:20])
        note = f"One of {len(self.levels)} categories; any other is treated as missing."
        return {**own, "examples": few, "description": note}

    def _date_schema(self) -> Json:
        if self.zone is None:
            pattern, note = _LOCAL, "ISO 8601 date, or date and time without an offset."
        else:
            pattern = _ZONED
            note = f"ISO 8601 date and time with an offset; hours count in {self.zone}."
        return {"type": ["string", "null"], "pattern": pattern, "description": note}


def _kind_of(given: Any) -> str:
    """Name a JSON value in messages."""
    if isinstance(given, str):
        return f"the text {shown(given if len(given) <= 40 else given[:40] + '…')}"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (list, dict)):
        return "an array" if isinstance(given, list) else "an object"
    return "a number"


# ---- the columns of a model ----


def input_columns(model: Any) -> tuple[InputColumn, ...]:
    """The columns of a fitted model of any kind."""
    plan = column_plan(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"column {i}" for i in range(len(plan.columns))]
    splits = _splits(model, len(plan.columns))
    return tuple(
        _input_column(str(name), column, thresholds)
        for name, column, thresholds in zip(names, plan.columns, splits, strict=True)
    )


def _input_column(name: str, column: Column, thresholds: list[Floats]) -> InputColumn:
    middle = _middle(np.concatenate([*thresholds, np.empty(0)]))
    if isinstance(column, Number):
        return InputColumn(
            name, "number" if column.has_values else "unused", None, None, _rounded(middle)
        )
    if isinstance(column, Moment):
        return InputColumn(name, "date", None, column.zone, _date_text(middle, column.zone))
    if isinstance(column, Span):
        return InputColumn(name, "duration", None, None, _rounded(middle))
    if isinstance(column, Ordered):
        levels = column.order
        typical = levels[len(levels) // 2] if levels else None
        return InputColumn(name, "ordered", levels, None, typical)
    assert isinstance(column, Category)
    levels = column.known if isinstance(column, CodedCategory) else column.levels
    return InputColumn(name, "category", levels, None, levels[0] if levels else None)


def _middle(thresholds: Floats) -> float | None:
    """The median; of a column of whole numbers, which are split between two, a whole number."""
    known = thresholds[np.isfinite(thresholds)]
    if not len(known):
        return None
    middle = float(np.median(known))
    return float(np.floor(middle)) if (2 * known == np.round(2 * known)).all() else middle


def _rounded(value: float | None) -> float | None:
    """With four digits, as somebody would type it."""
    return None if value is None else float(f"{value:.4g}")


def _date_text(seconds: float | None, zone: str | None) -> str | None:
    if seconds is None or not math.isfinite(seconds) or abs(seconds) > 1e11:
        return None
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=round(seconds))
    return day.isoformat() + ("" if zone is None else "+00:00")


def column_plan(model: Any) -> ColumnPlan:
    """The column plan of a model; that of an ensemble of any estimators is the one of its members.

    Columns that no member has seen take any value.
    """
    if _has_own_plan(model):
        return plan_of(model)
    columns: list[Column] = [Number(has_values=False)] * model.n_features_in_
    found = False
    for member, seen in _members(model):
        for place, column in zip(seen, column_plan(member).columns, strict=True):
            known = columns[place]
            if isinstance(known, Number) and not known.has_values:
                columns[place] = column
        found = True
    return ColumnPlan(tuple(columns)) if found else ColumnPlan.of_numbers(model.n_features_in_)


def _has_own_plan(model: Any) -> bool:
    return isinstance(model, TreeModel) or hasattr(model, "_columns")


def _members(model: Any) -> Iterator[tuple[Any, Sequence[int]]]:
    """Base estimators that were fitted on columns of the model's table, and on which ones."""
    members = getattr(model, "estimators_", [])
    features = getattr(model, "estimators_features_", None)
    for number, member in enumerate(members):
        one = member[1] if isinstance(member, tuple) else member
        if hasattr(one, "estimators_") and not hasattr(one, "n_features_in_"):  # models of folds
            one = one.estimators_[0]
        width = getattr(one, "n_features_in_", None)
        seen = range(model.n_features_in_) if features is None else features[number].tolist()
        if width == len(seen):
            yield one, seen


def _splits(model: Any, n_columns: int) -> list[list[Floats]]:
    """Thresholds of the trees by input column; of dates, in seconds."""
    found: list[list[Floats]] = [[] for _ in range(n_columns)]
    forest = getattr(model, "forest_", None)
    if isinstance(forest, Forest) and _has_own_plan(model):
        owner = plan_of(model).owner
        if len(owner) == forest.n_columns:
            _, first = np.unique(owner, return_index=True)
            for column, part in enumerate(first.tolist()):
                found[column].append(forest.threshold[forest.feature == part])
        return found
    for member, seen in _members(model):
        for place, own in zip(seen, _splits(member, len(seen)), strict=True):
            found[place] += own
    return found

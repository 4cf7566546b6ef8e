"""Declarative constraints on constructor parameters, which `fit` checks."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator

from weald.errors import wrong_parameter

# Maximum number of rows the core draws for one base estimator.
MOST_DRAWS = 2**36


class Limit(Protocol):
    """Constraint on a parameter: a description and a test."""

    @property
    def expected(self) -> str: ...

    def admits(self, value: object) -> bool: ...


@runtime_checkable
class Advises(Protocol):
    """A constraint that can say what may have been meant by a value that it rejects."""

    def advice(self, value: object) -> str: ...


@runtime_checkable
class Dependent(Protocol):
    """A constraint that admits more values beside certain values of other parameters."""

    def beside(self, parameters: Mapping[str, Any]) -> Limit: ...


@dataclass(frozen=True)
class Whole:
    """An integer in [least, most]."""

    least: int
    most: int | None = None

    @property
    def expected(self) -> str:
        upper = "inf)" if self.most is None else f"{self.most}]"
        return f"an int in the range [{self.least}, {upper}"

    def admits(self, value: object) -> bool:
        if not isinstance(value, numbers.Integral) or isinstance(value, (bool, np.bool_)):
            return False
        return self.least <= int(value) and (self.most is None or int(value) <= self.most)


@dataclass(frozen=True)
class Real:
    """A finite number from `least` to `most`; `open_below` and `open_above` exclude the bounds."""

    least: float
    most: float | None = None
    open_below: bool = False
    open_above: bool = False

    @property
    def expected(self) -> str:
        lower = f"{'(' if self.open_below else '['}{self.least}"
        upper = "inf)" if self.most is None else f"{self.most}{')' if self.open_above else ']'}"
        return f"a float in the range {lower}, {upper}"

    def admits(self, value: object) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:  # an int or Fraction out of the range of floats
            return False
        above = number > self.least if self.open_below else number >= self.least
        if self.most is None:
            below = True
        else:
            below = number < self.most if self.open_above else number <= self.most
        return math.isfinite(number) and above and below


@dataclass(frozen=True)
class Levels:
    """Strictly increasing numbers between 0 and 1."""

    expected: str = "a list of strictly increasing floats in the range (0.0, 1.0)"

    def admits(self, value: object) -> bool:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (list, tuple)) or not value:
            return False
        inside = Real(0.0, 1.0, open_below=True, open_above=True)
        if not all(inside.admits(level) for level in value):
            return False
        return all(low < high for low, high in pairwise(value))


@dataclass(frozen=True)
class Share(Real):
    """A float in a range; integers are rejected because they mean a count."""

    def admits(self, value: object) -> bool:
        return not isinstance(value, numbers.Integral) and super().admits(value)


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    values: tuple[bool | str, ...]

    @property
    def expected(self) -> str:
        return f"one of {', '.join(repr(value) for value in self.values)}"

    def admits(self, value: object) -> bool:
        # Accept np.bool_ and np.str_ (from parameter grids), but not 0 and 1 for False and True.
        kinds = {bool: (bool, np.bool_), str: (str,)}
        return any(isinstance(value, kinds[type(one)]) and value == one for one in self.values)


@dataclass(frozen=True)
class NoneOr:
    """None, or a value that another constraint accepts."""

    limit: Limit

    @property
    def expected(self) -> str:
        return f"{self.limit.expected} or None"

    def admits(self, value: object) -> bool:
        return value is None or self.limit.admits(value)


@dataclass(frozen=True)
class AnyOf:
    """A value that one of several constraints accepts."""

    limits: tuple[Limit, ...]

    @property
    def expected(self) -> str:
        return " or ".join(limit.expected for limit in self.limits)

    def admits(self, value: object) -> bool:
        return any(limit.admits(value) for limit in self.limits)


@dataclass(frozen=True)
class ObjectWith:
    """An instance with certain methods, such as an estimator."""

    methods: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"an object with the methods {', '.join(self.methods)}"

    def admits(self, value: object) -> bool:
        if isinstance(value, type):
            return False
        return all(callable(getattr(value, method, None)) for method in self.methods)


@dataclass(frozen=True)
class CallableOr:
    """A callable, or a value that another constraint accepts."""

    limit: Limit

    @property
    def expected(self) -> str:
        return f"{self.limit.expected} or a callable"

    def admits(self, value: object) -> bool:
        return (callable(value) and not isinstance(value, type)) or self.limit.admits(value)


@dataclass(frozen=True)
class ClassWeight:
    """A dict of class weights, or one of a few strings."""

    values: tuple[str, ...]
    several: bool = False  # also accept a list with one entry per output

    @property
    def expected(self) -> str:
        words = ", ".join(repr(value) for value in self.values)
        lists = ", a list of these, one for each output," if self.several else ","
        return f"a non-empty dict of labels and non-negative numbers{lists} one of {words} or None"

    def admits(self, value: object) -> bool:
        if isinstance(value, list) and self.several:
            one = ClassWeight(("balanced",))
            return len(value) > 0 and all(one.admits(weights) for weights in value)
        if isinstance(value, Mapping):
            return len(value) > 0 and all(Real(0.0).admits(one) for one in value.values())
        return value is None or (isinstance(value, str) and value in self.values)


@dataclass(frozen=True)
class Seed:
    """A random_state as in scikit-learn."""

    expected: str = "an int in the range [0, 4294967295], a RandomState instance or None"

    def admits(self, value: object) -> bool:
        return (
            value is None
            or isinstance(value, np.random.RandomState)
            or Whole(0, 2**32 - 1).admits(value)
        )


@dataclass(frozen=True)
class Jobs:
    """A number of threads: a non-zero integer or None."""

    expected: str = "a non-zero int or None"

    def admits(self, value: object) -> bool:
        if value is None:
            return True
        is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return is_whole and value != 0


@dataclass(frozen=True)
class Columns:
    """A selection of columns: 'from_dtype', names, positions or a boolean mask."""

    expected: str = (
        "'from_dtype', a list of column names, of positions or of booleans (one per column), "
        "or None"
    )

    def admits(self, value: object) -> bool:
        if value is None or (isinstance(value, str) and value == "from_dtype"):
            return True
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, (list, tuple, set, frozenset, range)) or not value:
            return False
        kinds = {self._kind(entry) for entry in value}
        return len(kinds) == 1 and None not in kinds

    @staticmethod
    def _kind(entry: object) -> str | None:
        if isinstance(entry, (bool, np.bool_)):
            return "boolean"
        if isinstance(entry, numbers.Integral):
            return "position"
        return "name" if isinstance(entry, str) else None


@dataclass(frozen=True)
class ColumnDirections:
    """Monotonic constraints: 1 increasing, -1 decreasing, 0 none; an array or a dict by column."""

    expected: str = "an array of -1, 0 and 1, one per column, or a dict of columns and these"

    def admits(self, value: object) -> bool:
        entries: object = value
        if isinstance(value, Mapping):
            if not all(isinstance(key, (str, numbers.Integral)) for key in value):
                return False
            entries = list(value.values())
        if isinstance(entries, np.ndarray):
            entries = entries.tolist()
        if not isinstance(entries, (list, tuple)) or not entries:
            return False
        return all(isinstance(one, numbers.Real) and self._is_direction(one) for one in entries)

    @staticmethod
    def _is_direction(one: numbers.Real) -> bool:
        return not isinstance(one, (bool, np.bool_)) and one in (-1, 0, 1)


@dataclass(frozen=True)
class ColumnGroups:
    """Groups of columns, by name or position, or one of a few strings."""

    values: tuple[str, ...]

    @property
    def expected(self) -> str:
        words = ", ".join(repr(value) for value in self.values)
        return f"one of {words} or a list of non-empty groups of column names or positions"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self.values
        if not isinstance(value, (list, tuple)) or not value:
            return False
        return all(self._is_group(group) for group in value)

    @staticmethod
    def _is_group(group: object) -> bool:
        if not isinstance(group, (list, tuple, set, frozenset, range, np.ndarray)) or not len(
            group
        ):
            return False
        return all(
            isinstance(entry, (str, numbers.Integral)) and not isinstance(entry, (bool, np.bool_))
            for entry in group
        )


def check_parameters(owner: object, limits: Mapping[str, Limit]) -> None:
    """Raise ValueError for the first parameter of `owner` that violates its constraint."""
    parameters = _parameters_of(owner)
    for name, value in parameters.items():
        if limits[name].admits(value):
            continue
        limit = _beside(limits[name], parameters)
        if not limit.admits(value):
            message = wrong_parameter(owner, name, limit.expected, value)
            raise ValueError(f"{message} {_advice(limit, value)}".rstrip())


def _beside(limit: Limit, parameters: Mapping[str, Any]) -> Limit:
    """The limit, which may admit more values given those of the other parameters."""
    if isinstance(limit, NoneOr):
        return NoneOr(_beside(limit.limit, parameters))
    return limit.beside(parameters) if isinstance(limit, Dependent) else limit


def _advice(limit: Limit, value: object) -> str:
    inner = limit.limit if isinstance(limit, NoneOr) else limit
    return inner.advice(value) if isinstance(inner, Advises) else ""


# Parameter names by class. Cached, because get_params inspects the signature on every call, which
# takes as long as growing five small trees.
_NAMES: "WeakKeyDictionary[type, list[str]]" = WeakKeyDictionary()


def _parameters_of(owner: Any) -> dict[str, Any]:
    of_class = type(owner)
    if of_class.get_params is not BaseEstimator.get_params:
        own: dict[str, Any] = owner.get_params(deep=False)
        return own
    if of_class not in _NAMES:
        _NAMES[of_class] = list(owner.get_params(deep=False))
    return {name: getattr(owner, name) for name in _NAMES[of_class]}


@dataclass(frozen=True)
class Verbosity:
    """A verbosity: a bool or a non-negative integer."""

    expected: str = "a bool or an int in the range [0, inf)"

    def admits(self, value: object) -> bool:
        return isinstance(value, (bool, np.bool_)) or Whole(0).admits(value)


@dataclass(frozen=True)
class Members:
    """A list of (name, estimator) pairs; the pairs themselves are checked later."""

    expected: str = "a non-empty list of (name, estimator) pairs"

    def admits(self, value: object) -> bool:
        return isinstance(value, (list, tuple)) and len(value) > 0


@dataclass(frozen=True)
class Layers:
    """A list of layers, each a list of (name, estimator) pairs."""

    expected: str = "a list of layers, each a non-empty list of (name, estimator) pairs"

    def admits(self, value: object) -> bool:
        is_list = isinstance(value, (list, tuple)) and len(value) > 0
        return is_list and all(Members().admits(layer) for layer in value)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class NumbersOr:
    """An array of finite, non-negative numbers, or one of a few strings."""

    values: tuple[str, ...]

    @property
    def expected(self) -> str:
        words = ", ".join(repr(value) for value in self.values)
        return f"an array of finite non-negative numbers, not all zero, or {words}"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self.values
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return False
        is_list = numbers.ndim == 1 and numbers.size > 0
        return is_list and bool(
            np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.any()
        )


@dataclass(frozen=True)
class EstimatorOr:
    """An estimator, or one of a few strings."""

    values: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"an estimator or one of {', '.join(repr(value) for value in self.values)}"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self.values
        return hasattr(value, "fit") and not isinstance(value, type)


@dataclass(frozen=True)
class Folds:
    """A cv parameter as in scikit-learn: an int, a splitter, splits, or one of a few strings."""

    values: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        words = "".join(f", {value!r}" for value in self.values)
        return f"an int in the range [2, inf), a splitter with a split method, splits{words}"

    def admits(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self.values
        if isinstance(value, (np.ndarray, dict, bytes)) or value == []:
            return False
        return Whole(2).admits(value) or hasattr(value, "split") or hasattr(value, "__iter__")


@dataclass(frozen=True)
class Ways:
    """A list of diversifiers: objects with a `vary` method."""

    expected: str = "a non-empty list of diversifiers, objects with a method vary"

    def admits(self, value: object) -> bool:
        is_list = isinstance(value, (list, tuple)) and len(value) > 0
        return is_list and all(
            callable(getattr(way, "vary", None)) and not isinstance(way, type)
            for way in value  # type: ignore[attr-defined]
        )

"""Fitted models to JSON and arrays, and back: no pickle, no code.

Only classes of `weald.persist.kinds` are read. The JSON of an object is
``{"kind": name, "state": {...}}``; tuples, dicts, NumPy scalars and so on are objects with the key
"is". What is decoded is checked against the annotations of its class.
"""

import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from weald.checked_state import CheckedState, check_fields, field_types
from weald.errors import ModelFormatError, shown
from weald.persist.kinds import class_of, kind_of
from weald.persist.not_saved import NotSaved

# Attributes with targets of training rows, or with hashes and draws of rows: what out-of-bag
# estimates, intervals and `refit_final` need.
_ROW_RECORDS = ("_record", "_folds", "_final_input")
_OPTIMIZER = "_optimizer"  # of scikit-learn's MLPs, which make another when training goes on
_DRAWS = "_ledger"  # a list of (index of the first tree, draws)

# Entries of arrays that are made, each of about 18 bytes: so many per byte of the file, and so many
# in any file. What `save` writes stays below: see `weald.trees.compact`.
_MOST_A_BYTE, _MOST_FREE = 10 / 18, 2**26 // 24
_OF_OBJECT, _OF_ARRAYS, _OF_RANDOM_STATE = 10, 300, 300

_DTYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|O)")  # of scikit-learn's imputer

_NAMED_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """Converts values to JSON; arrays are collected by name, equal ones once.

    Parameters
    ----------
    row_records : bool
        Whether the model's records of its training rows are kept.
    """

    def __init__(self, *, row_records: bool) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._row_records = row_records
        self._name_of_content: dict[tuple[Any, ...], str] = {}
        self._number_of_object: dict[int, int] = {}
        self._alive: list[Any] = []  # ids of objects are unique only while these live

    def encode(self, value: Any, where: str) -> Any:
        """JSON of a value; `where` is its place in the model, for errors."""
        if value is None or (isinstance(value, (bool, str)) and type(value) in (bool, str)):
            return value
        if type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if type(value) is list:
            return [self.encode(one, f"{where}[{i}]") for i, one in enumerate(value)]
        if type(value) in (tuple, set, frozenset):
            items = [self.encode(one, f"{where}[{i}]") for i, one in enumerate(value)]
            return {"is": type(value).__name__, "items": items}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"is": "scalar", "value": self._array(np.asarray(value), where)}
        if isinstance(value, dict) and type(value) in (dict, Bunch):
            items = [
                [self.encode(key, f"a key of {where}"), self.encode(one, f"{where}[{key!r}]")]
                for key, one in value.items()
            ]
            return {"is": "bunch" if type(value) is Bunch else "dict", "items": items}
        if isinstance(value, np.dtype) and _DTYPE.fullmatch(value.str):
            return {"is": "dtype", "name": value.str}
        if isinstance(value, types.MappingProxyType):
            return self.encode(dict(value), where)
        if isinstance(value, slice) and value == slice(None):
            return {"is": "all"}
        if isinstance(value, np.random.RandomState):
            return {"is": "random_state", "items": self.encode(list(value.get_state()), where)}
        if isinstance(value, NotSaved):
            return {"is": "not_saved"}
        return self._object(value, where)

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind == "O":
            items = [self.encode(one, f"{where}[{i}]") for i, one in enumerate(array.ravel())]
            return {"is": "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind not in "biufU":
            raise _cannot_save(array, where, f"an array of {array.dtype}")
        content = (array.dtype.str, array.shape, blake2b(array.tobytes(), digest_size=16).digest())
        name = self._name_of_content.setdefault(content, str(len(self.arrays)))
        self.arrays.setdefault(name, array)
        return {"is": "array", "name": name}

    def _object(self, value: Any, where: str) -> Any:
        kind = kind_of(type(value))
        if kind is None:
            raise _cannot_save(value, where, f"{type(value).__module__}.{type(value).__name__}")
        if id(value) in self._number_of_object:
            return {"is": "same", "number": self._number_of_object[id(value)]}
        state = {
            name: self.encode(one, f"{where}.{name}") for name, one in self._state(value).items()
        }
        self._number_of_object[id(value)] = len(self._number_of_object)
        self._alive.append(value)
        return {"kind": kind, "state": state}

    def _state(self, value: Any) -> Mapping[str, Any]:
        if isinstance(value, BaseEstimator):
            kept = vars(value).keys() - {_OPTIMIZER}
            state = {name: one for name, one in value.__getstate__().items() if name in kept}
            return state if self._row_records else _without_row_records(state)
        if "__getstate__" in _own_names(type(value)):
            own: Mapping[str, Any] = value.__getstate__()
            return own
        if not is_dataclass(value):
            return dict(vars(value))
        return {one.name: getattr(value, one.name) for one in fields(value) if one.init}


def _own_names(cls: type[Any]) -> set[str]:
    """Names defined by a class or its bases, without those of `object`."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)}


def _without_row_records(state: dict[str, Any]) -> dict[str, Any]:
    """The fitted attributes without records of the training rows."""
    kept = dict(state)
    for name in _ROW_RECORDS:
        if kept.get(name) is not None:
            kept[name] = NotSaved()
    if _DRAWS in kept:
        kept[_DRAWS] = [(first, draws and NotSaved()) for first, draws in kept[_DRAWS]]
    return kept


def _cannot_save(value: Any, where: str, what: str) -> ModelFormatError:
    hint = "Pickle the model instead, or replace it."
    if callable(value) and not isinstance(value, BaseEstimator):
        hint = "A model file holds no code: use a name instead of a function, or pickle the model."
    elif isinstance(value, BaseEstimator):
        hint = (
            "A model file holds weald's estimators and those of scikit-learn that predict by "
            "NumPy alone (linear models, naive Bayes, MLP, scalers, pipelines of them). Pickle "
            "the model instead."
        )
    return ModelFormatError(f"{where} is {what}, which cannot be saved. {hint}")


class Decoder:
    """Inverts `Encoder`; raises ModelFormatError for anything that it cannot have written."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], size: int) -> None:
        self._arrays = arrays
        self._left_to_make = _MOST_A_BYTE * size + _MOST_FREE
        self._n_unowned = 0
        self._objects: list[Any] = []
        self._not_saved = NotSaved()
        self._left_to_copy = sum(one.nbytes for one in arrays.values())

    def decode(self, value: dict[str, Any]) -> Any:
        """The value of a JSON object, in which those within it were decoded before."""
        try:
            return self._decoded(value)
        except (ModelFormatError, MemoryError):
            raise
        except Exception as error:  # whatever inconsistent content leads to
            raise ModelFormatError(f"its content is not a sound model: {error!r}.") from error

    def _decoded(self, value: dict[str, Any]) -> Any:
        if value.keys() == {"kind", "state"}:
            return self._object(value["kind"], value["state"])
        if "is" not in value:
            self._n_unowned += 1
            if self._n_unowned > 2:  # the state of an object that ends here, or the whole
                raise ModelFormatError("the file has a JSON object of no kind.")
            return value
        what = value["is"]
        read: Callable[[dict[str, Any]], Any] | None = None
        if isinstance(what, str):
            read = getattr(self, f"_read_{what}", None)
        if read is None:
            raise ModelFormatError(f"the file has a value of an unknown kind: {shown(what)}.")
        return read(value)

    def _read_float(self, value: dict[str, Any]) -> float:
        return _NAMED_FLOATS[value["value"]]

    def _read_tuple(self, value: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(_list(value["items"]))

    def _read_set(self, value: dict[str, Any]) -> set[Any]:
        return set(_list(value["items"]))

    def _read_frozenset(self, value: dict[str, Any]) -> frozenset[Any]:
        return frozenset(self._read_set(value))

    def _read_dict(self, value: dict[str, Any]) -> dict[Any, Any]:
        return dict(_list(value["items"]))

    def _read_bunch(self, value: dict[str, Any]) -> Bunch:
        return Bunch(**self._read_dict(value))

    def _read_all(self, _value: dict[str, Any]) -> slice:
        return slice(None)

    def _read_not_saved(self, _value: dict[str, Any]) -> NotSaved:
        return self._not_saved

    def _read_array(self, value: dict[str, Any]) -> NDArray[Any]:
        return self._arrays[value["name"]]

    def _read_scalar(self, value: dict[str, Any]) -> Any:
        return value["value"].reshape(())[()]  # older files have arrays of one entry

    def _read_dtype(self, value: dict[str, Any]) -> np.dtype[Any]:
        if not _DTYPE.fullmatch(value["name"]):
            raise ModelFormatError(f"the file has an unknown type: {shown(value['name'])}.")
        dtype: np.dtype[Any] = np.dtype(value["name"])
        return dtype

    def _read_objects(self, value: dict[str, Any]) -> NDArray[Any]:
        items = _list(value["items"])
        shape = tuple(value["shape"])
        if math.prod(shape) != len(items):
            raise ModelFormatError("an array of objects has another size than its shape.")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(shape)

    def _read_random_state(self, value: dict[str, Any]) -> np.random.RandomState:
        self._spend(_OF_RANDOM_STATE)
        state = np.random.RandomState()
        state.set_state(tuple(_list(value["items"])))
        return state

    def _read_same(self, value: dict[str, Any]) -> Any:
        number = value["number"]
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise ModelFormatError("the file refers to an object that it does not have.")
        return self._objects[number]

    def _object(self, kind: Any, encoded: Any) -> Any:
        cls = class_of(kind) if isinstance(kind, str) else None
        if cls is None or not isinstance(encoded, dict):
            raise ModelFormatError(f"the file has an object of an unknown class: {shown(kind)}.")
        self._n_unowned -= 1
        state = encoded
        arrays = _OF_ARRAYS + _n_entries(state) if _is_read(cls) else 0
        self._spend(_OF_OBJECT + 3 * len(state) + arrays)
        if not _is_read(cls):  # whose arrays are never written to
            state = {name: self._writeable(one) for name, one in encoded.items()}
        made = _estimator(cls, state) if issubclass(cls, BaseEstimator) else _part(cls, state)
        self._spend(3 * len(getattr(made, "__dict__", ())))
        self._objects.append(made)
        return made

    def _spend(self, n_entries: int) -> None:
        """Count what is made, before it is: a file may name one array in very many places."""
        self._left_to_make -= n_entries
        if self._left_to_make < 0:
            raise ModelFormatError("the model would take much more memory than its file.")

    def _writeable(self, value: Any) -> Any:
        """The value with copies of the arrays, which lie in the memory of the file."""
        if isinstance(value, np.ndarray):
            # A file may name one array very often: as much as it holds is copied, the rest shared.
            if value.flags.writeable or value.nbytes > self._left_to_copy:
                return value
            self._left_to_copy -= value.nbytes
            return value.copy()
        if type(value) is list:
            value[:] = map(self._writeable, value)
        elif type(value) is tuple:
            return tuple(map(self._writeable, value))
        elif type(value) in (dict, Bunch):
            value.update({name: self._writeable(one) for name, one in value.items()})
        return value


def _is_read(cls: type[Any]) -> bool:
    """Whether the core reads its arrays: they become numbers of 8 bytes, mostly twice."""
    return issubclass(cls, CheckedState)


def _n_entries(value: Any) -> int:
    """Number of entries of all arrays in a state."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return sum(map(_n_entries, value.values()))
    return sum(map(_n_entries, value)) if isinstance(value, (list, tuple)) else 0


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFormatError(f"the file has {shown(value)} instead of a list.")
    return value


def _estimator(cls: type[Any], state: dict[str, Any]) -> Any:
    """An estimator with these parameters and fitted attributes."""
    names = set(cls._get_param_names())
    state = _defaults(cls, names - state.keys()) | state
    known = _own_names(cls)
    for name in state.keys() - names:
        is_name = name.isidentifier() and not name.startswith("__")
        if not is_name or (name in known and callable(getattr(cls, name, None))):
            raise ModelFormatError(f"{cls.__name__} has no attribute {shown(name)}.")
    made = object.__new__(cls)
    if cls.__module__.startswith("weald."):
        made.__setstate__(state)  # may derive attributes from others
    else:  # scikit-learn's own would compare versions
        vars(made).update(state)
    return made


def _defaults(cls: type[Any], names: set[str]) -> dict[str, Any]:
    """Values of parameters that a file lacks: it was written before they existed."""
    known = signature(cls).parameters
    required = sorted(name for name in names if known[name].default is Parameter.empty)
    if required:
        raise ModelFormatError(f"{cls.__name__} lacks the parameter {required[0]!r}.")
    return {name: known[name].default for name in names}


def _part(cls: type[Any], state: dict[str, Any]) -> Any:
    """An object of a dataclass, whose fields have the annotated types."""
    if is_dataclass(cls) and not state.keys() <= field_types(cls).keys():
        raise ModelFormatError(f"{cls.__name__} has no such fields: {sorted(state)}.")
    if "__setstate__" in _own_names(cls):
        made = object.__new__(cls)
        made.__setstate__(state)
    elif is_dataclass(cls):
        made = cls(**state)
    else:
        made = object.__new__(cls)
        vars(made).update(state)
    if is_dataclass(cls):
        check_fields(made)
    return made

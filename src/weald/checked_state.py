"""Pickled states and the fields of model files: both are checked before they are used."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from weald.errors import ModelFormatError


class CheckedState:
    """Base of dataclasses whose arrays the core reads.

    A state that is unpickled, copied or read from a model file must have the fields of the class,
    of the annotated types, and pass `prove_sound`; otherwise it is a ModelFormatError.
    """

    def prove_sound(self) -> None:
        """Raise an error if the fields do not fit together."""

    def __setstate__(self, state: Any) -> None:
        name = type(self).__name__
        try:
            if not isinstance(state, dict):
                raise TypeError(f"the state is of the type {type(state).__name__}")
            type(self).__init__(self, **self._fields_of(state))
            check_fields(self)
            self.prove_sound()
        except ModelFormatError:
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # whatever inconsistent content leads to
            raise ModelFormatError(f"the state of a {name} is damaged: {error}.") from error

    def _fields_of(self, state: dict[str, Any]) -> dict[str, Any]:
        """The fields by name, from what `__getstate__` returned."""
        return state


def refuse_nan(**arrays: NDArray[np.float64]) -> None:
    """Raise if an array of numbers that predictions are made of has NaN."""
    for name, array in arrays.items():
        with np.errstate(invalid="ignore", over="ignore"):
            total = array.sum()  # quicker than an array of booleans, and NaN if any number is
        if np.isnan(total) and np.isnan(array).any():
            raise ValueError(f"{name} has NaN")


def check_fields(made: Any) -> None:
    """Raise if a field of a dataclass is not of its annotated type."""
    cls: type = type(made)
    for name, annotation in field_types(cls).items():
        value = getattr(made, name)
        if not fits(value, annotation):
            got = (
                f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            )
            raise ModelFormatError(f"{type(made).__name__}.{name} is of a wrong type: {got}.")


@cache
def field_types(cls: type[Any]) -> dict[str, Any]:
    """The annotation of each field of a dataclass that its constructor takes."""
    hints = get_type_hints(cls)
    return {one.name: hints[one.name] for one in fields(cls) if one.init}


def _without_alias(annotation: Any) -> Any:
    """What an alias stands for, such as NDArray from NumPy 2.5 and Python 3.12 on."""
    alias, arguments = get_origin(annotation) or annotation, get_args(annotation)
    if not hasattr(alias, "__value__"):
        return annotation
    return alias.__value__[arguments] if arguments else alias.__value__


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of an annotated type.

    >>> fits((1, 2), tuple[int, ...]), fits([1.5], list[int]), fits(None, int | None)
    (True, False, True)
    """
    annotation = _without_alias(annotation)
    if annotation is Any:
        return True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is ClassVar:
        return True
    if origin is np.ndarray:
        (scalar,) = get_args(arguments[1]) or (Any,)
        if scalar is Any or not isinstance(value, np.ndarray):
            return isinstance(value, np.ndarray)
        # By its size: C's long and long long are two types of NumPy, of the same bits.
        return np.issubdtype(np.dtype(value.dtype.str), scalar)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return isinstance(value, tuple) and all(fits(one, arguments[0]) for one in value)
    if origin is tuple:
        same = isinstance(value, tuple) and len(value) == len(arguments)
        return same and all(map(fits, value, arguments))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(one, arguments[1]) for one in value.values())
    if origin is not None and issubclass(origin, Sequence):
        same = isinstance(value, (list, tuple))
        return same and all(fits(one, arguments[0]) for one in value)
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if annotation is None or annotation is type(None):
        return value is None
    return isinstance(value, annotation) if isinstance(annotation, type) else True

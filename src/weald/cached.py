"""Lock-free cached properties."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # as in functools
    """A property that is computed on first access and stored in the instance's `__dict__`.

    Like `functools.cached_property` of Python 3.12. That of 3.11 holds a lock per class while
    computing: it serialises fits in several threads, and deadlocks in a child process forked
    meanwhile. Here two threads may both compute the value; both get the one stored first.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value

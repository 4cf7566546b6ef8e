"""Properties that are computed once, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # as in functools
    """A property that is computed when it is first read, and kept in the object's `__dict__`.

    As `functools.cached_property` is since Python 3.12. That of 3.11 holds a lock of the class
    while it computes: fits in several threads wait for each other, and a child that is forked
    meanwhile waits for ever, because the thread that holds the lock does not exist there. Here two
    threads may compute the same; both get what the first of them has stored.
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

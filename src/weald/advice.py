"""Warnings: where they point, and that one fit gives each advice once, whatever it is made of."""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from weald.errors import WealdWarning, shown

# Messages of the fit that is going on in this thread, and whether each is also of interest where
# that fit is a part of another; None: no fit is going on.
_COLLECTED: ContextVar[dict[str, bool] | None] = ContextVar("_COLLECTED", default=None)

# Of a parameter that another makes meaningless: a test of the model, and what to set.
Ignored = tuple[Callable[[Any], bool], str]


def warn(message: str) -> None:
    """Warn at the line of the user's program that called weald."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, WealdWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "weald" or module.startswith(("weald.", "contextlib"))


def advise(message: str, *, of_parts: bool = True) -> None:
    """Warn; within a fit at its end, and only once of the same.

    Parameters
    ----------
    of_parts
        Whether it is of interest where the model is only a part of another, such as one of many
        base estimators.
    """
    collected = _COLLECTED.get()
    if collected is None:
        warn(message)
    else:
        collected.setdefault(message, of_parts)


@contextmanager
def advising() -> Iterator[None]:
    """Give the advice of a fit at its end, or hand it on to the fit that this one is a part of."""
    with _collecting() as own:
        yield
    for message, of_parts in own.items():
        if of_parts or _COLLECTED.get() is None:
            advise(message)


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Collect the advice of parts, in whatever thread or process, instead of giving it."""
    messages: list[str] = []
    with _collecting() as advice:
        yield messages
    messages += advice


@contextmanager
def _collecting() -> Iterator[dict[str, bool]]:
    advice: dict[str, bool] = {}
    token = _COLLECTED.set(advice)
    try:
        yield advice
    finally:
        _COLLECTED.reset(token)


def advise_of_ignored(model: Any, ignored: Mapping[str, Ignored]) -> None:
    """Warn of parameters that were set and have no effect."""
    defaults = inspect.signature(type(model)).parameters
    found: dict[str, list[str]] = {}
    for name, (is_ignored, what_to_do) in ignored.items():
        value = getattr(model, name)
        if name not in defaults or _same(value, defaults[name].default):
            continue
        if is_ignored(model):
            found.setdefault(what_to_do, []).append(f"{name}={shown(value)}")
    for what_to_do, names in found.items():
        verb = "has" if len(names) == 1 else "have"
        advise(f"{' and '.join(names)} of {type(model).__name__} {verb} no effect: {what_to_do}.")


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except (TypeError, ValueError):
        return False

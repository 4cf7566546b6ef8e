"""Warnings: attributed to the user's code, and issued once per fit, nested fits included."""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from weald.errors import WealdWarning, shown

# Messages of the current fit in this context, and whether each is also reported if that fit is part
# of another one; None outside of fits.
_COLLECTED: ContextVar[dict[str, bool] | None] = ContextVar("_COLLECTED", default=None)

# For a parameter that another one may disable: a test on the model, and the advice.
Ignored = tuple[Callable[[Any], bool], str]


def warn(message: str) -> None:
    """Issue a warning that points to the user's code that called weald."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, WealdWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module == "weald" or module.startswith(("weald.", "contextlib"))


def advise(message: str, *, of_parts: bool = True) -> None:
    """Issue a warning; within a fit, at its end and once per message.

    Parameters
    ----------
    of_parts
        Whether to issue it also if the model is part of another one, such as a base estimator.
    """
    collected = _COLLECTED.get()
    if collected is None:
        warn(message)
    else:
        collected.setdefault(message, of_parts)


@contextmanager
def advising() -> Iterator[None]:
    """Issue the warnings of a fit at its end, or pass them to the enclosing fit."""
    with _collecting() as own:
        yield
    for message, of_parts in own.items():
        if of_parts or _COLLECTED.get() is None:
            advise(message)


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Collect warnings, such as those of fits in worker processes, instead of issuing them."""
    messages: list[str] = []
    with _collecting() as collected:
        yield messages
    messages += collected


@contextmanager
def _collecting() -> Iterator[dict[str, bool]]:
    collected: dict[str, bool] = {}
    token = _COLLECTED.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED.reset(token)


def advise_of_ignored(model: Any, ignored: Mapping[str, Ignored]) -> None:
    """Warn about non-default parameters that have no effect."""
    defaults = inspect.signature(type(model)).parameters
    found: dict[str, list[str]] = {}
    for name, (is_ignored, advice) in ignored.items():
        value = getattr(model, name)
        if name not in defaults or _same(value, defaults[name].default):
            continue
        if is_ignored(model):
            found.setdefault(advice, []).append(f"{name}={shown(value)}")
    for advice, names in found.items():
        verb = "has" if len(names) == 1 else "have"
        advise(f"{' and '.join(names)} of {type(model).__name__} {verb} no effect: {advice}.")


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except (TypeError, ValueError):
        return False

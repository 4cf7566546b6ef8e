"""Lazy imports of package attributes (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def attach(
    package: str, names: Mapping[str, str | None]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    names : mapping
        Defining module of each public name; None for a submodule of the package.

    Returns
    -------
    tuple of functions
        `__getattr__` imports a name and caches it in the package; `__dir__` lists all names,
        imported or not.

    Examples
    --------
    >>> from weald.lazy import attach
    >>> get, names = attach("weald", {"read": "weald.data.reading", "theory": None})
    >>> get("read").__module__, get("theory").__name__
    ('weald.data.reading', 'weald.theory')
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = names[name]
        if module is None:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        present = vars(sys.modules[package])
        return sorted({*names, *(name for name in present if name.startswith("__"))})

    return get, listed


def picture(name: str) -> Callable[..., Any]:
    """A function of `weald.plot`, for results that draw themselves.

    Results lie below the pictures and must not import them; this is looked up when it is called.

    >>> picture("importance").__name__
    'importance'
    """
    function: Callable[..., Any] = getattr(importlib.import_module("weald.plot"), name)
    return function

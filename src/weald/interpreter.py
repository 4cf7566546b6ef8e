"""Which interpreters weald runs on."""

import sys


def refuse_free_threading() -> None:
    """Raise ImportError on free-threaded CPython.

    The core releases the GIL while it computes, but caches and models of the Python side rely on
    it, and nothing is tested without it (docs/decisions/0021-one-wheel-per-python.md).
    """
    # Documented way to tell; sysconfig takes milliseconds to import.
    if "free-threading" in sys.version:
        raise ImportError(
            "weald does not support free-threaded CPython, and this is "
            f"{sys.executable or 'one'} ({sys.version.split('(')[0].strip()}). Use the standard "
            "build, such as python3.14 instead of python3.14t."
        )

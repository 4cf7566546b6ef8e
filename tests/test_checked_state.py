"""Annotations of fields that are checked when a state is restored."""

import types
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pytest

from weald.checked_state import fits

Scalar = TypeVar("Scalar", bound=np.generic)

# NDArray of NumPy 2.5 on Python 3.12: an alias, and not the array type that it stands for.
ALIAS: Any = SimpleNamespace(__value__=np.ndarray[tuple[Any, ...], np.dtype[Scalar]])


@pytest.mark.parametrize("of", [lambda alias: alias, lambda alias: alias | None])
def test_aliases_of_arrays(of: Any) -> None:
    floats = types.GenericAlias(ALIAS, (np.float64,))
    assert fits(np.zeros(2), of(floats))
    assert not fits(np.zeros(2, dtype=np.int64), of(floats))
    assert not fits([0.0], of(floats))


def test_plain_alias() -> None:
    plain: Any = SimpleNamespace(__value__=dict[str, int])
    assert fits({"a": 1}, plain)
    assert not fits({"a": "b"}, plain)

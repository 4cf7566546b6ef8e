"""Fingerprints: the same for the same values, whatever holds them; different for others."""

import hashlib

import numpy as np
import pytest

from weald.persist import fingerprint


def of(value) -> str:
    return fingerprint({"value": np.asarray(value)})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0])),
        (np.array([np.nan]), -np.array([np.nan])),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0], dtype=">f8")),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0], dtype=np.float32)),
        (np.array([1, 2], dtype=np.int8), np.array([1, 2], dtype=">i8")),
        (np.array([1, 2], dtype=np.uint8), np.array([1, 2])),
        (np.array(["a", "bc"]), np.array(["a", "bc"], dtype=object)),
        (np.array(["a"], dtype="U1"), np.array(["a"], dtype="U9")),
        (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).copy(order="F")),
        (np.arange(4.0), np.arange(8.0)[::2] / 2),
    ],
)
def test_equal(a, b) -> None:
    assert of(a) == of(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0], [2.0, 1.0]),
        ([1.0], [1.0, 1.0]),
        ([[1.0, 2.0]], [[1.0], [2.0]]),
        ([1.0], [np.nextafter(1.0, 2.0)]),
        ([0.0], [5e-324]),
        ([1], [1.0]),
        (["1"], [1]),
        (["ab", "c"], ["a", "bc"]),
        (np.array(["1"], dtype=object), np.array([1], dtype=object)),
        (["a"], ["b"]),
        ([], [0.0]),
        ([2**53], [2**53 + 1]),
        ([np.inf], [np.nan]),
    ],
)
def test_different(a, b) -> None:
    assert of(a) != of(b)


def test_names_count_and_their_order_does_not() -> None:
    one, two = np.array([1.0]), np.array([2.0])
    assert fingerprint({"a": one, "b": two}) == fingerprint({"b": two, "a": one})
    assert fingerprint({"a": one, "b": two}) != fingerprint({"a": two, "b": one})
    assert fingerprint({"a": one}) != fingerprint({"b": one})


def test_content_cannot_move_between_arrays() -> None:
    """Lengths are hashed too: what ends one array cannot begin the next."""
    first = fingerprint({"a": np.array([1.0, 2.0]), "b": np.array([3.0])})
    assert first != fingerprint({"a": np.array([1.0]), "b": np.array([2.0, 3.0])})


def test_it_is_sha_256_of_little_endian_bytes() -> None:
    body = np.array([0.5, 0.0], dtype="<f8").tobytes()
    expected = hashlib.sha256(b"value|float|2|16\n" + body).hexdigest()
    assert of([0.5, -0.0]) == expected


def test_arrays_are_left_alone() -> None:
    array = np.array([-0.0, np.nan])
    of(array)
    assert np.signbit(array[0])


def test_lone_surrogates_are_text_like_any_other() -> None:
    """Such as names of files that are no UTF-8, as Python reads them."""
    assert of(["a\udc80"]) == of(np.array(["a\udc80"], dtype=object))
    assert len({of(["a\udc80"]), of(["a\udc81"]), of(["a"])}) == 3

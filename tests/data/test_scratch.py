"""Arrays in a scratch file."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from weald.data.parts.scratch import Scratch


def test_what_was_written_is_read_by_many_threads() -> None:
    scratch, rng = Scratch(), np.random.default_rng(0)
    shapes = [(int(n), 3)[: 1 + int(n) % 2] for n in rng.integers(1, 9_000, 60)]
    arrays = [(rng.random(shape) * 200).astype(np.uint8) for shape in shapes]
    places = [scratch.reserve(shape, np.uint8) for shape in shapes]

    def write_and_read(i: int) -> bool:
        array, half = arrays[i], len(arrays[i]) // 2
        scratch.write(places[i], array[half:], first=half)
        scratch.write(places[i], array[:half])
        return all(np.array_equal(scratch.read(places[i]), array) for _ in range(20))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(write_and_read, range(60)))
    matrix = next(i for i, shape in enumerate(shapes) if len(shape) == 2)
    row = scratch.read(places[matrix].row(1))
    np.testing.assert_array_equal(row, arrays[matrix][1])
    with pytest.raises(OSError, match="shorter than it was"):
        scratch.read(scratch.reserve((9,), np.float64))
    scratch.close()

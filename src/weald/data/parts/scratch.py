"""Arrays in a scratch file, for what is larger than memory."""

import errno
import shutil
import tempfile
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class Place(NamedTuple):
    """Where an array lies in a scratch file."""

    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def row(self, index: int) -> "Place":
        """The place of one row of a matrix."""
        begin = self.begin + index * self.n_bytes // self.shape[0]
        return Place(begin, self.shape[1:], self.dtype)


class Scratch:
    """Arrays in a file in the folder for temporary files.

    The file has no name, so that nothing of it is left when the process ends, however it ends.
    Arrays are read into memory of their own: a mapped file would count as memory of the process,
    and an error of the disk would end it.

    Attributes
    ----------
    n_read, n_written : int
        Bytes that were read and written.

    Examples
    --------
    >>> scratch = Scratch()
    >>> place = scratch.reserve((3,), np.float64)
    >>> scratch.write(place, np.array([7.0, 8.0]), first=1)
    >>> scratch.write(place, np.array([6.0]))
    >>> scratch.read(place)
    array([6., 7., 8.])
    >>> scratch.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="weald-", buffering=0)  # noqa: SIM115
        self._at_once = threading.Lock()  # the file has one position for all threads
        self._end = self.n_read = self.n_written = 0

    def reserve(self, shape: tuple[int, ...], dtype: Any) -> Place:
        """A place for an array."""
        place = Place(self._end, shape, np.dtype(dtype))
        self._end += place.n_bytes
        return place

    def write(self, place: Place, array: NDArray[Any], first: int = 0) -> None:
        """Write an array, or some rows of it from row `first` on."""
        rows = np.ascontiguousarray(array, dtype=place.dtype)
        left = rows.reshape(-1).view(np.uint8).data
        with self._at_once:
            self._file.seek(place.begin + first * (place.n_bytes // max(1, place.shape[0])))
            try:
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                raise OSError(error.errno, _no_room(self._end)) from error
            self.n_written += rows.nbytes

    def read(self, place: Place) -> NDArray[Any]:
        """A new array of what was written."""
        array = np.empty(place.shape, dtype=place.dtype)
        left = array.reshape(-1).view(np.uint8).data
        with self._at_once:
            self._file.seek(place.begin)
            while left:
                n_bytes = self._file.readinto(left)
                if n_bytes == 0:
                    raise OSError(errno.EIO, "a scratch file of the fit is shorter than it was")
                left = left[n_bytes:]
            self.n_read += array.nbytes
        return array

    def close(self) -> None:
        """Give the space of the file back."""
        self._file.close()


def check_room(n_bytes: int) -> None:
    """Raise OSError if the folder for temporary files has no room for so many bytes."""
    if shutil.disk_usage(tempfile.gettempdir()).free < n_bytes:
        raise OSError(errno.ENOSPC, _no_room(n_bytes))


def _no_room(n_bytes: int) -> str:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free / 2**30
    return (
        f"training on a table that is streamed needs a scratch file of {n_bytes / 2**30:,.1f} GiB, "
        f"but the folder for temporary files, '{folder}', has {free:,.1f} GiB left. Set the "
        "environment variable TMPDIR to a folder on a disk with more space"
    )

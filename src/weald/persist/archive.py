"""The container of models and checkpoints: a zip archive of JSON and `.npy` arrays.

Written atomically. Nothing in it is trusted: every size is compared with the bytes that are there
before memory is allocated, and the zip format's CRC-32 of each entry is checked.
"""

import io
import json
import math
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from weald.errors import ModelFormatError

_HEADER = "model.json"
_NAMES = "arrays"  # key of the header: the names of all arrays, so that none can be lost
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # of zip files: the same model gives the same bytes
_NAME = 50  # characters of the file name to keep in that of the temporary file, limited in length

# Exactly what `numpy.lib.format` writes for the arrays of a model.
_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    r"\{'descr': '([<|](?:b1|[iu][1248]|f[248]|U\d{1,9}))', 'fortran_order': False, "
    r"'shape': \(((?:\d{1,19}, ?)*(?:\d{1,19},?)?)\), \} *\n"
)
_LAST_CHARACTER = 0x10FFFF
_MAX_DIMENSIONS = 8

# Reads the JSON while it is parsed: makes a hook, which each JSON object is replaced by, from the
# text and the arrays.
Decoding = Callable[[str, Mapping[str, NDArray[Any]]], Callable[[dict[str, Any]], Any]]

# Bytes of memory that JSON may take beyond this many times the file.
_JSON_FACTOR, _JSON_FREE = 6, 2**26

# What files of others begin with.
_OTHERS = {
    b"{": "Models of XGBoost and CatBoost are read by weald.from_xgboost and weald.from_catboost.",
    b"tree\n": "Models of LightGBM are read by weald.from_lightgbm.",
    b"\x80": "Pickles are read by pickle.load or joblib.load, if you trust who made them.",
}

_END_OF_ZIP = b"PK\x05\x06"
_SIZE_OF_END = 22
_LARGE, _ALIGNED = 2**16, 64  # bytes of arrays that are read without a copy, and their alignment
_LENGTHS = 26  # where the header of an entry has the lengths of its name and its extra field


def write_archive(
    path: Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write an archive atomically: a temporary file beside it, synced and then renamed.

    If the process is killed, either the old or the new file exists.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{str(path)!r} cannot be written: there is no such folder.")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} cannot be written: it is a folder.")
    if path.exists() and not path.is_file():  # a device or a pipe would be replaced by a file
        raise OSError(f"{str(path)!r} cannot be written: it is not a regular file.")
    part = path.with_name(f"{path.name[:_NAME]}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            _write(file, header, arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # Sync the directory too, so that the rename is durable.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def archive_bytes(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The archive as bytes."""
    file = io.BytesIO()
    _write(file, header, arrays)
    return file.getvalue()


def _write(file: Any, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    whole = {**header, _NAMES: list(arrays)}
    text = json.dumps(whole, allow_nan=False, separators=(",", ":")).encode("ascii")
    _check_json(text, len(text) + sum(array.nbytes for array in arrays.values()))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _EARLIEST), text)
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
            is_huge = array.nbytes >= 2**31
            if array.nbytes >= _LARGE:
                entry.extra = _padding(file.tell() + len(entry.filename) + (20 if is_huge else 0))
            with archive.open(entry, "w", force_zip64=is_huge) as out:
                little = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
                np.lib.format.write_array(out, little, version=(1, 0), allow_pickle=False)


def _padding(offset: int) -> bytes:
    """An extra field, as of Android's zipalign, after which the content begins at a multiple."""
    size = -(offset + _LENGTHS + 4) % _ALIGNED
    size += _ALIGNED if size < 4 else 0
    return struct.pack("<HH", 0xD935, size - 4) + bytes(size - 4)


def read_archive(
    path: Path, decoding: Decoding | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an archive: its header, decoded if a decoding is given, and its arrays.

    Raises
    ------
    ModelFormatError
        If the file is damaged or is not an archive of `write_archive`.
    OSError
        If there is no such file.
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"there is no file {str(path)!r} (looked from the folder {str(Path.cwd())!r}); check "
            "the path"
        ) from error
    if not stat.S_ISREG(status.st_mode):  # a pipe would block
        raise OSError(f"{str(path)!r} is not a regular file.")
    try:
        with path.open("rb") as file:
            # NumPy's memory is in large pages, which takes a third of the time of `read`.
            return _parsed(file, np.fromfile(file, np.uint8).data, decoding)
    except ModelFormatError as error:
        raise ModelFormatError(f"{str(path)!r} cannot be loaded: {error}") from error


def parse_archive(
    content: bytes, decoding: Decoding | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read an archive from bytes."""
    return _parsed(io.BytesIO(content), memoryview(content), decoding)


def _parsed(
    file: BinaryIO, content: memoryview, decoding: Decoding | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    _check_ends(content)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _checked_entries(archive, len(content))
            text = _body(archive, entries.pop(_HEADER), content)
            arrays = {
                name.removesuffix(".npy"): _parsed_array(_body(archive, entry, content), name)
                for name, entry in entries.items()
            }
        header = _parsed_header(text, len(content), arrays, decoding)
        if header.pop(_NAMES, None) != list(arrays):
            raise ModelFormatError("an array is missing.")
    except ModelFormatError:
        raise
    except (
        zipfile.BadZipFile,
        EOFError,
        OSError,  # a directory that begins before the file does
        NotImplementedError,  # an encrypted or compressed entry
        OverflowError,
        RuntimeError,
        UnicodeError,
        ValueError,
        struct.error,
    ) as error:
        raise ModelFormatError(f"the archive is damaged: {error}.") from error
    return header, arrays


def _check_ends(content: memoryview) -> None:
    if not content:
        raise ModelFormatError("the file is empty.")
    if bytes(content[:4]) != b"PK\x03\x04":
        hints = [hint for begin, hint in _OTHERS.items() if bytes(content[:9]).startswith(begin)]
        raise ModelFormatError(" ".join(["it is not a file of weald.", *hints]))
    if len(content) < _SIZE_OF_END or content[-_SIZE_OF_END:][:4] != _END_OF_ZIP:
        raise ModelFormatError("the file is truncated, or something was appended to it.")


def _checked_entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The entries by name, none compressed: together no larger than the file."""
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) != len(archive.infolist()) or _HEADER not in entries:
        raise ModelFormatError(f"it has no {_HEADER}, or an entry occurs twice.")
    stored = [entry.compress_type == zipfile.ZIP_STORED for entry in entries.values()]
    sizes = [entry.file_size for entry in entries.values()]
    same = all(entry.file_size == entry.compress_size for entry in entries.values())
    if not all(stored) or not same or sum(sizes) > size:
        raise ModelFormatError("an entry is compressed, or larger than the file.")
    return entries


def _body(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, content: memoryview) -> memoryview:
    """The bytes of an entry in the file itself, not copied, if their checksum is right."""
    archive.open(entry).close()  # compares the entry's own header with the archive's directory
    name, extra = struct.unpack_from("<HH", content, entry.header_offset + _LENGTHS)
    begin = entry.header_offset + _LENGTHS + 4 + name + extra
    body = content[begin : begin + entry.file_size]
    if len(body) != entry.file_size or zlib.crc32(body) != entry.CRC:
        raise ModelFormatError(f"{entry.filename} is damaged: its checksum is wrong.")
    return body


def _parsed_header(
    content: memoryview, size: int, arrays: Mapping[str, NDArray[Any]], decoding: Decoding | None
) -> dict[str, Any]:
    _check_json(content.tobytes(), size)
    text = str(content, "utf-8")
    try:
        header = json.loads(text, object_hook=None if decoding is None else decoding(text, arrays))
    except ModelFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{_HEADER} is not valid JSON: {error}.") from error
    if not isinstance(header, dict):
        raise ModelFormatError(f"{_HEADER} is not a JSON object.")
    return header


def _check_json(text: bytes, size: int) -> None:
    """Raise if JSON would take much more memory than a file of this size should.

    Lists, texts and numbers are counted, which can be of two bytes in the file and of more than
    fifty in memory. JSON objects are decoded while the text is parsed and leave little: each stands
    for three texts and a comma.
    """
    n_objects = text.count(b"{")
    texts = max(0, text.count(b'"') // 2 - 3 * n_objects)
    others = max(0, text.count(b",") - n_objects)
    if 64 * text.count(b"[") + 60 * texts + 40 * others > _JSON_FACTOR * size + _JSON_FREE:
        raise ModelFormatError(f"{_HEADER} consists of too many small values.")


def _parsed_array(content: memoryview, name: str) -> NDArray[Any]:
    """An array of a `.npy` entry: of numbers, booleans or text, in C order; read-only."""
    size = int.from_bytes(content[8:10], "little")
    found = _NPY_HEADER.fullmatch(str(content[10 : 10 + size], "latin-1"))
    if content[: len(_NPY_MAGIC)] != _NPY_MAGIC or found is None:
        raise ModelFormatError(f"{name} is not an array that a model can have.")
    dtype = np.dtype(found[1])
    shape = tuple(int(one) for one in re.findall(r"\d+", found[2]))
    body = content[10 + size :]
    # In Python's integers: no product overflows.
    if len(shape) > _MAX_DIMENSIONS or math.prod(shape) * dtype.itemsize != len(body):
        raise ModelFormatError(f"{name} has the shape {shape}, but {len(body)} bytes.")
    if dtype.itemsize == 0 or not len(body):
        return np.zeros(shape, dtype)
    array = np.frombuffer(body, dtype).reshape(shape)
    array = np.require(array.astype(dtype.newbyteorder("="), copy=False), requirements="A")
    if dtype.kind == "U" and array.size and array.view(np.uint32).max() > _LAST_CHARACTER:
        raise ModelFormatError(f"{name} has text that is not Unicode.")
    if dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ModelFormatError(f"{name} has booleans other than 0 and 1.")
    return array

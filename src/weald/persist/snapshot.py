"""A state on disk: named arrays and JSON in one file that is whole or not there; no pickles."""

import io
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from weald.persist.fingerprint import fingerprint

_FACTS, _CHECK = "facts.json", "sha256"
_NAME = 50  # letters of a file's name that the name of its part begins with; both have a limit


def write_snapshot(
    path: Path, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file that replaces the one before in one step, once its bytes are on the disk.

    Whenever the process ends, by whatever means, either the old file or the new one is there. The
    bytes are first written to a file of a name that no other process uses, which is removed if
    that fails.
    """
    text = np.frombuffer(json.dumps(facts, sort_keys=True).encode(), dtype=np.uint8)
    named = {**arrays, _FACTS: text}
    if any(array.dtype.hasobject for array in named.values()):
        raise TypeError("a snapshot holds numbers only")
    check = np.frombuffer(bytes.fromhex(fingerprint(named)), dtype=np.uint8)
    part = path.with_name(f"{path.name[:_NAME]}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            contents: dict[str, Any] = {**named, _CHECK: check}
            np.savez(file, **contents)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The new name of the file has to reach the disk too.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read such a file.

    Raises
    ------
    ValueError
        If it is no such file, or not a byte of it is as it was written.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            named = {name: file[name] for name in file.files}
        check = named.pop(_CHECK).tobytes().hex()
        if check != fingerprint(named):
            raise ValueError("its checksum is not that of its content")
        facts = json.loads(named.pop(_FACTS).tobytes().decode())
        if not isinstance(facts, dict):
            raise ValueError("its facts are no object")
    except (
        BadZipFile,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(f"{str(path)!r} is damaged or no snapshot of weald: {error}") from error
    return facts, named

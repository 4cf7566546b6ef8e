"""Snapshots: named arrays and JSON in one file, written atomically, without pickle."""

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
_NAME = 50  # characters of the file name to keep in that of the temporary file, limited in length


def write_snapshot(
    path: Path, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a snapshot atomically: write a temporary file, sync it, and rename it.

    If the process is killed, either the old or the new file exists. The temporary file has a unique
    name, and is removed if writing fails.
    """
    text = np.frombuffer(json.dumps(facts, sort_keys=True).encode(), dtype=np.uint8)
    named = {**arrays, _FACTS: text}
    if any(array.dtype.hasobject for array in named.values()):
        raise TypeError("a snapshot cannot contain object arrays")
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
        # Sync the directory too, so that the rename is durable.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_snapshot(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a snapshot.

    Raises
    ------
    ValueError
        If the file is not a snapshot, or is damaged.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            named = {name: file[name] for name in file.files}
        check = named.pop(_CHECK).tobytes().hex()
        if check != fingerprint(named):
            raise ValueError("its checksum does not match its content")
        facts = json.loads(named.pop(_FACTS).tobytes().decode())
        if not isinstance(facts, dict):
            raise ValueError("its JSON is not an object")
    except (
        BadZipFile,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(f"{str(path)!r} is damaged or not a snapshot of weald: {error}") from error
    return facts, named

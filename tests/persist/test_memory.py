"""Loading any file takes at most ten times its size, beside a few megabytes."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weald
from golden.model_files import FOLDER
from peak_memory import loader, only_on_linux
from weald.persist.archive import archive_bytes, parse_archive
from weald.persist.model_file import FORMAT, model_bytes

WARM = FOLDER / "RandomForestRegressor.format1.weald"
MEGABYTE = 2**20
FREE = 64 * MEGABYTE  # whatever the size of the file
FACTOR = 10


def of_json(text: str, arrays: dict[str, Any] | None = None) -> bytes:
    """A file with this text as its model."""
    content = archive_bytes({"format": FORMAT, "model": 0}, arrays or {})
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            if name == "model.json":
                body = body.replace(b'"model":0', b'"model":' + text.encode())
            new.writestr(name, body)
    return file.getvalue()


def repeated(one: str, megabytes: float) -> str:
    n = int(megabytes * MEGABYTE / (len(one) + 1))
    return "[" + ",".join([one] * n) + "]"


def many_entries() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.json", json.dumps({"format": FORMAT, "arrays": []}))
        for i in range(30_000):
            archive.writestr(str(i), b"")
    return file.getvalue()


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * (200 * MEGABYTE))
    return file.getvalue()


def overlapping() -> bytes:
    """Entries of the directory that all point to one entry of the file."""
    array = np.zeros(MEGABYTE // 8)
    content = archive_bytes({"format": FORMAT, "model": 0}, {"0": array})
    end = content.rindex(b"PK\x05\x06")
    begin = int.from_bytes(content[end + 16 : end + 20], "little")
    second = content.index(b"PK\x01\x02", begin + 4)
    entry = content[second:end]
    n = 60_000
    directory = content[begin:second] + entry * n
    tail = bytearray(content[end:])
    tail[8:12] = (n + 1).to_bytes(2, "little") * 2
    tail[12:16] = len(directory).to_bytes(4, "little")
    return content[:begin] + directory + bytes(tail)


def one_array_very_often() -> bytes:
    return of_json(repeated('{"is":"array","name":"0"}', 2), {"0": np.zeros(MEGABYTE // 8)})


def wide_forest() -> bytes:
    """A tree of two leaves that claims two thousand million columns."""
    model = weald.DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)
    header, arrays = parse_archive(model_bytes(model))
    header["model"]["state"]["forest_"]["state"].update(n_columns=2**31 - 2, saw_missing=None)
    return archive_bytes(header, arrays)


def many_forests() -> bytes:
    """Trees that share the arrays of the file, each of its own in memory."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    tree = weald.DecisionTreeRegressor(min_samples_leaf=1)
    model = weald.VotingRegressor([("a", tree), ("b", tree)]).fit(X, y)
    header, arrays = parse_archive(model_bytes(model))
    members = header["model"]["state"]["estimators_"]
    members[:] = members[:1] * 3000
    return archive_bytes(header, arrays)


def bytes_for_numbers() -> bytes:
    """Every array of a forest in one byte a number, as `save` never writes them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50_000, 3)), rng.normal(size=50_000)
    forest = weald.RandomForestRegressor(30, min_samples_leaf=1, random_state=0).fit(X, y)
    header, arrays = parse_archive(model_bytes(forest))
    short = {
        name: one.astype(np.uint8) if one.size > 1000 and one.dtype.kind in "fu" else one
        for name, one in arrays.items()
    }
    return archive_bytes(header, short)


def many_classes() -> bytes:
    """Bytes in the file, as counts; doubles in memory, twice."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 4)), rng.integers(0, 100, 20_000)
    return model_bytes(weald.ExtraTreesClassifier(20, random_state=0).fit(X, y))


def whole_numbers() -> bytes:
    """Every array of the trees in the smallest type there is."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(20_000, 6)).astype(float)
    y = rng.integers(0, 9, 20_000).astype(float)
    forest = weald.RandomForestRegressor(20, min_samples_leaf=1, random_state=0).fit(X, y)
    header, arrays = parse_archive(model_bytes(forest))
    return archive_bytes(header, arrays)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: of_json(repeated("[]", 20)),
    "empty objects": lambda: of_json(repeated("{}", 20)),
    "short lists": lambda: of_json(repeated("[0,1]", 20)),
    "short objects": lambda: of_json(repeated('{"a":1}', 20)),
    "tuples": lambda: of_json(repeated('{"is":"tuple","items":[]}', 20)),
    "not saved": lambda: of_json(repeated('{"is":"not_saved"}', 20)),
    "columns": lambda: of_json(repeated('{"kind":"Number","state":{}}', 20)),
    "short texts": lambda: of_json(repeated('"ab"', 20)),
    "numbers": lambda: of_json(repeated("1e9", 20)),
    "small numbers": lambda: of_json(repeated("0", 20)),
    "wide text": lambda: of_json('"' + "a" * (8 * MEGABYTE) + '\\ud83d\\ude00"'),
    "nesting": lambda: of_json("[" * 4_000_000 + "]" * 4_000_000),
    "many entries": many_entries,
    "a compressed entry": bomb,
    "overlapping entries": overlapping,
    "one array very often": one_array_very_often,
    "more columns than memory": wide_forest,
    "many classes": many_classes,
    "whole numbers": whole_numbers,
    "many forests": many_forests,
    "numbers of one byte": bytes_for_numbers,
    "many estimators": lambda: of_json(repeated('{"kind":"BoostedTreesRegressor","state":{}}', 10)),
    "random states": lambda: of_json(
        repeated('{"is":"random_state","items":["MT19937",{"is":"array","name":"0"},0,0,0.0]}', 5),
        {"0": np.zeros(624, dtype=np.uint32)},
    ),
    "no archive": lambda: bytes(16 * MEGABYTE),
}


@pytest.fixture(scope="module")
def peak_of_load() -> Iterator[Callable[[object], int]]:
    with loader(WARM) as peak:
        yield peak


@only_on_linux
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_is_bounded_by_the_size_of_the_file(name, tmp_path: Path, peak_of_load) -> None:
    path = tmp_path / "hostile.weald"
    path.write_bytes(HOSTILE[name]())
    peak, size = peak_of_load(path), path.stat().st_size
    print(
        f"{name:24s} {size / MEGABYTE:7.2f} MB, peak {peak / MEGABYTE:7.1f} MB: {peak / size:.1f}"
    )
    assert peak <= FACTOR * size + FREE

"""Files that are whole or not there, and that run nothing."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weald
from weald.persist import read_archive, write_archive

FACTS = {"name": "Köln", "count": 3, "nothing": None, "list": [1, 2]}
ARRAYS = {
    "numbers": np.array([[1.5, np.nan], [-np.inf, 0.0]]),
    "none": np.zeros(0, dtype=np.int32),
    "words": np.array([2**64 - 1], dtype=np.uint64),
    "one": np.array(2.5),
}


def test_what_is_written_is_read(tmp_path) -> None:
    write_archive(tmp_path / "a.npz", FACTS, ARRAYS)
    facts, arrays = read_archive(tmp_path / "a.npz")
    assert facts == FACTS
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert np.array_equal(arrays[name], array, equal_nan=array.dtype.kind == "f")
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_large_arrays_are_aligned_so_that_they_are_read_in_place(tmp_path) -> None:
    arrays = {f"number {i}": np.full(2**14, float(i)) for i in range(3)} | {"small": np.ones(3)}
    write_archive(tmp_path / "a.npz", FACTS, arrays)
    _, found = read_archive(tmp_path / "a.npz")
    for name, array in arrays.items():
        assert np.array_equal(found[name], array)
        assert found[name].flags.aligned
    first, second = found["number 0"].ctypes.data, found["number 1"].ctypes.data
    assert 0 < second - first - arrays["number 0"].nbytes < 1000  # both in the file's own bytes
    with np.load(tmp_path / "a.npz") as file:
        assert np.array_equal(file["number 2"], arrays["number 2"])


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'{"learner":{}}', "from_xgboost and weald.from_catboost"),
        (b"tree\nversion=v4\n", "from_lightgbm"),
        (pickle.dumps([1]), "joblib.load"),
        (b"PK\x05\x06", "not a file of weald.$"),
    ],
)
def test_files_of_others_are_recognised(tmp_path, content, hint) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(weald.ModelFormatError, match=hint):
        weald.load(tmp_path / "a")


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch) -> None:
    file = tmp_path / "a.npz"
    write_archive(file, {"which": "old"}, ARRAYS)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr("weald.persist.archive.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_archive(file, {"which": "new"}, ARRAYS)
    assert read_archive(file)[0] == {"which": "old"}
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_leaves_nothing_behind(tmp_path) -> None:
    """The limit on the size of files fails the write itself, as a full disk does."""
    write_archive(tmp_path / "a.npz", {"which": "old"}, ARRAYS)
    process = run(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))",
        "write_archive(Path('a.npz'), {'which': 'new'}, {'much': np.zeros(10000)})",
        folder=tmp_path,
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "OSError" in errors, errors
    assert read_archive(tmp_path / "a.npz")[0] == {"which": "old"}
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_processes_that_write_one_file(tmp_path) -> None:
    writers = [
        run(
            "for i in range(100):",
            f"    write_archive(Path('a.npz'), {{'by': {n}}}, {{'much': np.full(10000, {n})}})",
            folder=tmp_path,
        )
        for n in range(3)
    ]
    errors = [writer.communicate(timeout=60)[1] for writer in writers]
    assert errors == [""] * 3
    facts, arrays = read_archive(tmp_path / "a.npz")
    assert (arrays["much"] == facts["by"]).all()
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_a_name_may_be_as_long_as_names_are(tmp_path) -> None:
    file = tmp_path / ("a" * 250 + ".npz")
    write_archive(file, FACTS, ARRAYS)
    assert read_archive(file)[0] == FACTS


def run(*lines: str, folder: Path) -> subprocess.Popen[str]:
    imports = (
        "import numpy as np",
        "from pathlib import Path",
        "from weald.persist import write_archive",
        "import resource" if os.name == "posix" else "",
    )
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join((*imports, *lines))],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_cut_and_every_changed_byte_is_found(tmp_path) -> None:
    file = tmp_path / "a.npz"
    write_archive(file, FACTS, ARRAYS)
    whole = file.read_bytes()
    for n in range(0, len(whole), 7):
        file.write_bytes(whole[:n])
        with pytest.raises(ValueError, match="cannot be loaded"):
            read_archive(file)
    for i in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[i] ^= 0x10
        file.write_bytes(bytes(changed))
        # Bytes that mean nothing may change; what is read is what was written, or an error.
        try:
            facts, arrays = read_archive(file)
        except ValueError as error:
            assert "cannot be loaded" in str(error)
            continue
        assert facts == FACTS
        for name, array in ARRAYS.items():
            assert np.array_equal(arrays[name], array, equal_nan=array.dtype.kind == "f")


def test_pickles_are_neither_written_nor_read(tmp_path) -> None:
    file = tmp_path / "a.npz"
    with pytest.raises(ValueError, match="Object arrays"):
        write_archive(file, {}, {"objects": np.array([object()])})

    class Bomb:
        def __reduce__(self):
            return (file.with_name("exploded").mkdir, ())

    file.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="cannot be loaded"):
        read_archive(file)
    np.savez(file, bomb=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="cannot be loaded"):
        read_archive(file)
    assert not file.with_name("exploded").exists()

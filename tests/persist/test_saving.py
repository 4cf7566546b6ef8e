"""Saving: errors name the path and leave the old file; readers see the old file or the new one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weald
from golden.model_files import FOLDER

OLD = FOLDER / "DecisionTreeRegressor.format1.weald"
NEW = FOLDER / "RandomForestRegressor.format1.weald"


@pytest.fixture(scope="module")
def model() -> weald.DecisionTreeRegressor:
    return weald.load(OLD)


def test_a_folder_is_not_replaced(model, tmp_path: Path) -> None:
    folder = tmp_path / "a.weald"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match="a.weald' cannot be written: it is a folder"):
        model.save(folder)
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(model, tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "a.weald", Path(__file__) / "a.weald"):
        with pytest.raises(FileNotFoundError, match="a.weald' cannot be written: there is no such"):
            model.save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_to(model, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        model.save(tmp_path / "a.weald")
    tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_cannot_be_written_to(model, tmp_path: Path, monkeypatch) -> None:
    """As the operating system reports a read-only disk, which root cannot write to either."""
    model.save(tmp_path / "a.weald")
    before = (tmp_path / "a.weald").read_bytes()

    def read_only(path: Path, *_arguments: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "open", read_only)
    with pytest.raises(OSError, match=r"Read-only file system: '.*a.weald"):
        model.save(tmp_path / "a.weald")
    monkeypatch.undo()
    assert (tmp_path / "a.weald").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.weald"]


def test_a_rename_that_fails_leaves_the_old_file(model, tmp_path: Path, monkeypatch) -> None:
    model.save(tmp_path / "a.weald")
    before = (tmp_path / "a.weald").read_bytes()

    def fails(_path: Path, _target: Path) -> None:
        raise PermissionError(13, "The file is open in another process")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(PermissionError):
        model.save(tmp_path / "a.weald")
    assert (tmp_path / "a.weald").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.weald"]


@pytest.mark.parametrize("name", ["Wälder.weald", "森林 1.weald", "ü" * 120, "a b'\"c", "-x"])
def test_names_of_any_letters(model, tmp_path: Path, name: str) -> None:
    model.save(tmp_path / name)
    assert weald.load(tmp_path / name).fingerprint() == model.fingerprint()
    assert [one.name for one in tmp_path.iterdir()] == [name]


WRITER = """
import sys, weald
models = [weald.load(path) for path in sys.argv[1:3]]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[3], oob=True)
"""


def test_loading_while_another_process_saves(model, tmp_path: Path) -> None:
    path = tmp_path / "a.weald"
    model.save(path, oob=True)
    known = {weald.load(one).fingerprint() for one in (OLD, NEW)}
    command = [sys.executable, "-c", WRITER, str(OLD), str(NEW), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            found = [weald.load(path).fingerprint() for _ in range(200)]
        finally:
            process.kill()
    assert set(found) <= known

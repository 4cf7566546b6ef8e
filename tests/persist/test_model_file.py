"""Model files: any damage is an error, never a crash or another model."""

import copy
import io
import json
import os
import pickle
import zipfile
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import weald
from weald.persist import archive
from weald.persist.kinds import class_of
from weald.persist.model_file import FORMAT, model_bytes, model_of_bytes


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, X[:, 0] + rng.normal(size=60)


@pytest.fixture(scope="module")
def model() -> weald.RandomForestRegressor:
    return weald.RandomForestRegressor(3, random_state=0).fit(*table())


@pytest.fixture(scope="module")
def content(model) -> bytes:
    return model_bytes(model)


def changed(content: bytes, change: Any = None, arrays: Any = None) -> bytes:
    """The file with another header or other arrays, and checksums that fit."""
    header, found = archive.parse_archive(content)
    if change is not None:
        change(header)
    if arrays is not None:
        arrays(found, header)
    return archive.archive_bytes(header, found)


def state_of(header: Any, *path: Any) -> Any:
    """The state of the model, or of a part of it."""
    here = header["model"]["state"]
    for step in path:
        here = here[step]["state"]
    return here


def array_name(header: Any, field: str) -> str:
    """Name of the array of a field of the forest."""
    value = state_of(header, "forest_")[field]
    while "items" in value:
        value = value["items"][0]
    return str(value["name"])


def test_save_and_load(model, tmp_path: Path) -> None:
    model.save(tmp_path / "a.weald")
    model.save(str(tmp_path / "a.weald"))  # replaces it
    assert [one.name for one in tmp_path.iterdir()] == ["a.weald"]
    loaded = weald.load(tmp_path / "a.weald")
    assert loaded.fingerprint() == model.fingerprint()
    assert np.array_equal(loaded.predict(table()[0]), model.predict(table()[0]))


def test_numpy_reads_the_arrays(content) -> None:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        assert "model.json" in file.files
        assert all(isinstance(file[name], (np.ndarray, bytes)) for name in file.files)


def check(content: bytes, fingerprint: str) -> str:
    """A file loads as the same model, or is refused."""
    try:
        loaded = model_of_bytes(content)
    except weald.ModelFormatError:
        return "refused"
    assert loaded.fingerprint() == fingerprint
    return "same"


def test_flipped_bits(model, content) -> None:
    """Bits that do not matter are those of the zip format, such as times."""
    fingerprint = model.fingerprint()
    places = np.random.default_rng(0).integers(0, 8 * len(content), 1500)
    outcomes = []
    for place in places.tolist():
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        outcomes.append(check(bytes(damaged), fingerprint))
    assert outcomes.count("refused") > 1000


def test_truncated_anywhere(content) -> None:
    for size in range(0, len(content), 37):
        with pytest.raises(weald.ModelFormatError):
            model_of_bytes(content[:size])


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"PK\x03\x04",
        b"\x00" * 100,
        b'{"learner": {}}',
        pickle.dumps({"a": 1}),
        np.random.default_rng(0).bytes(5000),
        b"PK\x03\x04" + np.random.default_rng(0).bytes(5000),
    ],
    ids=["empty", "start", "zeros", "json", "pickle", "random", "random zip"],
)
def test_other_files(foreign) -> None:
    with pytest.raises(weald.ModelFormatError):
        model_of_bytes(foreign)


def test_another_zip_file() -> None:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    with pytest.raises(weald.ModelFormatError, match="model.json"):
        model_of_bytes(file.getvalue())


def test_appended_bytes(content) -> None:
    with pytest.raises(weald.ModelFormatError, match="appended"):
        model_of_bytes(content + b"x")


def test_a_compressed_entry_is_refused(content) -> None:
    """No entry can be larger than the file."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(weald.ModelFormatError, match="compressed"):
        model_of_bytes(file.getvalue())


def test_a_newer_format_names_the_version(content) -> None:
    def newer(header: Any) -> None:
        header["format"], header["weald"] = FORMAT + 8, "9.1"

    with pytest.raises(weald.ModelFormatError, match=f"format {FORMAT + 8}.*9.1.*Upgrade"):
        model_of_bytes(changed(content, newer))


def set_forest(field: str, value: Any) -> Any:
    def change(header: Any) -> None:
        state_of(header, "forest_")[field] = value

    return change


def set_model(field: str, value: Any) -> Any:
    def change(header: Any) -> None:
        state_of(header)[field] = value

    return change


def delete(field: str) -> Any:
    def change(header: Any) -> None:
        del state_of(header)[field]

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.clear(),
        lambda header: header.update(model=None),
        lambda header: header.update(model=[]),
        lambda header: header.update(model={"is": "array", "name": "0"}),
        lambda header: header.update(model={"kind": "os.system", "state": {"command": "true"}}),
        lambda header: header.update(model={"kind": "Forest", "state": {}}),
        lambda header: header.update(model={"is": "decode"}),
        lambda header: header.update(model={"is": "same", "number": 0}),
        lambda header: header["model"].update(kind="BoostedTreesRegressor"),
        delete("forest_"),
        delete("n_features_in_"),
        set_model("n_features_in_", 2**60),
        set_model("n_features_in_", "3"),
        set_model("predict", 1),
        set_model("__class__", 1),
        set_model("__dict__", {"is": "dict", "items": []}),
        set_model("forest_", None),
        set_model("forest_", {"is": "same", "number": 10**9}),
        set_forest("n_columns", 2**60),
        set_forest("n_columns", -1),
        set_forest("first_node", {"is": "array", "name": "no such array"}),
        set_forest("feature", {"is": "tuple", "items": []}),
        set_forest("unknown", 1),
    ],
)
def test_hostile_headers(content, change) -> None:
    with pytest.raises(weald.ModelFormatError):
        model_of_bytes(changed(content, change))


def test_a_parameter_that_the_file_lacks_has_its_default(model, content) -> None:
    """As in files that were written before the parameter existed."""
    loaded = model_of_bytes(changed(content, delete("oob_score")))
    assert loaded.oob_score == weald.RandomForestRegressor().oob_score
    assert loaded.fingerprint() == model.fingerprint()


def test_numbers_of_numpy_stay_numbers(model) -> None:
    """Also in files of version 0.1, which hold them as arrays of one entry."""
    other = copy.copy(model)
    other.score_ = np.float64(0.25)
    header, arrays = archive.parse_archive(model_bytes(other))
    for array in (np.array(0.25), np.array([0.25])):
        name = header["model"]["state"]["score_"]["value"]["name"]
        content = archive.archive_bytes(header, {**arrays, name: array})
        assert repr(model_of_bytes(content).score_) == repr(other.score_)


def test_a_parameter_without_default_is_required() -> None:
    header = {"format": FORMAT, "model": {"kind": "VotingRegressor", "state": {}}}
    with pytest.raises(weald.ModelFormatError, match="lacks the parameter 'estimators'"):
        model_of_bytes(archive.archive_bytes(header, {}))


def test_a_field_that_the_file_lacks_has_its_default() -> None:
    """Of a part of a model: the plan of its columns."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"city": ["a", "b"] * 30, "km": np.arange(60.0)})
    model = weald.DecisionTreeRegressor().fit(X, np.arange(60.0))
    content = model_bytes(model)
    header, arrays = archive.parse_archive(content)
    removed = without_defaults(header["model"])
    assert removed > 0
    loaded = model_of_bytes(archive.archive_bytes(header, arrays))
    assert loaded.fingerprint() == model.fingerprint()
    assert np.array_equal(loaded.predict(X), model.predict(X))


def without_defaults(value: Any) -> int:
    """Remove the fields with a default from the plan and its columns; their number."""
    if isinstance(value, list):
        return sum(map(without_defaults, value))
    if not isinstance(value, dict):
        return 0
    count = sum(map(without_defaults, value.values()))
    cls = class_of(value.get("kind", ""))
    if cls is not None and cls.__module__ in ("weald.data.plan", "weald.data.columns"):
        for one in fields(cls):
            absent = one.default is MISSING and one.default_factory is MISSING
            if not absent and value["state"].pop(one.name, None) is not None:
                count += 1
    return count


def test_deep_nesting(content) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("model.json", b'{"format": 1, "model": ' + deep + b"}")
    with pytest.raises(weald.ModelFormatError):
        model_of_bytes(file.getvalue())


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("feature", lambda a: a + 100),  # no such column
        ("feature", lambda a: np.full_like(a, -1)),  # a leaf after a leaf
        ("feature", lambda a: np.zeros_like(a)),  # a tree without leaves
        ("feature", lambda a: a[:-1]),
        ("threshold", lambda a: np.full_like(a, np.nan)),
        ("threshold", lambda a: a[:-1]),
        ("first_node", lambda a: a * 2**40),
        ("first_node", lambda a: a[::-1].copy()),
        ("first_node", lambda a: a.astype(np.float64)),
        ("first_leaf", lambda a: a + 1),
        ("output", lambda a: a + 7),
        ("tree_weight", lambda a: a[:-1]),
        ("value", lambda a: a[:-1]),
        ("value", lambda a: np.zeros((len(a), 2**10))),
        ("base_score", lambda a: np.zeros(5)),
    ],
)
def test_hostile_arrays(model, content, field, change) -> None:
    def arrays(found: Any, header: Any) -> None:
        name = array_name(header, field)
        found["hostile"] = change(found[name])
        text = json.dumps(state_of(header, "forest_")[field])
        new = text.replace(f'"name": "{name}"', '"name": "hostile"')
        state_of(header, "forest_")[field] = json.loads(new)

    with pytest.raises(weald.ModelFormatError):
        model_of_bytes(changed(content, arrays=arrays))


@pytest.mark.parametrize("size", [2**60, 10**18])
def test_an_array_that_claims_to_be_huge(content, size) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            if name == "0.npy":
                start = body[:10]
                header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({size},), }}"
                body = start + header.ljust(len(body[10:128]) - 1).encode() + b"\n" + body[128:]
            new.writestr(name, body)
    with pytest.raises(weald.ModelFormatError, match="shape"):
        model_of_bytes(file.getvalue())


def test_members_that_cannot_be_saved_are_named() -> None:
    X, y = table()
    parts = [("line", LogisticRegression()), ("vectors", SVC())]
    model = weald.VotingClassifier(parts).fit(X, y > 0)
    with pytest.raises(weald.ModelFormatError, match=r"estimators\[1\]\[1\] is .*SVC"):
        model_bytes(model)


def test_functions_cannot_be_saved() -> None:
    X, y = table()
    model = weald.BoostedTreesRegressor(scoring=lambda model, X, y: 0.0).fit(X, y)
    with pytest.raises(weald.ModelFormatError, match=r"BoostedTreesRegressor.scoring.*no code"):
        model_bytes(model)


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        weald.RandomForestRegressor().save(tmp_path / "a.weald")


@pytest.mark.parametrize("path", [b"a.weald", 3, None])
def test_paths_of_a_wrong_type(model, path) -> None:
    with pytest.raises(TypeError, match="path must be"):
        weald.load(path)
    with pytest.raises(TypeError, match="path must be"):
        model.save(path)


def test_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        weald.load(tmp_path / "none.weald")
    with pytest.raises(OSError, match="regular"):
        weald.load(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="regular"):
            weald.load(tmp_path / "pipe")


def test_a_failed_save_leaves_the_old_file(model, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.weald"
    model.save(path)
    before = path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        model.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["a.weald"]


def test_columns_of_every_kind(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {
            "number": rng.normal(size=80),
            "text": rng.choice(["a", "b", "ü", "<script>"], 80),
            "whole": pandas.Categorical(rng.integers(0, 3, 80)),
            "ordered": pandas.Categorical(rng.choice(["s", "m"], 80), ["s", "m"], ordered=True),
            "day": pandas.date_range("2020-01-01", periods=80, tz="UTC"),
            "span": pandas.to_timedelta(rng.integers(0, 99, 80), unit="s"),
        }
    )
    y = rng.normal(size=80) + (X["text"] == "a")
    model = weald.BoostedTreesRegressor().fit(X, y)
    model.save(tmp_path / "a.weald")
    loaded = weald.load(tmp_path / "a.weald")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.feature_names_in_.tolist() == list(X.columns)


def test_records_of_training_rows() -> None:
    X, y = table()
    model = weald.BoostedTreesRegressor().fit(X, y)
    whole = model_of_bytes(model_bytes(model, oob=True))
    assert np.array_equal(whole.predict_interval(X), model.predict_interval(X))
    without = model_of_bytes(model_bytes(model))
    with pytest.raises(AttributeError, match="oob=True"):
        without.predict_interval(X)
    with pytest.raises(AttributeError, match="oob=True"):
        pickle.loads(pickle.dumps(without)).predict_interval(X)

"""Damaged and hostile model files until the time is up: `make fuzz TIME=600 SEED=7`.

First every single flipped bit of the golden file of each class, then random changes of the JSON
and the arrays with checksums that fit, so that they reach the code behind the container. A file
must load, or raise ModelFormatError; whatever loads must predict a row, or refuse it.
`ARGS="--first 12"` begins with the thirteenth file. `ARGS=--every-bit` flips every bit of every
file, however long it takes (half an hour of one core), and nothing else: first those outside of
the entries of the archives, then those within, which are under a checksum. Several runs can share
the files: `--first 0 --last 5`, `--first 6`.
"""

import argparse
import copy
import faulthandler
import io
import random
import resource
import struct
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import weald
from golden.model_files import FOLDER, facts_of, names_of_files
from weald.persist.archive import archive_bytes, parse_archive
from weald.persist.model_file import model_of_bytes

LONGEST = 10.0  # seconds for one file
ROW = np.zeros((1, 100))
MEMORY = 4 * 2**30  # bytes of the whole process; the files are of some kilobytes


def small_models() -> Iterator[tuple[str, Any, bytes]]:
    """The golden file of each class."""
    for name in names_of_files():
        content = (FOLDER / f"{name}.weald").read_bytes()
        yield name, model_of_bytes(content), content


def outcome(content: bytes, row: np.ndarray) -> tuple[str, Any]:
    """What becomes of a file."""
    begin = time.monotonic()
    try:
        model = model_of_bytes(content)
    except weald.ModelFormatError:
        return "refused", None
    finally:
        assert time.monotonic() - begin < LONGEST, "loading takes too long"
    try:
        model.predict(row[:, : model.n_features_in_])
    except (TypeError, ValueError) as error:  # such as text as categories instead of numbers
        return f"predict raises {type(error).__name__}", model
    return "loaded", model


def bits_of(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The bits of a file outside of the entries of its archive, and those within."""
    is_within = np.zeros(len(content), dtype=bool)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            name, extra = struct.unpack_from("<HH", content, entry.header_offset + 26)
            begin = entry.header_offset + 30 + name + extra
            is_within[begin : begin + entry.file_size] = True
    of_bits = np.repeat(is_within, 8)
    return np.flatnonzero(~of_bits), np.flatnonzero(of_bits)


def flip(bits: np.ndarray, name: str, content: bytes, end: float) -> Counter[str]:
    """Flip bits of a file, one at a time: refused, or the same model."""
    seen: Counter[str] = Counter()
    facts, known = facts_of(model_of_bytes(content)), parse_archive(content)
    damaged = bytearray(content)
    for place in bits.tolist():
        damaged[place // 8] ^= 1 << place % 8
        what = outcome_of_flip(bytes(damaged), known, facts)
        assert not what.startswith("another"), (name, place, what)
        seen[what] += 1
        damaged[place // 8] ^= 1 << place % 8
        if time.monotonic() > end:
            break
    return seen


def outcome_of_flip(damaged: bytes, known: Any, facts: Any) -> str:
    """Whether a file is refused or has the same model."""
    try:
        header, arrays = parse_archive(damaged)
    except weald.ModelFormatError:
        return "refused"
    same = header == known[0] and arrays.keys() == known[1].keys()
    if same and all(_are_same(arrays[name], known[1][name]) for name in arrays):
        return "same content"  # a model is decoded from nothing else
    what, model = outcome(damaged, ROW)
    return what if what == "refused" or facts_of(model) == facts else f"another model: {what}"


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def nodes_of(value: Any) -> list[tuple[Any, Any]]:
    """All places of a JSON tree, as (container, key)."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, one in items:
        found.append((value, key))
        if isinstance(one, (dict, list)):
            found += nodes_of(one)
    return found


VALUES = [None, True, 0, -1, 1, 2**31, 2**63, 10**30, 0.5, "", "a", [], {}, {"is": "all"}]


def changed(content: bytes, rng: random.Random) -> bytes:
    """A file with a few values or arrays changed."""
    header, arrays = parse_archive(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if rng.random() < 0.5:
            places = nodes_of(header["model"])
            where, key = rng.choice(places)
            other, other_key = rng.choice(places)
            where[key] = copy.deepcopy(rng.choice([*VALUES, other[other_key]]))
        elif arrays:
            name = rng.choice(list(arrays))
            arrays[name] = changed_array(arrays[name], rng)
    return archive_bytes(header, arrays)


def changed_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    flat = array.ravel().copy()
    if not flat.size or flat.dtype.kind == "U":
        return np.zeros(rng.choice([(0,), (1,), (3, 3)]))
    match rng.randrange(5):
        case 0:
            flat[rng.randrange(flat.size)] = 0
        case 1:
            body = bytearray(flat.tobytes())
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
            flat = np.frombuffer(bytes(body), flat.dtype)
        case 2:
            return flat[: rng.randrange(flat.size)]
        case 3:
            return np.concatenate([flat, flat])
        case _:
            return flat.astype(rng.choice([np.int8, np.uint8, np.int32, np.int64, np.float64]))
    return flat.reshape(array.shape)


def flip_all(models: list[tuple[str, Any, bytes]], end: float) -> int:
    """Flip every bit of these files until the time is up; the number of flips."""
    n_done = 0
    for which, what in enumerate(("outside of the entries", "within the entries")):
        for name, _, content in models:
            if time.monotonic() > end:
                return n_done
            bits = bits_of(content)[which]
            outcomes = flip(bits, name, content, end)
            n_done += outcomes.total()
            print(name, f"{outcomes.total()} of {len(bits)} bits {what}:", end=" ")
            print(dict(outcomes), flush=True)
    return n_done


def change_at_random(models: list[tuple[str, Any, bytes]], end: float, seed: int) -> int:
    """Change these files at random until the time is up; the number of changed files."""
    rng, seen = random.Random(seed), Counter[str]()
    while time.monotonic() < end:
        _, _, content = rng.choice(models)
        seen[outcome(changed(content, rng), ROW)[0]] += 1
    print("changed at random:", dict(seen))
    return seen.total()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file, from 0")
    parser.add_argument("--last", type=int, default=None, help="number of the last file")
    parser.add_argument("--every-bit", action="store_true", help="flip all bits, nothing else")
    given = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    begin, models = time.monotonic(), list(small_models())
    chosen = models[given.first : None if given.last is None else given.last + 1]
    if given.every_bit:
        n_done = flip_all(chosen, end=np.inf)
    else:
        n_done = flip_all(chosen, begin + given.seconds / 2)
        n_done += change_at_random(models, begin + given.seconds, given.seed)
    print(f"{n_done} files, {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main()

"""Model files of earlier versions load, with the same fingerprint and predictions."""

import json
import warnings
from typing import Any

import numpy as np
import pytest

import weald
from contract.subjects import EVERY_DETECTOR, EVERY_ESTIMATOR, EVERY_SURVIVAL_MODEL, RANKERS
from golden.model_files import EXPECTED, FOLDER, facts_of, names_of_files
from weald.persist.model_file import model_of_bytes

every_file = pytest.mark.parametrize("name", names_of_files())
N_DAMAGED = 40  # of each file; `make fuzz` flips every bit of such models


def expected(name: str) -> Any:
    return json.loads(EXPECTED.read_text(encoding="utf-8"))[name]


@every_file
def test_an_earlier_file_predicts_the_same(name) -> None:
    model = weald.load(FOLDER / f"{name}.weald")
    assert type(model).__name__ == name.partition(".")[0]
    assert facts_of(model) == expected(name)


def test_every_class_has_a_file() -> None:
    classes = [*EVERY_ESTIMATOR, *EVERY_DETECTOR, *EVERY_SURVIVAL_MODEL, *RANKERS]
    assert {one.__name__ for one in classes} == {
        name.partition(".")[0] for name in names_of_files()
    }


@every_file
def test_flipped_bits_and_truncations(name) -> None:
    content = (FOLDER / f"{name}.weald").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(content), N_DAMAGED).tolist():
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of zip entries that occur twice
            try:
                loaded = model_of_bytes(bytes(damaged))
            except weald.ModelFormatError:
                continue
        assert loaded.fingerprint() == expected(name)["fingerprint"]
    for size in rng.integers(0, len(content), N_DAMAGED).tolist():
        with pytest.raises(weald.ModelFormatError):
            model_of_bytes(content[:size])

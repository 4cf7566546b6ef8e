"""Exported C and Python predict what the model predicts."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weald
from export.fitted import (
    SUBJECTS,
    expected,
    fitted,
    has_same_bits,
    new_rows,
    of_categories,
    of_short_sets,
)

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def run_python(model: Any, X: np.ndarray) -> np.ndarray:
    source = weald.export.to_python(model)
    assert [line for line in source.splitlines() if "import " in line] == ["import math"]
    module: dict[str, Any] = {}
    exec(source, module)
    return np.array([module["predict"](row) for row in X.tolist()])


def run_c(model: Any, X: np.ndarray, folder: Path, n_outputs: int = 1) -> np.ndarray:
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    (folder / "model.c").write_text(weald.export.to_c(model))
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    command = [COMPILER, *flags, "model.c", "-o", "model.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    predict = ctypes.CDLL(str(folder / "model.so")).predict
    pointer = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    predict.argtypes, predict.restype = [pointer, pointer], None
    out = np.full((len(X), n_outputs + 1), -7.0)
    for row, result in zip(np.ascontiguousarray(X), out, strict=True):
        predict(row, result)
    assert (out[:, -1] == -7.0).all()  # nothing is written beyond the outputs
    return out[:, :-1]


def check(model: Any, found: np.ndarray, X: Any) -> None:
    truth = expected(model, X)
    assert found.shape == truth.shape
    if has_same_bits(model):
        assert np.array_equal(found, truth)
    assert found == pytest.approx(truth, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", SUBJECTS)
def test_python(name: str) -> None:
    check(fitted(name), run_python(fitted(name), new_rows()), new_rows())


@pytest.mark.parametrize("name", SUBJECTS)
def test_c(name: str, tmp_path: Path) -> None:
    n_outputs = expected(fitted(name), new_rows()).shape[1]
    check(fitted(name), run_c(fitted(name), new_rows(), tmp_path, n_outputs), new_rows())


def test_categories(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    model, X, coded = of_categories()
    check(model, run_python(model, coded), X)
    check(model, run_c(model, coded, tmp_path), X)


def test_what_is_no_category_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    model, _, coded = of_categories()
    strange = np.repeat(coded[:1], 6, axis=0)
    strange[:, 0] = [np.nan, -1, 0.5, 1e300, np.inf, -np.inf]
    for found in (run_python(model, strange), run_c(model, strange, tmp_path)):
        assert (found == found[0]).all()


@pytest.mark.parametrize("missing_left", [False, True])
def test_sets_of_few_words(missing_left: bool, tmp_path: Path) -> None:
    model, X = of_short_sets(missing_left)
    check(model, run_python(model, X), X)
    check(model, run_c(model, X, tmp_path), X)


def test_infinite_thresholds(tmp_path: Path) -> None:
    """Float32 splits that only infinity passes, as of imported models."""
    from dataclasses import replace

    model = weald.DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
    threshold = np.where(model.forest_.feature < 0, 0.0, -np.inf)
    model.forest_ = replace(model.forest_, threshold=threshold)
    X = np.array([[-np.inf], [0.0], [np.inf], [np.nan]])
    check(model, run_python(model, X), X)
    check(model, run_c(model, X, tmp_path), X)


def test_names_do_not_end_the_comment(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    names = ["*/ int x;", "/*", "a\nb", "ä\\"]
    X = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=names)
    model = weald.DecisionTreeClassifier().fit(X, ["*/", "\n", "*/"])
    check(model, run_c(model, X.to_numpy(), tmp_path, 2), X)
    check(model, run_python(model, X.to_numpy()), X)


def test_the_comment_lists_inputs_and_outputs() -> None:
    model = fitted("boosted, two classes")
    for source in (weald.export.to_c(model), weald.export.to_python(model)):
        assert model.fingerprint() in source
        assert "inputs: 4, outputs: 2" in source
        assert "1: probability of class 'yes'" in source


def test_the_function_can_be_renamed() -> None:
    model = fitted("tree")
    assert "void risk_2(const double *x, double *out)" in weald.export.to_c(model, name="risk_2")
    module: dict[str, Any] = {}
    exec(weald.export.to_python(model, name="risk_2"), module)
    assert len(module["risk_2"]([1.0] * 4)) == 1


@pytest.mark.parametrize("name", ["2nd", "a b", "", "ä", "while", "threshold"])
def test_bad_names_in_c(name: str) -> None:
    with pytest.raises(ValueError, match="name must be a name of a function"):
        weald.export.to_c(fitted("tree"), name=name)


@pytest.mark.parametrize("name", ["2nd", "class", "_leaf", "math"])
def test_bad_names_in_python(name: str) -> None:
    with pytest.raises(ValueError, match="name must"):
        weald.export.to_python(fitted("tree"), name=name)
    with pytest.raises(TypeError, match="name must be a str; got int"):
        weald.export.to_python(fitted("tree"), name=3)  # type: ignore[arg-type]

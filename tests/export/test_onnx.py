"""Exported ONNX models predict in onnxruntime what the model predicts."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weald
from export.fitted import SUBJECTS, expected, fitted, new_rows, of_categories, of_short_sets

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run(exported: Any, X: np.ndarray) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # a session of more threads lets them wait in a busy loop
    session = onnxruntime.InferenceSession(
        exported.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def predictions(found: dict[str, np.ndarray]) -> np.ndarray:
    parts = [value for name, value in found.items() if not name.startswith("label")]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_predictions(name: str, dtype: str) -> None:
    model, X = fitted(name), new_rows()
    found = run(weald.export.to_onnx(model, dtype=dtype), X.astype(dtype))
    truth = expected(model, X)
    size = np.abs(truth).max()
    assert predictions(found).dtype == np.float32
    assert predictions(found) == pytest.approx(truth, rel=2e-6, abs=2e-6 * size)
    if hasattr(model, "classes_"):
        check_labels(model, X, found, SUBJECTS[name].n_targets)


def check_labels(model: Any, X: np.ndarray, found: dict[str, np.ndarray], n_targets: int) -> None:
    """Labels are equal but for classes as probable as another one within float32 rounding."""
    own = model.predict(X).reshape(len(X), n_targets)
    for i in range(n_targets):
        suffix = f"_{i}" if n_targets > 1 else ""
        probabilities = np.sort(found[f"probabilities{suffix}"], axis=1)
        is_clear = np.ptp(probabilities[:, -2:], axis=1) > 1e-6
        is_clear |= probabilities.shape[1] == 1
        assert is_clear.mean() > 0.5
        assert np.array_equal(found[f"label{suffix}"][is_clear], own[is_clear, i])


def test_float32_numbers_reach_the_same_leaves() -> None:
    """Leaves of a full tree differ in value, so that one wrong turn shows."""
    rng = np.random.default_rng(3)
    X = rng.random((500, 1)).astype(np.float32)
    model = weald.DecisionTreeRegressor().fit(X, np.arange(500.0))
    thresholds = model.forest_.threshold[model.forest_.feature >= 0]
    assert (thresholds != thresholds.astype(np.float32)).any()
    near = thresholds.astype(np.float32)
    one = np.float32(1)
    new = np.concatenate([near, np.nextafter(near, one), np.nextafter(near, -one)])[:, np.newaxis]
    found = run(weald.export.to_onnx(model), new)["predictions"][:, 0]
    assert np.array_equal(found, model.predict(new).astype(np.float32))


def test_float64_numbers_reach_the_same_leaves() -> None:
    X = 2.0**30 + np.arange(200.0)[:, np.newaxis] / 8  # equal as float32
    model = weald.DecisionTreeRegressor().fit(X, np.arange(200.0))
    found = run(weald.export.to_onnx(model, dtype="float64"), X)["predictions"][:, 0]
    assert found.tolist() == list(range(200))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories(dtype: str) -> None:
    pytest.importorskip("pandas")
    model, X, coded = of_categories()
    exported = weald.export.to_onnx(model, dtype=dtype)
    truth = model.predict(X)
    found = run(exported, coded.astype(dtype))["predictions"][:, 0]
    assert found == pytest.approx(truth, rel=1e-5, abs=1e-5)
    unknown = coded.copy()
    unknown[:, 0] = np.where(np.isnan(coded[:, 0]), 1000.0, coded[:, 0])
    found = run(exported, unknown.astype(dtype))["predictions"][:, 0]
    assert found == pytest.approx(truth, rel=1e-5, abs=1e-5)


def test_sets_of_one_column_that_follow_each_other() -> None:
    """onnxruntime 1.31 merges tests for equality that lead to leaves of several values."""
    levels = np.tile(np.arange(8.0), 30)[:, np.newaxis]
    classes = levels[:, 0].astype(int)
    model = weald.DecisionTreeClassifier(categorical_features=[0]).fit(levels, classes)
    assert model.get_n_leaves() == 8  # one level after the other is split off
    found = run(weald.export.to_onnx(model), levels.astype(np.float32))
    assert np.array_equal(found["label"], classes)
    assert np.array_equal(found["probabilities"], np.eye(8)[classes])


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_forests_of_categories(seed: int, n_columns: int) -> None:
    rng, n_levels = np.random.default_rng(seed), (5, 31, 70)[seed]
    codes = rng.integers(0, n_levels, (600, n_columns)).astype(float)
    codes[:n_levels] = np.arange(n_levels)[:, np.newaxis]  # every level is there: it is its code
    effect = rng.standard_normal((n_columns, n_levels))
    score = sum(effect[c, codes[:, c].astype(int)] for c in range(n_columns))
    classes = np.digitize(score + 0.3 * rng.standard_normal(len(codes)), [-1, 0, 1])
    columns = list(range(n_columns))
    for targets in (classes, np.column_stack([classes, classes[::-1]])):
        model = weald.RandomForestClassifier(3, categorical_features=columns, random_state=0)
        model.fit(codes, targets)
        found = run(weald.export.to_onnx(model), codes.astype(np.float32))
        truth = expected(model, codes)
        assert predictions(found) == pytest.approx(truth, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("missing_left", [False, True])
def test_sets_of_few_words(missing_left: bool) -> None:
    model, X = of_short_sets(missing_left)
    found = run(weald.export.to_onnx(model), X.astype(np.float32))["predictions"][:, 0]
    assert np.array_equal(found, model.predict(X))


def test_metadata_and_file(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    model, _, _ = of_categories()
    exported = weald.export.to_onnx(model, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == exported
    facts = {one.key: one.value for one in exported.metadata_props}
    assert facts["fingerprint"] == model.fingerprint()
    assert json.loads(facts["columns"]) == ["city", "size", "km"]
    codes = weald.export.category_codes(model)
    assert json.loads(facts["categories"]) == [list(codes["city"]), list(codes["size"]), None]
    assert exported.producer_name == "weald"


def test_labels() -> None:
    X = new_rows()[:240]
    is_yes = (SUBJECTS["boosted, two classes"].target() == "yes").astype(int)
    for labels, kind in ((["no", "yes"], object), ([3, 7], np.int64), ([False, True], bool)):
        model = weald.DecisionTreeClassifier(max_depth=3).fit(X, np.array(labels)[is_yes])
        found = run(weald.export.to_onnx(model), X.astype(np.float32))["label"]
        assert found.dtype == kind
        assert np.array_equal(found, model.predict(X))


def test_values_beyond_float32() -> None:
    model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1e200, -1e200])
    with pytest.raises(ValueError, match="values up to 1e[+]200, and float32"):
        weald.export.to_onnx(model)


def test_bad_dtype() -> None:
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64'; got 'half'"):
        weald.export.to_onnx(fitted("tree"), dtype="half")


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's ONNX examples, which doctest skips because onnx may not be installed."""
    guide = Path(__file__).parents[2] / "docs" / "guide" / "exporting.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    setup = "\n".join(re.findall(r"^(?:>>>|\.\.\.) (.*)$", blocks[0], re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(setup, names)
    (example,) = [block for block in blocks if "onnxruntime" in block]
    exec(example, names)
    assert names["difference"] < 1e-6

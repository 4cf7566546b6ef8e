"""Exported models beside weald: equal predictions, time of batch prediction, size of the files.

Models of real tables, with categories and missing values, as ONNX in onnxruntime and as C. Times
are processor milliseconds of one thread, the median of interleaved runs. Needs onnx, onnxruntime
and a C compiler.

    WEALD_DATA=... python studies/exported_models.py [--runs 5]
"""

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas
from sklearn.base import is_classifier

import weald

TABLES = ["adult", "ames", "california_housing", "eucalyptus", "hypothyroid", "telco_churn"]
MOST_ROWS, BATCH = 6_000, 10_000


def load(name: str) -> tuple[pandas.DataFrame, np.ndarray, bool]:
    """A frame, its target, and whether that is of classes."""
    frame = pandas.read_parquet(Path(os.environ["WEALD_DATA"]) / f"{name}.parquet")
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0).reset_index(drop=True)
    target = frame.pop("target")
    is_classes = not pandas.api.types.is_float_dtype(target) and target.nunique() < 30
    return frame, target.astype(str if is_classes else float).to_numpy(), is_classes


def models(is_classes: bool) -> list[Any]:
    booster = {"quality": "fast", "n_bags": None, "target_statistics": False, "n_jobs": 1}
    forest = {"n_estimators": 100, "random_state": 0, "n_jobs": 1}
    if is_classes:
        return [weald.BoostedTreesClassifier(**booster), weald.RandomForestClassifier(**forest)]
    return [weald.BoostedTreesRegressor(**booster), weald.RandomForestRegressor(**forest)]


def coded(model: Any, frame: pandas.DataFrame) -> np.ndarray:
    """The table as exported models take it, of numbers that float32 holds."""
    codes = weald.export.category_codes(model)
    columns = [
        frame[name].astype(object).map(codes[name]) if name in codes else frame[name]
        for name in frame
    ]
    numbers = np.column_stack([np.asarray(one, dtype=np.float32) for one in columns])
    return np.ascontiguousarray(numbers)


def as_onnx(model: Any, folder: Path) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    file = folder / "model.onnx"
    weald.export.to_onnx(model, file)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"])
    return lambda X: session.run(None, {"X": X})[-1], file.stat().st_size


def as_c(model: Any, n_outputs: int, folder: Path) -> tuple[Callable[[Any], np.ndarray], int]:
    """The function for many rows, and the size of the compiled code."""
    rows = """
void predict_all(const double *x, double *out, long n, long n_columns, long n_outputs) {
  for (long i = 0; i < n; ++i) predict(x + i * n_columns, out + i * n_outputs);
}
"""
    source, library = folder / "model.c", folder / f"model{time.monotonic_ns()}.so"
    source.write_text(weald.export.to_c(model) + rows, encoding="utf-8")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-lm", "-o", library], check=True)
    function = ctypes.CDLL(str(library)).predict_all
    number = ctypes.POINTER(ctypes.c_double)
    function.argtypes = [number, number, *[ctypes.c_long] * 3]

    def predict(X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), n_outputs))
        table = np.ascontiguousarray(X, dtype=np.float64)
        function(table.ctypes.data_as(number), out.ctypes.data_as(number), *table.shape, n_outputs)
        return out

    return predict, library.stat().st_size


def medians(predicts: list[Callable[[], Any]], n_runs: int) -> np.ndarray:
    times = np.zeros((n_runs + 1, len(predicts)))
    for run in range(n_runs + 1):  # the first is not counted
        for which, predict in enumerate(predicts):
            begin = time.process_time()
            predict()
            times[run, which] = 1000 * (time.process_time() - begin)
    return np.asarray(np.median(times[1:], axis=0))


def row_of(name: str, model: Any, frame: pandas.DataFrame, n_runs: int, folder: Path) -> str:
    own = model.predict_proba if is_classifier(model) else model.predict
    table = coded(model, frame)
    # The caller rounds numbers to float32; weald is given the same.
    rounded = frame.copy()
    for one in frame.select_dtypes("number"):
        rounded[one] = frame[one].astype(np.float32).astype(np.float64)
    expected = own(rounded).reshape(len(frame), -1)
    onnx, onnx_size = as_onnx(model, folder)
    c, c_size = as_c(model, expected.shape[1], folder)
    model.save(folder / "model.weald")
    sizes = [one / 1000 for one in ((folder / "model.weald").stat().st_size, onnx_size, c_size)]
    scale = max(1.0, float(np.abs(expected).max()))
    apart = [
        float(np.abs(predict(table).reshape(expected.shape) - expected).max()) / scale
        for predict in (onnx, c)
    ]
    chosen = np.random.default_rng(0).integers(0, len(table), BATCH)
    batch, rows = table[chosen], rounded.iloc[chosen].reset_index(drop=True)
    times = medians([lambda: own(rows), lambda: onnx(batch), lambda: c(batch)], n_runs)
    cells = [f"{one:.0e}" for one in apart] + [f"{one:.1f}" for one in times]
    cells += [f"{one:.0f}" for one in sizes]
    return f"| {name} | {type(model).__name__} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"batch of {BATCH} rows, one thread, processor milliseconds, kB")
    print(
        "| table | model | ONNX: difference | C: difference | weald, ms | ONNX, ms | C, ms "
        "| weald, kB | ONNX, kB | C, kB |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            frame, y, is_classes = load(name)
            for model in models(is_classes):
                fitted = model.fit(frame, y)
                print(row_of(name, fitted, frame, given.runs, Path(folder)), flush=True)


if __name__ == "__main__":
    main()

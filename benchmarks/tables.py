"""The tables the rows are measured on, found by name: generated, bundled with scikit-learn, or
read from the folder that the environment variable WEALD_DATA names."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

BLOCK = 1 << 16


@dataclass(frozen=True)
class Table:
    """A training part and a held-out part, with the metric that judges a model on the latter."""

    name: str
    task: str
    X: Any  # an array or a pandas frame
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def score(self, model: Any, prepare: Callable[[Any], Any] = lambda X: X) -> float:
        """The metric of a fitted classifier on the held-out part."""
        return score(self.task, model, prepare(self.X_test), self.y_test)


def score(task: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """AUC for two classes, accuracy for more."""
    probabilities = np.asarray(model.predict_proba(X))
    if task == "binary":
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(accuracy_score(y, probabilities.argmax(axis=1)))


class Absent(Exception):
    """The table's file is not here; the message says where it was looked for."""


def load(name: str, **size: int) -> Table:
    """The table of this name; generated ones take `rows` and `test_rows`, some `columns` too."""
    return TABLES[name](**size)


def generated(
    block: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]],
    columns: int,
    rows: int,
    seed: int,
    size: int = BLOCK,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows made block by block, each from its own seed.

    So a longer table begins with the shorter one, and making it needs little memory besides.
    """
    X = np.empty((rows, columns), dtype=np.float32)
    y = np.empty(rows, dtype=np.int64)
    for number, start in enumerate(range(0, rows, size)):
        rng = np.random.default_rng([seed, number])
        part_X, part_y = block(rng, size)
        stop = min(start + size, rows)
        X[start:stop] = part_X[: stop - start]
        y[start:stop] = part_y[: stop - start]
    return X, y


def higgs_like(rows: int = 1_000_000, test_rows: int = 100_000) -> Table:
    """28 float32 columns and two classes in the manner of the HIGGS table.

    21 measured columns (momenta, angles, tags of three values) and 7 masses computed from them;
    the class depends on masses and angles jointly, so that no single column decides.
    """
    X, y = generated(_collisions, 28, rows, seed=1)
    X_test, y_test = generated(_collisions, 28, test_rows, seed=2)
    return Table("higgs_like", "binary", X, y, X_test, y_test)


def _collisions(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """One block of `higgs_like`: a lepton, missing energy and four jets, then seven masses."""
    f32 = np.float32
    momentum = rng.standard_gamma(2.5, (n, 6), dtype=f32) * f32(0.4)
    eta = rng.standard_normal((n, 6), dtype=f32)
    eta[:, 1] = 0.0  # missing energy is seen across the beam only
    phi = (rng.random((n, 6), dtype=f32) * 2 - 1) * f32(np.pi)
    tag = np.digitize(rng.random((n, 4), dtype=f32), [0.5, 0.75]).astype(f32)

    def mass(a: int, b: int) -> np.ndarray:
        opening = np.cosh(eta[:, a] - eta[:, b]) - np.cos(phi[:, a] - phi[:, b])
        found: np.ndarray = np.sqrt(2 * momentum[:, a] * momentum[:, b] * np.abs(opening))
        return found

    masses = np.column_stack([mass(*pair) for pair in _PAIRS])
    masses = np.column_stack([masses, masses.sum(axis=1)])
    jets = [
        column
        for j in range(4)
        for column in (momentum[:, 2 + j], eta[:, 2 + j], phi[:, 2 + j], tag[:, j])
    ]
    X = np.column_stack(
        [momentum[:, 0], eta[:, 0], phi[:, 0], momentum[:, 1], phi[:, 1], *jets, masses]
    )
    chance = 1 / (1 + np.exp(-_signal(momentum, eta, phi, tag, masses)))
    return X, (rng.random(n) < chance).astype(np.int64)


_PAIRS = ((2, 3), (4, 5), (0, 1), (0, 2), (2, 4), (3, 5))


def _signal(
    momentum: np.ndarray, eta: np.ndarray, phi: np.ndarray, tag: np.ndarray, masses: np.ndarray
) -> np.ndarray:
    """Log odds of the second class; the factors put 100 trees of 31 leaves near an AUC of 0.79."""

    def bump(column: int, centre: float, width: float) -> np.ndarray:
        found: np.ndarray = np.exp(-(((masses[:, column] - centre) / width) ** 2))
        return found

    resonances = 1.4 * bump(0, 1.2, 0.5) * (0.4 + tag[:, 0]) + 1.2 * bump(1, 1.0, 0.4)
    decay = 1.1 * bump(2, 0.9, 0.5) - 1.1 * np.cos(phi[:, 0] - phi[:, 1]) * bump(3, 1.2, 0.8)
    crossed = 0.7 * bump(4, 1.6, 0.6) * tag[:, 2] - 0.7 * bump(5, 1.4, 0.6) * tag[:, 3]
    wide = 0.35 * np.abs(eta[:, 0] - eta[:, 2]) + 0.15 * eta[:, 3] * eta[:, 4]
    soft = 0.5 * momentum[:, 1] * (tag[:, 1] - 0.7) + 0.25 * momentum[:, 2] - 0.2 * momentum[:, 5]
    odds: np.ndarray = resonances + decay + crossed - wide - soft - 0.05 * masses[:, 6] + 0.2
    return odds


def wide(rows: int = 100_000, test_rows: int = 20_000, columns: int = 200) -> Table:
    """Any number of dense float32 columns and two classes.

    Half of the columns are normal, a quarter skewed, a quarter whole numbers up to 9; twelve of
    them, spread over all, decide the class by sums and products.
    """
    block = partial(_wide_block, columns=columns)
    X, y = generated(block, columns, rows, seed=3, size=1 << 12)
    X_test, y_test = generated(block, columns, test_rows, seed=4, size=1 << 12)
    return Table("wide", "binary", X, y, X_test, y_test)


def _wide_block(rng: np.random.Generator, n: int, *, columns: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, columns), dtype=np.float32)
    X[:, 2::4] = np.exp(X[:, 2::4])
    X[:, 3::4] = np.clip(np.floor(2.5 * X[:, 3::4] + 5), 0, 9)
    z = X[:, np.linspace(0, columns - 1, 12).astype(int)]
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    odds = z[:, :6].sum(axis=1) * 0.4 + z[:, 6] * z[:, 7] + np.abs(z[:, 8]) * z[:, 9] - z[:, 10]
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def sparse(rows: int = 200_000, test_rows: int = 50_000) -> Table:
    """100 float32 columns of counts and amounts: mostly zero, heavy-tailed, with missing values.

    From column to column 50 to 99 of 100 values are zero and up to 30 of 100 are missing; the
    others are log-normal, every other column rounded to whole numbers. The class depends on
    which values are there and on how large they are.
    """
    X, y = generated(_sparse_block, _SPARSE_COLUMNS, rows, seed=5)
    X_test, y_test = generated(_sparse_block, _SPARSE_COLUMNS, test_rows, seed=6)
    return Table("sparse", "binary", X, y, X_test, y_test)


_SPARSE_COLUMNS = 100


def _sparse_block(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    place = np.arange(_SPARSE_COLUMNS)
    zero = 0.5 + 0.49 * (place * 37 % 100 / 99) ** 0.5
    missing = np.where(place % 3 == 0, 0.3 * (place * 61 % 100) / 99, 0.0)
    X = np.exp(2 * rng.standard_normal((n, _SPARSE_COLUMNS), dtype=np.float32))
    X[:, ::2] = np.ceil(X[:, ::2])
    there = rng.random(X.shape, dtype=np.float32) >= zero
    X *= there
    size, few = np.log1p(X[:, :30]), there[:, 30:60]
    odds = 0.5 * size[:, :10].sum(axis=1) - 0.5 * size[:, 10:20].sum(axis=1)
    odds += 0.8 * (few[:, :15].sum(axis=1) - few[:, 15:].sum(axis=1)) + size[:, 20] * few[:, 0]
    X[rng.random(X.shape, dtype=np.float32) < missing] = np.nan
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds + odds.mean()))).astype(np.int64)


def covertype() -> Table:
    """The forest cover types (seven classes, 44 of 54 columns binary), a fifth held out."""
    folder = os.environ.get("WEALD_DATA")
    file = Path(folder or ".") / "covertype.parquet"
    if folder is None or not file.exists():
        where = f"no {file}" if folder else "WEALD_DATA is not set"
        raise Absent(f"{where}; set WEALD_DATA to a folder that has covertype.parquet")
    import pandas as pd

    frame = pd.read_parquet(file)
    y = frame.pop("target").to_numpy().astype(np.int64) - 1  # the classes are called 1 to 7
    return _split("covertype", "multiclass", frame.to_numpy(dtype=np.float32), y, share=0.2)


def breast_cancer() -> Table:
    """scikit-learn's breast_cancer, a quarter held out."""
    return _bundled("breast_cancer", "binary", load_breast_cancer)


def digits() -> Table:
    """scikit-learn's digits (ten classes), a quarter held out."""
    return _bundled("digits", "multiclass", load_digits)


ADULT_CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
FLIGHTS_CATEGORIES = ("origin", "destination")


def adult() -> Table:
    """Who earns more than 50K: 6 numeric and 8 categorical columns; the official split."""
    frame = _parquet("adult")
    y = (frame.pop("target").astype(str) == ">50K").to_numpy().astype(np.int64)
    return Table("adult", "binary", frame[:32561], y[:32561], frame[32561:], y[32561:])


def flights(rows: int | None = None) -> Table:
    """Which flights arrive late: a distance, a date and two airports of about 220 levels; a fifth
    of the million rows held out."""
    frame = _parquet("flights_1m")
    y = frame.pop("target").to_numpy()
    X, X_test, y, y_test = train_test_split(frame, y, test_size=0.2, random_state=0)
    return Table("flights", "binary", X[:rows], y[:rows], X_test, y_test)


def _parquet(name: str) -> Any:
    """A frame of the folder that WEALD_DATA names; text becomes categories."""
    import pandas

    folder = os.environ.get("WEALD_DATA")
    if not folder:
        raise FileNotFoundError(f"set WEALD_DATA to the folder of {name}.parquet")
    frame = pandas.read_parquet(Path(folder) / f"{name}.parquet")
    text = frame.select_dtypes(["object", "string"]).columns
    return frame.astype(dict.fromkeys(text, "category"))


def _bundled(name: str, task: str, loader: Callable[..., Any]) -> Table:
    return _split(name, task, *loader(return_X_y=True), share=0.25)


def _split(name: str, task: str, X: np.ndarray, y: np.ndarray, share: float) -> Table:
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, random_state=0, stratify=y)
    return Table(name, task, X, y, X_test, y_test)


TABLES: dict[str, Callable[..., Table]] = {
    "higgs_like": higgs_like,
    "wide": wide,
    "sparse": sparse,
    "covertype": covertype,
    "breast_cancer": breast_cancer,
    "digits": digits,
    "adult": adult,
    "flights": flights,
}

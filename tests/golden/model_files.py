"""Model files that every later version must load.

`python -m golden.model_files` adds the files of new classes. A file that is there is never written
again: it stands for the version that wrote it. `expected.json` has the fingerprint and the
predictions of the models that were saved.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from contract.subjects import (
    EVERY_DETECTOR,
    EVERY_ESTIMATOR,
    EVERY_SURVIVAL_MODEL,
    quick,
    table,
    task,
)
from weald import BoostedTreesRanker, BoostedTreesRegressor
from weald.persist.model_file import FORMAT
from weald.survival import target

FOLDER = Path(__file__).parent / "models"
EXPECTED = FOLDER / "expected.json"
ROWS = np.array([[-1.5, 0.5], [0.0, 0.0], [2.0, np.nan], [np.nan, -1.0]])


def names_of_files() -> list[str]:
    """Names of the files, without suffix."""
    return sorted(json.loads(EXPECTED.read_text(encoding="utf-8"))) if EXPECTED.exists() else []


def small_models() -> Iterator[tuple[str, Any]]:
    """A small model of each class that can be fitted."""
    for estimator in [*EVERY_ESTIMATOR, *EVERY_DETECTOR]:
        X, y = task(estimator, n=40, n_columns=2)
        yield estimator.__name__, quick(estimator, n_estimators=2).fit(X, y)
    times = target(np.arange(40) % 3 > 0, 1.0 + np.arange(40) * 7 % 40)
    for estimator in EVERY_SURVIVAL_MODEL:
        yield estimator.__name__, quick(estimator, n_estimators=2).fit(table(40, 2), times)
    X, y = task(BoostedTreesRegressor, n=40, n_columns=2)
    ranker = quick(BoostedTreesRanker, n_estimators=2)
    yield "BoostedTreesRanker", ranker.fit(X, y // 100 - y.min() // 100, group=[10] * 4)
    levels = np.arange(120) % 15
    X = np.column_stack([levels / 2 - 1.5, np.arange(120) % 7])
    model = BoostedTreesRegressor(
        n_estimators=2, n_bags=5, categorical_features=[0], target_statistics=True
    )
    yield "BoostedTreesRegressor.statistics", model.fit(X, levels % 4 + X[:, 1] / 9)


def facts_of(model: Any) -> dict[str, Any]:
    """What must not change: numbers as text, so that they are compared bit for bit."""
    facts = {"fingerprint": model.fingerprint(), "predictions": _text(model.predict(ROWS))}
    if hasattr(model, "predict_proba"):
        facts["probabilities"] = _text(model.predict_proba(ROWS))
    if hasattr(model, "predict_survival_function"):
        facts["survival"] = _text(model.predict_survival_function(ROWS, return_array=True))
    return facts


def _text(array: Any) -> list[str]:
    return [repr(one) for one in np.asarray(array).ravel().tolist()]


def main() -> None:
    known = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    for name, model in small_models():
        file = f"{name}.format{FORMAT}"
        if file not in known:
            model.save(FOLDER / f"{file}.weald", oob=True)
            known[file] = facts_of(model)
    EXPECTED.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

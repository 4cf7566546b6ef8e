"""The comparison of AutoEnsemble: what is run and kept, and its summary, on made-up results."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def auto() -> Iterator[ModuleType]:
    """The benchmark, which is a script in a folder and no package."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("auto")
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "").parent == BENCHMARKS:
                del sys.modules[name]


def row(table: str, system: str, error: float = np.nan) -> dict[str, Any]:
    figures = {"seconds": 1.0, "prediction": 0.1, "megabytes": 2.0}
    return {"table": table, "fold": 0, "system": system, "error": error, **figures}


def test_a_failure_has_the_last_rank(auto: ModuleType) -> None:
    rows = [row("a", "auto 60 s", 0.1), row("a", "flaml 60 s", 0.2), row("a", "booster")]
    rows += [row("b", "auto 60 s", 0.3), row("b", "flaml 60 s", 0.2), row("b", "booster", 0.4)]
    counted, figures, _ = auto.summary(pd.DataFrame(rows), "auto 60 s")
    assert counted == "2 folds of 2 tables"
    lines = {line.split("  ")[0]: line for line in figures.splitlines()}
    assert lines["booster"].split()[1] == "3.0"  # mean rank
    assert lines["booster"].split()[-1] == "1"  # failed


def test_tables_that_a_system_has_not_run_on_yet_do_not_count(auto: ModuleType) -> None:
    rows = [row("a", "auto 60 s", 0.1), row("a", "booster", 0.2), row("b", "booster", 0.2)]
    assert next(auto.summary(pd.DataFrame(rows), "auto 60 s")) == "1 folds of 1 tables"


def test_results_are_kept_as_they_come(auto: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    results = auto.Results(path)
    results.add(row("a", "booster", 0.5))
    assert json.loads(path.read_text())[0]["error"] == 0.5
    again = auto.Results(path)
    assert again.has(("a", 0, "booster")) and not again.has(("a", 1, "booster"))


def test_a_process_that_dies_is_a_result(auto: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    died = SimpleNamespace(returncode=-9, stdout="", stderr="Killed\n")
    monkeypatch.setattr(auto.subprocess, "run", lambda *_, **__: died)
    found = auto.run_one("a", 0, "booster", 2)
    assert found == {"table": "a", "fold": 0, "system": "booster", "failed": "exit -9: Killed"}


def test_every_fit_is_measured_once_on_its_own_cores(
    auto: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, set[int]]] = []

    def run_one(table: str, fold: int, system: str, threads: int) -> dict[str, Any]:
        seen.append(((table, fold, system), set(auto.os.pinned)))
        return row(table, system, 0.1)

    class Pinned:
        def __init__(self) -> None:
            self.pinned: set[int] = set()

        def sched_getaffinity(self, _: int) -> set[int]:
            return {0, 1, 2, 3}

        def sched_setaffinity(self, _: int, cores: set[int]) -> None:
            self.pinned = cores

    monkeypatch.setattr(auto, "os", Pinned())
    monkeypatch.setattr(auto, "run_one", run_one)
    fits = [("a", 0, "booster"), ("b", 0, "booster"), ("c", 0, "booster")]
    auto.run_all(fits, auto.Results(None), 1, 2, np.inf)
    assert [fit for fit, _ in seen] == fits
    assert all(cores == {0, 1} for _, cores in seen)
    with pytest.raises(SystemExit, match="3 jobs of 2 threads need more than 4 cores"):
        auto.run_all(fits, auto.Results(None), 3, 2, np.inf)


def test_nothing_is_started_after_the_time(auto: ModuleType) -> None:
    results = auto.Results(None)
    auto.run_all([("a", 0, "booster")], results, 1, 1, -1.0)
    assert results.rows == []

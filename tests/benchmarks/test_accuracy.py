"""The arithmetic of the accuracy benchmark's summary, on results made by hand."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """The benchmark's modules, which are scripts in a folder and no package."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    names = ("accuracy", "accuracy_fits", "accuracy_picture", "accuracy_summary")
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(BENCHMARKS))
        for name in set(sys.modules) - before:
            if Path(getattr(sys.modules[name], "__file__", None) or "").parent == BENCHMARKS:
                del sys.modules[name]


@pytest.fixture
def summary(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["accuracy_summary"]


def entry(error: float, seconds: float = 1.0, rows: int = 3000, levels: int = 0) -> dict[str, Any]:
    return {
        "task": "regression",
        "rows": rows,
        "levels": levels,
        "error": error,
        "seconds": seconds,
    }


def one_fold(**errors: float) -> dict[str, dict[str, dict[str, Any]]]:
    return {system: {"0": entry(error)} for system, error in errors.items()}


FAILED = {"failed": "ValueError: no"}


def test_wins_count_ties_half(summary: ModuleType) -> None:
    ours = np.array([0.9, 1.0, 1.0004, 0.9996, 1.0006, 0.9994, 2.0, 0.1])
    assert summary.win_share(summary.error_ratios(ours, np.ones(8))) == (3 + 3 / 2) / 8


def test_errors_near_zero_are_ties(summary: ModuleType) -> None:
    ratios = summary.error_ratios(np.array([0.0, 1e-9]), np.array([1e-6, 0.0]))
    np.testing.assert_array_equal(ratios, 1)


def test_geometric_mean_is_clipped(summary: ModuleType) -> None:
    ratios = np.array([0.013, 1.0, 1.5, 70.0])
    assert summary.geometric_mean(ratios, 2.0) == pytest.approx((0.5 * 1.5 * 2) ** 0.25)
    assert summary.geometric_mean(np.array([0.01, 1.0, np.nan])) == pytest.approx(0.1)


def test_tied_ranks_are_shared(summary: ModuleType) -> None:
    results = {"a": one_fold(x=1, y=1, z=2), "b": one_fold(x=3, y=2, z=1)}
    found = summary.standing(results, ["x", "y", "z"])
    np.testing.assert_allclose(found.ranks, [(1.5 + 3) / 2, (1.5 + 2) / 2, (3 + 1) / 2])


@pytest.mark.parametrize(("systems", "quantile"), [(2, 1.960), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_distance(summary: ModuleType, systems: int, quantile: float) -> None:
    """Quantiles as Demšar (2006), table 5, prints them."""
    expected = quantile * np.sqrt(systems * (systems + 1) / (6 * 14))
    assert summary.critical_distance(systems, 14) == pytest.approx(expected, rel=5e-4)


def test_only_shared_tables_and_folds_count(summary: ModuleType) -> None:
    results = {
        "a": {"x": {"0": entry(1.0), "1": entry(9.0)}, "y": {"0": entry(2.0)}},
        "b": {"x": {"0": entry(1.0)}},
        "c": {
            "x": {"0": entry(1.0, 2), "2": entry(3.0, 4)},
            "y": {"0": entry(4.0), "2": entry(6.0)},
        },
    }
    found = summary.standing(results, ["x", "y"])
    assert found.tables == ["a", "c"]
    assert found.n_folds == 3
    np.testing.assert_array_equal(found.errors, [[1, 2], [2, 5]])
    np.testing.assert_array_equal(found.seconds[1], [3, 1])
    assert "- y: b" in summary.missing(results, ["x", "y"], None)


def test_a_failure_loses_its_table(summary: ModuleType) -> None:
    results = {
        "a": {"x": {"0": entry(1.0), "1": FAILED}, "y": {"0": entry(9.0), "1": entry(9.0)}},
        "b": {"x": {"0": entry(1.0)}, "y": {"0": FAILED}},
        "c": {"x": {"0": FAILED}, "y": {"0": FAILED}},
        "d": {"x": {"0": entry(1.0, 3.0)}, "y": {"0": entry(1.0, 1.0)}},
    }
    found = summary.standing(results, ["x", "y"])
    ratios = summary.error_ratios(found.errors[:, 0], found.errors[:, 1])
    np.testing.assert_array_equal(ratios, [np.inf, 0, 1, 1])
    assert summary.win_share(ratios) == 0.5
    assert summary.geometric_mean(ratios, 2.0) == pytest.approx(1)
    np.testing.assert_allclose(found.ranks, [1.5, 1.5])
    assert summary.geometric_mean(found.seconds[:, 0] / found.seconds[:, 1]) == pytest.approx(3)
    listed = summary.failures(results, ["x", "y"])
    assert listed.count("ValueError: no") == 4
    assert "- x, a, fold 1: ValueError: no" in listed


def test_groups(summary: ModuleType) -> None:
    results = {
        "adult": {"x": {"0": entry(1.0, rows=10_000, levels=8)}},
        "car": {"x": {"0": FAILED, "1": entry(1.0, rows=1728, levels=6)}},
        "wine": {"x": {"0": entry(1.0, rows=178)}},
        "diamonds": {"x": {"0": FAILED}},
    }
    found = {
        name: [table for table in results if wanted(table)]
        for name, wanted in summary.groups(results, None).items()
    }
    assert found.pop("all") == list(results)
    assert sorted(found.pop("choose") + found.pop("confirm")) == sorted(results)
    assert found == {"with categories": ["adult", "car"], "below 2,000 rows": ["car", "wine"]}
    assert len(summary.groups(results, "choose")) == 3


def test_summary_of_hand_made_results(summary: ModuleType) -> None:
    results = {
        "a": {**one_fold(weald=1.0, lightgbm=2.0, hgb=4.0), "weald:{}": {"0": entry(0.1)}},
        "b": one_fold(weald=3.0, lightgbm=2.0, hgb=4.0),
    }
    results["a"]["hgb"]["0"] |= {"version": "1.9.1", "threads": 2}
    systems = summary.compared(results, "weald", None)
    assert systems == ["weald", "lightgbm", "hgb"]
    text = summary.summary(results, systems)
    assert "## all: 2 tables, 2 folds" in text
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["weald", "1.50", "", "", "", "", ""] in lines
    # (1/2 * 3/2) ** (1/2), log(3) / 2
    assert ["lightgbm", "1.50", "50%", "0.8660", "0.549", "1", "1.000"] in lines
    # (1/2 * 3/4) ** (1/2), log(3/2) / 2
    assert ["hgb", "3.00", "100%", "0.6124", "0.203", "1", "1.000"] in lines
    assert "- hgb: version 1.9.1 (1 fits), not recorded (1 fits)" in text
    with pytest.raises(ValueError, match="no results of xgboost; there are: hgb, lightgbm, weald"):
        summary.compared(results, "weald", ["xgboost"])


def test_one_table_has_no_standard_error(summary: ModuleType) -> None:
    text = summary.summary({"a": one_fold(weald=1.0, hgb=1.25)}, ["weald", "hgb"])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["hgb", "2.00", "100%", "0.8000", "-", "0", "1.000"] in lines


def test_clipped_ratios_are_counted(summary: ModuleType) -> None:
    ratios = np.array([np.inf, 0.0, 2.0, 0.5, 1.9, 0.6, np.nan])
    assert summary.n_clipped(ratios, 2.0) == 4
    assert summary.standard_error(ratios[:4], 2.0) == pytest.approx(np.log(2) / np.sqrt(3))
    assert summary.standard_error(ratios[[0, 2, 6]], 2.0) == 0


def test_bars_join_what_does_not_differ(modules: dict[str, ModuleType]) -> None:
    joined = modules["accuracy_picture"].joined
    assert joined(np.array([3.0, 1.0, 1.5, 2.2]), 1.0) == [(1.0, 1.5), (1.5, 2.2), (2.2, 3.0)]
    assert joined(np.array([1.0, 1.5, 2.0]), 1.0) == [(1.0, 2.0)]
    assert joined(np.array([1.0, 3.0]), 1.0) == []


def test_picture(modules: dict[str, ModuleType], summary: ModuleType, tmp_path: Path) -> None:
    results = {"a": one_fold(x=1, y=1.5, z=2), "b": one_fold(x=3, y=2, z=1)}
    file = tmp_path / "ranks.png"
    modules["accuracy_picture"].draw(summary.standing(results, ["x", "y", "z"]), "all", file)
    assert file.stat().st_size > 1000


def test_systems(modules: dict[str, ModuleType]) -> None:
    fits = modules["accuracy_fits"]
    assert fits.parsed('weald:{"class":"RandomForest"}') == ("weald", {"class": "RandomForest"})
    assert fits.settings('weald:{"class":"RandomForest","max_depth":3}', 2) == {
        "random_state": 0,
        "n_jobs": 2,
        "max_depth": 3,
    }
    for wrong in ("ydf", "lightgbm:{}", "weald:[1]", "weald:{"):
        with pytest.raises(ValueError, match="system '"):
            fits.parsed(wrong)


def test_parts_are_fixed(modules: dict[str, ModuleType]) -> None:
    """Moving a table to the other part would let settings be chosen on what confirms them."""
    part_of = modules["accuracy_fits"].part_of
    assert [part_of(name) for name in ("adult", "car", "covertype")] == ["choose"] * 3
    assert [part_of(name) for name in ("penguins", "digits")] == ["confirm"] * 2


def test_a_run_is_continued(
    modules: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tables of 60 rows: a file of results is kept, what is missing or failed is fitted."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        frame = pandas.DataFrame({"a": rng.normal(size=60), "b": ["u", "v", None] * 20})
        frame.assign(target=frame["a"] * 2 + rng.normal(size=60)).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    out = tmp_path / "results.json"
    kept = entry(123.0)
    out.write_text(json.dumps({"one": {"weald": {"0": kept}}, "two": {"weald": {"0": FAILED}}}))
    monkeypatch.setenv("WEALD_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "weald", "--folds", "0", "--out", str(out)])
    assert modules["accuracy"].main() == 0
    results = json.loads(out.read_text())
    assert results["one"]["weald"]["0"] == kept
    found = results["two"]["weald"]["0"]
    assert found.keys() >= kept.keys()
    assert (found["task"], found["rows"], found["levels"]) == ("regression", 60, 1)

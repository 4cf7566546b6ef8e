"""The command line does what it says, on good input: files, text, JSON."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald
from weald.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and a model of each task trained by the command line."""
    path, rng = tmp_path_factory.mktemp("cli"), np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 120),
            "town": rng.choice(["Ulm", "Graz", "Bern"], 120),
            "score": rng.normal(size=120),
        }
    )
    X.assign(risk=np.where(X.age + 5 * X.score > 50, "=high", "low")).to_csv(
        path / "classes.csv", index=False
    )
    X.assign(price=X.age * 1.5 + X.score).to_csv(path / "numbers.csv", index=False)
    quick = ["--set", "quality=fast", "--set", "n_estimators=10", "--test-size", "0"]
    for table, target, more in (
        ("classes", "risk", quick),
        ("numbers", "price", ["--method", "random_forest", "--intervals"]),
    ):
        saved = ["-o", f"{path / table}.weald", *more, "--json"]
        assert main(["train", f"{path / table}.csv", "--target", target, *saved]) == 0
    return path


def _run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_train_is_the_fit_of_the_library(folder: Path) -> None:
    X, y = weald.read(folder / "classes.csv", target="risk")
    model = weald.BoostedTreesClassifier(quality="fast", n_estimators=10, random_state=0).fit(X, y)
    assert weald.load(folder / "classes.weald").fingerprint() == model.fingerprint()


def test_train_scores_rows_held_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scores are those of a model that did not see the rows, not of the saved one."""
    noise = pd.DataFrame({"x": np.random.default_rng(1).normal(size=300)})
    noise["y"] = np.random.default_rng(2).choice(["a", "b"], 300)
    noise.to_csv(folder / "noise.csv", index=False)
    out = _run(capsys, "train", folder / "noise.csv", "--target", "y", "--method", "decision_tree",
               "--json")  # fmt: skip
    found = json.loads(out)
    assert (found["rows"], found["test_rows"], found["task"]) == (300, 60, "classification")
    assert found["scores"]["accuracy"] < 0.75  # on its own rows the tree is always right
    assert found["classes"] == ["a", "b"]
    text = _run(capsys, "train", folder / "noise.csv", "--target", "y", "--method", "decision_tree")
    assert "fitted on 240 rows, scores on the other 60" in text


def test_train_on_other_test_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", "quality=fast", "--set", "n_estimators=10", "--json"]
    out = _run(capsys, "train", folder / "classes.csv", "--target", "risk", "--test",
               folder / "classes.csv", *options)  # fmt: skip
    scores = json.loads(out)["scores"]
    out = _run(capsys, "evaluate", folder / "classes.weald", folder / "classes.csv", "--target",
               "risk", "--json")  # fmt: skip
    assert json.loads(out)["scores"] == scores
    X, y = weald.read(folder / "classes.csv", target="risk")
    assert scores["accuracy"] == weald.load(folder / "classes.weald").score(X, y)


def test_weights_and_left_out_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(folder / "numbers.csv").assign(w=np.arange(120.0) + 1, junk=1)
    table.to_csv(folder / "weighted.csv", index=False)
    out = _run(capsys, "train", folder / "weighted.csv", "--target", "price", "--weight", "w",
               "--drop", "junk", "--test-size", "0", "--method=extra_trees", "--json")  # fmt: skip
    X, y = weald.read(folder / "numbers.csv", target="price")
    model = weald.ExtraTreesRegressor(random_state=0).fit(X, y, sample_weight=np.arange(120.0) + 1)
    assert json.loads(out)["fingerprint"] == model.fingerprint()


def test_predict_matches_columns_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(folder / "classes.csv")
    table[["risk", "score", "town", "age"]].to_csv(folder / "other_order.csv", index=False)
    model = weald.load(folder / "classes.weald")
    out = _run(capsys, "predict", folder / "classes.weald", folder / "other_order.csv", "--proba",
               "--keep", "town")  # fmt: skip
    rows = list(csv.DictReader(out.splitlines()))
    shares = model.predict_proba(table[["age", "town", "score"]])
    assert [row["town"] for row in rows] == list(table.town)
    assert [float(row["probability_low"]) for row in rows] == shares[:, 1].tolist()
    assert {row["prediction"] for row in rows} == {"'=high", "low"}  # no formula


def test_predict_as_json_and_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", folder / "numbers.weald", folder / "numbers.csv", "--interval", "0.8"]
    found = json.loads(_run(capsys, *words, "--json"))
    X, _ = weald.read(folder / "numbers.csv", target="price")
    low, high = weald.load(folder / "numbers.weald").predict_interval(X, 0.8).T
    assert [one["low"] for one in found] == low.tolist()
    assert [one["high"] for one in found] == high.tolist()
    assert _run(capsys, *words, "-o", folder / "out.csv") == ""
    with (folder / "out.csv").open() as file:
        assert [float(row["high"]) for row in csv.DictReader(file)] == high.tolist()


@pytest.mark.parametrize("method", ["boosted_trees", "extra_trees", "rotation_forest", "bagging"])
def test_intervals_of_every_method_that_has_them(
    method: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = folder / f"{method}_intervals.weald"
    _run(capsys, "train", folder / "numbers.csv", "--target", "price", "--method", method,
         "--intervals", "--test-size", "0", "-o", model)  # fmt: skip
    rows = json.loads(
        _run(capsys, "predict", model, folder / "numbers.csv", "--interval", "0.9", "--json")
    )
    assert all(row["low"] < row["high"] for row in rows)


def test_compare(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", folder / "numbers.csv", "--target", "price", "--method", "decision_tree",
             "--method", "constant", "--folds", "4", "--repeats", "2"]  # fmt: skip
    found = json.loads(_run(capsys, *words, "--json", "--picture", folder / "compared.png"))
    best, worst = found["methods"]
    assert (best["method"], worst["method"]) == ("decision_tree", "constant")
    assert best["p_value"] is None
    assert worst["p_value"] < 0.001
    assert best["mean"] < worst["mean"]
    assert len(best["scores"]) == 8
    assert (folder / "compared.png").read_bytes().startswith(b"\x89PNG")
    text = _run(capsys, *words)
    assert "rmse (less is better)" in text
    assert "worse, p = " in text


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", folder / "classes.weald", folder / "classes.csv"]
    found = json.loads(_run(capsys, *words, "--json"))["mean_abs_shapley_values"]
    assert next(iter(found)) == "age"
    one = json.loads(_run(capsys, *words, "--row", "7", "--json"))
    model = weald.load(folder / "classes.weald")
    X, _ = weald.read(folder / "classes.csv", target="risk")
    raw = model.decision_function(X[7:8])[0]
    assert one["base_value"] + sum(c["value"] for c in one["contributions"]) == pytest.approx(raw)
    assert "line 9: prediction" in _run(capsys, *words, "--row", "7")
    _run(capsys, *words, "-o", folder / "values.csv")
    assert len((folder / "values.csv").read_text().splitlines()) == 121


def test_cells_do_not_steer_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.read_csv(folder / "classes.csv").assign(town="Ulm\x1b[2J")
    rows.to_csv(folder / "hostile.csv", index=False)
    words = ["explain", folder / "classes.weald", folder / "hostile.csv", "--row", "0"]
    out = _run(capsys, *words)
    assert "\x1b" not in out
    assert "Ulm\ufffd[2J" in out


def test_diagnose_report_distill(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [folder / "classes.weald", folder / "classes.csv", "--target", "risk"]
    found = json.loads(_run(capsys, "diagnose", *rows, "--json", "--html", folder / "d.html"))
    assert {"training", "constant"} < set(found["errors"])
    assert (folder / "d.html").read_text().startswith("<!DOCTYPE html>")
    assert "Report on" in _run(capsys, "report", *rows, "-o", folder / "r.html")
    assert "age" in (folder / "r.html").read_text()
    text = _run(capsys, "distill", *rows, "--max-leaves", "3", "-o", folder / "small.weald")
    assert "agreement with the teacher" in text
    assert weald.load(folder / "small.weald").get_n_leaves() <= 3


def test_export_and_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = weald.load(folder / "numbers.weald")
    _run(capsys, "export", folder / "numbers.weald", folder / "m.py")
    assert (folder / "m.py").read_text() == weald.export.to_python(model)
    _run(capsys, "export", folder / "numbers.weald", folder / "m.txt", "--format", "c")
    assert (folder / "m.txt").read_text() == weald.export.to_c(model)
    found = json.loads(_run(capsys, "info", folder / "numbers.weald", "--json"))
    assert found["fingerprint"] == model.fingerprint()
    assert found["columns"] == ["age", "town", "score"]
    assert found["parameters"] == {"oob_score": True, "random_state": 0}
    assert weald.__version__ in _run(capsys, "info")


@pytest.mark.parametrize("method", ["stacking", "voting", "adaboost", "option_tree", "bagging"])
def test_every_kind_of_method(
    method: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _run(capsys, "train", folder / "classes.csv", "--target", "risk", "--method", method,
               "--test-size", "0", "-o", folder / f"{method}.weald", "--json")  # fmt: skip
    assert json.loads(out)["estimator"].lower().startswith(method.replace("_", ""))
    assert "classes" in _run(capsys, "info", folder / f"{method}.weald")

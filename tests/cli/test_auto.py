"""`weald auto` saves the ensemble that the library fits, and says what it tried."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald
from weald.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables, on which the number of models ends the search before the time does."""
    path, rng = tmp_path_factory.mktemp("auto"), np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    X.assign(y=X.a + 0.2 * rng.normal(size=90)).to_csv(path / "numbers.csv", index=False)
    three = np.digitize(X.a, [-0.5, 0.5])
    X.assign(y=np.array(["low", "mid", "high"])[three]).to_csv(path / "classes.csv", index=False)
    return path


def _json(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, object]:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_it_is_the_fit_of_the_library(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "auto", folder / "numbers.csv", "--target", "y", "--time", "1000",
                  "--only-trees", "--intervals", "-o", folder / "trees.weald")  # fmt: skip
    X, y = weald.read(folder / "numbers.csv", target="y")
    model = weald.AutoEnsembleRegressor(time_limit=None, portfolio="trees", random_state=0)
    model.fit(X, y)
    assert found["fingerprint"] == model.fingerprint()
    assert (found["metric"], found["stopped_by"]) == ("rmse", "max_models")
    board = {row["model"]: row for row in found["leaderboard"]}  # type: ignore[attr-defined]
    assert board["ensemble"]["score"] == -model.best_score_
    assert sum(row["weight"] for name, row in board.items() if name != "ensemble") == pytest.approx(
        1
    )
    rows = _json(capsys, "predict", folder / "trees.weald", folder / "numbers.csv", "--interval",
                 "0.9")  # fmt: skip
    assert [one["low"] for one in rows] == model.predict_interval(X, 0.9)[:, 0].tolist()  # type: ignore[index]


def test_text_and_scores_on_other_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(folder / "classes.csv")
    words = ["auto", table, "--target", "y", "--time", "1000", "--metric", "roc_auc"]
    assert main([*words, "--test", table]) == 0
    out = capsys.readouterr().out
    assert "(more is better)" in out
    assert "roc_auc" in out.splitlines()[2]
    assert "ensemble" in out.splitlines()[3]
    assert f"On 90 rows of {table}:" in out
    assert "balanced_accuracy" in out
    assert "-o FILE saves it" in out


def test_train_and_compare_know_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--target", "y", "--method", "auto", "--set", "max_models=1"]
    found = _json(capsys, "train", folder / "numbers.csv", *words)
    assert found["estimator"] == "AutoEnsembleRegressor"
    assert set(found["scores"]) == {"rmse", "mae", "r2"}  # type: ignore[call-overload]


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_bar_on_a_terminal(folder: Path) -> None:
    reader, terminal = os.openpty()
    command = [sys.executable, "-m", "weald", "auto", str(folder / "numbers.csv"), "--target", "y"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        assert b"ensemble" in process.stdout.read()
    os.close(reader)
    assert process.returncode == 0
    # Models that take less than a refresh of the bar may not be seen.
    assert re.search(rb"model \d+/\d+", shown)
    assert b"best rmse 0." in shown

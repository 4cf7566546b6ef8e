"""Wrong calls and bad data end in one line that says what, where and what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from weald.cli.main import main

N_ROWS = 40


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return _written(tmp_path / "table.csv")


def _written(file: Path, line: int = 0, text: str = "") -> Path:
    """A table whose line `line` (the header is line 1) is replaced."""
    lines = ["a,b,y", *(f"{i},{2 * i},{1.5 * i + 0.25}" for i in range(N_ROWS))]
    if line:
        lines[line - 1] = text
    file.write_text("\n".join(lines) + "\n")
    return file


def _error(capsys: pytest.CaptureFixture[str], code: int, *words: str | Path) -> str:
    """Run a command that fails, and return its one line."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 1, err
    return lines[0]


TRAIN = ("--method", "decision_tree", "--test-size", "0", "--json")


def test_target_is_missing(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = _error(capsys, 2, "train", table)
    assert "--target is missing" in message
    assert "a, b, y" in message


def test_unknown_target_lists_the_nearest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,income,risk\n1,2,3\n2,3,4\n")
    message = _error(capsys, 2, "train", file, "--target", "incme")
    assert "no column 'incme'" in message
    assert "income, " in message
    assert message.index("income, ") < message.index("risk")


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (11, "1,2", "line 11"),
        (11, '1,2,"3', "is not valid csv: unexpected end of data"),
        (11, "1,2,", "line 11, column 'y': the target is missing"),
        (11, "1,2,3;5", "line 11, column 'y': the target '3;5' is not a number"),
    ],
)
def test_bad_cells_are_named(
    line: int, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _written(tmp_path / "bad.csv", line, text)
    found = _error(capsys, 1, "train", file, "--target", "y", *TRAIN)
    assert message in found
    assert "bad.csv" in found


def test_cells_that_the_model_cannot_read(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.weald"
    assert main(["train", str(table), "--target", "y", *TRAIN, "-o", str(model)]) == 0
    odd = _written(tmp_path / "odd.csv", 9, "7,1O,3")
    message = _error(capsys, 1, "predict", model, odd)
    assert "odd.csv', line 9, column 'b': '1O' is not a number" in message
    assert main(["train", str(odd), "--target", "y", *TRAIN]) == 0
    assert "'1O' is not a number, but most of the column are" in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_text("bb,c\n1,2\n")
    message = _error(capsys, 1, "predict", model, other)
    assert "no column 'a' (and 1 more)" in message


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["trane"], 2, "Did you mean 'train'?"),
        (["train", "none.csv", "--target", "y"], 1, "there is no file 'none.csv'"),
        (["train", "table.csv", "--target", "y", "--method", "forest"], 2, "random_forest"),
        (["train", "table.csv", "--target", "y", "--set", "iterations=3"], 2, "Use n_estimators"),
        (["train", "table.csv", "--target", "y", "--set", "max_depth"], 2, "NAME=VALUE"),
        (["train", "table.csv", "--target", "y", "--set", "n_estimators=0"], 1, "n_estimators"),
        (["train", "table.csv", "--target", "y", "-o", "no/m.weald"], 2, "no folder 'no'"),
        (["train", "table.csv", "--target", "y", "--drop", "z"], 2, "--drop"),
        (["train", "table.csv", "--target", "y", "--seed", "x"], 2, "--seed"),
        (["train", "table.csv?label_column=y", "--target", "y"], 1, "--target"),
        (["info", "table.csv"], 1, "is not a file of weald"),
        (["predict", "table.csv", "table.csv"], 1, "is not a file of weald"),
        (["compare", "table.csv", "--target", "y", "--metric", "log_loss"], 2, "rmse, mae, r2"),
        (["compare", "table.csv", "--target", "y", "--folds", "50"], 1, "50 folds"),
        (["export", "m.weald", "m.txt"], 2, "--format"),
        (["predict", "none.weald", "table.csv"], 1, "there is no file 'none.weald' (looked from"),
        (
            ["train", "table.csv", "--target", "y", *TRAIN, "-o", "/dev/null", "--force"],
            1,
            "not a regular file",
        ),
        (
            ["train", "table.csv", "--target", "y", "--method", "adaboost", "--intervals"],
            2,
            "adaboost has no prediction intervals (--intervals); these methods have: boosted_trees",
        ),
        (
            ["train", "names.csv", "--target", "name"],
            1,
            "column 'name': the target has 40 different values in 40 rows, such as 'n0'",
        ),
        (["train", "classes.csv", "--target", "c", "--intervals"], 2, "predict --proba"),
        (["train", "table.txt", "--target", "y"], 1, "'table.txt?format=csv'"),
        (["auto", "table.csv"], 2, "--target is missing"),
        (["auto", "table.csv", "--target", "y", "--metric", "accuracy"], 2, "rmse, mae, r2"),
        (["auto", "table.csv", "--target", "y", "--time", "0"], 2, "--time"),
        (["auto", "table.csv", "--target", "y", "-o", "table.csv"], 2, "--force"),
    ],
)
def test_wrong_calls(
    words: list[str],
    code: int,
    message: str,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(table.parent)
    Path("table.txt").write_text(table.read_text())
    Path("names.csv").write_text("x,name\n" + "".join(f"{i},n{i}\n" for i in range(40)))
    Path("classes.csv").write_text("x,c\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    assert message in _error(capsys, code, *words)


def test_nothing_is_overwritten(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.with_suffix(".weald")
    model.write_text("precious")
    words = ["train", table, "--target", "y", *TRAIN, "-o", model]
    assert "--force" in _error(capsys, 2, *words)
    assert model.read_text() == "precious"
    assert main([*map(str, words), "--force"]) == 0
    out = table.with_name("out.csv")
    out.write_text("precious")
    assert "--force" in _error(capsys, 2, "predict", model, table, "-o", out)
    assert out.read_text() == "precious"


def test_intervals_need_their_records(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.with_suffix(".weald")
    main(["train", str(table), "--target", "y", *TRAIN, "-o", str(model)])
    assert "--intervals" in _error(capsys, 1, "predict", model, table, "--interval", "0.9")


def test_many_classes_can_be_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "names.csv"
    file.write_text("x,name\n" + "".join(f"{i},n{i}\n" for i in range(40)))
    words = ["train", str(file), "--target", "name", "--task", "classification", *TRAIN]
    assert main(words) == 0


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full")
def test_full_disk(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.with_suffix(".weald")
    main(["train", str(table), "--target", "y", *TRAIN, "-o", str(model)])
    message = _error(capsys, 1, "predict", model, table, "-o", "/dev/full", "--force")
    assert message == "weald: '/dev/full': no space left on device"


def test_debug_shows_the_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "none.weald", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_quiet(table: Path) -> None:
    """Also if the reader is gone before the first line."""
    model = table.with_suffix(".weald")
    main(["train", str(table), "--target", "y", *TRAIN, "-o", str(model)])
    command = [sys.executable, "-m", "weald", "predict", str(model), str(table)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize("package", ["click", "rich"])
def test_without_its_packages(package: str) -> None:
    code = (
        f"import sys; sys.modules['{package}'] = None\n"
        "from weald.cli.main import main\n"
        "sys.exit(main(['info']))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert f"needs the package {package}: pip install 'weald[cli]'" in found.stderr


def test_share_that_leaves_no_rows_to_fit_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("a,y\n1,2\n")
    message = _error(capsys, 1, "train", file, "--target", "y", *TRAIN[:2])
    assert "one.csv' has 1 rows" in message
    assert "--test-size 0.2" in message


@pytest.mark.parametrize(
    ("targets", "share"),
    [
        ("aa", "0.5"),  # the copy that is scored knows one class
        ("a" * 20, "0.2"),
        ("aabbccddee", "0.2"),  # fewer rows held out than classes
        ("ab" * 10, "0.05"),
    ],
)
def test_scores_of_few_rows_and_classes(
    targets: str, share: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.csv"
    file.write_text("x,y\n" + "".join(f"{i},{one}\n" for i, one in enumerate(targets)))
    words = ["train", str(file), "--target", "y", "--test-size", share]
    assert main([*words, "--method", "decision_tree", "--json"]) == 0
    assert '"accuracy"' in capsys.readouterr().out

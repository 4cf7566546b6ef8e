"""`weald serve` refuses what it cannot serve, in one line; what it answers is in tests/service."""

import socket
import sys
from pathlib import Path

import pytest

import weald
from weald.cli.main import main


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("WEALD_TOKEN", raising=False)
    path = tmp_path / "model.weald"
    weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).save(path)
    return str(path)


def _refused(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    assert main(["serve", *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_other_machines_need_a_token(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "models.example"):
        assert "a token is required" in _refused(capsys, 2, model, "--host", host)


@pytest.mark.parametrize(
    "token", ["short", "with spaces in the middle", "nön-ascii-characters", ""]
)
def test_tokens_that_are_none(
    model: str, token: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEALD_TOKEN", token)
    text = _refused(capsys, 2, model)
    assert "token" in text
    assert not token or token not in text


def test_a_token_is_no_option(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Other users of the machine see the command line."""
    assert "No such option" in _refused(capsys, 2, model, "--token", "a" * 20)


def test_files(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there_is_none" in _refused(capsys, 1, str(tmp_path / "there_is_none.weald"))
    other = tmp_path / "other.weald"
    other.write_text("hello")
    assert "other.weald" in _refused(capsys, 1, str(other))
    assert "none.txt" in _refused(capsys, 1, model, "--token-file", str(tmp_path / "none.txt"))


def test_a_port_in_use(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "--port 0" in _refused(capsys, 1, model, "--port", port)


@pytest.mark.parametrize(
    "words", [("--port", "70000"), ("--queue", "0"), ("--max-body", "0"), ("--timeout", "-1")]
)
def test_limits(model: str, words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert words[0] in _refused(capsys, 2, model, *words)


def test_without_its_packages(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr("weald.cli.serving.find_spec", lambda name: None)
    assert "pip install 'weald[serve]'" in _refused(capsys, 1, model)

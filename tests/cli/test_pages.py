"""The console blocks of the pages on first use run and print what the pages say."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from weald.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/first_five_minutes.md", "docs/guide/command_line.md")
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _commands(page: str) -> list[tuple[str, str]]:
    """Every command of a page, and what it should print."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_console_blocks(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = load_breast_cancer(as_frame=True).frame
    table.to_csv("tumours.csv", index=False)
    damaged = table.astype({"mean radius": object})
    damaged.loc[4, "mean radius"] = "1O.5"
    damaged.to_csv("damaged.csv", index=False)
    assert main(["train", "tumours.csv", "--target", "target", "-o", "tumours.weald"]) == 0
    commands = _commands(page)
    assert commands
    for command, expected in commands:
        program, *words = shlex.split(command)
        assert program == "weald"
        capsys.readouterr()
        main([*words, "--force"] if "-o" in words else words)
        printed = "".join(capsys.readouterr())
        assert doctest.OutputChecker().check_output(expected, printed, _FLAGS), printed

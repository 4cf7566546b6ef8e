"""Output of `show_config`, and unavailable instruction sets."""

import os
import subprocess
import sys

import weald
from weald import _native


def imported(instructions: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import weald; weald.show_config()"],
        env={**os.environ, "WEALD_INSTRUCTIONS": instructions},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_set_in_use_is_named(capsys) -> None:
    weald.show_config()
    assert f"instructions  {_native.instructions()} " in capsys.readouterr().out


def test_a_set_can_be_forced() -> None:
    assert "instructions  baseline " in imported("baseline").stdout


def test_a_set_that_cannot_run_is_an_error() -> None:
    done = imported("avx9")
    assert done.returncode != 0
    assert "ImportError" in done.stderr
    assert "WEALD_INSTRUCTIONS=avx9 cannot run here" in done.stderr


def test_an_empty_wish_is_none() -> None:
    assert imported("").returncode == 0

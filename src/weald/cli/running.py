"""Running one command: exit codes, errors and warnings in one line each, closed pipes."""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from weald.cli.commands import weald
from weald.errors import WealdWarning

OK, DATA, USAGE = 0, 1, 2
# What a shell reports for a program that a signal has ended.
_INTERRUPTED, _BROKEN_PIPE = 130, 141
# Errors that say what is wrong with the data; anything else is unexpected.
_EXPECTED = (ValueError, TypeError, OSError, ImportError, MemoryError)


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", WealdWarning)
        warnings.showwarning = _show_warning
        try:
            return _invoke(list(arguments))
        except BrokenPipeError:
            _close_stdout()
            return _BROKEN_PIPE


def _invoke(arguments: list[str]) -> int:
    try:
        # Not weald.main(): it turns a closed pipe into exit code 1.
        with weald.make_context("weald", arguments or ["--help"]) as context:
            weald.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        sys.stdout.flush()
        return end.exit_code
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "weald"
        _complain(f"{command}: {error.format_message()} (see {command} --help)")
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        _complain("weald: interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            traceback.print_exc()
        hint = "" if isinstance(error, _EXPECTED) else " (--debug shows the trace)"
        _complain(f"weald: {_text_of(error)}{hint}")
        return DATA
    return OK


def _text_of(error: Exception) -> str:
    """The message of an error; those of the system name the file first."""
    if isinstance(error, OSError) and error.strerror:
        file = "stdout" if error.filename is None else f"'{os.fsdecode(error.filename)}'"
        return f"{file}: {error.strerror.lower()}"
    return str(error) if isinstance(error, _EXPECTED) and str(error) else repr(error)


def _complain(text: str) -> None:
    """Write one line to stderr."""
    click.echo(" ".join(text.split()), err=True)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _complain(f"weald: warning: {message}")


def _close_stdout() -> None:
    """Keep Python from complaining about the closed pipe when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())

"""Entry point of the command `weald`; imports click and rich only when it runs."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 1 for data that cannot be used, 2 for wrong usage.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Words after the name of the program; None means those of this process.

    Examples
    --------
    >>> from weald.cli.main import main
    >>> main(["info", "there_is_no_such_file.weald"])
    1
    """
    for package in ("click", "rich"):
        if find_spec(package) is None:
            sys.stderr.write(
                f"weald: the command line needs the package {package}: pip install 'weald[cli]'\n"
            )
            return 1
    from weald.cli.running import run

    return run(sys.argv[1:] if arguments is None else arguments)

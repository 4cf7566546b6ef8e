"""Information about this installation."""

import platform
import sys

import narwhals
import numpy as np
import sklearn

from weald import _native
from weald.version import __version__


def show_config() -> None:
    """Print versions, usable cores and the instruction set of the kernels.

    The environment variable WEALD_INSTRUCTIONS, read when weald is imported, selects one of the
    instruction sets that this CPU supports; any other name raises ImportError. All of them produce
    the same models.

    Examples
    --------
    >>> import weald
    >>> weald.show_config()  # doctest: +ELLIPSIS
    weald ...
    """
    for name, text in configuration().items():
        print(f"{name:13s} {text}")


def configuration() -> dict[str, str]:
    """Return what `show_config` prints, by name.

    >>> from weald.config import configuration
    >>> "numpy" in configuration()
    True
    """
    runnable = _native.runnable_instructions()
    return {
        "weald": __version__,
        "instructions": f"{_native.instructions()} (runnable here: {', '.join(runnable)})",
        "usable cores": str(_native.usable_cores()),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "narwhals": narwhals.__version__,
        "platform": platform.platform(),
    }

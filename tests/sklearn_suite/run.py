"""scikit-learn's own tests of trees and ensembles, run on weald's classes: `make test-sklearn`.

Arguments are pytest's: ``PYTHONPATH=tests python -m sklearn_suite.run -n 2 -k warm_start``.
"""

import os
import sys
from pathlib import Path

# Read when the libraries are first imported: the processes of pytest-xdist share the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
import sklearn

from sklearn_suite.differences import FILES


def main(arguments: list[str]) -> int:
    """Run the test files of the installed scikit-learn."""
    package = Path(sklearn.__file__).parent
    settings = Path(__file__).with_name("settings.ini")
    fixed = ["-p", "sklearn_suite.plugin", "-c", str(settings), "--rootdir", str(package)]
    return int(pytest.main([*fixed, *(str(package / file) for file in FILES), *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

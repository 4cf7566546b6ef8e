"""scikit-learn's own tests of trees and ensembles, run on weald's classes: `make test-sklearn`.

Further arguments are pytest's: ``python -m sklearn_suite.run -n 2 -k warm_start``.
"""

import os
import sys
from pathlib import Path

# Read when NumPy is first imported: the processes of pytest-xdist share the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
import sklearn

FILES = (
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_forest.py",
    "ensemble/tests/test_gradient_boosting.py",
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_weight_boosting.py",
    "tree/tests/test_tree.py",
)


def main(arguments: list[str]) -> int:
    """Run the tests of the installed scikit-learn; arguments without "-" replace the files."""
    package = Path(sklearn.__file__).parent
    settings = Path(__file__).with_name("pytest.ini")
    fixed = ["-p", "sklearn_suite.plugin", "-c", str(settings), "--rootdir", str(package)]
    return int(pytest.main([*fixed, *(str(package / file) for file in FILES), *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

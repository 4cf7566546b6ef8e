"""The example runs as a script, and its output agrees with README.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weald

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# LogisticRegression of scikit-learn 1.6 on SciPy 1.17.
TOLERATED = ["-W", "ignore:scipy.optimize:DeprecationWarning"]
# Use this package, installed or not.
PACKAGES = str(Path(weald.__file__).resolve().parents[1])
BRANCH = re.compile(r"[├└]─ (?:yes|no): ")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return printed_by("optdigits.py", tmp_path_factory)


def printed_by(example: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", *TOLERATED, str(EXAMPLES / example)],
        env={**os.environ, "PYTHONPATH": PACKAGES},
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    return run.stdout


def test_errors_and_accuracy_are_printed_and_agree(printed: str) -> None:
    errors = re.findall(r"^errors=(\d+) of (\d+)$", printed, re.MULTILINE)
    accuracy = re.findall(r"^accuracy=([\d.]+)%$", printed, re.MULTILINE)
    assert len(errors) == len(accuracy) == 1
    wrong, rows = map(int, errors[0])
    assert rows == 1797
    assert float(accuracy[0]) == pytest.approx(100 * (1 - wrong / rows), abs=0.005)
    assert float(accuracy[0]) > 96


def test_the_tree_names_pixels(printed: str) -> None:
    _, _, rest = printed.partition("One tree of 10 leaves")
    tree = [line for line in rest.splitlines() if BRANCH.search(line)]
    assert 4 < len(tree) < 25  # readable
    for line in rest.splitlines()[1:2] + [line for line in tree if line.endswith("?")]:
        assert re.search(r"pixel_\S+ (<= \S+( or missing)?|is there)\?$", line)


def test_mixtures_of_any_algorithms(tmp_path_factory: pytest.TempPathFactory) -> None:
    printed = printed_by("mixture.py", tmp_path_factory)
    found = dict(re.findall(r"^(\S.*?) +accuracy=([\d.]+)%$", printed, re.MULTILINE))
    assert len(found) == 12 and {"gmm", "svm", "knn", "linear", "trees", "stacking"} <= found.keys()
    # The combination is better than the worst base estimator.
    alone = [float(found[name]) for name in ("gmm", "svm", "knn", "linear", "trees")]
    assert min(float(found[name]) for name in ("soft vote", "blending", "stacking")) > min(alone)
    assert min(map(float, found.values())) > 85

"""For every test and every page: threads of other libraries, and the table of the first pages."""

import os

# The other processes of pytest-xdist use the cores too. OpenMP's threads would wait in a busy loop:
# a boosted model of scikit-learn took twenty times the processor time. weald's own threads are as
# many as ever, because many tests are about them; they read OMP_NUM_THREADS, so it is not set.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from importlib.util import find_spec
from pathlib import Path

import pytest

# Needs the extra weald[dask].
collect_ignore_glob = [] if find_spec("distributed") else ["*/boosted_trees/parts/dask_parts.py"]

_FIRST_USE = {"README.md", "first_five_minutes.md"}


@pytest.fixture(autouse=True)
def _own_table(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples of these pages run in a folder with the table tumours.csv."""
    node = request.node
    if isinstance(node, pytest.DoctestItem) and node.path.name in _FIRST_USE:
        from sklearn.datasets import load_breast_cancer

        monkeypatch.chdir(tmp_path)
        load_breast_cancer(as_frame=True).frame.to_csv("tumours.csv", index=False)

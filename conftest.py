"""The table that README.md and the pages on first use read."""

from pathlib import Path

import pytest

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

"""The memory that a process can use."""

import pytest

from weald.data import memory


@pytest.mark.parametrize(
    ("groups", "files", "most"),
    [
        ("0::/user/job", {"memory.max": "max", "user/memory.max": "9000"}, 9000),
        ("0::/user/job", {"user/memory.max": "9000", "user/job/memory.max": "700"}, 700),
        ("0::/", {"memory.max": "800"}, 800),
        ("5:cpu:/\n4:memory:/a", {"memory/a/memory.limit_in_bytes": "600"}, 600),
        ("4:memory:/a", {}, None),
        ("4:cpu:/a", {"cpu/a/memory.max": "5"}, None),
    ],
)
def test_limits_of_cgroups(groups, files, most, tmp_path, monkeypatch) -> None:
    (tmp_path / "process").write_text(groups + "\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    unlimited = memory.most_bytes()
    monkeypatch.setattr(memory, "_PROCESS", tmp_path / "process")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    assert unlimited is not None and unlimited > 2**20
    if most is not None:
        assert memory.most_bytes() == most
    else:
        assert memory.most_bytes() > 2**20  # type: ignore[operator]

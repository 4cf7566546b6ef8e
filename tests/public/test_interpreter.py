"""Free-threaded CPython is refused when weald is imported."""

import subprocess
import sys

import pytest

# What sys.version begins with there, by the documentation of free threading.
VERSIONS = (
    "3.13.1 experimental free-threading build (main, Dec  3 2024, 17:59:52) [GCC 12.2.0]",
    "3.14.0 free-threading build (main, Oct  7 2025, 10:00:00) [Clang 20.1.4 ]",
)


@pytest.mark.parametrize("version", VERSIONS)
def test_free_threading_is_refused(version: str) -> None:
    code = f"import sys; sys.version = {version!r}\nimport weald"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    last = found.stderr.splitlines()[-1]
    assert last.startswith("ImportError: weald does not support free-threaded CPython")
    assert "python3.14t" in last

"""Fail if one of the wheels lacks a part, or carries what does not belong in it."""

import sys
import zipfile
from pathlib import Path

NEEDED = (
    "weald/__init__.py",
    "weald/py.typed",
    "weald/_native.pyi",
    "weald/cli/main.py",
    "weald/datasets/SOURCES.md",
    "weald/reports/page.html",
    "weald/service/static/page.html",
    "licenses/LICENSE",
    "licenses/NOTICE",
    "entry_points.txt",
)
MODULES = (".so", ".pyd")


def complaints(names: list[str]) -> list[str]:
    """What is wrong with the files of a wheel."""
    found = [f"lacks {one}" for one in NEEDED if not any(name.endswith(one) for name in names)]
    n_modules = sum(name.startswith("weald/_native") and name.endswith(MODULES) for name in names)
    if n_modules != 1:
        found.append(f"has {n_modules} compiled modules weald/_native, expected one")
    outside = [name for name in names if not name.startswith("weald")]
    return found + [f"carries {name}" for name in outside]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: python tools/wheel.py WHEEL...")
    wrong = []
    for file in map(Path, sys.argv[1:]):
        print(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB")
        with zipfile.ZipFile(file) as wheel:
            wrong += [f"{file.name} {one}" for one in complaints(wheel.namelist())]
    if wrong:
        raise SystemExit("\n".join(wrong))

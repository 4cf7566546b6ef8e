"""Print requirements that pyproject.toml implies, for pip.

build    what a build without isolation needs
check    the tools of `make check`
tables   packages of data that tests read, to be installed with --no-deps
floors   the oldest dependencies as constraints: `numpy>=1.26` becomes `numpy==1.26.*`
"""

import re
import sys
import tomllib
from pathlib import Path


def build(settings: dict) -> list[str]:
    """Name what the build back end asks for, and the two programs it calls."""
    return [*settings["build-system"]["requires"], "cmake", "ninja"]


def check(settings: dict) -> list[str]:
    """Name the tools, without the package and what it depends on."""
    return settings["project"]["optional-dependencies"]["check"]


def tables(settings: dict) -> list[str]:
    """Name the packages whose data files the tests read."""
    return settings["dependency-groups"]["tables"]


def floors(settings: dict) -> list[str]:
    """Pin every dependency of the package and its tests to its floor."""
    project = settings["project"]
    pins = []
    for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
        floor = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
        if floor is None:
            raise SystemExit(
                f"pyproject.toml: {requirement!r} is no plain floor like 'numpy>=1.26'"
            )
        pins.append(f"{floor[1]}=={floor[2]}.*")
    return pins


if __name__ == "__main__":
    kinds = {"build": build, "check": check, "tables": tables, "floors": floors}
    if len(sys.argv) != 2 or sys.argv[1] not in kinds:
        raise SystemExit(__doc__)
    print(*kinds[sys.argv[1]](tomllib.loads(Path("pyproject.toml").read_text("utf-8"))), sep="\n")

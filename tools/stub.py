"""Write src/weald/_native.pyi from the installed core, or with --check compare the two."""

import argparse
import difflib
import importlib
import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

STUB = Path("src/weald/_native.pyi")
HEAD = "# Generated from cpp/bindings/ by `make stub`; not to be edited.\n"

# nanobind knows only that these return a tuple or a dict.
RETURNS = {
    "__getstate__": ("tuple", "tuple[Any, ...]"),
    "add_gains": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.int64]]"),
    "arrays": (r"list\[dict\]", "list[dict[str, NDArray[Any]]]"),
    "columns": ("dict", "dict[str, NDArray[Any]]"),
    "numbered_rows": (
        "tuple",
        "tuple[NDArray[numpy.int64], NDArray[numpy.uint64]]",
    ),
    "draw": ("tuple", "tuple[NDArray[numpy.int64], NDArray[numpy.int64]]"),
    "find": (
        "tuple",
        "tuple[int, float, bool, float, NDArray[numpy.float64], NDArray[numpy.float64], "
        "NDArray[numpy.uint64]]",
    ),
    **dict.fromkeys(
        (
            "add_rows",
            "coarse_sums",
            "copies_by_code",
            "divide",
            "expect",
            "look",
            "rows_of_nodes",
            "sums_of_leaves",
            "write",
        ),
        ("tuple", "tuple[NDArray[Any], ...]"),
    ),
    "find_cuts": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.int64]]"),
    "bin_sparse": (
        "tuple",
        "tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.uint8], "
        "NDArray[numpy.uint8]]",
    ),
    "grow": ("dict", "dict[str, NDArray[Any]]"),
    "grow_forest": ("dict", "dict[str, NDArray[Any]]"),
    "grow_survival_forest": ("dict", "dict[str, NDArray[Any]]"),
    "grow_isolation_forest": ("dict", "dict[str, NDArray[Any]]"),
    "grow_on_loss": ("dict", "dict[str, NDArray[Any]]"),
    "join_trees": ("dict", "dict[str, NDArray[Any]]"),
    "leaf_sums": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
    "newton_steps": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
    "steps_of_sums": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
    "grow_rotation_forest": (r"list\[dict\]", "list[dict[str, NDArray[Any]]]"),
    "loss_facts": ("dict", "dict[str, Any]"),
    "criterion_facts": ("dict", "dict[str, Any]"),
    "part": ("tuple", "tuple[dict[str, NDArray[Any]], NDArray[numpy.int32]]"),
    "predict_spread": ("tuple", "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
    "refit_leaves": (
        "tuple",
        "tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]",
    ),
    "search_cells": (
        "tuple",
        "tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64], "
        "NDArray[numpy.int64]]",
    ),
    "search_levels": ("tuple", "tuple[float, float]"),
    "subsample": ("tuple", "tuple[NDArray[numpy.int64], NDArray[numpy.uint8]]"),
    "stumps": ("list", "list[tuple[dict[str, NDArray[Any]], NDArray[numpy.int32]]]"),
}


def stub() -> str:
    """Give the text of the stub for the core that is installed."""
    generator = StubGen(importlib.import_module("weald._native"))
    generator.put(generator.module)
    text = generator.get()
    # Shape, order and device are checked by the core; to a type checker they mean nothing.
    text = re.sub(r"Annotated\[(NDArray\[[\w.]+\]), dict\([^]]*\)\]", r"\1", text)
    text = re.sub(r"Annotated\[NDArray, dict\([^]]*\)\]", "NDArray[Any]", text)
    text = text.replace("import Annotated, overload", "import Any, overload")
    for name, (vague, exact) in RETURNS.items():
        text, n = re.subn(rf"(def {name}\(.*\) -> ){vague}:", rf"\1{exact}:", text)
        if n == 0:
            raise SystemExit(f"tools/stub.py: {name} does not return a {vague} any more")
    vague = re.search(r"def (\w+)\(.*\) -> (tuple|dict|list|object):", text)
    if vague:
        raise SystemExit(f"tools/stub.py: say in RETURNS what the {vague[2]} of {vague[1]} holds")
    return formatted(HEAD + text)


def formatted(text: str) -> str:
    """Lay the text out as the rest of the package."""
    command = [Path(sys.executable).with_name("ruff"), "format", "--stdin-filename", STUB, "-"]
    return subprocess.run(command, input=text, stdout=-1, encoding="utf-8", check=True).stdout


def main() -> None:
    """Write the stub, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    wanted = stub()
    if not parser.parse_args().check:
        STUB.write_text(wanted, encoding="utf-8")
        return
    there = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    if there != wanted:
        lines = there.splitlines(), wanted.splitlines()
        print(*difflib.unified_diff(*lines, str(STUB), "from the core", lineterm=""), sep="\n")
        raise SystemExit(f"{STUB} is out of date: run `make stub`")


if __name__ == "__main__":
    main()

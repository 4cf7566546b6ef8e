"""Fail if a file, a function or a constructor has grown too large to be read at one go."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cpp_source import blocks

FOLDERS = ("benchmarks", "cpp", "examples", "src/weald", "studies", "tests", "tools")
FILE_LINES = 500
FUNCTION_LINES = 60  # without its docstring
PARAMETERS = 20  # of a constructor
EXCEPTIONS = Path("tools/size_exceptions.txt")

FUNCTION = re.compile(r"([\w:~]+) ?\(")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class TooLarge:
    """What is over its limit: `place` is how the list of exceptions names it."""

    place: str
    size: int
    limit: int
    unit: str

    def __str__(self) -> str:
        return f"{self.place}: {self.size} {self.unit}, at most {self.limit}"


def lines_of(function: Function) -> int:
    """Count the lines of a function from `def` to its end, the docstring left out."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function, clean=False) is not None:
        docstring = (first.end_lineno or 0) - first.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def parameters_of(function: Function) -> int:
    """Count the parameters, `self` left out."""
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs) - 1


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Give every function below a node with its dotted name."""
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{getattr(child, 'name', '')}"
        if isinstance(child, Function):
            yield name, child
        is_scope = isinstance(child, (Function, ast.ClassDef))
        yield from functions(child, f"{name}." if is_scope else prefix)


def too_large_of_cpp(file: Path, text: str) -> Iterator[TooLarge]:
    """Give the functions of a C++ source that are over the limit; of a type only its functions."""
    for block in blocks(text):
        name = FUNCTION.search(block.head)
        is_function = name is not None and block.type_name is None and not block.is_namespace
        if is_function and block.n_lines > FUNCTION_LINES:
            yield TooLarge(f"{file}:{name[1]}", block.n_lines, FUNCTION_LINES, "lines")


def too_large(file: Path) -> Iterator[TooLarge]:
    """Give what is over its limit in one file."""
    text = file.read_text(encoding="utf-8")
    n_lines = len(text.splitlines())
    if n_lines > FILE_LINES:
        yield TooLarge(str(file), n_lines, FILE_LINES, "lines")
    if file.suffix != ".py":
        yield from too_large_of_cpp(file, text)
        return
    for name, function in functions(ast.parse(text)):
        place = f"{file}:{name}"
        if lines_of(function) > FUNCTION_LINES:
            yield TooLarge(place, lines_of(function), FUNCTION_LINES, "lines")
        if function.name == "__init__" and parameters_of(function) > PARAMETERS:
            yield TooLarge(place, parameters_of(function), PARAMETERS, "parameters")


def exceptions() -> set[str]:
    """Read the places that may be larger; each needs a reason."""
    places = set()
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        place, _, reason = line.partition(" ")
        if not reason.strip():
            raise SystemExit(f"{EXCEPTIONS}: {place} needs a reason")
        places.add(place)
    return places


def main() -> None:
    """Compare all files with the limits and the list of exceptions."""
    files = (file for folder in FOLDERS for file in sorted(Path(folder).rglob("*")))
    code = [file for file in files if file.suffix in {".py", ".cpp", ".hpp"}]
    found = [large for file in code for large in too_large(file)]
    allowed = exceptions()
    complaints = [str(large) for large in found if large.place not in allowed]
    idle = allowed - {large.place for large in found}
    complaints += [f"{place}: no longer too large; remove it from {EXCEPTIONS}" for place in idle]
    if complaints:
        raise SystemExit("\n".join(sorted(complaints)))


if __name__ == "__main__":
    main()

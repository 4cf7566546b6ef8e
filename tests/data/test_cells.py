"""What cells of csv files become: the same with each frame library."""

import math
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pytest

from weald.data import frame_library
from weald.data.reading import read


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make one frame library the only one that `read` finds."""
    pytest.importorskip(request.param)
    monkeypatch.setattr(frame_library, "FRAME_LIBRARIES", (request.param,))
    return str(request.param)


def _column(folder: Path, text: str) -> list[Any]:
    """The column "a" of a file, with None for missing values."""
    file = folder / "table.csv"
    file.write_text(text, encoding="utf-8")
    values = nw.from_native(read(file), eager_only=True)["a"].to_list()
    return [None if isinstance(one, float) and math.isnan(one) else one for one in values]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["3,5", "", "-0,25", "7"], [3.5, None, -0.25, 7.0]),
        (["1.234,5", "12,50", "1.000"], [1234.5, 12.5, 1000.0]),
        (["69222,187", "1,5E+03"], [69222.187, 1500.0]),
        (["0,125", "2,375"], [0.125, 2.375]),
        (["1,234", "5,678"], ["1,234", "5,678"]),  # thousands?
        (["1,5", "x"], ["1,5", "x"]),
        (["1,5", "2,5,6"], ["1,5", "2,5,6"]),
        (["1,5", "2.5"], ["1,5", "2.5"]),
    ],
)
def test_decimal_commas(cells: list[str], values: list[Any], tmp_path: Path, library: str) -> None:
    rows = "".join(f"{cell};{i}\n" for i, cell in enumerate(cells))
    assert _column(tmp_path, "a;b\n" + rows) == values


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["7", "-3", "007"], [7, -3, 7]),
        (["0.5", "1e5", "inf"], [0.5, 1e5, math.inf]),
        (["true", "FALSE"], [True, False]),
        (["None", "-"], ["None", "-"]),
        (["5%", "1_000", "€5"], ["5%", "1_000", "€5"]),
    ],
)
def test_types_of_cells(cells: list[str], values: list[Any], tmp_path: Path, library: str) -> None:
    """The table of docs/guide/data.md."""
    rows = "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    assert _column(tmp_path, "a,b\n" + rows) == values


def test_no_decimal_commas_between_commas(tmp_path: Path, library: str) -> None:
    assert _column(tmp_path, 'a,b\n"1,5",2\n"2,25",3\n') == ["1,5", "2,25"]

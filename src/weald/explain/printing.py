"""Small tables as text."""

from collections.abc import Sequence

from weald.number_text import value_text


def table_text(
    title: str, head: Sequence[str], rows: Sequence[Sequence[object]], n_more: int = 0
) -> str:
    """A table as text: the first column to the left, numbers to the right.

    Examples
    --------
    >>> print(table_text("effects", ["column", "mean"], [["age", 0.25], ["a", -1.5]], 3))
    effects
    column   mean
    age      0.25
    a        -1.5
    and 3 more
    """
    cells = [list(head), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([title, *lines, *([f"and {n_more} more"] if n_more > 0 else [])])


def _shown(cell: object) -> str:
    return value_text(cell)

"""Small tables as text."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Join the cells of lines of equal length, aligned to the right; the first `left` to the left.

    >>> print(aligned([["column", "share"], ["a", "0.25"]], left=1))
    column  share
    a        0.25
    """
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )

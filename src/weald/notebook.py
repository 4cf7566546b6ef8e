"""Tables as HTML, for notebooks; every value is escaped."""

from collections.abc import Sequence
from html import escape

from weald.number_text import value_text

_LEFT, _RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums"


def table_html(
    title: str, head: Sequence[str], rows: Sequence[Sequence[object]], n_more: int = 0
) -> str:
    """Write a table: the first column names the rows; lines of the title become paragraphs.

    Examples
    --------
    >>> page = table_html("Values of <b>", ["column", "mean"], [["<i>", 0.25]], 3)
    >>> "Values of &lt;b&gt;" in page, "&lt;i&gt;</th>" in page, "and 3 more" in page
    (True, True, True)
    """
    heads = [
        f'<th scope="col" style="{_LEFT if i == 0 else _RIGHT}">{escape(name)}</th>'
        for i, name in enumerate(head)
    ]
    lines = [_line(row) for row in rows]
    more = f"\n{_paragraph(f'and {n_more:,} more')}" if n_more > 0 else ""
    header = f"<thead><tr>{chr(10).join(heads)}</tr></thead>\n" if heads else ""
    return (
        f'<div class="weald-table">{"".join(map(_paragraph, title.splitlines()))}\n'
        f"<table>{header}<tbody>{chr(10).join(lines)}</tbody></table>{more}</div>"
    )


def _line(row: Sequence[object]) -> str:
    cells = [f'<th scope="row" style="{_LEFT}">{escape(value_text(row[0]))}</th>']
    cells += [f'<td style="{_RIGHT}">{escape(value_text(cell))}</td>' for cell in row[1:]]
    return f"<tr>{chr(10).join(cells)}</tr>"


def _paragraph(text: str) -> str:
    return f'<p style="margin:0">{escape(text)}</p>'

"""A diagnosis as HTML: no scripts, light and dark, everything escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from weald.diagnostics.findings import Finding

_STYLE = """
.weald-diagnosis { font: 15px/1.45 system-ui, sans-serif; max-width: 60em; }
.weald-diagnosis h2 { font-size: 1.15em; margin: 1em 0 .4em; }
.weald-diagnosis h3 { font-size: 1em; margin: 0 0 .2em; }
.weald-diagnosis .tables { display: flex; flex-wrap: wrap; gap: 1em 2.5em; }
.weald-diagnosis table { border-collapse: collapse; }
.weald-diagnosis th { text-align: left; font-weight: normal; padding: .1em 1.2em .1em 0; }
.weald-diagnosis td { text-align: right; font-variant-numeric: tabular-nums; }
.weald-diagnosis li { margin: .5em 0; padding: .1em 0 .1em .7em; border-left: .3em solid #767676; }
.weald-diagnosis ul { list-style: none; padding: 0; }
.weald-diagnosis li.critical { border-color: #a50f15; }
.weald-diagnosis li.warning { border-color: #d55e00; }
.weald-diagnosis li.info { border-color: #0072b2; }
.weald-diagnosis .advice { opacity: .8; }
"""
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2em auto; padding: 0 1em; max-width: 62em; background: #fff; color: #222; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #e6e6e6; } }
"""


def fragment_of(
    title: str,
    tables: Mapping[str, Sequence[tuple[str, str]]],
    findings: Sequence[Finding],
    notes: Sequence[str],
) -> str:
    """Write a diagnosis as one element with its own style, for a notebook or a page."""
    listed = "".join(_item(finding) for finding in findings)
    return (
        f'<div class="weald-diagnosis"><style>{_STYLE}</style><h2>{escape(title)}</h2>'
        f'<div class="tables">{"".join(map(_table, tables.items()))}</div>'
        f"<h2>{'Findings' if findings else 'No findings'}</h2><ul>{listed}</ul>"
        + "".join(f"<p>Not measured: {escape(note)}</p>" for note in notes)
        + "</div>"
    )


def page_of(title: str, body: str) -> str:
    """Write a complete page; `body` is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head><body>{body}</body>"
        "</html>\n"
    )


def _table(entry: tuple[str, Sequence[tuple[str, str]]]) -> str:
    heading, rows = entry
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<section><h3>{escape(heading)}</h3><table>{cells}</table></section>"


def _item(finding: Finding) -> str:
    advice = f' <span class="advice">→ {escape(finding.advice)}</span>' if finding.advice else ""
    return (
        f'<li class="{escape(finding.severity)}"><strong>{escape(finding.severity)}, '
        f"{escape(finding.topic)}:</strong> {escape(finding.text)}{advice}</li>"
    )

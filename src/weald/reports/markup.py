"""HTML from values: everything that is not markup of ours is escaped."""

from collections.abc import Sequence
from html import escape

Cell = object


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html_of(value: Cell) -> Html:
    """Escape a value; HTML stays as it is.

    >>> html_of("<b>"), html_of(Html("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return value if isinstance(value, Html) else Html(escape(str(value)))


def tag(name: str, *content: Cell, **attributes: object) -> Html:
    """Write an element; attributes that are None or False are left out, True has no value.

    >>> tag("td", "a < b", class_="number", hidden=True, title=None)
    '<td class="number" hidden>a &lt; b</td>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html_of(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{written}>{joined(*content)}</{name}>")


def joined(*parts: Cell) -> Html:
    """Join values, escaping what is not HTML."""
    return Html("".join(html_of(part) for part in parts))


def table(
    caption: str, head: Sequence[Cell], rows: Sequence[Sequence[Cell]], numbers: Sequence[int] = ()
) -> Html:
    """Write a table; the first column names the rows, `numbers` are the columns of numbers.

    On narrow screens each row becomes a block with the names of the columns beside its values.
    Browsers forget that such blocks are a table, so the roles are written out.
    """

    def cells(row: Sequence[Cell]) -> Html:
        first = tag("th", row[0], scope="row", role="rowheader")
        rest = [
            tag(
                "td",
                tag("span", value),
                class_="number" if i in numbers else None,
                data_head=name,
                role="cell",
            )
            for i, (name, value) in enumerate(zip(head[1:], row[1:], strict=True), start=1)
        ]
        return tag("tr", first, *rest, role="row")

    heads = [
        tag("th", name, scope="col", role="columnheader", class_="number" if i in numbers else None)
        for i, name in enumerate(head)
    ]
    top = tag("thead", tag("tr", *heads, role="row"), role="rowgroup")
    body = tag("tbody", *map(cells, rows), role="rowgroup")
    return tag("table", tag("caption", caption), top, body, class_="stack", role="table")


def scrolled(content: Html, label: str) -> Html:
    """A part that may be wider than the screen; the keyboard can scroll it, too."""
    return tag("div", content, class_="wide", role="region", aria_label=label, tabindex=0)


def facts(caption: str, rows: Sequence[tuple[str, Cell]]) -> Html:
    """Write names with their values."""
    lines = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in rows]
    return tag("table", tag("caption", caption), tag("tbody", *lines), class_="facts")


def choices(name: str, label: str, panels: Sequence[tuple[str, Html]]) -> Html:
    """Write panels of which one is shown, with a list to choose from.

    Without scripts all of them are shown.
    """
    if len(panels) == 1:
        return joined(tag("h3", panels[0][0]), panels[0][1])
    options = [tag("option", title, value=i) for i, (title, _) in enumerate(panels)]
    chooser = tag(
        "div",
        tag("label", label, " ", tag("select", *options, data_chooses=name)),
        tag(
            "button",
            "previous",
            tag("span", f" {label}", class_="unseen"),
            type="button",
            data_step="-1",
            data_of=name,
        ),
        tag(
            "button",
            "next",
            tag("span", f" {label}", class_="unseen"),
            type="button",
            data_step="1",
            data_of=name,
        ),
        tag("span", "", class_="unseen", role="status", data_says=name),
        class_="chooser",
    )
    shown = [tag("div", tag("h3", title), body, data_choice=name) for title, body in panels]
    return joined(chooser, tag("div", *shown))


def section(name: str, title: str, *content: Cell) -> Html:
    """Write a part of the report; scripts make it a tab."""
    return tag("section", tag("h2", title), *content, id=name, data_tab=title)


def paragraph(*content: Cell, **attributes: object) -> Html:
    """Write a paragraph."""
    return tag("p", *content, **attributes)

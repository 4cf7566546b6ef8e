"""Small charts: bars as tables, lines and points as SVG, in the colours of the page."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text, signed_text
from weald.plot.style import shortened
from weald.reports.markup import Html, html_of, joined, tag

Floats = NDArray[np.float64]

# Sizes in units of the drawing; a letter as on narrow screens, where text is larger.
_WIDTH, _HEIGHT, _BOTTOM, _TOP, _LETTER = 560, 260, 44, 12, 9.5


def bars(caption: str, values: Sequence[tuple[str, float]], unit: str = "") -> Html:
    """Draw numbers as bars to the right, negative ones to the left of the middle."""
    if not values:
        return tag("p", "Nothing to show.")
    largest = max(abs(value) for _, value in values) or 1.0
    signed = any(value < 0 for _, value in values)
    rows = []
    for name, value in values:
        share = 100 * abs(value) / largest
        bar = tag(
            "span", class_=f"bar {'down' if value < 0 else 'up'}", style=f"width:{share:.1f}%"
        )
        sides = (
            [tag("span", bar if value < 0 else "", class_="half left"),
             tag("span", bar if value >= 0 else "", class_="half")]
            if signed
            else [tag("span", bar, class_="half whole")]
        )  # fmt: skip
        rows.append(
            tag(
                "tr",
                tag("th", name, scope="row"),
                tag("td", tag("span", *sides, class_="bars"), aria_hidden="true", class_="drawn"),
                tag("td", signed_text(value) if signed else number_text(value), class_="number"),
            )
        )
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in ("column", "", unit))))
    body = tag("tbody", *rows)
    return tag("table", tag("caption", caption), head if unit else "", body, class_="chart")


def lines(
    title: str,
    x: Floats,
    series: Sequence[tuple[str, Floats]],
    across: str,
    up: str,
    *,
    diagonal: bool = False,
    dates: bool = False,
) -> Html:
    """Draw lines over a common axis; `dates` says that x are days since 1970."""
    y = np.concatenate([values for _, values in series])
    frame = _Frame(x, np.concatenate([y, x]) if diagonal else y, dates)
    drawn = [
        tag("polyline", points=frame.points(x, values), class_=f"line c{i % 8}")
        for i, (_, values) in enumerate(series)
    ]
    if diagonal:
        drawn.insert(0, frame.diagonal())
    legend = Html("")
    if len(series) > 1:
        keys = [
            tag("li", tag("span", class_=f"key k{i % 8}"), " ", name)
            for i, (name, _) in enumerate(series)
        ]
        legend = tag("ul", *keys, class_="legend")
    return joined(_picture(title, frame, across, up, drawn), legend)


def points(
    title: str, x: Floats, y: Floats, across: str, up: str, *, diagonal: bool = False
) -> Html:
    """Draw points; with a diagonal, both axes have the same range."""
    both = np.concatenate([x, y])
    frame = _Frame(both, both) if diagonal else _Frame(x, y)
    drawn = [
        tag("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=2.5, class_="point")
        for a, b in zip(frame.across(x), frame.up(y), strict=True)
    ]
    if diagonal:
        drawn.insert(0, frame.diagonal())
    return _picture(title, frame, across, up, drawn)


class _Frame:
    """Scales of a chart, and its ticks."""

    def __init__(self, x: Floats, y: Floats, dates: bool = False) -> None:
        self.x, self.y = _range(x), _range(y)
        self._across_text = _date if dates else number_text
        longest = max(len(number_text(value)) for value in _ticks(*self.y))
        self.left = 32 + _LETTER * longest

    def across(self, x: Floats) -> Floats:
        low, high = self.x
        return np.asarray(self.left + (x - low) / (high - low) * (_WIDTH - self.left - 12))

    def up(self, y: Floats) -> Floats:
        low, high = self.y
        return np.asarray(_HEIGHT - _BOTTOM - (y - low) / (high - low) * (_HEIGHT - _BOTTOM - _TOP))

    def points(self, x: Floats, y: Floats) -> str:
        pairs = zip(self.across(x), self.up(y), strict=True)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)

    def diagonal(self) -> Html:
        ends = np.array([max(self.x[0], self.y[0]), min(self.x[1], self.y[1])])
        return tag("polyline", points=self.points(ends, ends), class_="diagonal")

    def ticks(self) -> list[Html]:
        """Numbers beside the axes, with faint lines."""
        drawn = []
        across = [(value, self._across_text(value)) for value in _ticks(*self.x)]
        length = _LETTER * sum(len(text) + 2 for _, text in across)
        for value, text in across[:: int(np.ceil(length / (_WIDTH - self.left)))]:
            a = float(self.across(np.array([value]))[0])
            drawn.append(_text(a, _HEIGHT - _BOTTOM + 16, text, "middle"))
        for value in _ticks(*self.y):
            b = float(self.up(np.array([value]))[0])
            ends = {"x1": self.left, "x2": _WIDTH - 12, "y1": f"{b:.1f}", "y2": f"{b:.1f}"}
            drawn.append(tag("line", **ends, class_="grid"))
            drawn.append(_text(self.left - 6, b + 4, number_text(value), "end"))
        return drawn


def _date(days: float) -> str:
    return str(np.datetime64(round(days), "D"))


def _range(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = 0.04 * (high - low) or (abs(low) * 0.1 or 1.0)
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers between two.

    >>> _ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    for factor in (5.0, 2.0):
        if (high - low) / (step * factor) >= 4:
            step *= factor
            break
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _text(x: float, y: float, text: str, anchor: str) -> Html:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _picture(title: str, frame: _Frame, across: str, up: str, drawn: Sequence[Html]) -> Html:
    middle = (_HEIGHT - _BOTTOM + _TOP) / 2
    across = shortened(across, int((_WIDTH - frame.left) / _LETTER))
    names = [
        _text((_WIDTH + frame.left) / 2, _HEIGHT - 6, across, "middle"),
        tag(
            "text", up, x=14, y=f"{middle:.0f}", text_anchor="middle",
            transform=f"rotate(-90 14 {middle:.0f})",
        ),
    ]  # fmt: skip
    content = joined(Html(f"<title>{html_of(title)}</title>"), *frame.ticks(), *drawn, *names)
    drawing = tag("svg", content, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", class_="picture")
    return tag("figure", tag("figcaption", title, aria_hidden="true"), drawing)

"""Parts of a report about the data, and the diagnosis."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text, value_text
from weald.plot.columns import as_numbers, column_of
from weald.reports.markup import Html, facts, joined, paragraph, section, table
from weald.reports.model_parts import findings_list
from weald.reports.subject_facts import Facts

_DATA_COLUMNS = 100


def diagnosis(facts_: Facts) -> Html:
    """All findings, with the numbers behind them."""
    found = facts_.found
    parts: list[Html] = [findings_list(found.findings)]
    if not found.findings:
        parts = [paragraph("No findings.")]
    parts += [facts(heading, rows) for heading, rows in found.tables().items()]
    parts += [paragraph(f"Not measured: {note}") for note in found.notes]
    return section("diagnosis", "Diagnosis", joined(*parts))


def data(facts_: Facts) -> Html:
    """Rows and columns in numbers."""
    found = facts_.found
    copies = found.copies
    general: list[tuple[str, object]] = [
        ("rows", f"{found.n_rows:,}"),
        ("columns", f"{found.n_columns:,}"),
        ("copies of other rows", f"{len(copies.rows):,} of {copies.n:,} looked at"),
    ]
    order = facts_.ranked_columns(_DATA_COLUMNS)
    rows = [_column_row(facts_, column) for column in order]
    more = found.n_columns - len(order)
    caption = "Columns, the most important first" + (
        f"; {more:,} more are left out" if more else ""
    )
    head = ("column", "values", "missing", "distinct", "alone")
    note = (
        "alone: how well the column alone predicts the target, from 0 (as a constant) to 1, on "
        "rows it was not learnt from."
    )
    return section(
        "data",
        "Data",
        facts("Rows", [*general, ("target", _target_text(facts_))]),
        table(caption, head, rows, numbers=(2, 3, 4)),
        paragraph(note, class_="note"),
    )


def _target_text(facts_: Facts) -> str:
    if facts_.classes is None:
        low, middle, high = np.quantile(facts_.target, (0, 0.5, 1)).tolist()
        return f"{number_text(low)} to {number_text(high)}, median {number_text(middle)}"
    counts = np.bincount(facts_.target, minlength=len(facts_.classes))
    order = np.argsort(-counts, kind="stable")[:10]
    shown = ", ".join(f"{facts_.label(k)}: {counts[k]:,}" for k in order)
    return shown + (f" and {len(counts) - 10} more classes" if len(counts) > 10 else "")


def _column_row(facts_: Facts, column: int) -> tuple[object, ...]:
    values = column_of(facts_.table, column)
    skill = facts_.found.columns[column].skill
    alone = "" if np.isnan(skill) else f"{max(0.0, skill):.2f}"
    text, n_missing, n_distinct = _values_text(values)
    return (
        facts_.names[column],
        text,
        f"{100 * n_missing / len(values):.1f} %",
        f"{n_distinct:,}",
        alone,
    )


def _values_text(values: NDArray[Any]) -> tuple[str, int, int]:
    """Range of numbers and dates, or the most frequent values; number missing, and distinct."""
    if values.dtype.kind in "mM":
        known = values[~np.isnat(values)]
        text = (
            f"{value_text(known.min())} to {value_text(known.max())}" if known.size else "no value"
        )
        return text, len(values) - len(known), len(np.unique(known))
    numbers = as_numbers(values)
    if numbers is not None:
        known = numbers[np.isfinite(numbers)]
        text = "no number"
        if known.size:
            low, middle, high = np.quantile(known, (0, 0.5, 1)).tolist()
            text = f"{number_text(low)} to {number_text(high)}, median {number_text(middle)}"
        return text, len(values) - len(known), len(np.unique(known))
    words = np.array([value_text(value) for value in values.tolist()], dtype=object)
    is_missing = words == "missing"
    levels, counts = np.unique(words[~is_missing].astype(str), return_counts=True)
    top = np.argsort(-counts, kind="stable")[:3]
    text = ", ".join(f"{levels[k]} ({counts[k]:,})" for k in top) or "no value"
    return text, int(is_missing.sum()), len(levels)

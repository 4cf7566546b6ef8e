"""Parts of a report about predictions: dependence on columns, single rows with reasons."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.out_of_bag.oob_importance import with_column_from
from weald.number_text import number_text, value_text
from weald.plot.attributions import Attributions
from weald.plot.columns import as_numbers, column_of
from weald.reports.charts import bars, lines
from weald.reports.error_parts import row_errors
from weald.reports.markup import Html, choices, facts, joined, paragraph, section
from weald.reports.reasons import reasons_of
from weald.reports.subject_facts import Facts
from weald.theory.arguments import take

Floats = NDArray[np.float64]

_DEPENDENCE_COLUMNS, _DEPENDENCE_ROWS, _GRID = 8, 200, 20
_SHOWN_CLASSES, _SHOWN_REASONS, _SHOWN_VALUES = 6, 10, 30


# ---- dependence ----


def dependence(facts_: Facts) -> Html:
    """Mean prediction against the values of the most important columns."""
    rows = facts_.some_rows(_DEPENDENCE_ROWS)
    panels = [
        (facts_.names[column], _dependence_on(facts_, rows, column))
        for column in facts_.ranked_columns(_DEPENDENCE_COLUMNS)
    ]
    note = (
        "The mean prediction of some rows if this column had the same value in all of them "
        "(partial dependence). Where columns depend on each other, some of these rows cannot exist."
    )
    return section(
        "dependence",
        "Dependence",
        choices("column", "Column", panels),
        paragraph(note, class_="note"),
    )


def _dependence_on(facts_: Facts, rows: Any, column: int) -> Html:
    values = column_of(rows, column)
    numbers = as_numbers(values)
    title = f"Mean prediction by {facts_.names[column]}"
    if numbers is not None and np.isfinite(numbers).any():
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        picked = order[np.unique(np.linspace(0, len(order) - 1, _GRID).astype(int))]
        picked = picked[np.unique(numbers[picked], return_index=True)[1]]
        series = _mean_predictions(facts_, rows, column, picked)
        up = "mean prediction" if facts_.classes is None else "mean probability"
        is_date = values.dtype.kind == "M"
        return lines(title, numbers[picked], series, facts_.names[column][:60], up, dates=is_date)
    words = np.array([value_text(value) for value in values.tolist()])
    levels, first, counts = np.unique(words, return_index=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:_GRID]
    series = _mean_predictions(facts_, rows, column, first[kept])
    drawn = []
    for name, means in series:
        caption = title if facts_.classes is None else f"{title}: probability of {name}"
        drawn.append(bars(caption, list(zip(levels[kept].tolist(), means.tolist(), strict=True))))
    return joined(*drawn)


def _mean_predictions(
    facts_: Facts, rows: Any, column: int, picked: NDArray[np.intp]
) -> list[tuple[str, Floats]]:
    """Mean prediction if the column has the value of each picked row, by class."""
    n = rows.shape[0]
    means = np.array(
        [
            facts_.subject.predict(with_column_from(rows, column, np.full(n, row))).mean(axis=0)
            for row in picked
        ]
    )
    if facts_.classes is None:
        return [("", means[:, 0])]
    if len(facts_.classes) == 2:
        return [(facts_.label(1), means[:, 1])]
    frequent = np.argsort(-np.bincount(facts_.target), kind="stable")[:_SHOWN_CLASSES]
    return [(facts_.label(k), means[:, k]) for k in np.sort(frequent)]


# ---- single rows ----


def single_rows(facts_: Facts, n_examples: int) -> Html:
    """Some rows with their values, prediction and reasons."""
    chosen = _examples(facts_, n_examples)
    positions, targets, predictions = facts_.unseen
    table_ = take(facts_.table, positions[chosen])
    found = reasons_of(facts_.subject.model, table_, facts_.some_rows(100))
    shown = facts_.subject.predict(table_)
    panels = []
    for i, place in enumerate(chosen.tolist()):
        row = int(positions[place])
        head = facts(
            "Prediction",
            [
                ("prediction of the model", facts_.answer(shown[i])),
                ("prediction without having seen it", facts_.answer(predictions[place])),
                ("true", facts_.label(targets[place])),
            ],
        )
        title = f"row {row}: true {facts_.label(targets[place])}"
        panels.append((title[:80], joined(head, _reasons(facts_, found, table_, i, shown[i]))))
    note = "The first rows are those with the largest errors, the last are drawn at random."
    return section("rows", "Rows", choices("row", "Row", panels), paragraph(note, class_="note"))


def _examples(facts_: Facts, n: int) -> NDArray[np.intp]:
    """Half of the rows with the largest unseen errors, half drawn at random."""
    worst = np.argsort(-row_errors(facts_), kind="stable")[: n // 2]
    others = np.random.default_rng(facts_.seed).permutation(len(facts_.scored))
    others = others[~np.isin(others, worst)][: n - len(worst)]
    return np.concatenate([worst, others])


def _reasons(facts_: Facts, found: Any, table_: Any, i: int, prediction: Floats) -> Html:
    """SHAP values of a row, or its values alone."""
    values = {
        column: value_text(column_of(table_, column)[i])
        for column in facts_.ranked_columns(_SHOWN_VALUES)
    }
    if found is None:
        rows = [(facts_.names[column], text) for column, text in values.items()]
        return facts("Values", rows)
    output = None
    if np.ndim(found.values) == 3:
        output = int(prediction.argmax())
    own = Attributions.of(found, output, "weald.report")
    order = np.argsort(-np.abs(own.values[i]), kind="stable")[:_SHOWN_REASONS]
    pairs = [
        (
            f"{own.names[k]} = {value_text(column_of(table_, int(k))[i])}",
            float(own.values[i, k]),
        )
        for k in order
    ]
    rest = float(own.values[i].sum() - own.values[i, order].sum())
    if len(own.names) > len(order):
        pairs.append((f"{len(own.names) - len(order)} other columns", rest))
    sum_ = number_text(own.base[i] + own.values[i].sum())
    caption = (
        f"Reasons (SHAP values): {own.what} {sum_} = mean {number_text(own.base[i])} and these "
        "contributions"
    )
    return bars(caption, pairs, "contribution")

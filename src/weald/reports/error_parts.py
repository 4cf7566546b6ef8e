"""Parts of a report about errors: where the model is wrong, and how sure it is."""

import numpy as np
from numpy.typing import NDArray

from weald.number_text import number_text
from weald.persist.not_saved import has_record
from weald.plot.displays import most_confused
from weald.reports.charts import lines, points
from weald.reports.markup import Html, joined, paragraph, scrolled, section, table, tag
from weald.reports.subject_facts import Facts

Floats = NDArray[np.float64]

_WORST, _POINTS, _MATRIX = 15, 500, 15
_SHADE = "background:color-mix(in srgb,var(--bar) {:.0f}%,transparent)"


def row_errors(facts_: Facts) -> Floats:
    """Error of each unseen row: distance, or 1 minus the probability of the true class."""
    _, target, predictions = facts_.unseen
    if facts_.classes is None:
        return np.abs(target - predictions[:, 0])
    return np.asarray(1 - predictions[np.arange(len(target)), target])


def errors(facts_: Facts) -> Html:
    """Where the model is wrong, on unseen rows."""
    body = _matrix(facts_) if facts_.classes is not None else _residuals(facts_)
    positions, target, predictions = facts_.unseen
    worst = np.argsort(-row_errors(facts_), kind="stable")[:_WORST]
    rows = [
        (f"{positions[i]}", facts_.label(target[i]), facts_.answer(predictions[i])) for i in worst
    ]
    listed = table("Rows with the largest errors", ("row", "true", "predicted unseen"), rows)
    return section("errors", "Errors", body, listed)


def _matrix(facts_: Facts) -> Html:
    _, target, predictions = facts_.unseen
    predicted = predictions.argmax(axis=1)
    assert facts_.classes is not None
    names = [str(label) for label in facts_.classes.tolist()]
    if len(names) > _MATRIX:
        target, predicted, names = most_confused(target, predicted, names, _MATRIX)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (target, predicted), 1)
    most = max(1, counts.max())
    rows = []
    for k, name in enumerate(names):
        cells = [
            tag(
                "td",
                f"{count:,}",
                class_="on" if j == k else None,
                style=_SHADE.format(50 * count / most),
            )
            for j, count in enumerate(counts[k].tolist())
        ]
        rows.append(tag("tr", tag("th", name, scope="row"), *cells))
    head = tag("tr", tag("th", "true \\ predicted"), *(tag("th", n, scope="col") for n in names))
    title = "Confusion of unseen rows: rows are true, columns are predicted"
    whole = tag("table", tag("thead", head), tag("tbody", *rows), class_="matrix")
    return joined(tag("h3", title), scrolled(whole, title))


def _residuals(facts_: Facts) -> Html:
    _, target, predictions = facts_.unseen
    some = np.random.default_rng(facts_.seed).permutation(len(target))[:_POINTS]
    title = "Predictions of unseen rows against their targets; exact ones lie on the line"
    return points(title, predictions[some, 0], target[some], "prediction", "target", diagonal=True)


# ---- uncertainty ----


def uncertainty(facts_: Facts) -> Html:
    """How sure the model is, and whether it is right to be."""
    body = _reliability(facts_) if facts_.classes is not None else _intervals(facts_)
    return section("uncertainty", "Uncertainty", body)


def _reliability(facts_: Facts) -> Html:
    found = facts_.found.calibration
    if found is None:
        return paragraph("The model predicts labels without probabilities.")
    _, target, predictions = facts_.unseen
    confidence, is_right = predictions.max(axis=1), predictions.argmax(axis=1) == target
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split(order, max(2, min(10, len(order) // 20)))
    x = np.array([confidence[part].mean() for part in parts])
    y = np.array([is_right[part].mean() for part in parts])
    rows = [
        (f"{a:.3f}", f"{b:.3f}", f"{len(part):,}") for a, b, part in zip(x, y, parts, strict=False)
    ]
    return joined(
        lines(
            "Share of right predictions by predicted probability; calibrated ones lie on the line",
            x, [("", y)], "probability of the predicted class", "share right", diagonal=True,
        ),
        table(
            "Unseen rows by their probability", ("mean probability", "share right", "rows"), rows,
            numbers=(1, 2),
        ),
        paragraph(
            f"Calibration error {found.error:.3f}; of 100 perfectly calibrated models with these "
            f"probabilities 99 have at most {found.limit:.3f}.", class_="note",
        ),
    )  # fmt: skip


def _intervals(facts_: Facts) -> Html:
    """Quantiles of unseen errors, and coverage of the model's own intervals on test rows."""
    _, target, predictions = facts_.unseen
    away = np.abs(target - predictions[:, 0])
    levels = (0.5, 0.8, 0.9, 0.95)
    rows = [
        (f"{100 * level:g} %", number_text(float(np.quantile(away, level)))) for level in levels
    ]
    found = [table("Errors of unseen rows", ("share of the rows", "error at most"), rows, (1,))]
    model, test = facts_.subject.model, facts_.test
    if test is not None and has_record(model):
        covered = []
        for level in levels:
            lower, upper = np.asarray(model.predict_interval(test[0], level)).T
            held = float(((lower <= test[1]) & (test[1] <= upper)).mean())
            covered.append(
                (
                    f"{100 * level:g} %",
                    f"{100 * held:.1f} %",
                    number_text(float((upper - lower).mean())),
                )
            )
        head = ("wanted", "test rows within", "mean width")
        found.append(table("Prediction intervals of the model", head, covered, (1, 2)))
    return joined(*found)

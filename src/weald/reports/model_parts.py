"""Parts of a report about the model: overview, importance, trees, clone, settings."""

import platform
from typing import Any

import numpy as np
import sklearn

from weald.advice import collecting
from weald.diagnostics.findings import Estimate, plain_number
from weald.ensembles.distilling.distilling import distill
from weald.plot.nodes import Node, nodes_of
from weald.reports.charts import bars
from weald.reports.markup import (
    Html,
    choices,
    facts,
    joined,
    paragraph,
    scrolled,
    section,
    table,
    tag,
)
from weald.reports.scores import scores_of
from weald.reports.subject_facts import Facts
from weald.version import __version__

_SHOWN_IMPORTANCES = 20
_TREE_DEPTH = 5
_CLONE_LEAVES = 8


def overview(facts_: Facts) -> Html:
    """What the model is and how good it is on rows it has not seen."""
    found = facts_.found
    urgent = [one for one in found.findings if one.severity != "info"]
    listed = findings_list(urgent) if urgent else paragraph("Nothing has to be changed.")
    return section(
        "overview",
        "Overview",
        paragraph(_what_it_is(facts_)),
        table(
            f"Error ({_loss_name(found.loss)}) by rows",
            ("rows", "error", "± standard error", "number of rows"),
            [
                (_rows_name(name), plain_number(one.value), _doubt(one), f"{one.n:,}")
                for name, one in found.errors.items()
            ],
            numbers=(1, 2, 3),
        ),
        paragraph(_how_measured(found.source), class_="note"),
        table(
            "Scores of unseen rows",
            ("score", "value", "constant prediction"),
            scores_of(facts_),
            numbers=(1, 2),
        ),
        tag("h3", "What to look at first"),
        listed,
    )


def _what_it_is(facts_: Facts) -> str:
    model, found = facts_.subject.model, facts_.found
    parts = []
    forest = getattr(model, "forest_", None)
    if forest is not None and hasattr(forest, "n_trees"):
        parts.append(f"{forest.n_trees:,} trees")
    elif hasattr(model, "estimators_"):
        parts.append(f"{np.size(np.asarray(model.estimators_, dtype=object)):,} base estimators")
    size = f" of {' and '.join(parts)}" if parts else ""
    if facts_.classes is None:
        goal = "a number"
    else:
        shown = [str(label) for label in facts_.classes.tolist()[:8]]
        more = len(facts_.classes) - len(shown)
        goal = f"one of {len(facts_.classes)} classes ({', '.join(shown)}"
        goal += f" and {more} more)" if more else ")"
    return f"A {found.model}{size} that predicts {goal} from {found.n_columns:,} columns" + (
        "." if found.source == "held-out" else f", fitted on {found.n_rows:,} rows."
    )


def _loss_name(loss: str) -> str:
    return "share of wrong predictions" if loss == "zero_one" else "mean squared error"


def _rows_name(name: str) -> str:
    return {
        "training": "training rows (too low: the model has seen them)",
        "out-of-bag": "out-of-bag rows (unseen)",
        "cross-validation": "rows left out by cross-validation (unseen)",
        "held-out": "held-out rows (unseen)",
        "test": "test rows (unseen)",
        "constant": "all rows, constant prediction",
    }[name]


def _doubt(one: Estimate) -> str:
    return "" if np.isnan(one.standard_error) else plain_number(one.standard_error)


def _how_measured(source: str) -> str:
    if source == "out-of-bag":
        return "Each row is predicted by the base estimators that were not fitted on it."
    if source == "held-out":
        return "The model was not fitted on any of these rows."
    return "Each row is predicted by a copy of the model that was fitted without it."


def findings_list(findings: Any) -> Html:
    """Claims with their advice."""
    items = [
        tag(
            "li",
            tag("strong", f"{one.severity}, {one.topic}: "),
            one.text,
            " ",
            tag("em", one.advice),
            class_=one.severity,
        )
        for one in findings
    ]
    return tag("ul", *items, class_="findings")


def importance(facts_: Facts) -> Html:
    """The most important columns as bars."""
    title = ("importance", "Importance")
    if facts_.importances is None:
        return section(*title, paragraph("There are no importances of this model."))
    order = facts_.ranked_columns(_SHOWN_IMPORTANCES)
    pairs = [(facts_.names[i], float(facts_.importances[i])) for i in order]
    n = len(facts_.importances)
    caption = f"The {len(order)} most important of {n:,} columns" if n > len(order) else "Columns"
    return section(
        *title,
        bars(caption, pairs),
        paragraph(f"Measured by: {facts_.measured_by}.", class_="note"),
    )


def trees(facts_: Facts, max_trees: int) -> Html:
    """The first trees of the model, to be unfolded node by node."""
    panels = []
    for number in range(max_trees):
        try:
            found = nodes_of(facts_.subject.model, number, _TREE_DEPTH, None, None, "weald.report")
        except (TypeError, ValueError):
            break  # no trees, or no more of them
        panels.append((f"tree {number}", tree_browser(found.root)))
    if not panels:
        text = "The model has no trees of its own; its clone is a tree."
        return section("trees", "Trees", paragraph(text))
    note = f"The first {len(panels)}, to a depth of {_TREE_DEPTH}."
    return section(
        "trees", "Trees", choices("tree", "Tree", panels), paragraph(note, class_="note")
    )


def tree_browser(root: Node) -> Html:
    """Nested lists that open and close, also by keyboard."""
    buttons = tag(
        "p",
        tag("button", "open all", type="button", data_open="true"),
        " ",
        tag("button", "close all", type="button", data_open="false"),
        class_="buttons",
    )
    return tag("div", buttons, _branch(root, 0), class_="tree", data_tree=True)


def _branch(node: Node, depth: int, edge: str = "") -> Html:
    lead = tag("span", f"{edge}:", class_="edge") if edge else ""
    if not node.children:
        below = f", {node.n_leaves} leaves below" if node.kind == "cut" else ""
        return tag("span", lead, node.answer, tag("small", f" {node.size}"), below, class_="leaf")
    items = [tag("li", _branch(child, depth + 1, edge)) for edge, child in node.children]
    head = tag("summary", lead, node.split, " ", tag("small", f"{node.answer}, {node.size}"))
    return tag("details", head, tag("ul", *items), open=depth < 2)


def clone(facts_: Facts) -> Html:
    """One small tree fitted to the predictions of the model, with its fidelity."""
    test = facts_.test
    given: dict[str, Any] = {}
    if test is not None:
        labels = test[1] if facts_.classes is None else facts_.classes[test[1]]
        given = {"X_val": test[0], "y_val": labels}
    with collecting():  # advice for trees is of no use for the model that the report is about
        found = distill(
            facts_.subject.model,
            facts_.some_rows(2000),
            max_leaf_nodes=_CLONE_LEAVES,
            random_state=facts_.seed,
            **given,
        )
    nodes = nodes_of(found, 0, 20, None, None, "weald.report")
    return section(
        "clone",
        "Clone",
        paragraph(
            "One small tree that imitates the model; it is easier to read and less accurate."
        ),
        scrolled(tag("pre", str(found)), "The clone as text"),
        tree_browser(nodes.root),
    )


def settings(facts_: Facts) -> Html:
    """Parameters, fingerprint and versions."""
    model = facts_.subject.model
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    chosen = getattr(model, "auto_settings_", {})
    rows = [
        (name, _short(value), _short(chosen[name]) if name in chosen else "")
        for name, value in sorted(given.items())
    ]
    versions: list[tuple[str, object]] = [
        ("model", type(model).__module__ + "." + type(model).__name__),
        ("fingerprint (SHA-256)", _fingerprint(model)),
        ("weald", __version__),
        ("scikit-learn", sklearn.__version__),
        ("NumPy", np.__version__),
        ("Python", platform.python_version()),
    ]
    body = [facts("Model", versions)]
    if rows:
        body.append(table("Parameters", ("parameter", "value", "chosen by the fit"), rows))
    return section("settings", "Settings", joined(*body))


def _fingerprint(model: Any) -> str:
    if not hasattr(model, "fingerprint"):
        return "none: models of other libraries have no fingerprint"
    try:
        return str(model.fingerprint())
    except TypeError as error:  # base estimators of other libraries
        return f"none: {error}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"

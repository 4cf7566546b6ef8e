"""`weald compare`: methods side by side by repeated cross-validation."""

import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from weald.cli.methods import CONSTANT, make
from weald.cli.output import check_free, print_json, table_lines
from weald.cli.paired import corrected_t_test, holm
from weald.cli.progress import progress
from weald.cli.scores import Metric, metric_of, predicted, score_text
from weald.cli.training import Rows, Training, can_stratify, part_of, rows_of
from weald.plot.style import pyplot

DEFAULT_METHODS = ("boosted_trees", "random_forest", "extra_trees", "decision_tree", CONSTANT)
_DIFFERENCE = 0.05  # p values below are said to be a difference


@dataclass(frozen=True)
class Comparison:
    """Options of `weald compare`."""

    data: Training
    methods: tuple[str, ...] = DEFAULT_METHODS
    folds: int = 5
    repeats: int = 2
    metric: str | None = None
    picture: str | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """Scores of one method.

    Attributes
    ----------
    method : str
        Its name.
    scores : array, shape (folds * repeats,)
        The score of each fold.
    seconds : float
        Mean processor time of a fit.
    p_value : float or None
        P value of the comparison with the best method, adjusted by Holm's method; None for the
        best.
    """

    method: str
    scores: NDArray[np.float64]
    seconds: float
    p_value: float | None = None


def compare(options: Comparison) -> None:
    """Print scores of several methods on the same folds, and which differ from the best."""
    check_free(options.picture, options.data.force)
    if len(set(options.methods)) < len(options.methods):
        raise click.UsageError("a method is named twice")
    if options.picture is not None:
        pyplot()  # matplotlib may be missing
    rows, task = rows_of(options.data)
    metric = metric_of(task, options.metric)
    folds = _folds(rows, task, options)
    models = {
        one: make(one, task, {}, options.data.seed, options.data.jobs) for one in options.methods
    }
    scores, seconds = _run(models, rows, folds, metric)
    results = ranked(options.methods, scores, seconds, metric, 1 / options.folds)
    if options.picture is not None:
        _draw(results, metric, options.picture)
    if options.data.json:
        print_json(_record(results, metric, task, options))
    else:
        click.echo(_text(results, metric, rows, options))


def ranked(
    methods: tuple[str, ...],
    scores: NDArray[np.float64],
    seconds: NDArray[np.float64],
    metric: Metric,
    test_share: float,
) -> list[Result]:
    """Sort methods, the best first, and test each against the best."""
    means = scores.mean(axis=1)
    order = np.argsort(-means if metric.more_is_better else means, kind="stable")
    best = scores[order[0]]
    p_values = holm([corrected_t_test(scores[i] - best, test_share) for i in order[1:]])
    return [
        Result(methods[i], scores[i], float(seconds[i].mean()), p)
        for i, p in zip(order, [None, *p_values], strict=True)
    ]


def _folds(rows: Rows, task: str, options: Comparison) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    if len(rows) < options.folds:
        raise ValueError(f"{options.folds} folds need as many rows; there are {len(rows)}")
    kind = RepeatedKFold
    if can_stratify(rows.y, task, options.folds):
        kind = RepeatedStratifiedKFold
    split = kind(n_splits=options.folds, n_repeats=options.repeats, random_state=options.data.seed)
    return list(split.split(np.zeros(len(rows)), rows.y))


def _run(
    models: dict[str, Any], rows: Rows, folds: list[tuple[Any, Any]], metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores and processor times of fits, methods by folds."""
    from sklearn.base import clone

    scores = np.empty((len(models), len(folds)))
    seconds = np.empty_like(scores)
    with progress() as bar:
        line = bar.add_task("comparing", total=len(models) * len(folds))
        for k, (fitted, tested) in enumerate(folds):
            part, rest = part_of(rows, fitted), part_of(rows, tested)
            for i, (name, model) in enumerate(models.items()):
                bar.update(line, description=f"fold {k + 1} of {len(folds)}: {name}")
                copy, begin = clone(model), time.process_time()
                copy.fit(part.X, part.y, **part.fit_arguments)
                seconds[i, k] = time.process_time() - begin
                scores[i, k] = metric.of(predicted(copy, rest.X, rest.y))
                bar.advance(line)
    return scores, seconds


def _text(results: list[Result], metric: Metric, rows: Rows, options: Comparison) -> str:
    sense = "more" if metric.more_is_better else "less"
    title = (
        f"{options.data.table}: {len(rows):,} rows, {options.folds} folds x {options.repeats}, "
        f"{metric.name} ({sense} is better)"
    )
    lines = [
        [one.method, score_text(one.scores.mean()), f"{one.scores.std(ddof=1):.2g}"]
        + [f"{one.seconds:.2f}", _verdict(one.p_value)]
        for one in results
    ]
    head = ["method", "mean", "sd", "cpu s", "beside the best"]
    note = (
        "sd: of the folds; cpu s: processor time of a fit; p: paired t test corrected for shared "
        "training rows,\nadjusted for the number of methods (Holm)"
    )
    return f"{title}\n{table_lines(head, lines)}\n{note}"


def _verdict(p: float | None) -> str:
    if p is None:
        return "best"
    if np.isnan(p):
        return "not tested"
    return ("worse" if p < _DIFFERENCE else "no clear difference") + f", p = {p:.2g}"


def _record(
    results: list[Result], metric: Metric, task: str, options: Comparison
) -> dict[str, Any]:
    return {
        "table": options.data.table,
        "task": task,
        "metric": metric.name,
        "more_is_better": metric.more_is_better,
        "folds": options.folds,
        "repeats": options.repeats,
        "methods": [
            {
                "method": one.method,
                "mean": float(one.scores.mean()),
                "sd": float(one.scores.std(ddof=1)),
                "scores": one.scores,
                "cpu_seconds": one.seconds,
                "p_value": one.p_value,
            }
            for one in results
        ],
        "picture": options.picture,
    }


def _draw(results: list[Result], metric: Metric, path: str) -> None:
    """Draw the scores of all folds, a line of dots for each method, and their means."""
    from weald.plot.style import BLUE, GREY, INK, drawing, label

    with drawing(None, (6.4, 0.6 + 0.5 * len(results))) as axes:
        for place, one in enumerate(results):
            axes.plot(one.scores, np.full(len(one.scores), place), "o", color=GREY, alpha=0.5)
            axes.plot(one.scores.mean(), place, "D", color=BLUE, markeredgecolor=INK)
        axes.set_yticks(range(len(results)), [label(one.method) for one in results])
        axes.set_ylim(len(results) - 0.5, -0.5)
        sense = "more" if metric.more_is_better else "less"
        axes.set_xlabel(f"{metric.name} of each fold and its mean ({sense} is better)")
        axes.figure.savefig(path, dpi=144)
        pyplot().close(axes.figure)

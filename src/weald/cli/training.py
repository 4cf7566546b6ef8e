"""`weald train` and `weald evaluate`: a model of a table, and its scores on unseen rows."""

import math
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import click
import narwhals.stable.v1 as nw
import numpy as np

from weald.advice import collecting
from weald.cli.methods import interval_settings, make, parse_settings
from weald.cli.output import check_free, fingerprint_of, print_json, table_lines
from weald.cli.scores import score_text, scores_of
from weald.cli.tables import (
    Table,
    check_classes,
    check_column,
    features_of,
    read_table,
    take_target,
    task_of,
)
from weald.errors import WealdWarning


@dataclass(frozen=True)
class Training:
    """Options of `weald train`."""

    table: str
    target: str | None
    model: str | None
    method: str = "boosted_trees"
    task: str = "auto"
    settings: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    weight: str | None = None
    test: str | None = None
    test_size: float = 0.2
    intervals: bool = False
    seed: int = 0
    jobs: int | None = None
    force: bool = False
    json: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, target and weights of rows."""

    X: Any
    y: Any
    fit_arguments: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)


def train(options: Training) -> None:
    """Score a model on rows held out, fit it on all rows, and save it."""
    check_free(options.model, options.force)
    rows, task = rows_of(options)
    settings = interval_settings(options.method, task) if options.intervals else {}
    settings |= parse_settings(options.settings)
    model = make(options.method, task, settings, options.seed, options.jobs)
    scores, n_test = _held_out_scores(model, rows, task, options)
    seconds = time.perf_counter()
    fit_with_bar(model, rows)
    seconds = time.perf_counter() - seconds
    if options.test is not None:
        tested, y_test = take_target(read_table(options.test), options.target)
        scores, n_test = scores_of(model, features_of(model, tested).native, y_test), len(y_test)
    if options.model is not None:
        model.save(options.model, oob=options.intervals)
    result = {
        "table": options.table,
        "rows": len(rows),
        "columns": int(model.n_features_in_),
        "target": options.target,
        "task": task,
        "classes": list(model.classes_) if task == "classification" else None,
        "estimator": type(model).__name__,
        "test_rows": n_test,
        "scores": scores,
        "fit_seconds": seconds,
        "fingerprint": fingerprint_of(model),
        "model": options.model,
    }
    print_json(result) if options.json else click.echo(_train_text(result, options))


def evaluate(path: str, table: str, target: str | None, as_json: bool) -> None:
    """Print the scores of a saved model on a table."""
    from weald import load

    model = load(path)
    features, y = take_target(read_table(table), target)
    scores = scores_of(model, features_of(model, features).native, y)
    result = {"model": path, "table": table, "rows": len(y), "scores": scores}
    if as_json:
        print_json(result)
    else:
        click.echo(f"{type(model).__name__} on {len(y):,} rows of {table}")
        click.echo(score_lines(scores))


def fit_with_bar(model: Any, rows: Rows) -> None:
    """Fit a model, with its progress bar if stderr is a terminal."""
    shows = hasattr(model, "verbose") and not model.verbose and sys.stderr.isatty()
    if shows:
        model.verbose = 1
    try:
        model.fit(rows.X, rows.y, **rows.fit_arguments)
    finally:
        if shows:
            model.verbose = 0


def rows_of(options: Training) -> tuple[Rows, str]:
    """Read the rows, and the task: "classification" or "regression"."""
    table = read_table(options.table)
    for name in options.drop:
        check_column(table, name, "--drop")
    table = table.without(options.drop)
    weights = {}
    if options.weight is not None:
        name = check_column(table, options.weight, "--weight")
        weights = {"sample_weight": table.frame[name].to_numpy()}
        table = table.without([name])
    features, y = take_target(table, options.target)
    task = task_of(y, options.task)
    if options.task == "auto" and task == "classification":
        check_classes(table, str(options.target))
    _warn_of_odd_cells(features)
    return Rows(features.native, _labels(y, task), weights), task


def _labels(y: Any, task: str) -> Any:
    """Targets as an array: categories of a frame library become their labels."""
    values = nw.from_native(y, series_only=True).to_numpy()
    return values if task == "classification" else values.astype(np.float64)


def _warn_of_odd_cells(table: Table) -> None:
    odd = table.odd_cell(table.columns)
    if odd:
        import warnings

        warnings.warn(
            f"{odd}, but most of the column are: it becomes a category column",
            WealdWarning,
            stacklevel=1,
        )


def _held_out_scores(
    model: Any, rows: Rows, task: str, options: Training
) -> tuple[dict[str, float], int]:
    """Score a copy fitted on the rows that are not held out."""
    if options.test is not None or options.test_size == 0:
        return {}, 0
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    n_tested = math.ceil(len(rows) * options.test_size)
    n_fitted = len(rows) - n_tested
    if n_fitted == 0:
        raise ValueError(
            f"{options.table!r} has {len(rows):,} rows, of which --test-size {options.test_size:g} "
            "leaves none to fit on; give more rows or a smaller share (0: no scores)"
        )
    stratifies = can_stratify(rows.y, task, most=min(n_fitted, n_tested))
    fitted, tested = train_test_split(
        np.arange(len(rows)),
        test_size=n_tested,
        random_state=options.seed,
        stratify=rows.y if stratifies else None,
    )
    copy = clone(model)
    with collecting():  # the fit on all rows issues them
        fit_with_bar(copy, part_of(rows, fitted))
    part = part_of(rows, tested)
    return scores_of(copy, part.X, part.y), len(tested)


def can_stratify(y: Any, task: str, least: int = 2, most: int | None = None) -> bool:
    """Whether every class has at least `least` rows, and there are at most `most` classes."""
    if task != "classification":
        return False
    counts = np.unique(y, return_counts=True)[1]
    return int(counts.min()) >= least and (most is None or len(counts) <= most)


def part_of(rows: Rows, places: Any) -> Rows:
    """Some of the rows."""
    frame = nw.from_native(rows.X, eager_only=True)[places.tolist()]
    weights = {name: one[places] for name, one in rows.fit_arguments.items()}
    return Rows(frame.to_native(), rows.y[places], weights)


def title_of(result: dict[str, Any], options: Training) -> str:
    """What a model was trained on, and what its target was taken for."""
    classes = result["classes"]
    kind = "numbers (regression)" if classes is None else f"{len(classes)} classes"
    if options.task == "auto":
        other = "classification" if classes is None else "regression"
        kind += f"; --task {other} if that is wrong"
    return (
        f"{result['table']}: {result['rows']:,} rows, {result['columns']:,} columns, target "
        f"{result['target']!r}: {kind}"
    )


def _train_text(result: dict[str, Any], options: Training) -> str:
    lines = [title_of(result, options)]
    if result["scores"]:
        tested, name = f"{result['test_rows']:,}", result["estimator"]
        if options.test:
            lines.append(f"{name}, scores on {tested} rows of {options.test}:")
        else:
            fitted = result["rows"] - result["test_rows"]
            lines.append(f"{name}, fitted on {fitted:,} rows, scores on the other {tested}:")
        lines.append(score_lines(result["scores"]))
    saved = f", saved as {result['model']}" if result["model"] else "; -o FILE saves it"
    lines.append(f"Fitted on all {result['rows']:,} rows in {result['fit_seconds']:.1f} s{saved}")
    return "\n".join(lines)


def score_lines(scores: dict[str, float]) -> str:
    """Scores by name, one a line."""
    rows = [[f"  {name}", score_text(value)] for name, value in scores.items()]
    return table_lines(rows[0], rows[1:])

"""`weald auto`: the best ensemble of many models within a time limit."""

import math
import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from weald.cli.methods import interval_settings, make
from weald.cli.output import check_free, fingerprint_of, print_json, table_lines
from weald.cli.progress import progress
from weald.cli.scores import Metric, metric_of, score_text, scores_of
from weald.cli.tables import features_of, read_table, take_target
from weald.cli.training import Rows, Training, rows_of, score_lines, title_of
from weald.ensembles.auto.progress import shown_by

_SCORERS = {
    "log_loss": "neg_log_loss",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
}


@dataclass(frozen=True)
class Searching:
    """Options of `weald auto`; those of the rows and of the model file are as in `train`."""

    data: Training
    time: float = 60.0
    metric: str | None = None
    only_trees: bool = False


def search(options: Searching) -> None:
    """Train models within the time limit, save the best ensemble of them, and print all."""
    data = options.data
    check_free(data.model, data.force)
    rows, task = rows_of(data)
    metric = metric_of(task, options.metric)
    settings = interval_settings("auto", task) if data.intervals else {}
    settings |= {
        "time_limit": options.time,
        "metric": _scorer_name(metric, rows),
        "portfolio": "trees" if options.only_trees else None,
    }
    model = make("auto", task, settings, data.seed, data.jobs)
    seconds = time.perf_counter()
    _fit_with_bar(model, rows, metric, options.time)
    seconds = time.perf_counter() - seconds
    scores, n_tested = {}, 0
    if data.test is not None:
        table, y = take_target(read_table(data.test), data.target)
        scores, n_tested = scores_of(model, features_of(model, table).native, y), len(y)
    if data.model is not None:
        model.save(data.model, oob=data.intervals)
    result = {
        "table": data.table,
        "rows": len(rows),
        "columns": int(model.n_features_in_),
        "target": data.target,
        "task": task,
        "classes": list(model.classes_) if task == "classification" else None,
        "estimator": type(model).__name__,
        "metric": metric.name,
        "leaderboard": [_record(row, metric) for row in model.leaderboard_],
        "stopped_by": model.stopped_by_,
        "test_rows": n_tested,
        "scores": scores,
        "fit_seconds": seconds,
        "fingerprint": fingerprint_of(model),
        "model": data.model,
    }
    print_json(result) if data.json else click.echo(_text(result, metric, data))


def _scorer_name(metric: Metric, rows: Rows) -> str:
    """Name that scikit-learn gives the metric."""
    if metric.name == "roc_auc" and len(np.unique(rows.y)) > 2:
        return "roc_auc_ovr"
    return _SCORERS.get(metric.name, metric.name)


def _fit_with_bar(model: Any, rows: Rows, metric: Metric, limit: float) -> None:
    """Fit the ensemble; on a terminal a bar shows the time, the model and the best score."""
    begin = time.perf_counter()
    with progress() as bar:
        line = bar.add_task("preparing the table", total=limit)

        def show(text: str, score: float) -> None:
            best = ""
            if math.isfinite(score):
                best = f", best {metric.name} {score_text(_reported(score, metric))}"
            spent = time.perf_counter() - begin
            bar.update(line, description=text + best, completed=min(spent, limit))

        with shown_by(show):
            model.fit(rows.X, rows.y, **rows.fit_arguments)


def _reported(score: float, metric: Metric) -> float:
    """The value of the metric; in a search more is always better."""
    return score if metric.more_is_better else -score


def _record(row: Any, metric: Metric) -> dict[str, Any]:
    return {
        "model": row.model,
        "score": _reported(row.score, metric),
        "spread": row.spread,
        "weight": row.weight,
        "fit_seconds": row.fit_seconds,
        "predict_seconds": row.predict_seconds,
        "status": row.status,
    }


def _text(result: dict[str, Any], metric: Metric, data: Training) -> str:
    sense = "more" if metric.more_is_better else "less"
    head = ["model", metric.name, "spread", "weight", "fit s", "status"]
    lines = [
        title_of(result, data),
        f"{result['estimator']}, scores on rows that the models were not fitted on ({sense} is "
        "better):",
        table_lines(head, [_cells(row) for row in result["leaderboard"]]),
    ]
    if result["scores"]:
        lines += [f"On {result['test_rows']:,} rows of {data.test}:", score_lines(result["scores"])]
    saved = f"saved as {data.model}" if data.model else "-o FILE saves it"
    lines.append(f"Fitted in {result['fit_seconds']:.1f} s ({_END[result['stopped_by']]}); {saved}")
    return "\n".join(lines)


_END = {
    "portfolio": "all models were tried",
    "max_models": "more models would overfit the selection on so few rows",
    "time_limit": "the time was up",
    "interrupt": "interrupted",
}


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["model"],
        "" if math.isnan(row["score"]) else score_text(row["score"]),
        "" if math.isnan(row["spread"]) else f"{row['spread']:.2g}",
        f"{row['weight']:.2f}" if row["weight"] else "",
        "" if math.isnan(row["fit_seconds"]) else f"{row['fit_seconds']:.1f}",
        row["status"],
    ]

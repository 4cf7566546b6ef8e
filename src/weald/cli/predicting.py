"""`weald predict`: predictions of a saved model as csv or JSON."""

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from weald.cli.output import check_free, print_json, write_text
from weald.cli.tables import Table, check_column, features_of, read_table
from weald.csv_text import csv_text

_CHUNK = 10_000  # rows turned into text at a time


def predict(
    path: str,
    table: str,
    *,
    output: str | None,
    probabilities: bool,
    interval: float | None,
    keep: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Predict the rows of a table."""
    from weald import load

    check_free(output, force)
    model, rows = load(path), read_table(table)
    columns: dict[str, list[Any]] = {
        check_column(rows, name, "--keep"): rows.frame[name].to_list() for name in keep
    }
    columns |= predictions_of(model, features_of(model, rows), probabilities, interval)
    if output is not None:
        write_text(output, "".join(_chunks(columns)), force)
    elif as_json:
        records = zip(*columns.values(), strict=True)
        print_json([dict(zip(columns, one, strict=True)) for one in records])
    else:
        for text in _chunks(columns):
            click.echo(text, nl=False)


def predictions_of(
    model: Any, features: Table, probabilities: bool, interval: float | None
) -> dict[str, list[Any]]:
    """Predictions by column name; the cell that cannot be converted is named by line."""
    try:
        found = _predictions(model, features.native, probabilities, interval)
    except ValueError as error:
        odd = features.odd_cell(features.columns)
        raise (ValueError(odd) if odd else error) from error
    return found


def _predictions(
    model: Any, X: Any, probabilities: bool, interval: float | None
) -> dict[str, list[Any]]:
    answer = np.asarray(model.predict(X))
    if answer.ndim == 1:
        found = {"prediction": answer.tolist()}
    else:
        found = {f"prediction_{i}": column.tolist() for i, column in enumerate(answer.T)}
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise click.UsageError(f"{type(model).__name__} has no probabilities (--proba)")
        shares = np.asarray(model.predict_proba(X))
        for i, label in enumerate(model.classes_):
            found[f"probability_{label}"] = shares[:, i].tolist()
    if interval is not None:
        if hasattr(model, "classes_"):
            raise click.UsageError(
                "--interval is for numbers, but the model predicts classes; --proba prints their "
                "probabilities"
            )
        try:
            limits = np.asarray(model.predict_interval(X, interval))
        except AttributeError as error:
            raise ValueError(
                "the model file has nothing to compute intervals from: train it with --intervals "
                "(boosted_trees, forests, bagging or auto)"
            ) from error
        found |= {"low": limits[:, 0].tolist(), "high": limits[:, 1].tolist()}
    return found


def _chunks(columns: dict[str, list[Any]]) -> Iterator[str]:
    n_rows = len(next(iter(columns.values())))
    yield csv_text([list(columns)])
    for first in range(0, n_rows, _CHUNK):
        part = [one[first : first + _CHUNK] for one in columns.values()]
        yield csv_text(zip(*part, strict=True))

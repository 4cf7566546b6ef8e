"""`weald explain`: what each column contributes to predictions."""

from typing import Any

import click
import numpy as np

from weald.cli.output import check_free, print_json, table_lines, write_text
from weald.cli.tables import Table, features_of, read_table
from weald.csv_text import csv_text
from weald.number_text import number_text, signed_text

_SHOWN = 20  # columns that are printed


def explain(
    path: str,
    table: str,
    *,
    row: int | None,
    max_rows: int,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print Shapley values: of one row, or their mean sizes over many."""
    from weald import load
    from weald.explain import shap

    check_free(output, force)
    model = load(path)
    features = features_of(model, read_table(table))
    places = _places(features, row, max_rows)
    part = features.frame[places].to_native()
    found = shap(model, part)
    if output is not None:
        write_text(output, _all_values(found, places), force)
    if row is None:
        _print_means(found, as_json)
    else:
        _print_row(model, found, features, row, as_json)


def _places(features: Table, row: int | None, max_rows: int) -> list[int]:
    n_rows = len(features.frame)
    if row is not None:
        if row >= n_rows:
            raise click.UsageError(f"--row {row} is out of range: '{features.path}' has {n_rows}")
        return [row]
    if n_rows <= max_rows:
        return list(range(n_rows))
    chosen = np.random.default_rng(0).choice(n_rows, max_rows, replace=False)
    return sorted(chosen.tolist())


def _print_means(found: Any, as_json: bool) -> None:
    sizes = found.mean_abs.reshape(len(found.feature_names), -1).sum(axis=1)
    order = np.argsort(-sizes, kind="stable")
    if as_json:
        means = {found.feature_names[i]: sizes[i] for i in order}
        record = {"rows": len(found), "scale": found.scale, "method": found.method}
        print_json({**record, "mean_abs_shapley_values": means})
        return
    click.echo(f"mean |Shapley value| of {len(found):,} rows, scale: {found.scale}, {found.method}")
    rows = [[found.feature_names[i], number_text(sizes[i])] for i in order[:_SHOWN]]
    click.echo(table_lines(["column", "mean"], rows))
    if len(order) > _SHOWN:
        click.echo(f"… and {len(order) - _SHOWN} more (--json has all)")


def _print_row(model: Any, found: Any, features: Table, row: int, as_json: bool) -> None:
    cells = features.frame.row(row)
    answer = np.asarray(model.predict(features.frame[[row]].to_native()))[0]
    values, base, output = found.values[0], found.base_values, None
    if values.ndim == 2:  # one value per class: show those of the predicted class
        place = found.output_names.index(str(answer)) if str(answer) in found.output_names else 0
        values, base, output = values[:, place], base[place], found.output_names[place]
    elif found.output_names:
        output = found.output_names[0]
    order = np.argsort(-np.abs(values), kind="stable")
    if as_json:
        names = found.feature_names
        reasons = [{"column": names[i], "cell": cells[i], "value": values[i]} for i in order]
        record = {"row": row, "prediction": answer, "output": output, "scale": found.scale}
        print_json({**record, "base_value": base, "contributions": reasons})
        return
    of = "" if output is None else f" of {output!r}"
    total = float(base + values.sum())
    shown = number_text(float(answer), 6) if isinstance(answer, np.floating) else answer
    click.echo(f"{features.place(row)}: prediction {shown}")
    click.echo(
        f"{found.scale}{of}: {number_text(total)} = mean {number_text(float(base))} + the sum of"
    )
    rows = [
        [found.feature_names[i], _short(cells[i]), signed_text(values[i])] for i in order[:_SHOWN]
    ]
    click.echo(table_lines(["column", "cell", "contribution"], rows))
    if len(order) > _SHOWN:
        rest = float(values[order[_SHOWN:]].sum())
        click.echo(f"… and {len(order) - _SHOWN} more columns, {signed_text(rest)} together")


def _all_values(found: Any, places: list[int]) -> str:
    """All values as csv, one line per row and output."""
    several = found.values.ndim == 3
    lines: list[list[Any]] = [["row", *(["output"] if several else []), *found.feature_names]]
    for place, values in zip(places, found.values, strict=True):
        if several:
            lines += [[place, name, *values[:, i]] for i, name in enumerate(found.output_names)]
        else:
            lines.append([place, *values])
    return csv_text(lines)


def _short(cell: Any) -> str:
    text = f"{cell:.6g}" if isinstance(cell, float) else " ".join(str(cell).split())
    return text if len(text) <= 24 else text[:23] + "…"

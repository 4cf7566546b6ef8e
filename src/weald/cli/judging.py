"""`weald diagnose`, `weald report` and `weald distill`: a saved model looked at with its rows."""

from typing import Any

import click

from weald.cli.output import check_free, print_json, write_text
from weald.cli.tables import features_of, read_table, take_target


def diagnose(
    path: str,
    table: str,
    target: str | None,
    *,
    test: str | None,
    refit: bool,
    html: str | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Print what the error of a model is made of, and what to change."""
    import weald

    check_free(html, force)
    model = weald.load(path)
    X, y = _rows(model, table, target)
    found = weald.diagnose(
        model, X, y, **_test_rows(model, test, target), refit=refit, random_state=seed
    )
    if html is not None:
        write_text(html, found.to_html(), force)
    if as_json:
        print_json(_record(found))
    else:
        click.echo(str(found))


def report(
    path: str,
    table: str,
    target: str | None,
    *,
    test: str | None,
    output: str,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Write one HTML page about a model."""
    import weald

    check_free(output, force)
    model = weald.load(path)
    X, y = _rows(model, table, target)
    found = weald.report(model, X, y, **_test_rows(model, test, target), random_state=seed)
    write_text(output, found.html, force)
    if as_json:
        print_json({"report": output, "title": found.title, **_record(found.diagnosis)})
    else:
        click.echo(f"{found.title}: {output} ({len(found.html) // 1024:,} KB, opens in a browser)")


def distill(
    path: str,
    table: str,
    target: str | None,
    *,
    student: str,
    max_leaves: int,
    output: str | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Print one small tree or list of rules that imitates a model, and how well it does."""
    import weald

    check_free(output, force)
    model = weald.load(path)
    if target is None:
        X, y = features_of(model, read_table(table)).native, None
    else:
        X, y = _rows(model, table, target)
    found = weald.distill(
        model, X, y, student=student, max_leaf_nodes=max_leaves, random_state=seed
    )
    if output is not None:
        found.model.save(output)
    if as_json:
        estimates = {"fidelity": found.fidelity.value, "text": found.text(), "model": output}
        print_json({"student": type(found.model).__name__, **estimates})
    else:
        click.echo(str(found))
        click.echo(found.text())


def _rows(model: Any, table: str, target: str | None) -> tuple[Any, Any]:
    features, y = take_target(read_table(table), target)
    return features_of(model, features).native, y


def _test_rows(model: Any, test: str | None, target: str | None) -> dict[str, Any]:
    if test is None:
        return {}
    X, y = _rows(model, test, target)
    return {"X_test": X, "y_test": y}


def _record(found: Any) -> dict[str, Any]:
    errors = {
        name: {"value": one.value, "standard_error": one.standard_error}
        for name, one in found.errors.items()
    }
    findings = [
        {"severity": one.severity, "topic": one.topic, "text": one.text, "advice": one.advice}
        for one in found.findings
    ]
    return {"model": found.model, "loss": found.loss, "errors": errors, "findings": findings}

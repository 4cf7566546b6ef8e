"""`weald export` and `weald info`: a saved model in another form, and what it is."""

from pathlib import Path
from typing import Any

import click

from weald.cli.output import check_free, fingerprint_of, print_json, write_text

FORMATS = {".onnx": "onnx", ".c": "c", ".py": "python"}


def export(path: str, output: str, format: str | None, force: bool, as_json: bool) -> None:
    """Write a saved model as ONNX, C or Python."""
    from weald import export as exports
    from weald import load

    kind = format or FORMATS.get(Path(output).suffix.lower())
    if kind is None:
        known = ", ".join(FORMATS)
        raise click.UsageError(f"'{output}' ends in none of {known}; name the --format")
    check_free(output, force)
    model = load(path)
    if kind == "onnx":
        exports.to_onnx(model, output)
    else:
        write_text(output, exports.to_c(model) if kind == "c" else exports.to_python(model), force)
    size = Path(output).stat().st_size
    if as_json:
        print_json({"model": path, "format": kind, "file": output, "bytes": size})
    else:
        click.echo(f"{path} as {kind}: {output} ({size:,} bytes)")


def info(path: str | None, as_json: bool) -> None:
    """Print what a model file holds, or, without one, this installation."""
    if path is None:
        _print_installation(as_json)
        return
    from weald import load

    model = load(path)
    facts = _facts(model, path)
    if as_json:
        print_json(facts)
        return
    rows = [[name, _text(value)] for name, value in facts.items()]
    width = max(len(name) for name, _ in rows)
    click.echo("\n".join(f"{name:{width}s}  {text}" for name, text in rows))


def _facts(model: Any, path: str) -> dict[str, Any]:
    from weald.persist.archive import read_archive

    header, _ = read_archive(Path(path))
    defaults = type(model)().get_params(deep=False) if _has_defaults(model) else {}
    given = model.get_params(deep=False)
    facts = {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "written by": f"weald {header['weald']}",
        "estimator": type(model).__name__,
        "parameters": {
            name: value
            for name, value in given.items()
            if name not in defaults or repr(defaults[name]) != repr(value)
        },
        "columns": list(getattr(model, "feature_names_in_", range(model.n_features_in_))),
    }
    if hasattr(model, "classes_"):
        facts["classes"] = list(model.classes_)
    if hasattr(model, "forest_"):
        facts["trees"] = str(model.forest_)
    return {**facts, "fingerprint": fingerprint_of(model)}


def _has_defaults(model: Any) -> bool:
    return not hasattr(model, "estimators")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one!r}" for name, one in value.items()) or "defaults"
    if isinstance(value, list):
        more = f" … {len(value)} in all" if len(value) > 12 else ""
        return ", ".join(map(str, value[:12])) + more
    if value is None:
        return "none: the model has parts of another library"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_installation(as_json: bool) -> None:
    from weald.config import configuration

    lines = configuration()
    if as_json:
        print_json(lines)
    else:
        click.echo("\n".join(f"{name:13s} {text}" for name, text in lines.items()))

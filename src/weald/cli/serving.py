"""`weald serve`: predictions of a saved model over HTTP."""

import os
from importlib.util import find_spec
from pathlib import Path

import click

_PACKAGES = ("starlette", "uvicorn", "httptools")


def serve(
    path: str,
    *,
    host: str,
    port: int,
    token_file: str | None,
    names: tuple[str, ...],
    max_body: float,
    max_rows: int,
    queue: int,
    threads: int,
    timeout: float,
    access_log: bool,
) -> None:
    """Serve a model until the process is told to stop."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ImportError(f"weald serve needs the package {missing[0]}: pip install 'weald[serve]'")
    from weald.service.running import run
    from weald.service.settings import Settings

    token = _token(token_file)
    try:
        settings = Settings(
            model=Path(path),
            host=host,
            port=port,
            token=token,
            names=names,
            max_body=int(max_body * 2**20),
            max_rows=max_rows,
            queue=queue,
            threads=threads,
            seconds=timeout,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    run(settings, click.echo, access_log=access_log)


def _token(file: str | None) -> str | None:
    """The token from a file or the environment; never from the command line, which others see."""
    if file is None:
        return os.environ.get("WEALD_TOKEN")
    return Path(file).read_text(encoding="utf-8").strip()

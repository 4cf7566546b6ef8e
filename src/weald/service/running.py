"""A service from its start to its end: socket, signals, server."""

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from weald.service import logs
from weald.service.app import Service
from weald.service.connections import limited_protocol
from weald.service.models import Models
from weald.service.settings import Settings


def run(settings: Settings, announce: Callable[[str], None], *, access_log: bool = True) -> None:
    """Serve a model until the process is told to stop; requests in flight are answered first.

    Parameters
    ----------
    settings : Settings
        What to serve, and where.
    announce : function
        Gets one line about the service when it is ready.
    access_log : bool, default=True
        Whether to log every request.
    """
    models = Models(settings.model, settings.max_rows, needs_token=settings.token is not None)
    with _listening(settings.host, settings.port) as listener:
        logs.configure(access=access_log)
        url = _url(settings.host, listener.getsockname()[1])

        def started() -> None:
            model = models.current
            announce(
                f"weald: serving {settings.model.name!r} ({model.kind}, {len(model.columns)} "
                f"columns, model {model.fingerprint[:12]}) at {url} (Ctrl-C stops it)"
            )

        config = uvicorn.Config(
            Service(settings, models, started).application(),
            http=limited_protocol(settings),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=max(1, int(settings.seconds)),
            timeout_graceful_shutdown=max(1, int(settings.stop_seconds)),
        )
        with _stopping_is_success():
            uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            f"cannot listen on port {port} of {host!r}: {error.strerror}; --port 0 takes a free one"
        ) from None
    with listener:
        yield listener


def _url(host: str, port: int) -> str:
    """The address for browsers.

    >>> _url("127.0.0.1", 8000), _url("::1", 80)
    ('http://127.0.0.1:8000/', 'http://[::1]:80/')
    """
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


@contextlib.contextmanager
def _stopping_is_success() -> Iterator[None]:
    """Let signals that ended the server in good order not end the process once more.

    uvicorn raises them again when it has stopped.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

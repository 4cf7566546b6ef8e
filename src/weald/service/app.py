"""The application: what each address answers."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from weald.service.gate import Gate
from weald.service.metrics import Metrics
from weald.service.models import Models
from weald.service.pages import PAGES, page_file
from weald.service.parsing import Asked, parse
from weald.service.queue import Queue
from weald.service.refusals import CLOSE, Refused, busy
from weald.service.serving import ServedModel
from weald.service.settings import Settings

Headers = Mapping[bytes, bytes]

# A body of so many bytes is read and answered at once: a change of threads would take longer.
_SMALL = 8 * 1024


class Service:
    """Answers requests with a model.

    Parameters
    ----------
    settings : Settings
        Limits.
    models : Models
        The model.
    started : function
        Called when the service is ready.
    """

    def __init__(self, settings: Settings, models: Models, started: Callable[[], None]) -> None:
        self._settings, self._models, self._started = settings, models, started
        self._metrics = Metrics()
        self._queue = Queue(settings.queue, settings.threads)

    def application(self) -> Gate:
        """The ASGI application."""
        routes = [
            Route("/predict", self._predict, methods=["POST"]),
            Route("/model", self._model),
            Route("/openapi.json", self._openapi),
            Route("/metrics", self._metrics_text),
            Route("/health", _health),
            Route("/ready", self._ready),
            *(Route(path, _page) for path in PAGES),
        ]
        router = Router(routes, redirect_slashes=False, lifespan=self._lifespan)
        return Gate(router, self._settings, self._metrics)

    @asynccontextmanager
    async def _lifespan(self, _: object) -> AsyncIterator[None]:
        with self._reloading_on_signal():
            self._started()
            yield
        self._queue.close()

    @contextmanager
    def _reloading_on_signal(self) -> Iterator[None]:
        """Read the model again on SIGHUP, where there are such signals."""
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

        def reload() -> None:
            task = loop.create_task(self._models.reload(self._metrics))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        number = getattr(signal, "SIGHUP", None)
        handled = False
        if number is not None:
            # Only the main thread of a process gets signals.
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, reload)
                handled = True
        try:
            yield
        finally:
            if number is not None and handled:
                loop.remove_signal_handler(number)

    # ---- predictions ----

    async def _predict(self, request: Request) -> Response:
        model = self._models.current  # the same to the end, whatever is loaded meanwhile
        as_csv = _wants_csv(request)
        size = self._declared_size(request)
        if size is None or size > _SMALL:
            return await self._large(request, model, as_csv)
        asked = parse(await self._body(request))
        model.check(asked, self._settings.max_rows)
        request.scope["state"]["facts"]["rows"] = len(asked.rows)
        if asked.is_light and model.predictor is not None:
            return _sent(model, _answered(model, asked, as_csv), as_csv)
        with self._queue.place() as place:
            content = await place.run(request.receive, _answered, model, asked, as_csv)
        return _sent(model, content, as_csv)

    async def _large(self, request: Request, model: ServedModel, as_csv: bool) -> Response:
        """Read, parse and answer a large body; the place in the queue bounds what is in memory."""
        with self._queue.place() as place:
            body = await self._body(request)
            content, n_rows = await place.run(
                request.receive, _parsed_and_answered, model, body, self._settings.max_rows, as_csv
            )
        request.scope["state"]["facts"]["rows"] = n_rows
        return _sent(model, content, as_csv)

    def _declared_size(self, request: Request) -> int | None:
        """Bytes of the body by its head; None if it comes in chunks. Refuses before reading."""
        headers: Headers = request.scope["state"]["headers"]
        kind = headers.get(b"content-type", b"")
        if kind.partition(b";")[0].strip().lower() != b"application/json":
            raise Refused(415, "expected the header Content-Type: application/json", CLOSE)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise Refused(415, "compressed bodies are not accepted", CLOSE)
        declared = headers.get(b"content-length")
        if declared is None:
            return None
        if not declared.isdigit():
            raise Refused(400, "the header Content-Length is not a number", CLOSE)
        if int(declared) > self._settings.max_body:
            raise self._too_large()
        return int(declared)

    async def _body(self, request: Request) -> bytes:
        """Read the body within its limits of size and time."""
        seconds = self._settings.seconds
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > self._settings.max_body:
                        raise self._too_large()
                    parts.append(part)
        except TimeoutError:
            raise Refused(
                408, f"the body did not arrive within {seconds:g} seconds", CLOSE
            ) from None
        return b"".join(parts)

    def _too_large(self) -> Refused:
        most = self._settings.max_body
        return Refused(413, f"the body is too large; at most {most:,} bytes are accepted", CLOSE)

    # ---- everything else ----

    async def _model(self, _: Request) -> Response:
        return Response(self._models.documents.model, media_type="application/json")

    async def _openapi(self, _: Request) -> Response:
        return Response(self._models.documents.openapi, media_type="application/json")

    async def _metrics_text(self, _: Request) -> Response:
        model = self._models.current
        text = self._metrics.text(model.kind, model.fingerprint, self._queue.taken)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _ready(self, _: Request) -> Response:
        if self._queue.is_full:
            raise busy("the queue is full")
        return Response(b'{"status":"ready"}', media_type="application/json")


async def _health(_: Request) -> Response:
    return Response(b'{"status":"alive"}', media_type="application/json")


async def _page(request: Request) -> Response:
    content, kind, headers = page_file(request.url.path)
    return Response(content, media_type=kind, headers=headers)


def _wants_csv(request: Request) -> bool:
    headers: Headers = request.scope["state"]["headers"]
    accepted = headers.get(b"accept", b"").lower()
    return b"text/csv" in accepted and b"application/json" not in accepted


def _parsed_and_answered(
    model: ServedModel, body: bytes, max_rows: int, as_csv: bool
) -> tuple[bytes, int]:
    asked = parse(body)
    model.check(asked, max_rows)
    return _answered(model, asked, as_csv), len(asked.rows)


def _answered(model: ServedModel, asked: Asked, as_csv: bool) -> bytes:
    answer = model.answer(asked)
    return answer.csv() if as_csv else answer.json()


def _sent(model: ServedModel, content: bytes, as_csv: bool) -> Response:
    kind = "text/csv; charset=utf-8" if as_csv else "application/json"
    return Response(content, media_type=kind, headers={"weald-model": model.fingerprint})

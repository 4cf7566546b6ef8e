"""The application: what each address answers."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from weald.service.gate import Gate
from weald.service.metrics import Metrics
from weald.service.models import Models
from weald.service.pages import PAGES, page_file
from weald.service.predictions import Predictions
from weald.service.queue import Queue
from weald.service.refusals import busy
from weald.service.settings import Settings


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
        predictions = Predictions(self._settings, self._models, self._queue)
        routes = [
            Route("/predict", predictions, methods=["POST"]),
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

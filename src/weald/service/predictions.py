"""Requests for predictions: how they are read, where they run, and what they get."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from weald.service.models import Models
from weald.service.parsing import Asked, parse
from weald.service.queue import Gone, Queue
from weald.service.refusals import CLOSE, Refused
from weald.service.serving import ServedModel
from weald.service.settings import Settings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Mapping[bytes, bytes]

# A body of so many bytes is read and answered at once: a change of threads would take longer.
_SMALL = 8 * 1024


class Predictions:
    """Answers requests for predictions, as an ASGI application.

    Parameters
    ----------
    settings : Settings
        Limits.
    models : Models
        The model.
    queue : Queue
        Runs large requests.
    """

    def __init__(self, settings: Settings, models: Models, queue: Queue) -> None:
        self._settings, self._models, self._queue = settings, models, queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        model = self._models.current  # the same to the end, whatever is loaded meanwhile
        headers: Headers = scope["state"]["headers"]
        as_csv = _wants_csv(headers)
        size = self._declared_size(headers)
        if size is None or size > _SMALL:
            content = await self._large(scope, receive, model, as_csv)
        else:
            content = await self._small(scope, receive, model, as_csv)
        kind = b"text/csv; charset=utf-8" if as_csv else b"application/json"
        fields = [
            (b"content-type", kind),
            (b"content-length", str(len(content)).encode()),
            (b"weald-model", model.fingerprint.encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": content})

    async def _small(
        self, scope: Scope, receive: Receive, model: ServedModel, as_csv: bool
    ) -> bytes:
        """Answer at once, unless it takes long for other reasons than its size."""
        asked = parse(await self._body(scope, receive))
        model.check(asked, self._settings.max_rows)
        scope["state"]["facts"]["rows"] = len(asked.rows)
        if asked.is_light and model.predictor is not None:
            return _answered(model, asked, as_csv)
        with self._queue.place() as place:
            return await place.run(receive, _answered, model, asked, as_csv)

    async def _large(
        self, scope: Scope, receive: Receive, model: ServedModel, as_csv: bool
    ) -> bytes:
        """Read, parse and answer a large body; the place in the queue bounds what is in memory."""
        with self._queue.place() as place:
            body = await self._body(scope, receive)
            content, n_rows = await place.run(
                receive, _parsed_and_answered, model, body, self._settings.max_rows, as_csv
            )
        scope["state"]["facts"]["rows"] = n_rows
        return content

    def _declared_size(self, headers: Headers) -> int | None:
        """Bytes of the body by its head; None if it comes in chunks. Refuses before reading."""
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

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Read the body within its limits of size and time."""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            if "is_late" in scope["state"]:  # set by the connection
                seconds = self._settings.seconds
                raise Refused(408, f"the body did not arrive within {seconds:g} seconds", CLOSE)
            part = message.get("body", b"")
            size += len(part)
            if size > self._settings.max_body:
                raise self._too_large()
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> Refused:
        most = self._settings.max_body
        return Refused(413, f"the body is too large; at most {most:,} bytes are accepted", CLOSE)


def _wants_csv(headers: Headers) -> bool:
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

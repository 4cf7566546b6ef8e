"""Limits of connections that uvicorn does not have: time and size of a head, their number."""

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weald.service.answers import as_json
from weald.service.settings import Settings

_MOST_HEAD = 32 * 1024
# Time in which a client must have read an answer that does not fit into the buffers.
_READ_SECONDS = 60.0


@dataclass
class _Head:
    """A head that is arriving."""

    timer: asyncio.TimerHandle
    size: int = 0


class LimitedProtocol(HttpToolsProtocol):
    """A connection with these limits; `settings` is set by `limited_protocol`."""

    settings: Settings
    _head: _Head | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            self._refuse(503, "Service Unavailable", "too many connections")
            return
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head is None and (self.cycle is None or self.cycle.response_complete):
            self._begin_head()
        if self._head is not None:
            self._head.size += len(data)
        super().data_received(data)
        if self._head is not None and self._head.size > _MOST_HEAD:
            self._refuse(431, "Request Header Fields Too Large", "the head is too large")

    def on_headers_complete(self) -> None:
        self._end_head()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(_READ_SECONDS, self._abort_unread)

    def _begin_head(self) -> None:
        self._head = _Head(self.loop.call_later(self.settings.seconds, self._head_is_late))

    def _end_head(self) -> None:
        if self._head is not None:
            self._head.timer.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        if self._head is not None and self._head.size:
            self._refuse(408, "Request Timeout", "the head did not arrive in time")
        else:
            self.transport.close()

    def _abort_unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _refuse(self, status: int, phrase: str, message: str) -> None:
        """Answer without a request, and close the connection."""
        self._end_head()
        body = as_json({"error": message})
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def limited_protocol(settings: Settings) -> type[LimitedProtocol]:
    """The protocol of connections, as uvicorn makes them."""
    return type("Limited", (LimitedProtocol,), {"settings": settings})

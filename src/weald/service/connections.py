"""Limits of connections that uvicorn does not have: time and size of requests, their number."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weald.service.answers import as_json
from weald.service.settings import Settings

_MOST_HEAD = 32 * 1024
# Time in which a client must have read an answer that does not fit into the buffers.
_READ_SECONDS = 60.0


class LimitedProtocol(HttpToolsProtocol):
    """A connection with these limits; `settings` is set by `limited_protocol`.

    A timer runs while a request is arriving, but none is made for one that arrives at once.
    """

    settings: Settings
    _timer: asyncio.TimerHandle | None = None
    _has_arrived = False
    _head_size: int | None = 0  # None: the head is complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.settings.connections:
            self._refuse(503, "Service Unavailable", "too many connections")
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._has_arrived and self.cycle.response_complete:
            self._has_arrived, self._head_size = False, 0  # another request begins
        super().data_received(data)
        if self._has_arrived:
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()
        if self._head_size is not None:
            self._head_size += len(data)
            if self._head_size > _MOST_HEAD:
                self._refuse(431, "Request Header Fields Too Large", "the head is too large")

    def on_headers_complete(self) -> None:
        self._head_size = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._has_arrived = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(_READ_SECONDS, self._abort_unread)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.settings.seconds, self._is_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_late(self) -> None:
        if self._head_size is not None:
            if self._head_size:
                self._refuse(408, "Request Timeout", "the head did not arrive in time")
            else:
                self.transport.close()
        elif self.cycle.response_complete:
            self.transport.close()
        else:  # the code that waits for the body finds this
            self.scope["state"]["is_late"] = True
            self.cycle.message_event.set()

    def _abort_unread(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _refuse(self, status: int, phrase: str, message: str) -> None:
        """Answer without a request, and close the connection."""
        self._stop_timer()
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

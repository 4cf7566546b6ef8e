"""What every request passes: its id, the checks of who asks, the log, and errors as JSON."""

import hmac
import ipaddress
import itertools
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from weald.service.answers import as_json
from weald.service.logs import log_request
from weald.service.metrics import Metrics
from weald.service.pages import PAGES
from weald.service.queue import Gone
from weald.service.refusals import CLOSE, Refused
from weald.service.settings import Settings

LOGGER = logging.getLogger("weald.service")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# Probes of load balancers have no token and name any host.
OPEN_PATHS = frozenset({"/health", "/ready"})
# Pages hold nothing of the model: they ask for it, with a token that the user types in.
_TOKENLESS = OPEN_PATHS | PAGES.keys()
_KNOWN = _TOKENLESS | {"/predict", "/model", "/openapi.json", "/metrics"}

# Headers of every response.
_EVERYWHERE = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]

_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_CLOSED = 499  # in the log: the client went before it got an answer


class Gate:
    """Lets requests through to the application.

    Parameters
    ----------
    app : ASGI application
        What answers.
    settings : Settings
        Token and host names.
    metrics : Metrics
        Where requests are counted.
    """

    def __init__(self, app: App, settings: Settings, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._token = None if settings.token is None else b"Bearer " + settings.token.encode()
        self._names = {"localhost", settings.host.lower(), *map(str.lower, settings.names)}
        self._process, self._number = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        headers: Mapping[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request = given.decode() if _GIVEN_ID.fullmatch(given) else self._next_id()
        facts: dict[str, Any] = {"request": request}
        scope["state"] |= {"facts": facts, "headers": headers}
        scope["app"] = self  # the router raises errors, rather than send some of its own
        status = _CLOSED

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(b"x-request-id", request.encode()), *_EVERYWHERE]
            await send(message)

        try:
            self._check(scope, headers)
            await self._app(scope, receive, sending)
        except Gone:
            pass
        except Refused as refused:
            await send_error(sending, refused, request)
        except HTTPException as error:  # of the router
            await send_error(sending, _of_router(error), request)
        except Exception:
            if status != _CLOSED:
                raise  # the response has begun: the server closes the connection
            LOGGER.exception("a request failed", extra={"facts": {"request": request}})
            failed = Refused(500, "internal error; the log tells more", CLOSE)
            await send_error(sending, failed, request)
        finally:
            self._record(scope, status, time.perf_counter() - begun, facts)

    def _next_id(self) -> str:
        return f"{self._process}-{next(self._number):x}"

    def _check(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> None:
        if scope["path"] in OPEN_PATHS:
            return
        self._check_host(scope)
        if self._token is None or scope["path"] in _TOKENLESS:
            return
        given = headers.get(b"authorization", b"")
        if not hmac.compare_digest(given, self._token):
            raise Refused(
                401, "a token is required: send the header Authorization: Bearer TOKEN",
                {"www-authenticate": "Bearer"},
            )  # fmt: skip

    def _check_host(self, scope: Mapping[str, Any]) -> None:
        """Refuse names of others: a page that lets its own name point here could read answers."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) == 1 and self._is_ours(hosts[0].decode("latin-1")):
            return
        raise Refused(
            400, "the Host header is not a name of this service (weald serve --allow-host NAME)"
        )

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)  # an address cannot be made to point elsewhere
        except ValueError:
            return False
        return True

    def _record(
        self, scope: Mapping[str, Any], status: int, seconds: float, facts: dict[str, Any]
    ) -> None:
        path = scope["path"] if scope["path"] in _KNOWN else "other"
        self._metrics.observe(path, status, seconds, facts.get("rows", 0))
        client = scope.get("client")
        facts["method"] = scope["method"]
        facts["path"] = scope["path"][:200]
        facts["status"] = status
        facts["ms"] = round(seconds * 1e3, 3)
        facts["client"] = client[0] if client else None
        log_request(facts)


def host_name(host: str) -> str:
    """The name or address in a Host header, without its port.

    >>> host_name("Example.org:8000"), host_name("[::1]:8000"), host_name("127.0.0.1")
    ('example.org', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _of_router(error: HTTPException) -> Refused:
    messages = {404: "there is nothing here", 405: "the method is not allowed here"}
    message = messages.get(error.status_code, "the request cannot be answered")
    return Refused(error.status_code, message, error.headers)


async def send_error(send: Send, refused: Refused, request: str) -> None:
    """Send an error as JSON."""
    body = as_json({"error": refused.message, "request": request})
    headers = {"content-type": "application/json", **refused.headers}
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    fields.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": fields})
    await send({"type": "http.response.body", "body": body})

"""Requests that are not answered: status, message and headers of the response."""

from collections.abc import Mapping


class Refused(Exception):
    """A request that gets an error response; the message is for its sender."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


# A request that is answered before its body was read leaves the connection in the middle of it.
CLOSE = {"connection": "close"}


def busy(message: str) -> Refused:
    """The service has no room for the request now."""
    return Refused(503, message, {"retry-after": "1"})

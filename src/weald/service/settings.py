"""Settings of a service, and the limits that keep one request from stopping the others."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

# Shorter tokens can be guessed.
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """What `weald serve` was told.

    Attributes
    ----------
    model : Path
        File of the model.
    host, port : str and int
        Address to listen on; port 0 takes a free one.
    token : str or None
        Secret that requests must bring.
    names : tuple of str
        Host names, other than those of this machine, under which browsers may ask.
    max_body, max_rows : int
        Bytes and rows of a request.
    queue, threads : int
        Large requests that are read, wait or run at a time, and threads that they run in.
    connections : int
        Open connections.
    seconds : float
        Time in which a head, and a body, must have arrived.
    stop_seconds : float
        Time that requests in flight have when the service stops.
    """

    model: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    names: tuple[str, ...] = ()
    max_body: int = 4 * 2**20
    max_rows: int = 10_000
    queue: int = 32
    threads: int = 2
    connections: int = 500
    seconds: float = 10.0
    stop_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"{self.host!r} can be reached from other machines, so a token is required: set "
                "the environment variable WEALD_TOKEN, or name a file by --token-file"
            )
        if self.token is not None:
            check_token(self.token)


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.1")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_token(token: str) -> None:
    """Raise an error if a token is too short or cannot be sent in a header."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ValueError("the token must be printable ASCII without spaces")
    if len(token) < SHORTEST_TOKEN:
        raise ValueError(
            f"the token has {len(token)} characters; at least {SHORTEST_TOKEN} are required. A "
            'random one: python -c "import secrets; print(secrets.token_urlsafe())"'
        )

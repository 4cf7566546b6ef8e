"""No request can stop the others: size, time, queue, connections, and many clients at once."""

import asyncio
import json
import socket
import sys
import time
from pathlib import Path

import pytest

from service.running import Running, head, received

SMALL = {"rows": [["Bonn", 70, "2024-03-01", 2]], "probabilities": True}


def _status(found: bytes) -> int:
    return int(found.split(b" ", 2)[1]) if found else 0


def test_a_large_body_is_refused_before_it_is_sent(service: Running) -> None:
    with service.connect() as one:
        one.sendall(head(10**12, Expect="100-continue"))
        assert _status(received(one)) == 413


def test_a_large_body_in_chunks_is_refused_while_it_is_sent(service: Running) -> None:
    before = service.memory() if sys.platform == "linux" else 0.0
    with service.connect() as one:
        one.sendall(head())
        closed = False
        for _ in range(3000):
            try:
                one.sendall(b"2800\r\n" + b" " * 10240 + b"\r\n")
            except OSError:
                closed = True
                break
        assert closed
    assert service.get("/health").status == 200
    if sys.platform == "linux":
        assert service.memory() - before < 10


def test_many_tiny_chunks(service: Running) -> None:
    body = json.dumps(SMALL).encode()
    chunks = b"".join(b"1\r\n" + bytes([one]) + b"\r\n" for one in body)
    blank = b"1\r\n \r\n" * 20_000
    found = service.raw(head(Connection="close") + blank + chunks + b"0\r\n\r\n")
    assert _status(found) == 200


def test_a_slow_body(service: Running) -> None:
    begun = time.monotonic()
    found = service.raw(head(100) + b'{"rows"')
    assert _status(found) == 408
    assert b"1.5 seconds" in found
    assert 1.0 < time.monotonic() - begun < 30


def test_a_slow_head(service: Running) -> None:
    begun = time.monotonic()
    assert _status(service.raw(b"POST /predict HTTP/1.1\r\nHost: loc")) == 408
    assert service.raw(b"") == b""
    assert 2.0 < time.monotonic() - begun < 60


def test_a_slow_head_after_an_answer(service: Running) -> None:
    """Bytes that begin no request must not keep a connection open."""
    with service.connect() as one:
        one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _status(one.recv(65536)) == 200
        begun = time.monotonic()
        one.sendall(b"\r\n")
        received(one)
        assert time.monotonic() - begun < 30


def test_a_large_head(service: Running) -> None:
    with service.connect() as one:
        one.sendall(b"GET /health HTTP/1.1\r\n")
        try:
            for number in range(2000):
                one.sendall(b"x-%d: " % number + b"a" * 1000 + b"\r\n")
        except OSError:
            pass  # closed
        assert _status(received(one)) in {0, 431}
    assert service.get("/health").status == 200


def test_a_full_queue_refuses_large_requests_only(models: Path) -> None:
    rows = {"rows": SMALL["rows"] * 1000}
    with Running(models / "classes.weald", "--queue", "1", "--threads", "1") as one:
        with one.connect() as holder:
            holder.sendall(head())  # takes the only place: its body is still to come
            while one.get("/ready").status == 200:
                time.sleep(0.01)
            refused = one.predict(rows)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert one.predict({**SMALL, "attributions": True}).status == 503
            assert one.predict(SMALL).status == 200
            body = json.dumps(rows).encode()
            holder.sendall(b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
            assert _status(holder.recv(65536)) == 200
        assert one.get("/ready").status == 200
        assert one.predict(rows).status == 200


def test_clients_that_leave_give_their_places_back(models: Path) -> None:
    body = json.dumps({"rows": SMALL["rows"] * 2000, "attributions": True}).encode()
    with Running(models / "classes.weald", "--queue", "4", "--threads", "1") as one:
        for sent in (body, body[:1000]):
            for _ in range(4):
                with one.connect() as client:
                    client.sendall(head(len(body)) + sent)
        end = time.monotonic() + 30
        while b"\nweald_queue_requests 0\n" not in one.get("/metrics").body:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert one.predict(SMALL).status == 200
        assert "Traceback" not in one.log()


def test_connections_are_limited(models: Path) -> None:
    """As many as the service may have; the next is told to come back."""
    from weald.service.settings import Settings

    limit = Settings(models).connections
    with Running(models / "classes.weald", "--timeout", "60") as one:
        held = [one.connect() for _ in range(limit)]
        try:
            assert _status(one.raw(b"")) == 503
        finally:
            for other in held:
                other.close()
        end = time.monotonic() + 30
        while _status(one.raw(b"GET /health HTTP/1.0\r\n\r\n")) != 200:
            assert time.monotonic() < end


async def _client(port: int, number: int, sent: bytes, times: int) -> list[int]:
    """Send the same request some times; every seventh client leaves in the middle."""
    found = []
    for _ in range(times):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            if number % 7 == 0:
                writer.write(sent[: len(sent) // 2])
                await writer.drain()
                continue
            writer.write(sent)
            await writer.drain()
            found.append(_status(await reader.read()))
        finally:
            writer.close()
    return found


async def _all(port: int, requests: list[bytes]) -> list[int]:
    clients = [_client(port, i, requests[i % len(requests)], 2) for i in range(200)]
    return [status for one in await asyncio.gather(*clients) for status in one]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_two_hundred_clients_of_all_kinds(models: Path) -> None:
    """Good, bad, large and interrupted requests at once: all are answered, memory stays."""
    good = json.dumps(SMALL).encode()
    large = json.dumps({**SMALL, "rows": SMALL["rows"] * 800, "attributions": True}).encode()
    bodies = [good, good, b"{", large, b'{"rows": [[1]]}']
    requests = [head(len(body), Connection="close") + body for body in bodies]
    requests.append(head(10**9, Connection="close"))
    with Running(models / "classes.weald", "--queue", "8") as one:
        asyncio.run(_all(one.port, requests))
        before = one.memory()
        statuses = [status for _ in range(3) for status in asyncio.run(_all(one.port, requests))]
        assert set(statuses) <= {200, 400, 413, 422, 503}
        assert statuses.count(200) > 300
        assert one.memory() - before < 30
        assert one.predict(SMALL).status == 200
        assert "Traceback" not in one.log()


def test_it_closes_what_it_does_not_read(service: Running) -> None:
    with service.connect() as one:
        one.shutdown(socket.SHUT_WR)
        assert received(one) == b""

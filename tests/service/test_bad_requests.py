"""Whatever is sent, the answer is an error in JSON that says what is wrong, and no more."""

import json
from pathlib import Path
from typing import Any

import pytest

from service.running import Running, head
from weald.service.parsing import parse
from weald.service.refusals import Refused
from weald.service.serving import load_served

ROW = ["Bonn", 70, "2024-03-01", 2]
NAMED = {"city": "Bonn", "km": 70, "when": "2024-03-01", "zone": 2}


def _with(place: int, value: Any) -> dict[str, Any]:
    return {"rows": [ROW, [*ROW[:place], value, *ROW[place + 1 :]]]}


NOT_JSON = {
    "empty": (b"", "not JSON"),
    "text": (b"hello", "line 1, column 1"),
    "cut off": (b'{"rows": [', "not JSON"),
    "two values": (b"{} {}", "not JSON"),
    "NaN": (b'{"rows": [[NaN]]}', "NaN is not JSON"),
    "infinity": (b'{"rows": [[-Infinity]]}', "-Infinity is not JSON"),
    "1e400": (b'{"rows": [["Bonn", 1e400, null, 1]]}', "1e400 is too large"),
    "5000 digits": (b'{"rows": [[' + b"9" * 5000 + b"]]}", "not JSON"),
    "a name twice": (b'{"rows": [], "rows": []}', "names 'rows' twice"),
    "nested": (b"[" * 60_000, "nested too deeply"),
    "nested objects": (b'{"a":' * 20_000, "nested too deeply"),
    "UTF-16": ('{"rows": []}'.encode("utf-16"), "not UTF-8"),
    "Latin-1": ('{"rows": [["Köln"]]}'.encode("latin-1"), "not UTF-8 (byte 13)"),
    "byte order mark": (b'\xef\xbb\xbf{"rows": []}', "not JSON"),
    "NUL": (b'{"rows": [\0]}', "not JSON"),
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_not_json(service: Running, case: str) -> None:
    body, message = NOT_JSON[case]
    reply = service.predict(body)
    assert reply.status == 400
    assert message in reply.error


NOT_TAKEN = {
    "no object": ([1], "expected an object"),
    "null": (None, "expected an object"),
    "no rows": ({}, "'rows' must be an array"),
    "rows of one object": ({"rows": NAMED}, "'rows' must be an array"),
    "an unknown option": ({"rows": [], "proba": True}, "there is no option 'proba'"),
    "an option of another type": ({"rows": [], "probabilities": 1}, "must be true or false"),
    "no intervals": ({"rows": [], "interval": 0.9}, "has no prediction intervals"),
    "interval 1": ({"rows": [], "interval": 1}, "between 0 and 1"),
    "interval null": ({"rows": [], "interval": None}, "between 0 and 1"),
    "a number as row": ({"rows": [1]}, "rows[0] must be an object"),
    "a short row": ({"rows": [ROW, ROW[:3]]}, "rows[1] has 3 values; the model has 4 columns"),
    "a nested row": ({"rows": [[ROW]]}, "rows[0] has 1 values"),
    "a name too much": (
        {"rows": [{**NAMED, "ciyt": 1}]},
        "rows[0] names 'ciyt', which the model does not know; did you mean 'city'?",
    ),
    "a name too few": (
        {"rows": [{name: value for name, value in NAMED.items() if name != "km"}]},
        "rows[0] has no value for 'km' (null is a missing value)",
    ),
    "an empty object": ({"rows": [{}]}, "has no value for 'city', 'km', 'when', 'zone'"),
    "text for a number": (_with(1, "70"), "rows[1]: column 'km' takes a number or null; got the"),
    "a list for a number": (_with(1, [70]), "rows[1]: column 'km' takes a number or null; got an"),
    "a number too large": (_with(1, 10**400), "at most 1.798e+308"),
    "a number for text": (_with(0, 5), "rows[1]: column 'city' takes text or null; got a number"),
    "true for text": (_with(0, True), "column 'city' takes text or null; got true"),
    "an object for text": (_with(0, {"a": 1}), "column 'city' takes text or null; got an object"),
    "text for a numeric category": (_with(3, "2"), "column 'zone' takes numbers or null"),
    "a huge numeric category": (_with(3, 10**400), "column 'zone' takes numbers or null"),
    "no date": (_with(2, "yesterday"), "column 'when' takes an ISO 8601 date and time without"),
    "30 February": (_with(2, "2024-02-30"), "got the text '2024-02-30'"),
    "a date with an offset": (_with(2, "2024-02-03T00:00:00Z"), "without an offset"),
    "a date and a line break": (_with(2, "2024-02-03\n"), "takes an ISO 8601 date"),
    "a number as date": (_with(2, 20240203), "got a number"),
    "an early date": (_with(2, "0001-01-01"), "years 1000 to 2999"),
}


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_what_the_model_does_not_take(service: Running, case: str) -> None:
    asked, message = NOT_TAKEN[case]
    reply = service.predict(asked)
    assert reply.status == 422
    assert message in reply.error
    assert reply.headers["x-request-id"] == reply.json["request"]


def test_the_same_errors_for_large_bodies(service: Running) -> None:
    padding = b" " * 20_000
    assert service.predict(padding + b"[").status == 400
    reply = service.predict(json.dumps(_with(1, "70")).encode() + padding)
    assert (reply.status, "column 'km'" in reply.error) == (422, True)


def test_names_without_names(models: Path) -> None:
    served = load_served(models / "plain.weald")
    assert len(served.answer(parse(b'{"rows": [[1.5], [null]]}')).predictions) == 2
    with pytest.raises(Refused, match="was fitted without column names"):
        served.answer(parse(b'{"rows": [{"column 0": 1.5}]}'))


def test_too_many_rows(service: Running) -> None:
    reply = service.predict({"rows": [["", 0, None, 1]] * 501})
    assert reply.status == 413
    assert reply.error == "501 rows; at most 500 are answered at a time"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_other_types_of_bodies(service: Running, kind: str) -> None:
    """A page of somebody else could send these without being asked whether it may."""
    assert service.predict({"rows": []}, Content_Type=kind).status == 415
    preflight = service.ask("OPTIONS", "/predict", Origin="https://elsewhere.example")
    assert preflight.status == 405
    assert not [name for name in preflight.headers if name.lower().startswith("access-control")]


def test_compressed_bodies(service: Running) -> None:
    assert service.predict(b"\x1f\x8b", Content_Encoding="gzip").status == 415


@pytest.mark.parametrize(
    "path", ["/nothing", "/predict/", "//", "/..%2f..%2fetc/passwd", "/static/page.js", "/%00"]
)
def test_other_addresses(service: Running, path: str) -> None:
    reply = service.get(path)
    assert reply.status == 404
    assert reply.error == "there is nothing here"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods(service: Running, method: str) -> None:
    reply = service.ask(method, "/predict")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.com", ""]
)
def test_names_of_others(service: Running, host: str) -> None:
    """A page whose name was made to point to this machine gets nothing."""
    reply = service.get("/model", Host=host)
    assert reply.status == 400
    assert "Host" in reply.error


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:9"])
def test_own_names(service: Running, host: str) -> None:
    assert service.get("/model", Host=host).status == 200


def test_two_hosts(service: Running) -> None:
    for line in (b"Host: localhost\r\nHost: evil.example\r\n", b""):
        found = service.raw(b"GET /model HTTP/1.1\r\n" + line + b"Connection: close\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 400")


SMUGGLED = {
    "length and chunks": head(5, Transfer_Encoding="chunked") + b"0\r\n\r\nG",
    "two lengths": head(5).replace(b"Content-Length: 5", b"Content-Length: 5\r\nContent-Length: 6"),
    "a negative length": head().replace(b"Transfer-Encoding: chunked", b"Content-Length: -1"),
    "a chunk of no length": head() + b"zz\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00",
    "a space before the colon": b"GET /model HTTP/1.1\r\nHost : localhost\r\n\r\n",
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_heads_that_two_servers_may_read_differently(service: Running, case: str) -> None:
    assert service.raw(SMUGGLED[case]).startswith(b"HTTP/1.1 400")
    assert service.get("/health").status == 200


def test_errors_tell_nothing_of_the_machine(service: Running, models: Path) -> None:
    for body in [one for one, _ in NOT_JSON.values()]:
        text = service.predict(body).body.decode()
        assert str(models) not in text
        assert "Traceback" not in text
        assert ".py" not in text
    assert "Traceback" not in service.log()


def test_nothing_breaks_a_line_of_the_log(service: Running) -> None:
    path = "/%0a%7b%22level%22:%22error%22%7d\\u001b[31m"
    assert service.get(path, X_Request_ID="a\tb").status == 404
    assert (
        service.get("/health", X_Request_ID="my-own.id_1").headers["x-request-id"] == "my-own.id_1"
    )
    service.wait_for_log("my-own.id_1")
    found = [line for line in service.lines() if line.get("path", "").startswith('/\n{"level"')]
    assert len(found) == 1
    assert found[0]["status"] == 404
    assert "\t" not in found[0]["request"]

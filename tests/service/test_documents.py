"""What a service says of itself: columns, OpenAPI, metrics, log."""

import re
from pathlib import Path

from service.running import Running
from weald.service.columns import InputColumn
from weald.service.documents import openapi_of
from weald.service.serving import load_served

ROW = ["Bonn", 70, "2024-03-01", 2]


def test_the_model_describes_its_columns(service: Running) -> None:
    found = service.get("/model").json
    kinds = {one["name"]: one["kind"] for one in found["columns"]}
    assert kinds == {"city": "category", "km": "number", "when": "date", "zone": "category"}
    by_name = {one["name"]: one for one in found["columns"]}
    assert by_name["city"]["categories"] == ["<b>Ulm</b>", "Bonn", "Köln"]
    assert by_name["zone"]["categories"] == [1, 2, 3]
    assert 20 < by_name["km"]["typical"] < 60
    assert by_name["when"]["typical"].startswith("2024-")
    assert (found["classes"], found["coverages"]) == (["=late", "on time"], None)


def test_the_example_of_the_openapi_document_is_answered(service: Running) -> None:
    document = service.get("/openapi.json").json
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    reply = service.predict(body["examples"]["typical"]["value"])
    assert reply.status == 200
    required = document["components"]["schemas"]["Answer"]["required"]
    assert set(required) <= set(reply.json)
    assert set(reply.json) <= set(document["components"]["schemas"]["Answer"]["properties"])


def test_options_are_those_of_the_model(models: Path) -> None:
    def options(name: str) -> dict:
        document = openapi_of(load_served(models / name), 10, needs_token=False)
        return document["components"]["schemas"]["Request"]["properties"]

    assert "interval" in options("numbers.weald")
    assert "interval" not in options("classes.weald")
    assert options("numbers.weald")["probabilities"]["const"] is False
    assert options("classes.weald")["probabilities"]["type"] == "boolean"


def test_patterns_of_dates_are_those_of_the_calendar() -> None:
    local = InputColumn("when", "date", None, None, None).schema()["pattern"]
    zoned = InputColumn("when", "date", None, "UTC", None).schema()["pattern"]
    days = [("2024-02-29", True), ("2023-02-29", False), ("1900-02-29", False)]
    days += [("2000-02-29", True), ("2024-04-31", False), ("2024-12-31", True)]
    for day, is_one in days:
        assert bool(re.search(local, day)) is is_one
        assert bool(re.search(zoned, f"{day}T23:59:59.5+02:00")) is is_one
    assert not re.search(zoned, "2024-02-03T00:00:00")
    assert not re.search(local, "2024-02-03T24:00")


def test_metrics_count_what_was_answered(models: Path) -> None:
    with Running(models / "classes.weald", "--no-access-log") as one:
        for rows in (1, 2, 300):
            assert one.predict({"rows": [ROW] * rows}).status == 200
        assert one.predict(b"{").status == 400
        for path in ("/nothing", "/elsewhere"):
            one.get(path)
        reply = one.get("/metrics")
        assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        samples = dict(
            line.rsplit(" ", 1) for line in reply.body.decode().splitlines() if line[0] != "#"
        )
        assert samples['weald_requests_total{path="/predict",status="200"}'] == "3"
        assert samples['weald_requests_total{path="/predict",status="400"}'] == "1"
        assert samples['weald_requests_total{path="other",status="404"}'] == "2"
        assert samples["weald_predicted_rows_total"] == "303"
        assert samples['weald_request_seconds_bucket{path="/predict",le="+Inf"}'] == "4"
        counts = [float(samples[name]) for name in samples if "_bucket" in name]
        assert counts == sorted(counts)
        assert any(name.startswith("weald_model_info") for name in samples)
        assert one.log() == ""


def test_the_log_has_a_line_for_each_request(models: Path) -> None:
    with Running(models / "classes.weald") as one:
        reply = one.predict({"rows": [ROW] * 3})
        one.wait_for_log(reply.headers["x-request-id"])
        (line,) = one.lines()
        assert line["request"] == reply.headers["x-request-id"]
        assert (line["method"], line["path"], line["status"]) == ("POST", "/predict", 200)
        assert (line["rows"], line["client"], line["level"]) == (3, "127.0.0.1", "info")
        assert 0 < line["ms"] < 60_000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])

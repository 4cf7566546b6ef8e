"""Start, token, another model while it runs, stop, and start again after a kill."""

import json
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import weald
from service.conftest import trips
from service.running import TOKEN, Running, head
from weald.service.parsing import parse
from weald.service.serving import load_served

SMALL = {"rows": [["Bonn", 70, "2024-03-01", 2]], "probabilities": True}
ON_UNIX = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def test_a_token_is_required_where_there_is_one(models: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with Running(models / "classes.weald", "--token-file", str(file)) as one:
        for wrong in ({}, {"Authorization": TOKEN}, {"Authorization": "Bearer wrong"}):
            for reply in (one.predict(SMALL, **wrong), one.get("/metrics", **wrong)):
                assert reply.status == 401
                assert reply.headers["www-authenticate"] == "Bearer"
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert one.predict(SMALL, **right).status == 200
        assert one.get("/openapi.json", **right).json["security"] == [{"token": []}]
        assert one.get("/model").status == one.get("/openapi.json").status == 401
        # Probes, and pages that hold nothing of the model.
        assert [one.get(path).status for path in ("/health", "/ready", "/")] == [200] * 3
        assert TOKEN not in one.log() + one.start


def test_another_machine_may_ask_with_a_token_only(models: Path) -> None:
    with Running(
        models / "classes.weald", "--host", "0.0.0.0", "--allow-host", "models.example",
        WEALD_TOKEN=TOKEN,
    ) as one:  # fmt: skip
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert one.get("/model", **right).status == 200
        assert one.get("/model", Host="Models.example:80", **right).status == 200
        assert one.get("/model", Host="other.example", **right).status == 400
        assert one.get("/model").status == 401


@ON_UNIX
def test_requests_in_flight_are_answered_before_it_stops(models: Path) -> None:
    body = json.dumps(SMALL).encode()
    with Running(models / "classes.weald") as one, one.connect() as client:
        client.sendall(head(len(body)) + body[:10])
        time.sleep(0.3)  # the request is being read
        one.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(ConnectionRefusedError):
            one.connect()
        client.sendall(body[10:])
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        assert one.process.wait(30) == 0


@ON_UNIX
def test_one_line_at_the_start_and_ctrl_c_at_the_end(models: Path) -> None:
    with Running(models / "classes.weald") as one:
        fingerprint = weald.load(models / "classes.weald").fingerprint()
        assert one.start == (
            f"weald: serving 'classes.weald' (BoostedTreesClassifier, 4 columns, model "
            f"{fingerprint[:12]}) at http://127.0.0.1:{one.port}/ (Ctrl-C stops it)\n"
        )
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(30) == 0
        assert one.log() == ""


@ON_UNIX
def test_another_model_without_mixed_answers(models: Path, tmp_path: Path) -> None:
    """Under load, each answer is that of the model it names."""
    X, late = trips()
    path, expected = tmp_path / "model.weald", {}
    fits = [weald.BoostedTreesClassifier(quality="fast", n_estimators=n) for n in (3, 30)]
    for model in fits:
        model.fit(X, late).save(path)
        answer = load_served(path).answer(parse(json.dumps(SMALL).encode()))
        expected[model.fingerprint()] = answer.probabilities
    assert len({json.dumps(one) for one in expected.values()}) == 2
    found: list[dict] = []
    stop = threading.Event()
    with Running(path) as one:

        def load() -> None:
            while not stop.is_set():
                reply = one.predict(SMALL)
                assert reply.headers["weald-model"] == reply.json["model"]
                found.append(reply.json)

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        for turn in range(6):
            fits[turn % 2].save(path)
            one.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 30
            while found[-1:] == [] or found[-1]["model"] != fits[turn % 2].fingerprint():
                assert time.monotonic() < end, one.log()
                time.sleep(0.02)
        stop.set()
        for thread in threads:
            thread.join(30)
        assert {answer["model"] for answer in found} == set(expected)
        assert all(answer["probabilities"] == expected[answer["model"]] for answer in found)
        assert b'weald_model_loads_total{result="loaded"} 6' in one.get("/metrics").body


@ON_UNIX
@pytest.mark.parametrize("damage", ["cut off", "no model", "gone"])
def test_a_bad_file_leaves_the_model(models: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "model.weald"
    content = (models / "classes.weald").read_bytes()
    path.write_bytes(content)
    with Running(path) as one:
        before = one.predict(SMALL).body
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(content[: len(content) // 2] if damage == "cut off" else b"hello")
        one.process.send_signal(signal.SIGHUP)
        one.wait_for_log("cannot be used")
        assert one.predict(SMALL).body == before
        assert one.get("/ready").status == 200
        assert [line["level"] for line in one.lines()].count("error") == 1
        assert "Traceback" not in one.log()
        assert b'weald_model_loads_total{result="failed"} 1' in one.get("/metrics").body


@ON_UNIX
def test_a_model_with_other_columns(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.weald"
    path.write_bytes((models / "classes.weald").read_bytes())
    with Running(path) as one:
        path.write_bytes((models / "plain.weald").read_bytes())
        one.process.send_signal(signal.SIGHUP)
        one.wait_for_log("other columns")
        assert one.predict({"rows": [[1.5]]}).status == 200
        assert [column["name"] for column in one.get("/model").json["columns"]] == ["column 0"]


@ON_UNIX
def test_it_starts_again_on_its_port_after_a_kill(models: Path) -> None:
    with Running(models / "classes.weald") as one, one.connect() as client:
        client.sendall(head(100) + b"{")
        one.process.kill()
        one.process.wait(30)
        with Running(models / "classes.weald", "--port", str(one.port)) as again:
            assert again.predict(SMALL).status == 200

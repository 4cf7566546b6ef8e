"""The requests of docs/guide/serving.md get the answers that it shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

import weald
from service.running import Running

PAGE = (Path(__file__).parents[2] / "docs/guide/serving.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that the page serves, fitted on its table of trips."""
    names: dict = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        if re.match(r"import |rng = |trips = |late = ", example.source):
            exec(example.source, names)
    model = weald.BoostedTreesClassifier(quality="fast", n_estimators=50)
    path = tmp_path_factory.mktemp("guide") / "late.weald"
    model.fit(names["trips"], names["late"]).save(path)
    return path


def test_requests_of_the_guide(late: Path) -> None:
    commands = [part.partition("\n") for block in _BLOCKS for part in block.split("$ ")[1:]]
    assert len(commands) == 6
    with Running(late) as one:
        shown = re.search(r"^weald: serving.*$", PAGE, re.MULTILINE)
        assert shown is not None
        assert shown[0] == one.start.strip().replace(f":{one.port}/", ":8000/")
        for command, _, expected in commands:
            words = shlex.split(command)
            assert words[:2] == ["curl", "http://127.0.0.1:8000/predict"]
            options = dict(
                one.split(": ") for one in words if re.fullmatch(r"[A-Z][\w-]+: .+", one)
            )
            headers = {name.replace("-", "_"): value for name, value in options.items()}
            reply = one.predict(words[words.index("-d") + 1].encode(), **headers)
            found = reply.body.decode()
            assert doctest.OutputChecker().check_output(expected.strip(), found.strip(), _FLAGS), (
                found
            )

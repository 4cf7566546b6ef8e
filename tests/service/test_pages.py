"""The pages: strict headers, nothing from elsewhere, and the page to try a row in a browser."""

import re
from pathlib import Path

import pytest

from service.browser import BROWSER, Browser
from service.running import TOKEN, Running
from weald.service.pages import PAGES

IN_BROWSER = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
ANSWER = "document.getElementById('prediction').textContent"
REASONS = "document.getElementById('reasons').textContent"


@pytest.mark.parametrize("path", PAGES)
def test_pages_load_nothing_from_elsewhere(service: Running, path: str) -> None:
    reply = service.get(path)
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    text = reply.body.decode().replace("http://www.w3.org/2000/svg", "")
    assert "//" not in re.sub(r"^\s*// .*$", "", text, flags=re.MULTILINE).replace("`//", "")
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|\son\w+=\"", text)


def _set(place: int, value: str) -> str:
    return (
        "(() => { const one = document.querySelectorAll('#fields input, #fields select')"
        f"[{place}]; one.value = {value!r}; "
        "one.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


@IN_BROWSER
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (420, True)])
def test_an_edited_row_changes_the_answer_and_its_reasons(
    models: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    with Running(models / "classes.weald") as one, Browser(tmp_path, width, dark=dark) as page:
        page.open(one.url)
        page.until("document.querySelector('#reasons tr') !== null")
        assert page.run("document.querySelectorAll('#probabilities tr').length") == 2
        before = page.run(f"{ANSWER} + {REASONS}")
        assert "city = <b>Ulm</b>" in before  # as text
        page.run(_set(0, "1"))
        page.run(_set(1, "95"))
        page.until(f"{REASONS}.includes('km = 95') && {REASONS}.includes('city = Bonn')")
        assert page.run(f"{ANSWER} + {REASONS}") != before
        row = page.run("fields.map((one) => one.read())")
        found = one.predict({"rows": [row], "probabilities": True}).json
        assert page.run(ANSWER) == found["predictions"][0]
        share = max(found["probabilities"][0])
        assert f"{share * 100:.1f} %" in page.run(
            "document.querySelector('#probabilities').innerText"
        )
        page.run(_set(1, ""))
        page.until(f"{REASONS}.includes('km = missing')")
        page.run("document.getElementById('reset').click()")
        page.until(f"{ANSWER} + {REASONS} === {before!r}")
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.errors == []


@IN_BROWSER
def test_intervals_and_numbers(models: Path, tmp_path: Path) -> None:
    with Running(models / "numbers.weald") as one, Browser(tmp_path) as page:
        page.open(one.url)
        page.until("document.querySelector('#reasons tr') !== null")
        assert "90 % between" in page.run("document.getElementById('interval').textContent")
        assert page.errors == []


@IN_BROWSER
def test_the_page_asks_for_the_token(models: Path, tmp_path: Path) -> None:
    with Running(models / "classes.weald", WEALD_TOKEN=TOKEN) as one, Browser(tmp_path) as page:
        page.open(one.url)
        page.until("!document.getElementById('sign-in').hidden")
        for given in ("wrong", TOKEN):
            page.run(f"document.getElementById('token').value = {given!r}")
            page.run("document.getElementById('sign-in').requestSubmit()")
            if given == "wrong":
                page.until("!document.getElementById('error').hidden")
        page.until("document.querySelector('#reasons tr') !== null")
        page.open(f"{one.url}api")
        page.until("document.querySelectorAll('.operation').length === 6")
        assert "Bearer $WEALD_TOKEN" in page.run("document.querySelector('pre').textContent")

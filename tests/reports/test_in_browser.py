"""The report in a browser, if there is one: no error, and every control works."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import weald

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium")

# Uses every control and writes what it saw into the page.
CLICKS = """
const seen = [];
const visible = (name) => [...document.querySelectorAll(name)].filter((one) => !one.hidden);
const press = (one, key) => one.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const tabs = [...document.querySelectorAll("[role=tab]")];
for (const tab of tabs) {
  tab.click();
  const shown = visible("[role=tabpanel]");
  const fits = shown.length === 1 && shown[0].getAttribute("aria-labelledby") === tab.id;
  seen.push(fits && tab.getAttribute("aria-selected") === "true" && tab.tabIndex === 0);
}
press(tabs[tabs.length - 1], "ArrowRight");
seen.push(document.activeElement === tabs[0] && !document.getElementById("overview").hidden);
press(tabs[0], "End");
seen.push(document.activeElement === tabs[tabs.length - 1]);
press(tabs[tabs.length - 1], "ArrowLeft");
seen.push(document.activeElement === tabs[tabs.length - 2]);
for (const select of document.querySelectorAll("[data-chooses]")) {
  const panels = () => visible(`[data-choice="${select.dataset.chooses}"]`);
  const all = [...document.querySelectorAll(`[data-choice="${select.dataset.chooses}"]`)];
  for (let i = 0; i < select.options.length; i += 1) {
    select.value = String(i);
    select.dispatchEvent(new Event("change"));
    seen.push(panels().length === 1 && panels()[0] === all[i]);
  }
  for (const button of document.querySelectorAll(`[data-of="${select.dataset.chooses}"]`)) {
    const before = panels()[0];
    button.click();
    seen.push(panels().length === 1 && panels()[0] !== before);
  }
}
for (const button of document.querySelectorAll("[data-open]")) {
  button.click();
  const nodes = [...button.closest("[data-tree]").querySelectorAll("details")];
  seen.push(nodes.every((one) => one.open === (button.dataset.open === "true")));
}
document.body.setAttribute("data-seen", `${seen.filter(Boolean).length} of ${seen.length}`);
"""


@pytest.fixture(scope="module")
def page() -> str:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["<script>alert(1)</script>"] = "<script>alert(2)</script>"
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    found = weald.diagnose(model, X, y, n_repeats=0, cv=3)
    return weald.report(model, X, y, diagnosis=found, n_examples=4, max_trees=3).html


# Shows every part in a frame as wide as a telephone, and lists what is cut at its right edge.
NARROW = """
const frame = document.createElement("iframe");
frame.width = 420;
frame.height = 900;
frame.style.border = "0";
frame.onload = () => {
  const inner = frame.contentWindow, cut = [];
  for (const tab of frame.contentDocument.querySelectorAll("[role=tab]")) {
    tab.click();
    const panel = frame.contentDocument.getElementById(tab.getAttribute("aria-controls"));
    for (const one of panel.querySelectorAll("*")) {
      const box = one.getBoundingClientRect();
      if (!one.closest(".wide, .unseen, select") && box.width && box.right > inner.innerWidth + 1)
        cut.push(`${tab.id} ${one.tagName}.${one.className}`);
    }
  }
  for (const one of frame.contentDocument.querySelectorAll(".wide"))
    if (one.tabIndex !== 0 || !one.getAttribute("aria-label")) cut.push("no keyboard");
  document.body.setAttribute("data-cut", `${inner.innerWidth}: ${cut.join(", ")}`);
};
frame.srcdoc = PAGE;
document.body.append(frame);
"""


def dom_of(html: str, folder: Path) -> tuple[str, str]:
    """The page after its scripts have run, and what the browser logged."""
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    assert BROWSER is not None
    run = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
            f"--user-data-dir={folder}/home",
            "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--virtual-time-budget=5000",
            "--enable-logging=stderr", "--log-level=0", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return run.stdout, "\n".join(line for line in run.stderr.splitlines() if "CONSOLE" in line)


def test_tabs_are_made_and_nothing_is_logged(page: str, tmp_path: Path) -> None:
    dom, log = dom_of(page, tmp_path)
    assert log == ""
    assert dom.count('role="tab"') == 11
    assert dom.count('aria-selected="true"') == 1
    assert 'class="scripted"' in dom


def test_every_control_works(page: str, tmp_path: Path) -> None:
    """With the policy removed, because it would not allow the script of the test."""
    free = re.sub(r"<meta http-equiv[^>]*>", "", page)
    dom, log = dom_of(free.replace("</body>", f"<script>{CLICKS}</script></body>"), tmp_path)
    assert log == ""
    seen = re.search(r'data-seen="(\d+) of (\d+)"', dom)
    assert seen is not None and seen[1] == seen[2] and int(seen[2]) > 30


@pytest.mark.parametrize("kind", ["two classes", "many classes", "regression"])
def test_nothing_is_cut_on_a_narrow_screen(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    long = "a_rather_long_name_of_a_column_that_somebody_wrote"
    X = pd.DataFrame({long: rng.normal(size=300) * 1e6, "b": rng.choice(["x" * 70, "y"], 300)})
    y = X[long] * 1000 + rng.normal(size=300)
    model: weald.RandomForestClassifier | weald.RandomForestRegressor
    if kind == "regression":
        model = weald.RandomForestRegressor(5, random_state=0).fit(X, y)
    else:
        y = np.arange(300) % 12 if kind == "many classes" else np.where(y > 0, "yes " * 20, "no")
        model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    found = weald.diagnose(model, X, y, n_repeats=0, cv=3)
    html = weald.report(model, X, y, diagnosis=found, n_examples=4, max_trees=2).html
    free = json.dumps(re.sub(r"<meta http-equiv[^>]*>", "", html)).replace("</", "<\\/")
    page = f"<!DOCTYPE html><body><script>const PAGE = {free};{NARROW}</script></body>"
    dom, log = dom_of(page, tmp_path)
    cut = re.search(r'data-cut="([^"]*)"', dom)
    assert log == "" and cut is not None
    assert cut[1] == "420: "


def test_the_policy_stops_other_scripts(page: str, tmp_path: Path) -> None:
    injected = "<script>document.body.dataset.bad = 'yes'</script></body>"
    dom, log = dom_of(page.replace("</body>", injected), tmp_path)
    assert 'data-bad="yes"' not in dom and "Content Security Policy" in log

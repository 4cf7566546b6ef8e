"""Fail if a page of the built site links to what is not there, or loads anything from elsewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that a browser loads at once; links may lead elsewhere, these may not.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """Anchors of a page, its links, and what it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if LOADED.get(tag) in found and found.get("rel") not in {"canonical"}:
            self.loads.append(found[LOADED[tag]])


def complaints(folder: Path) -> list[str]:
    """Name every broken link of the pages below a folder."""
    pages = {file.resolve(): Page(file) for file in sorted(folder.rglob("*.html"))}
    if not pages:
        return [f"{folder}: there are no pages"]
    found = []
    for file, page in pages.items():
        name = file.relative_to(folder.resolve())
        found += [f"{name}: loads {one}" for one in page.loads if urlsplit(one).netloc]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                found.append(f"{name}: {link} is not there")
            elif parts.fragment and unquote(parts.fragment) not in _anchors(pages, target):
                found.append(f"{name}: {link} has no such place")
    return found


def _anchors(pages: dict[Path, Page], file: Path) -> set[str]:
    return pages[file].anchors if file in pages else set()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/links.py FOLDER")
    wrong = complaints(Path(sys.argv[1]))
    if wrong:
        raise SystemExit("\n".join(wrong))

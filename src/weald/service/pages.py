"""The pages: files that hold nothing of the model, and load nothing from elsewhere."""

from functools import cache
from importlib import resources

# By address: file and type.
PAGES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/common.js": ("common.js", "text/javascript; charset=utf-8"),
    "/api": ("api.html", "text/html; charset=utf-8"),
    "/api.js": ("api.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}

# Scripts, styles and requests of this service only.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


@cache
def page_file(path: str) -> tuple[bytes, str, dict[str, str]]:
    """Content, type and headers of a page."""
    name, kind = PAGES[path]
    content = resources.files("weald.service").joinpath("static", name).read_bytes()
    return content, kind, _HEADERS

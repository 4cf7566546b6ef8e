"""Settings of the documentation site (`make docs`).

The source folder is that of the repository, so that links between pages work on the site as they
do between the files.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

project = "weald"
author = "the weald developers"
version = release = re.search(
    r'__version__ = "([^"]+)"', (ROOT / "src/weald/version.py").read_text(encoding="utf-8")
)[1]

templates_path = ["_templates"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/**",
    "benchmarks/*.md",
    "studies/*.md",
    "cpp/*.md",
    "cpp/**/*.md",
    "src/weald/**/*.md",
    "tests/reliability/*.md",
]
exclude_patterns = ["docs/_templates", "docs/_static", "docs/site", "**/.venv*", "build"]

smartquotes = False  # quotation marks in docstrings are those of code
default_role = "literal"
# Pages are Markdown; their headings are anchors, as on code hosts.
myst_heading_anchors = 4
myst_links_external_new_tab = False

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"  # the numpydoc sections name types
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "groupwise"}
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Parameters and attributes are no targets of links: several classes share their names.
napoleon_use_param = False

html_theme = "furo"
html_title = f"weald {version}"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["weald.css"]
html_js_files = ["search.js"]
html_extra_path = ["site"]  # index.html, which leads to the first page
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#005f94"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#7cc4ee"},
}
pygments_style = "friendly"
pygments_dark_style = "native"

# Links of scikit-learn's docstrings to its own pages, which are not here.
_FOREIGN_LINK = re.compile(r":(?:ref|term):`([^<`]+?)\s*(?:<[^>]*>)?`")
# A name such as classes_ in a field would be read as a reference, and lose its underscore.
_FIELD_OF_ATTRIBUTE = re.compile(r"^:(ivar|vartype) (\w+)_:")
_MACHINERY = re.compile(r"set_\w+_request|get_metadata_routing|set_output")


def _without_foreign_links(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: Any
) -> None:
    lines[:] = [_FOREIGN_LINK.sub(r"\1", line) for line in lines]


def _with_underscores(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    lines[:] = [_FIELD_OF_ATTRIBUTE.sub(r":\1 \2\\_:", line) for line in lines]


def _without_machinery(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> Any:
    return True if _MACHINERY.fullmatch(name) else None


def setup(app: Any) -> None:
    """Leave out what belongs to scikit-learn, and keep the names of attributes."""
    app.connect("autodoc-process-docstring", _without_foreign_links)
    app.connect("autodoc-process-docstring", _with_underscores)
    app.connect("autodoc-skip-member", _without_machinery)

"""The result: one HTML file that needs nothing else."""

import base64
import hashlib
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from weald.diagnostics.diagnosis import Diagnosis
from weald.reports.markup import Html


@dataclass(frozen=True, eq=False)
class Report:
    """What `weald.report` wrote.

    Attributes
    ----------
    title : str
        Heading of the page.
    html : str
        The page: one file with its style and script, which loads nothing from anywhere.
    diagnosis : Diagnosis
        The numbers behind it.
    """

    title: str
    html: str = field(repr=False)
    diagnosis: Diagnosis = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path : str or Path
            The file, such as "report.html".

        Returns
        -------
        Path
            The file.
        """
        file = Path(path)
        file.write_text(self.html, encoding="utf-8")
        return file


def page(title: str, subtitle: str, sections: Html, footer: str) -> str:
    """Fill the template; the policy of the page allows no script but ours, and no network."""
    folder = resources.files("weald.reports")
    template, style, script = (
        folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "page.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(template).substitute(
        title=escape(title),
        subtitle=escape(subtitle),
        sections=sections,
        footer=escape(footer),
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
    )

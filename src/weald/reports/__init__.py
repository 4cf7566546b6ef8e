"""Reports on fitted models: one HTML page each."""

from weald.reports.pages import Report
from weald.reports.reporting import report

__all__ = ["Report", "report"]

"""Diagnosis of fitted models: what their error is made of, and what to change."""

from weald.diagnostics.diagnosing import diagnose
from weald.diagnostics.diagnosis import Diagnosis
from weald.diagnostics.findings import Estimate, Finding

__all__ = ["Diagnosis", "Estimate", "Finding", "diagnose"]

"""Keeping a model: named arrays to bytes; this room knows no estimator."""

from weald.persist.fingerprint import fingerprint

__all__ = ["fingerprint"]

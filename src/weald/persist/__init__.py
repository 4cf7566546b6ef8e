"""Keeping a model: named arrays to bytes; this room knows no estimator."""

from weald.persist.fingerprint import fingerprint
from weald.persist.snapshot import read_snapshot, write_snapshot

__all__ = ["fingerprint", "read_snapshot", "write_snapshot"]

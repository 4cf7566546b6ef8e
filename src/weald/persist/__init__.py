"""Persistence of named arrays; independent of estimators."""

from weald.persist.fingerprint import fingerprint
from weald.persist.snapshot import read_snapshot, write_snapshot

__all__ = ["fingerprint", "read_snapshot", "write_snapshot"]

"""Model files, their container, and fingerprints."""

from weald.persist.archive import read_archive, write_archive
from weald.persist.fingerprint import fingerprint

__all__ = ["fingerprint", "read_archive", "write_archive"]

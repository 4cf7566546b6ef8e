"""Small well-known tables that come with the package, for examples and tests."""

from weald.datasets.optdigits import load_optdigits
from weald.datasets.pima import load_pima

__all__ = ["load_optdigits", "load_pima"]

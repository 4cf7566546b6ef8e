"""Small well-known datasets for examples and tests; optdigits is bundled."""

from weald.datasets.optdigits import load_optdigits
from weald.datasets.pima import load_pima

__all__ = ["load_optdigits", "load_pima"]

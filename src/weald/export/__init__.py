"""Export of fitted tree models: to ONNX, to C and to plain Python."""

from weald.export.c_source import to_c
from weald.export.codes import category_codes
from weald.export.onnx_model import to_onnx
from weald.export.python_source import to_python

__all__ = ["category_codes", "to_c", "to_onnx", "to_python"]

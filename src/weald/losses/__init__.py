"""The built-in losses, by the names the core lists."""

from weald.losses.builtin import BuiltinLoss

__all__ = ["BuiltinLoss"]

"""Distillation of an ensemble into one interpretable model."""

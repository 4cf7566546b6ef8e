"""Cloning an ensemble into one readable model."""

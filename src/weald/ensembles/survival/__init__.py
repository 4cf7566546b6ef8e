"""Survival models."""

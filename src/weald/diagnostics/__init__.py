"""Diagnosis of fitted models."""

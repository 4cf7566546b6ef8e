"""Ensembles of different base estimators: voting, blending, stacking."""

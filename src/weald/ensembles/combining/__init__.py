"""Combining named members: votes and rules, blending, stacking."""

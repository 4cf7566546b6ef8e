"""Bagging of anything, and the ways to make members differ."""

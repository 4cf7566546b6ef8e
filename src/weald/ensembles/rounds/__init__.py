"""The loop that boosting methods share, and what watches it."""

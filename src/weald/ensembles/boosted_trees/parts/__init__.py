"""Training on the parts of a table, which may lie in several processes."""

"""Members of any make: fitting them, asking them, what they are given, when they fail."""

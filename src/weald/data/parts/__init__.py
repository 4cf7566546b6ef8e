"""Tables in parts: read batch by batch, several times, and never held as a whole."""

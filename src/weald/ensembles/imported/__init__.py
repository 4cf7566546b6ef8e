"""Models that other libraries have trained."""

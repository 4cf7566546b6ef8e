"""The best ensemble of many models within a time limit, from one call."""

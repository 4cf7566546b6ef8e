"""Anomaly detection by isolation trees."""

"""Decision trees, and forests of independently grown trees."""

"""Settings of random forests that were the defaults when some of the tables here were made."""

OF_CLASSES = {"criterion": "gini", "min_samples_leaf": 1, "max_features": "sqrt"}
OF_NUMBERS = {"min_samples_leaf": 1, "max_features": 0.5}

"""Second-order boosted trees: `BoostedTreesClassifier` and `BoostedTreesRegressor`."""

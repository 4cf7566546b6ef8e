"""Second-order boosted trees: `BoostedTreesClassifier`, `BoostedTreesRegressor`, `BoostedTreesRanker`."""

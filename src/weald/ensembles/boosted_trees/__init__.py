"""Second-order boosted trees: `BoostedTreesClassifier`, `…Regressor`, `…Ranker`."""

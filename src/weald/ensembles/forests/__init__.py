"""Trees, and ensembles of trees that are grown apart from each other."""

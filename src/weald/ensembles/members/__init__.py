"""Base estimators of any library: fitting, prediction, metadata routing, errors."""

"""Gradient boosting with any loss and any regressor as base estimator."""

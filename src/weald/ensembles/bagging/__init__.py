"""Bagging of any base estimator, and further ways to diversify base estimators."""

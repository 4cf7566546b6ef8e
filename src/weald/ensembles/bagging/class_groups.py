"""A classifier of two groups of classes that predicts probabilities of all classes."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import has_fit_parameter

from weald.ensembles.members.members import take

Floats = NDArray[np.float64]


class TwoGroupClassifier(ClassifierMixin, BaseEstimator):
    """A binary classifier of two groups of classes.

    Parameters
    ----------
    estimator : classifier
        Binary classifier of the groups.
    groups : list of int
        The group, 0 or 1, of each class.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : array
        The class indices.
    """

    def __init__(self, estimator: Any, groups: list[int]) -> None:
        self.estimator = estimator
        self.groups = groups

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> Self:
        """Fit the classifier of the groups.

        Parameters
        ----------
        X : table
            Training rows, in any form that the estimator accepts.
        y : array of int, shape (rows,)
            Class indices.
        sample_weight : array, shape (rows,), or None
            Row weights.
        """
        groups = np.asarray(self.groups)[np.asarray(y)]
        self.classes_, self.estimator_ = np.arange(len(self.groups)), clone(self.estimator)
        if sample_weight is None:
            self.estimator_.fit(X, groups)
        elif has_fit_parameter(self.estimator_, "sample_weight"):
            self.estimator_.fit(X, groups, sample_weight=sample_weight)
        else:
            rows = np.repeat(np.arange(len(groups)), np.asarray(sample_weight).astype(int))
            self.estimator_.fit(take(X, rows), groups[rows])
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each group, divided evenly among its classes."""
        groups = np.asarray(self.groups)
        known = np.asarray(self.estimator_.classes_)
        if hasattr(self.estimator_, "predict_proba"):
            predicted = np.asarray(self.estimator_.predict_proba(X))
        else:
            predicted = np.asarray(self.estimator_.predict(X))[:, np.newaxis] == known
        of_group = np.zeros((len(predicted), 2))
        of_group[:, known] = predicted
        return np.asarray(of_group[:, groups] / np.bincount(groups, minlength=2)[groups])

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

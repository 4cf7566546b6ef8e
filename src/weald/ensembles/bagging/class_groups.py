"""A member that tells two groups of classes apart, and answers shares of all classes."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import has_fit_parameter

from weald.ensembles.members.members import take

Floats = NDArray[np.float64]


class GroupMember(ClassifierMixin, BaseEstimator):
    """A classifier fitted on groups of classes.

    Parameters
    ----------
    estimator : classifier
        What learns to tell the groups.
    groups : list of int
        The group, 0 or 1, of each class number.

    Attributes
    ----------
    estimator_ : classifier
        The fitted one.
    classes_ : array
        The class numbers.
    """

    def __init__(self, estimator: Any, groups: list[int]) -> None:
        self.estimator = estimator
        self.groups = groups

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Any = None) -> Self:
        """Learn the groups.

        Parameters
        ----------
        X : table
            Whatever the estimator takes.
        y : array of int, shape (rows,)
            Class numbers.
        sample_weight : array, shape (rows,), or None
            Weights of the rows.
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
        """The share of each group, divided evenly among its classes."""
        groups = np.asarray(self.groups)
        known = np.asarray(self.estimator_.classes_)
        if hasattr(self.estimator_, "predict_proba"):
            said = np.asarray(self.estimator_.predict_proba(X))
        else:
            said = np.asarray(self.estimator_.predict(X))[:, np.newaxis] == known
        shares = np.zeros((len(said), 2))
        shares[:, known] = said
        return np.asarray(shares[:, groups] / np.bincount(groups, minlength=2)[groups])

    def predict(self, X: Any) -> NDArray[Any]:
        """The first class of the group of larger share per class."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

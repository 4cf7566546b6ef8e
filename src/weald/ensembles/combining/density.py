"""Classification by class-conditional density estimates."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from weald.aggregation.products import shares_of_logs

Floats = NDArray[np.float64]


class DensityClassifier(ClassifierMixin, BaseEstimator):
    """Generative classifier: a density of each class, combined by Bayes' rule.

    Turns a density estimator, such as a mixture model, into a classifier that can vote or be
    stacked. One clone of it is fitted on the rows of each class.

    Parameters
    ----------
    estimator : estimator with `score_samples`, or None, default=None
        Density estimator, such as scikit-learn's GaussianMixture or KernelDensity. None: a
        GaussianMixture with one component.

    Attributes
    ----------
    classes_ : array
        Sorted class labels.
    estimators_ : list of estimators
        The fitted density of each class.
    priors_ : array
        Prior probability of each class.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.mixture import GaussianMixture
    >>> from weald.ensembles import DensityClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DensityClassifier(GaussianMixture(2, random_state=0)).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a density on the rows of each class.

        Parameters
        ----------
        X : array or frame of finite numbers, shape (rows, columns)
            Training rows.
        y : array, shape (rows,)
            Class labels.
        """
        if self.estimator is not None and not hasattr(self.estimator, "score_samples"):
            raise ValueError(
                f"The 'estimator' parameter of {type(self).__name__} must be a density estimator "
                f"with a score_samples method, or None. Got {self.estimator!r} instead."
            )
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.priors_ = np.bincount(numbers) / len(numbers)
        self.estimators_ = [
            clone(self._density()).fit(X[numbers == k]) for k in range(len(self.classes_))
        ]
        return self

    def _density(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.mixture import GaussianMixture

        return GaussianMixture()

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        logs = np.stack([density.score_samples(X) for density in self.estimators_], axis=1)
        return shares_of_logs(np.maximum(logs, -1e300) + np.log(self.priors_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

"""A classifier made of densities: one for each class."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from weald.aggregation.products import shares_of_logs

Floats = NDArray[np.float64]


class DensityClassifier(ClassifierMixin, BaseEstimator):
    """Bayes' rule on densities, so that a mixture model can vote: p(class) p(x given class).

    A density model by itself knows no classes, and the components it finds have other numbers in
    every fold. Here one clone of it is fitted to the rows of each class.

    Parameters
    ----------
    estimator : estimator with `score_samples`, or None, default=None
        The density: scikit-learn's GaussianMixture, KernelDensity and their like. None: a
        GaussianMixture of one component.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    estimators_ : list of estimators
        The density of each class.
    priors_ : array
        The share of each class.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if all of them are text.

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
        """Fit a density to the rows of each class.

        Parameters
        ----------
        X : array or frame of finite numbers, shape (rows, columns)
            The table.
        y : array, shape (rows,)
            Class labels.
        """
        if self.estimator is not None and not hasattr(self.estimator, "score_samples"):
            raise ValueError(
                f"The 'estimator' parameter of {type(self).__name__} must be a density with the "
                f"method score_samples. Got {self.estimator!r} instead."
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
        """Probabilities of the classes, in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        logs = np.stack([density.score_samples(X) for density in self.estimators_], axis=1)
        return shares_of_logs(np.maximum(logs, -1e300) + np.log(self.priors_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row; ties go to the first."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

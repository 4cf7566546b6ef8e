"""Estimators that predict with trees trained by another library."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from weald import _native
from weald.data import ColumnPlan
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.regressing import Regressor
from weald.parameters import Jobs, Limit
from weald.trees import Forest


class Imported(TreeModel):
    """Trees of another library as a fitted model; it cannot be fitted again.

    Attributes
    ----------
    link_ : str
        Loss whose inverse link turns scores into predictions; empty: none.
    source_ : str
        The library that trained the model.
    """

    link_: str
    source_: str

    _limits: ClassVar[Mapping[str, Limit]] = {"n_jobs": Jobs()}

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object = None) -> Self:
        """Raise TypeError: the trees come from another library."""
        raise TypeError(
            f"This {type(self).__name__} holds trees trained by another library and cannot be "
            "fitted. Fit an estimator of weald instead, such as BoostedTreesClassifier."
        )

    def _keep(
        self,
        forest: Forest,
        *,
        link: str,
        source: str,
        plan: ColumnPlan,
        names: Sequence[Any] | None,
    ) -> Self:
        """Set the fitted attributes."""
        self.forest_, self.link_, self.source_ = forest, link, source
        self._columns, self.n_features_in_ = plan, len(plan.columns)
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        return self

    @property
    def _link(self) -> str:
        return self.link_

    def _predictions(self, X: object) -> Floats:
        check_is_fitted(self)
        scores = self._scores(X)
        if not self.link_:
            return scores
        return _native.predictions(self.link_, scores, self._n_threads)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "link": np.array([self.link_])}


class ImportedRegressor(Regressor, Imported):
    """A regressor trained by another library.

    Made by `weald.from_sklearn`, `weald.from_xgboost`, `weald.from_lightgbm` and
    `weald.from_catboost`. It predicts, explains, draws, distils and saves as the other models of
    weald do; it cannot be fitted.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import weald
    >>> theirs = RandomForestRegressor(5, random_state=0).fit([[1], [2], [3]], [1.0, 2.0, 6.0])
    >>> weald.from_sklearn(theirs).predict([[3]]).tolist() == theirs.predict([[3]]).tolist()
    True
    """

    def predict(self, X: object) -> Floats:
        """Predicted values, shape (rows,), or (rows, outputs) for several outputs."""
        predictions = self._predictions(X)
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    @property
    def n_outputs_(self) -> int:
        """Number of outputs."""
        return self.forest_.n_outputs


class ImportedClassifier(ClassifierMixin, Imported):
    """A classifier trained by another library; see `ImportedRegressor`.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads for predictions; None: all cores.

    Attributes
    ----------
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> import weald
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = ExtraTreesClassifier(10, random_state=0).fit(X, y)
    >>> weald.from_sklearn(theirs).score(X, y)
    1.0
    """

    classes_: NDArray[Any]

    def decision_function(self, X: object) -> Floats:
        """Raw scores: one for two classes of a booster, else one per class."""
        check_is_fitted(self)
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> Floats:
        """Class probabilities, in the order of `classes_`."""
        return self._predictions(X)

    def predict(self, X: object) -> NDArray[Any]:
        """Most probable class of each row; ties go to the first."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super()._fingerprint_arrays(), "classes": self.classes_}


def imported_model(
    forest: Forest,
    *,
    link: str,
    source: str,
    classes: Any = None,
    plan: ColumnPlan | None = None,
    names: Sequence[Any] | None = None,
    n_jobs: int | None = None,
) -> ImportedClassifier | ImportedRegressor:
    """Make the classifier or regressor, and check that it predicts."""
    plan = plan or ColumnPlan.of_numbers(forest.n_columns)
    model = (
        ImportedRegressor(n_jobs=n_jobs) if classes is None else ImportedClassifier(n_jobs=n_jobs)
    )
    model._keep(forest, link=link, source=source, plan=plan, names=names)
    if isinstance(model, ImportedClassifier):
        model.classes_ = np.asarray(classes)
    model._check_restored()
    return model

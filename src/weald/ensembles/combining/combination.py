"""Base class of ensembles of named base estimators."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.base import CheckedEstimator
from weald.ensembles.combining.out_of_fold import parts_of, predict_with
from weald.ensembles.members.member_errors import member_error
from weald.ensembles.members.members import (
    Named,
    checked_estimators,
    is_dropped,
    model_fingerprints,
)
from weald.ensembles.members.response_methods import ResponseMethod, method_of
from weald.ensembles.members.response_outputs import response_of
from weald.ensembles.members.routing import router
from weald.ensembles.members.samples import table_to_predict
from weald.persist import fingerprint

Floats = NDArray[np.float64]


class Combination(MetaEstimatorMixin, TransformerMixin, CheckedEstimator):
    """Base class of ensembles of named base estimators.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        Named base estimators: any scikit-learn compatible estimators. Clones of them are fitted.
        'drop' instead of an estimator leaves it out.
    n_jobs : int or None, default=None
        Number of parallel fits, as in scikit-learn: None means 1 unless in a joblib context, -1
        all cores. With None, weald's own base estimators of n_jobs=None share all cores.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted base estimators, without dropped ones.
    named_estimators_ : Bunch
        The fitted base estimators by name; 'drop' for dropped ones.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if all of them are strings.
    """

    estimators: Sequence[Named]
    estimators_: list[Any]
    n_jobs: int | None

    # ---- parameters of base estimators, by name ----

    def _named(self) -> list[Named]:
        """The pairs in `estimators`, unvalidated."""
        return pairs_in(self.estimators)

    def _all_named(self) -> list[Named]:
        """The pairs of all layers."""
        return self._named()

    @property
    def named_estimators(self) -> Bunch:
        """The unfitted base estimators by name."""
        return Bunch(**dict(self._named()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this ensemble.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the base estimators, by name, and their parameters.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, estimator in self._all_named():
                params[name] = estimator
                if hasattr(estimator, "get_params") and not isinstance(estimator, type):
                    inner = estimator.get_params(deep=True)
                    params.update({f"{name}__{key}": value for key, value in inner.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, base estimators by name (or 'drop'), and their parameters.

        Parameters
        ----------
        **params
            Such as ``set_params(n_jobs=2, tree=DecisionTreeClassifier(), svm__C=3.0, knn='drop')``.
        """
        # Lists of base estimators first: the other names are looked up in them.
        own = super().get_params(deep=False)
        super().set_params(**{name: params.pop(name) for name in list(params) if name in own})
        names = {name for name, _ in self._all_named()}
        for name in [name for name in params if name in names]:
            self._replace_estimator(name, params.pop(name))
        super().set_params(**params)
        return self

    def _replace_estimator(self, name: str, estimator: Any) -> None:
        self.estimators = replaced(self.estimators, name, estimator)

    # ---- fitting ----

    def _checked_estimators(self) -> list[Named]:
        estimators = checked_estimators(self, self.estimators)
        for name, estimator in estimators:
            self._check_kind(name, estimator)
        return estimators

    def _check_kind(self, name: str, estimator: Any) -> None:
        """Raise if the base estimator is no classifier (or no regressor)."""
        wanted = "classifier" if is_classifier(self) else "regressor"
        is_wanted = is_classifier if is_classifier(self) else is_regressor
        if not is_wanted(estimator):
            raise ValueError(
                f"Estimator {name!r} of {type(self).__name__} must be a {wanted}. Got "
                f"{type(estimator).__name__}."
            )

    def _set_estimators(self, names: Sequence[str], models: Sequence[Any]) -> None:
        self.estimators_ = list(models)
        fitted = dict(zip(names, models, strict=True))
        self.named_estimators_ = Bunch(
            **{name: fitted.get(name, "drop") for name, _ in self._named() if isinstance(name, str)}
        )

    # ---- prediction ----

    def _estimator_names(self) -> list[str]:
        """Names of `estimators_`, in their order."""
        return [name for name, fitted in self.named_estimators_.items() if not is_dropped(fitted)]

    def _all_predictions(
        self, models: Mapping[str, Any], responses: Sequence[ResponseMethod], X: Any
    ) -> list[Any]:
        """Predictions of fitted base estimators; an error names the one that failed."""
        predictions = []
        for (name, model), response in zip(models.items(), responses, strict=True):
            try:
                predictions.append(predict_with(response, model, X))
            except Exception as error:
                raise member_error(self, {name: ("to predict", error)}, {}) from error
        return predictions

    def _table_to_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return table_to_predict(self, X)

    # ---- inspection ----

    def fingerprint(self) -> str:
        """SHA-256 of the fitted model, if all its estimators are weald's own.

        Equal for any `n_jobs` and machine, and for any row order unless `cv` depends on it. Other
        libraries do not guarantee this, so their estimators raise a TypeError.
        """
        check_is_fitted(self)
        return fingerprint(self._fingerprint_arrays())

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        names = self._estimator_names()
        return model_fingerprints("member", dict(zip(names, self.estimators_, strict=True)))

    def get_metadata_routing(self) -> Any:
        """Metadata routing of this object; see scikit-learn's user guide on metadata routing."""
        return router(self, self._named())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _readers(self) -> Sequence[Any]:
        return parts_of(self.estimators_)

    _has_categorical_tag: ClassVar[bool] = True

    def _table_estimators(self) -> list[Any]:
        """The estimators that are fitted on the columns of X."""
        return [estimator for _, estimator in self._named()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        inputs = [
            get_tags(estimator).input_tags
            for estimator in self._table_estimators()
            if hasattr(estimator, "fit") and not isinstance(estimator, type)
        ]
        tags.input_tags.allow_nan = all(tag.allow_nan for tag in inputs)
        tags.input_tags.sparse = all(tag.sparse for tag in inputs)
        tags.input_tags.categorical = self._has_categorical_tag and all(
            tag.categorical for tag in inputs
        )
        return tags


def pairs_in(estimators: Any) -> list[Named]:
    """The (name, estimator) pairs in a parameter that is not validated yet."""
    given = estimators if isinstance(estimators, (list, tuple)) else ()
    return [
        (pair[0], pair[1]) for pair in given if isinstance(pair, (list, tuple)) and len(pair) == 2
    ]


def replaced(estimators: Sequence[Named], name: str, estimator: Any) -> list[Named]:
    """The pairs, with the estimator of one name replaced."""
    return [(given, estimator if given == name else old) for given, old in estimators]


def response_methods(
    estimators: Sequence[Named], wanted: str, classes: Any | None
) -> list[ResponseMethod]:
    """The response method of each base estimator.

    `classes` is None for regression, and a list with the classes of each output for several.
    """
    return [
        # Other estimators than classifiers, such as regressors, do not predict classes.
        response_of(method_of(name, model, wanted), classes if is_classifier(model) else None)
        for name, model in estimators
    ]

"""What ensembles of named members share: parameters of members, checks, fingerprint."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.base import CheckedEstimator
from weald.ensembles.combining.out_of_fold import together
from weald.ensembles.members.member_errors import member_error
from weald.ensembles.members.members import (
    Named,
    checked_estimators,
    is_dropped,
    model_fingerprints,
)
from weald.ensembles.members.response_methods import ResponseMethod, method_of
from weald.ensembles.members.routing import router
from weald.ensembles.members.samples import table_to_predict
from weald.persist import fingerprint

Floats = NDArray[np.float64]


class Combination(MetaEstimatorMixin, TransformerMixin, CheckedEstimator):
    """An ensemble of named members of any kind.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs
        The members: scikit-learn estimators of any library, each with a name. Clones of them are
        fitted. 'drop' in the place of an estimator leaves a member out.
    n_jobs : int or None, default=None
        How many fits run at a time, as in scikit-learn: None means one (or what a joblib context
        says), -1 all cores. Members of weald that may use all cores are fitted side by side.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members, those not dropped.
    named_estimators_ : Bunch
        The fitted members by name; 'drop' for dropped ones.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if all of them are text.
    """

    estimators: Sequence[Named]
    estimators_: list[Any]
    n_jobs: int | None

    # ---- parameters of members, by their names ----

    def _named(self) -> list[Named]:
        """All members as they were given, as far as they are pairs."""
        return pairs_in(self.estimators)

    def _all_named(self) -> list[Named]:
        """Those of every layer, where there are several."""
        return self._named()

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were given, by name."""
        return Bunch(**dict(self._named()))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this ensemble and, with `deep`, the members by name and their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to give those of members too.
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
        """Set parameters, members by name (or 'drop'), and parameters of members.

        Parameters
        ----------
        **params
            As in ``set_params(n_jobs=2, tree=DecisionTreeClassifier(), svm__C=3.0, knn='drop')``.
        """
        # Lists of members first: names are looked up in them.
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
        members = checked_estimators(self, self.estimators)
        for name, estimator in members:
            self._check_kind(name, estimator)
        return members

    def _check_kind(self, name: str, estimator: Any) -> None:
        """A vote of classifiers needs classifiers, a mean of numbers regressors."""
        wanted = "classifier" if is_classifier(self) else "regressor"
        is_right = is_classifier if is_classifier(self) else is_regressor
        if not is_right(estimator):
            raise ValueError(
                f"Member {name!r} of {type(self).__name__} must be a {wanted}; "
                f"{type(estimator).__name__} is none."
            )

    def _set_estimators(self, names: Sequence[str], models: Sequence[Any]) -> None:
        self.estimators_ = list(models)
        fitted = dict(zip(names, models, strict=True))
        self.named_estimators_ = Bunch(
            **{name: fitted.get(name, "drop") for name, _ in self._named() if isinstance(name, str)}
        )

    # ---- asking ----

    def _estimator_names(self) -> list[str]:
        """Names of `estimators_`, in their order."""
        return [name for name, fitted in self.named_estimators_.items() if not is_dropped(fitted)]

    def _all_predictions(self, models: Mapping[str, Any], responses: Sequence[ResponseMethod], X: Any) -> list[Any]:
        """The answers of fitted members; an error names the member that gave none."""
        predictions = []
        for (name, model), response in zip(models.items(), responses, strict=True):
            try:
                predictions.append(together(response, model, X))
            except Exception as error:
                raise member_error(self, {name: ("when asked", error)}, {}) from error
        return predictions

    def _table_to_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return table_to_predict(self, X)

    # ---- looking ----

    def fingerprint(self) -> str:
        """SHA-256 of what was learnt, where all members and the combiner are weald's own.

        Equal for any `n_jobs` and machine, and for any order of rows unless the folds go by it.
        Members of other libraries keep no such promise: with one of them this is a TypeError.
        """
        check_is_fitted(self)
        return fingerprint(self._learnt())

    def _learnt(self) -> dict[str, NDArray[Any]]:
        names = self._estimator_names()
        return model_fingerprints("member", dict(zip(names, self.estimators_, strict=True)))

    def get_metadata_routing(self) -> Any:
        """How metadata of fit is passed on: see scikit-learn's user guide of metadata routing."""
        return router(self, self._named())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    _tells_categories: ClassVar[bool] = True

    def _readers(self) -> list[Any]:
        """Whatever sees the table itself."""
        return [estimator for _, estimator in self._named()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        inputs = [
            get_tags(one).input_tags
            for one in self._readers()
            if hasattr(one, "fit") and not isinstance(one, type)
        ]
        tags.input_tags.allow_nan = all(tag.allow_nan for tag in inputs)
        tags.input_tags.sparse = all(tag.sparse for tag in inputs)
        tags.input_tags.categorical = self._tells_categories and all(
            tag.categorical for tag in inputs
        )
        return tags


def pairs_in(members: Any) -> list[Named]:
    """The pairs among what was given as members; whatever else was given is for fit to refuse."""
    given = members if isinstance(members, (list, tuple)) else ()
    return [
        (pair[0], pair[1]) for pair in given if isinstance(pair, (list, tuple)) and len(pair) == 2
    ]


def replaced(members: Sequence[Named], name: str, estimator: Any) -> list[Named]:
    """The members with another estimator under one of the names."""
    return [(given, estimator if given == name else old) for given, old in members]


def response_methods(
    members: Sequence[Named], wanted: str, classes: NDArray[Any] | None
) -> list[ResponseMethod]:
    """What each member is asked; `classes` as the members name them, None for numbers."""
    return [
        # A regressor, a cluster model: what it says is no class.
        ResponseMethod(method_of(name, member, wanted), classes if is_classifier(member) else None)
        for name, member in members
    ]

"""Classification and regression by blending and stacking."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags

from weald.calls import available_where
from weald.data import has_several
from weald.ensembles.combining.combination import Floats
from weald.ensembles.combining.final_estimators import is_combiner, is_named_combiner
from weald.ensembles.combining.stacked import Stacked
from weald.ensembles.members.members import is_dropped
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.response_outputs import OutputsResponse, numbers_of
from weald.ensembles.members.routing import routing_is_enabled
from weald.ensembles.members.samples import class_sample, label_sample, number_sample
from weald.ensembles.multioutput import labels_by_number
from weald.ensembles.regressing import Regressor


def weighted_by_default(final: Any) -> Any:
    """A default final estimator, which requests sample weights if metadata routing is enabled."""
    return final.set_fit_request(sample_weight=True) if routing_is_enabled() else final


def _final_has(method: str) -> Any:
    """Offer a method only if the final estimator, fitted or not, has it."""

    def check(self: Any) -> bool:
        final = getattr(self, "final_estimator_", None)
        if final is None:
            final = self.final_estimator
        if final is None:
            final = self._default_final()
        if isinstance(final, str) or is_combiner(final):
            if method != "predict_proba":
                raise AttributeError(f"The final estimator {final!r} has no {method}.")
            return True
        try:
            getattr(final, method)
        except AttributeError as error:
            raise AttributeError(f"The final estimator: {error}") from error
        return True

    return available_where(check)


def _takes_labels(estimator: Any) -> bool:
    """Whether a classifier supports several outputs."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        return False
    of_classes = get_tags(estimator).classifier_tags
    return of_classes is not None and bool(of_classes.multi_label)


class StackedClassifier(ClassifierMixin, Stacked):
    """Base class of blending and stacking classifiers.

    Parameters
    ----------
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Prediction method of the base estimators; "auto": the first of these that each has.

    Attributes
    ----------
    classes_ : array, or a list of arrays
        Sorted class labels; a list with one array per output if there are several.
    """

    classes_: Any
    stack_method: str
    _takes_several: ClassVar[bool] = False

    # Whether the base estimators were fitted by the user, on labels instead of class indices.
    def _is_prefit(self) -> bool:
        return False

    def _check_kind(self, name: str, estimator: Any) -> None:
        """Accept any estimator: predictions of a regressor or a density are columns too."""

    def _method_name(self) -> str:
        return self.stack_method

    def _default_final(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return weighted_by_default(LogisticRegression())

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the base estimators and, on their out-of-fold predictions, the final estimator.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array, shape (rows,), for stacking also (rows, outputs)
            Class labels, of any type.
        sample_weight : array, shape (rows,), or None
            Row weights, passed to all base estimators (in a pipeline: to the last step) and to the
            final estimator; with metadata routing enabled, to those that request them.
        groups : array, shape (rows,), or None
            Group labels. Blending holds out whole groups; stacking passes them to `cv`.
        **fit_params
            Passed to the base estimators that request them, if metadata routing is enabled.
        """
        with self._fitting():
            if self._takes_several and has_several(y):
                sample, self.classes_ = label_sample(self, X, y, sample_weight, groups)
                names = self.classes_ if self._is_prefit() else numbers_of(self.classes_)
                self._fit(sample, fit_params, names)
                return self
            sample, labels = class_sample(self, X, y, sample_weight, groups)
            self.classes_ = labels
            names = np.arange(len(labels))
            if self._is_prefit():
                known = [np.asarray(m.classes_) for _, m in self._named() if hasattr(m, "classes_")]
                names = self.classes_ = np.unique(np.concatenate([labels, *known]))
                sample.y[:] = np.searchsorted(self.classes_, labels)[sample.y]
            self._fit(sample, fit_params, names)
        return self

    def predict(self, X: Any, **predict_params: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        **predict_params
            Passed to `predict` of the final estimator.
        """
        predicted = self._predict_final(X, "predict", **predict_params)
        if is_combiner(self.final_estimator_):
            return np.asarray(self.classes_[np.argmax(predicted, axis=1)])
        if isinstance(self.classes_, list):
            return labels_by_number(list(predicted.T), self.classes_)
        return np.asarray(self.classes_[predicted.reshape(len(predicted))])

    @_final_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities, in the order of `classes_`; a list of arrays for several outputs."""
        predicted = self._predict_final(X, "predict_proba")
        if isinstance(self.classes_, list):
            response = OutputsResponse("predict_proba", outputs=numbers_of(self.classes_))
            n_rows = len(predicted[0] if isinstance(predicted, list) else predicted)
            return response.of_outputs(predicted, self.final_estimator_, n_rows)
        return predicted if is_combiner(self.final_estimator_) else self._all_classes(predicted)

    @_final_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Decision function of the final estimator."""
        return self._predict_final(X, "decision_function")

    def _all_classes(self, predicted: Floats) -> Floats:
        """Add probabilities of 0 for classes that the final estimator was not fitted on."""
        response = ResponseMethod("predict_proba", np.arange(len(self.classes_)))
        return response.in_order(predicted, np.asarray(self.final_estimator_.classes_))

    def _new_final(self, final: Any) -> Any:
        if isinstance(self.classes_, list) and (final is None or is_named_combiner(final)):
            who = "The default final estimator" if final is None else f"final_estimator={final!r}"
            raise ValueError(
                f"{who} supports one output; y has {len(self.classes_)} columns. Set "
                "final_estimator to a classifier of several outputs, such as "
                "RandomForestClassifier()."
            )
        return super()._new_final(final)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        if self._takes_several and not is_named_combiner(final):
            parts = [estimator for _, estimator in self._all_named() if not is_dropped(estimator)]
            tags.classifier_tags.multi_label = all(map(_takes_labels, [*parts, final]))
        return tags

    def _refuse_several(self, what: str) -> None:
        if isinstance(self.classes_, list):
            raise ValueError(f"{what} supports one output; y had {len(self.classes_)} columns.")

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        if not isinstance(self.classes_, list):
            return {**super()._fingerprint_arrays(), "classes": self.classes_}
        each = {f"classes of output {k}": own for k, own in enumerate(self.classes_)}
        return {**super()._fingerprint_arrays(), **each}


class StackedRegressor(Regressor, Stacked):
    """Base class of blending and stacking regressors."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the base estimators and, on their out-of-fold predictions, the final estimator.

        Parameters
        ----------
        X : table
            Training rows, in any form that the base estimators accept.
        y : array of finite numbers, shape (rows,)
            Target values.
        sample_weight : array, shape (rows,), or None
            Row weights, passed to all base estimators (in a pipeline: to the last step) and to the
            final estimator; with metadata routing enabled, to those that request them.
        groups : array, shape (rows,), or None
            Group labels. Blending holds out whole groups; stacking passes them to `cv`.
        **fit_params
            Passed to the base estimators that request them, if metadata routing is enabled.
        """
        with self._fitting():
            sample = number_sample(self, X, y, sample_weight, groups)
            self._fit(sample, fit_params, None)
        return self

    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Predict the target of each row.

        Parameters
        ----------
        X : table
            Rows with the columns of the fit.
        **predict_params
            Passed to `predict` of the final estimator, as in scikit-learn. For the standard
            deviation of the base estimators, see `disagreement`.
        """
        predicted = self._predict_final(X, "predict", **predict_params)
        return predicted[:, 0] if is_combiner(self.final_estimator_) else predicted

"""Blending and stacking of classes, and of numbers."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from weald.calls import offered_if
from weald.ensembles.combining.combination import Floats
from weald.ensembles.combining.final_estimators import is_combiner
from weald.ensembles.combining.stacked import Stacked
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import routing_is_enabled
from weald.ensembles.members.samples import class_sample, number_sample
from weald.ensembles.regressing import Regressor


def weighted_by_default(final: Any) -> Any:
    """A final model of ours to choose: it takes weights, also where these go by request."""
    return final.set_fit_request(sample_weight=True) if routing_is_enabled() else final


def _final_has(method: str) -> Any:
    """Whether the final model has a method: the fitted one, or the one that would be fitted."""

    def check(self: Any) -> bool:
        final = getattr(self, "final_estimator_", None)
        if final is None:
            final = self.final_estimator
        if final is None:
            final = self._default_final()
        if isinstance(final, str) or is_combiner(final):
            has = method == "predict_proba"
        else:
            has = hasattr(final, method)
        if not has:
            raise AttributeError(f"The final estimator {final!r} has no {method}.")
        return True

    return offered_if(check)


class StackedClassifier(ClassifierMixin, Stacked):
    """A final classifier on the answers of members.

    Parameters
    ----------
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        The method members are asked through; "auto": the first of these that a member has.

    Attributes
    ----------
    classes_ : array
        The class labels, sorted.
    """

    classes_: NDArray[Any]
    stack_method: str

    # Whether members may have been fitted on labels rather than on class numbers.
    def _is_prefit(self) -> bool:
        return False

    def _check_kind(self, name: str, estimator: Any) -> None:
        """Anything that answers may be a member: a regressor or a density is a column too."""

    def _wanted(self) -> str:
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
        """Fit the members and, on their answers to rows they have not seen, the final model.

        Parameters
        ----------
        X : table
            Whatever the members take.
        y : array, shape (rows,)
            Class labels of any kind.
        sample_weight : array, shape (rows,), or None
            Weights of the rows, for all members (through pipelines to their last step) and the
            final model. With metadata routing enabled, for those that request them.
        groups : array, shape (rows,), or None
            Rows of one group are not told apart by a member that saw some of them.
        **fit_params
            With metadata routing enabled: passed to the members that request them.
        """
        with self._fitting():
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
        """The class the final model names.

        Parameters
        ----------
        X : table
            Whatever the members take.
        **predict_params
            Passed to the final model's predict.
        """
        predicted = self._predict_final(X, "predict", **predict_params)
        if is_combiner(self.final_estimator_):
            predicted = np.argmax(predicted, axis=1)
        return np.asarray(self.classes_[predicted])

    @_final_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, in the order of `classes_`."""
        predicted = self._predict_final(X, "predict_proba")
        return predicted if is_combiner(self.final_estimator_) else self._every_class(predicted)

    @_final_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """The final model's scores: of the second of two classes, or of every class."""
        return self._predict_final(X, "decision_function")

    def _every_class(self, predicted: Floats) -> Floats:
        """Give classes that the final model has not seen the probability zero."""
        response = ResponseMethod("predict_proba", np.arange(len(self.classes_)))
        return response.in_order(predicted, np.asarray(self.final_estimator_.classes_))

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {**super()._learnt(), "classes": self.classes_}


class StackedRegressor(Regressor, Stacked):
    """A final regressor on the numbers that members predict."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members and, on their answers to rows they have not seen, the final model.

        Parameters
        ----------
        X : table
            Whatever the members take.
        y : array of finite numbers, shape (rows,)
            The target.
        sample_weight : array, shape (rows,), or None
            Weights of the rows, for all members (through pipelines to their last step) and the
            final model. With metadata routing enabled, for those that request them.
        groups : array, shape (rows,), or None
            Rows of one group are not told apart by a member that saw some of them.
        **fit_params
            With metadata routing enabled: passed to the members that request them.
        """
        with self._fitting():
            sample = number_sample(self, X, y, sample_weight, groups)
            self._fit(sample, fit_params, None)
        return self

    def predict(self, X: Any, **predict_params: Any) -> Any:
        """The number the final model predicts.

        Parameters
        ----------
        X : table
            Whatever the members take.
        **predict_params
            Passed to the final model's predict, as in scikit-learn. For how much the members
            disagree, see `disagreement`.
        """
        predicted = self._predict_final(X, "predict", **predict_params)
        return predicted[:, 0] if is_combiner(self.final_estimator_) else predicted

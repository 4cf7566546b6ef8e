"""Base class of blending and stacking: layers of base estimators and a final estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from weald import aggregation
from weald.ensembles.combining.combination import Combination, Floats, response_methods
from weald.ensembles.combining.final_estimators import (
    final_fingerprint,
    fit_final,
    is_combiner,
    new_final,
    prediction_table,
    stack_predictions,
)
from weald.ensembles.combining.out_of_fold import (
    FoldModels,
    OutOfFold,
    Splits,
    out_of_fold,
    parts_of,
)
from weald.ensembles.members.member_errors import member_error
from weald.ensembles.members.members import Indices, Named, model_fingerprints, params_for, take
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.response_outputs import numbers_of, response_of
from weald.ensembles.members.routing import Routed, routed_params, router, routing_is_enabled
from weald.ensembles.members.samples import Sample


@dataclass(frozen=True)
class Layer:
    """The fitted base estimators of a layer and their response methods."""

    models: Mapping[str, Any]
    responses: Sequence[ResponseMethod]


@dataclass(eq=False)
class FinalInput:
    """Training data of the final estimator, stored for `refit_final`.

    `rows` are the rows with predictions, among the `n_given` rows passed to fit. `X` is stored only
    for passthrough, and never pickled. `settings` detects parameters changed since the fit.
    """

    predictions: list[Floats]
    rows: Indices
    n_given: int
    X: Any
    y: NDArray[Any]
    weight: Floats | None
    params: Mapping[str, Any]
    settings: str | None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "X": None}


class Stacked(Combination):
    """Base class of blending and stacking.

    The final estimator is fitted on predictions for rows that the base estimators were not fitted
    on.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        Estimator that combines the predictions of the base estimators. "nonnegative": a linear
        (for classification, logistic) model with non-negative weights. "greedy": greedy ensemble
        selection (`weald.ensembles.GreedySelection`).
    passthrough : bool, default=False
        Whether the columns of X are passed to later layers and the final estimator, in addition to
        the predictions.
    refit : bool, default=True
        Whether to refit the base estimators on all rows.
    n_jobs : int or None, default=None
        Number of parallel fits, as in scikit-learn: None means 1 unless in a joblib context, -1
        all cores. With None, weald's own base estimators of n_jobs=None share all cores.
    verbose : int, default=0
        If not 0, print a line for each fit.

    Attributes
    ----------
    final_estimator_ : estimator
        The fitted final estimator; weald's own have `weights_`, one per base estimator.
    stack_method_ : list of str
        Prediction method of each base estimator of the first layer.
    """

    final_estimator: Any
    final_estimator_: Any
    passthrough: bool
    refit: bool
    verbose: int

    _layers: list[Layer]
    _final_input: FinalInput

    # ---- defined by subclasses ----

    def _default_final(self) -> Any:
        raise NotImplementedError

    def _estimators_by_layer(self) -> list[list[Named]]:
        return [self._checked_estimators()]

    def _splits(self, sample: Sample, routed: Routed) -> Splits | None:
        """Splits for out-of-fold predictions; None: the base estimators are fitted already."""
        raise NotImplementedError

    def _method_name(self) -> str:
        return "predict"

    def _models_of(self, found: OutOfFold) -> list[Any]:
        return found.whole if self.refit else [FoldModels(models) for models in found.by_fold]

    # ---- fitting ----

    def _fit(self, sample: Sample, others: Mapping[str, Any], classes: Any | None) -> None:
        by_layer = self._estimators_by_layer()
        final = self._new_final(self.final_estimator)
        routed = routed_params(
            self,
            [estimator for layer in by_layer for estimator in layer],
            sample,
            others,
            final=None if is_combiner(final) else final,
        )
        splits = self._splits(sample, routed)
        self._layers, rows, table = [], np.arange(sample.n), sample.X
        predictions: list[Floats] = []
        for estimators in by_layer:
            responses = response_methods(estimators, self._method_name(), classes)
            here = Sample(table, sample.y[rows], None, None, rows)
            params = {
                name: params_for(routed.estimators[name], sample.n, rows) for name, _ in estimators
            }
            models, predictions, covered = self._layer(
                estimators, responses, here, _splits_among(splits, rows, sample.n), params
            )
            self._layers.append(Layer(dict(zip(params, models, strict=True)), responses))
            rows, predictions = rows[covered], [part[covered] for part in predictions]
            table = prediction_table(predictions, responses, self._passthrough_of(sample.X, rows))
        self._set_layers()
        self._final_input = self._rows_of_final(predictions, sample, rows, routed.final)
        self._fit_final(final)

    def _rows_of_final(
        self, predictions: list[Floats], sample: Sample, rows: Indices, params: Mapping[str, Any]
    ) -> FinalInput:
        """The training data of the final estimator: `rows` are those with predictions."""
        return FinalInput(
            predictions,
            np.flatnonzero(sample.place >= 0)[rows],
            len(sample.place),
            self._passthrough_of(sample.X, rows),
            sample.y[rows],
            None if sample.weight is None else sample.weight[rows],
            params_for(params, sample.n, rows),
            self._settings(),
        )

    def _layer(
        self,
        estimators: Sequence[Named],
        responses: Sequence[ResponseMethod],
        sample: Sample,
        splits: Splits | None,
        params: Mapping[str, Mapping[str, Any]],
    ) -> tuple[list[Any], list[Floats], NDArray[np.bool_]]:
        """Fitted base estimators, their out-of-fold predictions, and which rows have some."""
        if splits is None:
            models = dict(estimators)
            for model in models.values():
                check_is_fitted(model)
            predictions = self._all_predictions(models, responses, sample.X)
            return list(models.values()), predictions, np.ones(sample.n, dtype=bool)
        found = out_of_fold(self, estimators, responses, sample, splits, params, refit=self.refit)
        return self._models_of(found), found.predictions, found.covered

    def _new_final(self, final: Any) -> Any:
        """An unfitted final estimator, as the parameter says."""
        return new_final(self, final, self._default_final())

    def _fit_final(self, final: Any) -> None:
        kept, responses = self._final_input, self._layers[-1].responses
        try:
            self.final_estimator_ = fit_final(
                final, kept.predictions, responses, kept.X, kept.y, kept.weight, kept.params
            )
        except Exception as error:
            fitted = {name: model for layer in self._layers for name, model in layer.models.items()}
            raise member_error(self, {"final_estimator": ("to fit", error)}, fitted) from error

    def refit_final(self, final_estimator: Any) -> Self:
        """Fit another final estimator on the stored predictions, without refitting the others.

        Parameters
        ----------
        final_estimator : estimator, "nonnegative", "greedy" or None
            New value of the parameter of the same name.

        Raises
        ------
        ValueError
            If a parameter that the stored predictions depend on was changed since the last fit.
        """
        check_is_fitted(self)
        given, self.final_estimator = self.final_estimator, final_estimator
        try:
            with self._fitting():
                self._check_final_input()
                self._fit_final(self._new_final(final_estimator))
        except BaseException:
            self.final_estimator = given
            raise
        return self

    def _check_final_input(self) -> None:
        if self._final_input.settings is None or self._final_input.settings != self._settings():
            raise ValueError(
                "Parameters of the ensemble or of its base estimators were changed since the last "
                "fit (or cannot be compared), so that the stored predictions are outdated. Call "
                "fit."
            )
        if self.passthrough and self._final_input.X is None:
            raise ValueError(
                "refit_final requires X if passthrough=True, which is not stored in a pickled "
                "ensemble. Call fit."
            )

    def _settings(self) -> str | None:
        """Description of all parameters that predictions depend on; None if there is none."""
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("final_estimator", "n_jobs", "verbose")
        }
        try:
            return _parameter_text(params)
        except Exception:
            return None

    def _passthrough_of(self, X: Any, rows: Indices | None = None) -> Any:
        """The columns of X that are passed to later layers; None without passthrough."""
        if not self.passthrough:
            return None
        return X if rows is None else take(X, rows)

    # Base estimators support categories nevertheless. scikit-learn checks estimators with this tag
    # on tables too small for a final estimator fitted on out-of-fold predictions.
    _has_categorical_tag: ClassVar[bool] = False

    def _table_estimators(self) -> list[Any]:
        if not self.passthrough:
            return super()._table_estimators()
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        return [*(estimator for _, estimator in self._all_named()), final]

    def _set_layers(self) -> None:
        first = self._layers[0]
        self._set_estimators(list(first.models), list(first.models.values()))
        self.stack_method_ = [response.method for response in first.responses]

    @property
    def out_of_fold_(self) -> Floats:
        """The predictions that the final estimator was fitted on, of shape (rows, columns).

        Rows are those passed to `fit`; NaN for rows without out-of-fold prediction and for rows of
        weight zero.
        """
        check_is_fitted(self)
        known = prediction_table(self._final_input.predictions, self._layers[-1].responses, None)
        table = np.full((self._final_input.n_given, known.shape[1]), np.nan)
        table[self._final_input.rows] = known
        return table

    # ---- prediction ----

    def _last_layer_predictions(self, X: Any) -> tuple[list[Floats], Any]:
        """Predictions of the last layer, and the table for the final estimator."""
        X = self._table_to_predict(X)
        table, predictions = X, []
        for layer in self._layers:
            predictions = self._all_predictions(layer.models, layer.responses, table)
            table = prediction_table(predictions, layer.responses, self._passthrough_of(X))
        return predictions, table

    def transform(self, X: Any) -> Any:
        """Predictions of the last layer, followed by the columns of X if `passthrough`."""
        return self._last_layer_predictions(X)[1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns returned by `transform`.

        Parameters
        ----------
        input_features : array of str or None, default=None
            Names of the columns of X, used if `passthrough`; None: those of the fit.
        """
        check_is_fitted(self)
        start, names = type(self).__name__.lower(), []
        layer, predictions = self._layers[-1], self._final_input.predictions
        for name, part, response in zip(layer.models, predictions, layer.responses, strict=True):
            width = prediction_table([part[:1]], [response], None).shape[1]
            numbers = [""] if width == 1 else range(width)
            names += [f"{start}_{name}{number}" for number in numbers]
        if self.passthrough:
            names += self._input_names(input_features)
        return np.asarray(names, dtype=object)

    def _input_names(self, input_features: Any) -> list[str]:
        known = getattr(self, "feature_names_in_", None)
        if input_features is None:
            return (
                [f"x{i}" for i in range(self.n_features_in_)] if known is None else known.tolist()
            )
        given = list(input_features)
        if known is not None and given != known.tolist():
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(given) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(given)}"
            )
        return given

    def _refuse_several(self, what: str) -> None:
        """Raise if there are several outputs, which `what` does not support."""

    def disagreement(self, X: Any) -> Floats:
        """Standard deviation of the predictions of the last layer, for each row.

        Of shape (rows,) for regression and (rows, classes) for classification. Deviations are from
        the prediction of the ensemble.
        """
        self._refuse_several("disagreement")
        predictions, _ = self._last_layer_predictions(X)
        of_all = stack_predictions(predictions, self._layers[-1].responses)
        if is_classifier(self):
            return aggregation.disagreement(of_all, self.predict_proba(X))
        return aggregation.disagreement(of_all[:, :, 0], self.predict(X))

    def _predict_final(self, X: Any, method: str, **params: Any) -> Any:
        predictions, table = self._last_layer_predictions(X)
        final = self.final_estimator_
        if is_combiner(final):
            if params:
                raise TypeError(
                    f"{type(final).__name__} does not support {', '.join(params)} in predict. For "
                    "the standard deviation of the base estimators, see the method disagreement."
                )
            return final.combine(stack_predictions(predictions, self._layers[-1].responses))
        predicted = getattr(final, method)(table, **self._routed_to_final(method, params))
        if params:  # such as return_std, which may change the form of the result
            return np.asarray(predicted)
        return self._checked_final(predicted, method, len(predictions[0]))

    def _routed_to_final(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments of predict for the final estimator: all, or those that it requests."""
        if not params or not routing_is_enabled():
            return params
        from sklearn.utils.metadata_routing import process_routing

        routed: Mapping[str, Any] = process_routing(self, method, **params)
        return routed["final_estimator"][method]  # type: ignore[no-any-return]

    def _checked_final(self, predicted: Any, method: str, n_rows: int) -> Any:
        """Validate predictions of the final estimator; labels are returned as class indices."""
        names_classes = is_classifier(self) and method in ("predict", "predict_proba")
        response = response_of(method, numbers_of(self.classes_) if names_classes else None)
        try:
            checked = response.checked(predicted, self.final_estimator_, n_rows)
        except ValueError as error:
            raise member_error(self, {"final_estimator": ("to predict", error)}, {}) from error
        if response.n_labels:
            return checked.astype(np.intp)
        is_list = isinstance(predicted, list)  # of an array for each output
        return predicted if is_list else np.asarray(predicted)

    # ---- inspection ----

    def _readers(self) -> Sequence[Any]:
        models = [model for layer in self._layers for model in layer.models.values()]
        final = [] if is_combiner(self.final_estimator_) else [self.final_estimator_]
        return parts_of([*models, *final])

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        arrays = final_fingerprint(self.final_estimator_)
        for number, layer in enumerate(self._layers):
            arrays |= model_fingerprints(f"layer {number} member", layer.models)
        return arrays

    def get_metadata_routing(self) -> Any:
        """Metadata routing of this object; see scikit-learn's user guide on metadata routing."""
        final = self.final_estimator
        if final is None:
            final = self._default_final()
        final = None if isinstance(final, str) or is_combiner(final) else final
        return router(self, self._all_named(), final=final, splitter=getattr(self, "cv", None))


def _splits_among(splits: Splits | None, rows: Indices, n: int) -> Splits | None:
    """Restrict splits of n rows to some of the rows, renumbered from 0."""
    if splits is None or len(rows) == n:
        return splits
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    renumbered = [
        tuple(part[part >= 0] for part in (place[train], place[test])) for train, test in splits
    ]
    kept = [(train, test) for train, test in renumbered if len(train) and len(test)]
    if not kept:
        raise ValueError(
            "No fold is left whose training rows have out-of-fold predictions of the previous "
            "layer. Use more folds or fewer layers."
        )
    return kept


def _parameter_text(value: Any) -> str:
    """Parameters as text, including those of nested estimators; other values by their hash."""
    from joblib import hash as joblib_hash

    # Part by part, since joblib's hash depends on which parts are the same object.
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__}({_parameter_text(value.get_params(deep=False))})"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_parameter_text(value[name])}" for name in sorted(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_parameter_text, value))}]"
    return str(joblib_hash(value))

"""What blending and stacking share: layers of members, and a final model on their answers."""

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
    flat,
    is_combiner,
    new_final,
    stacked,
)
from weald.ensembles.combining.out_of_fold import FoldModels, OutOfFold, Splits, out_of_fold
from weald.ensembles.members.member_errors import member_error
from weald.ensembles.members.members import Indices, Named, model_fingerprints, params_for, take
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.routing import Routed, routed_params, router
from weald.ensembles.members.samples import Sample


@dataclass(frozen=True)
class Layer:
    """Fitted members that are asked together."""

    models: Mapping[str, Any]
    responses: Sequence[ResponseMethod]


@dataclass(eq=False)
class Kept:
    """All that the final model is fitted on, kept so that another one costs no member's fit.

    `rows` are the rows with answers, among the `n_given` passed to fit. `X` is kept only for
    passthrough, and not in a pickle. `settings` tells whether parameters have changed since.
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
    """Members whose answers to rows they have not seen are what a final model learns from.

    Parameters
    ----------
    final_estimator : estimator, "nonnegative", "greedy" or None, default=None
        What combines the members' answers. "nonnegative": a linear model of numbers (a logistic
        one of probabilities) without negative weights. "greedy": a mean of members chosen one
        after another, with repetition (`weald.ensembles.GreedySelection`).
    passthrough : bool, default=False
        Whether later models see the columns of X beside the answers.
    refit : bool, default=True
        Fit the members again on all rows once their answers are known.
    n_jobs : int or None, default=None
        How many fits run at a time, as in scikit-learn: None means one (or what a joblib context
        says), -1 all cores. Members of weald that may use all cores are fitted side by side.
    verbose : int, default=0
        If not 0, print a line for every fit.

    Attributes
    ----------
    final_estimator_ : estimator
        The fitted final model; those of weald have `weights_`, one per member.
    stack_method_ : list of str
        The method each member of the first layer is asked through.
    """

    final_estimator: Any
    final_estimator_: Any
    passthrough: bool
    refit: bool
    verbose: int

    _layers: list[Layer]
    _kept: Kept

    # ---- for the methods to say ----

    def _default_final(self) -> Any:
        raise NotImplementedError

    def _estimators_by_layer(self) -> list[list[Named]]:
        return [self._checked_estimators()]

    def _splits(self, sample: Sample, routed: Routed) -> Splits | None:
        """The folds whose answers count; None: the members are fitted already."""
        raise NotImplementedError

    def _wanted(self) -> str:
        return "predict"

    def _models_of(self, found: OutOfFold) -> list[Any]:
        return found.whole if self.refit else [FoldModels(models) for models in found.by_fold]

    # ---- fitting ----

    def _fit(self, sample: Sample, others: Mapping[str, Any], classes: NDArray[Any] | None) -> None:
        by_layer = self._estimators_by_layer()
        final = new_final(self, self.final_estimator, self._default_final())
        routed = routed_params(
            self,
            [member for layer in by_layer for member in layer],
            sample,
            others,
            final=None if is_combiner(final) else final,
        )
        splits = self._splits(sample, routed)
        self._layers, rows, table = [], np.arange(sample.n), sample.X
        predictions: list[Floats] = []
        for members in by_layer:
            responses = response_methods(members, self._wanted(), classes)
            here = Sample(table, sample.y[rows], None, None, rows)
            params = {name: params_for(routed.members[name], sample.n, rows) for name, _ in members}
            models, predictions, covered = self._layer(
                members, responses, here, _among(splits, rows, sample.n), params
            )
            names = [name for name, _ in members]
            self._layers.append(Layer(dict(zip(names, models, strict=True)), responses))
            rows, predictions = rows[covered], [prediction[covered] for prediction in predictions]
            table = flat(predictions, responses, self._passed(sample.X, rows))
        self._set_layers()
        self._kept = Kept(
            predictions,
            np.flatnonzero(sample.place >= 0)[rows],
            len(sample.place),
            self._passed(sample.X, rows),
            sample.y[rows],
            None if sample.weight is None else sample.weight[rows],
            params_for(routed.final, sample.n, rows),
            self._settings(),
        )
        self._fit_final(final)

    def _layer(
        self,
        members: Sequence[Named],
        responses: Sequence[ResponseMethod],
        sample: Sample,
        splits: Splits | None,
        params: Mapping[str, Mapping[str, Any]],
    ) -> tuple[list[Any], list[Floats], NDArray[np.bool_]]:
        """Fitted members, their answers to rows they have not seen, and which rows have some."""
        if splits is None:
            models = dict(members)
            for model in models.values():
                check_is_fitted(model)
            predictions = self._all_predictions(models, responses, sample.X)
            return list(models.values()), predictions, np.ones(sample.n, dtype=bool)
        found = out_of_fold(self, members, responses, sample, splits, params, refit=self.refit)
        return self._models_of(found), found.predictions, found.covered

    def _fit_final(self, final: Any) -> None:
        kept, responses = self._kept, self._layers[-1].responses
        try:
            self.final_estimator_ = fit_final(
                final, kept.predictions, responses, kept.X, kept.y, kept.weight, kept.params
            )
        except Exception as error:
            fitted = {name: model for layer in self._layers for name, model in layer.models.items()}
            raise member_error(self, {"final_estimator": ("to fit", error)}, fitted) from error

    def refit_final(self, final_estimator: Any) -> Self:
        """Fit another final model on the answers kept from the last fit: no member is fitted.

        Parameters
        ----------
        final_estimator : estimator, "nonnegative", "greedy" or None
            As the parameter of that name, which is set to it.

        Raises
        ------
        ValueError
            If a parameter that the kept answers depend on was changed since; then `fit` is needed.
        """
        check_is_fitted(self)
        given, self.final_estimator = self.final_estimator, final_estimator
        try:
            with self._fitting():
                self._check_kept()
                self._fit_final(new_final(self, final_estimator, self._default_final()))
        except BaseException:
            self.final_estimator = given
            raise
        return self

    def _check_kept(self) -> None:
        if self._kept.settings is None or self._kept.settings != self._settings():
            raise ValueError(
                "Parameters of the ensemble or of its members were changed since the last fit (or "
                "cannot be compared): the kept answers are not theirs. Call fit."
            )
        if self.passthrough and self._kept.X is None:
            raise ValueError(
                "With passthrough=True a pickled ensemble does not keep the table it was fitted "
                "on. Call fit."
            )

    def _settings(self) -> str | None:
        """A hash of all parameters that the answers of members depend on; None: there is none."""
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("final_estimator", "n_jobs", "verbose")
        }
        try:
            return _described(params)
        except Exception:
            return None

    def _passed(self, X: Any, rows: Indices | None = None) -> Any:
        """The columns of X that later models see beside the answers; None: none."""
        if not self.passthrough:
            return None
        return X if rows is None else take(X, rows)

    # Members get categories all the same. scikit-learn's checks show a model of that tag tables of
    # a few whole numbers, too few for a final model that learns from answers out of fold.
    _tells_categories: ClassVar[bool] = False

    def _readers(self) -> list[Any]:
        if not self.passthrough:
            return super()._readers()
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        return [*(estimator for _, estimator in self._all_named()), final]

    def _set_layers(self) -> None:
        first = self._layers[0]
        self._set_estimators(list(first.models), list(first.models.values()))
        self.stack_method_ = [response.method for response in first.responses]

    @property
    def out_of_fold_(self) -> Floats:
        """The answers that the final model was fitted on, of the shape (rows, columns).

        Rows are those passed to `fit`; NaN stands in those that no member answered without having
        seen them, and in those of weight zero.
        """
        check_is_fitted(self)
        known = flat(self._kept.predictions, self._layers[-1].responses, None)
        every = np.full((self._kept.n_given, known.shape[1]), np.nan)
        every[self._kept.rows] = known
        return every

    # ---- asking ----

    def _last_layer_predictions(self, X: Any) -> tuple[list[Floats], Any]:
        """The answers of the last layer, and the table for a final model."""
        X = self._table_to_predict(X)
        table, predictions = X, []
        for layer in self._layers:
            predictions = self._all_predictions(layer.models, layer.responses, table)
            table = flat(predictions, layer.responses, self._passed(X))
        return predictions, table

    def transform(self, X: Any) -> Any:
        """What the final model sees: the answers of the last layer, and X if `passthrough`."""
        return self._last_layer_predictions(X)[1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array of str or None, default=None
            Names of the columns of X, for `passthrough`; None: those of the fit.
        """
        check_is_fitted(self)
        start, names = type(self).__name__.lower(), []
        layer, predictions = self._layers[-1], self._kept.predictions
        for name, prediction, response in zip(layer.models, predictions, layer.responses, strict=True):
            width = flat([prediction[:1]], [response], None).shape[1]
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

    def disagreement(self, X: Any) -> Floats:
        """How far the members of the last layer are apart: a standard deviation for each row.

        Of numbers, the shape is (rows,); of probabilities, (rows, classes). Deviations are taken
        from the answer of the whole ensemble.
        """
        predictions, _ = self._last_layer_predictions(X)
        every = stacked(predictions, self._layers[-1].responses)
        if is_classifier(self):
            return aggregation.disagreement(every, self.predict_proba(X))
        return aggregation.disagreement(every[:, :, 0], self.predict(X))

    def _predict_final(self, X: Any, method: str, **params: Any) -> NDArray[Any]:
        predictions, table = self._last_layer_predictions(X)
        final = self.final_estimator_
        if is_combiner(final):
            if params:
                raise TypeError(
                    f"{type(final).__name__} takes no {', '.join(params)}. For how much the "
                    "members disagree, see the method disagreement."
                )
            return final.combine(stacked(predictions, self._layers[-1].responses))  # type: ignore[no-any-return]
        predicted = getattr(final, method)(table, **params)
        # With parameters of its own, such as return_std, it may answer in a form of its own.
        return np.asarray(predicted) if params else self._checked_final(predicted, method, len(predictions[0]))

    def _checked_final(self, predicted: Any, method: str, n_rows: int) -> NDArray[Any]:
        """What the final model said, as it said it; the labels of classes as their numbers."""
        names_classes = is_classifier(self) and method in ("predict", "predict_proba")
        classes = np.arange(len(self.classes_)) if names_classes else None
        try:
            checked = ResponseMethod(method, classes).checked(predicted, self.final_estimator_, n_rows)
        except ValueError as error:
            raise member_error(self, {"final_estimator": ("when asked", error)}, {}) from error
        is_label = classes is not None and method == "predict"
        return checked[:, 0].astype(np.intp) if is_label else np.asarray(predicted)

    # ---- looking ----

    def _learnt(self) -> dict[str, NDArray[Any]]:
        learnt = final_fingerprint(self.final_estimator_)
        for number, layer in enumerate(self._layers):
            learnt |= model_fingerprints(f"layer {number} member", layer.models)
        return learnt

    def get_metadata_routing(self) -> Any:
        """How metadata of fit is passed on: see scikit-learn's user guide of metadata routing."""
        final = self.final_estimator
        if final is None:
            final = self._default_final()
        final = None if isinstance(final, str) or is_combiner(final) else final
        return router(self, self._all_named(), final=final, splitter=getattr(self, "cv", None))


def _among(splits: Splits | None, rows: Indices, n: int) -> Splits | None:
    """The splits of n rows, in the numbers that some of the rows have among themselves."""
    if splits is None or len(rows) == n:
        return splits
    place = np.full(n, -1)
    place[rows] = np.arange(len(rows))
    renamed = [
        tuple(part[part >= 0] for part in (place[train], place[test])) for train, test in splits
    ]
    kept = [(train, test) for train, test in renamed if len(train) and len(test)]
    if not kept:
        raise ValueError(
            "No fold is left whose training rows have out-of-fold answers of the layer below: use "
            "more folds or fewer layers."
        )
    return kept


def _described(value: Any) -> str:
    """Parameters as text, all the way down; what is not made of parameters by its hash."""
    from joblib import hash as joblib_hash

    # Part by part: a hash of the whole would also tell which parts are the same object.
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__qualname__}({_described(value.get_params(deep=False))})"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_described(value[name])}" for name in sorted(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_described, value))}]"
    return str(joblib_hash(value))

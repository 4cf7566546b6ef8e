"""Out-of-fold predictions of base estimators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from weald.ensembles.members.members import Indices, Job, Named, fit_estimators, model_fingerprints
from weald.ensembles.members.response_methods import ResponseMethod
from weald.ensembles.members.samples import Sample
from weald.persist import fingerprint
from weald.resampling import ContentKFold

Floats = NDArray[np.float64]
Splits = list[tuple[Indices, Indices]]


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions and fitted models of all base estimators.

    `predictions` are NaN for rows in no test fold, that is where `covered` is False. `whole` are
    the models fitted on all rows (empty without refit), `by_fold` those of each fold.
    """

    predictions: list[Floats]
    covered: NDArray[np.bool_]
    whole: list[Any]
    by_fold: list[list[Any]]


def splits_of(owner: Any, cv: Any, sample: Sample, params: Mapping[str, Any]) -> Splits:
    """Training and test rows of each fold; `cv` is as in scikit-learn.

    Indices in given splits are those of the rows passed to fit; rows of weight zero are removed.
    """
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv, sample.y, classifier=is_classifier(owner))
    if hasattr(cv, "__iter__"):
        given = [
            (_fold_rows(train, sample), _fold_rows(test, sample))
            for train, test in splitter.split(sample.X)
        ]
    else:
        if isinstance(splitter, ContentKFold):
            params = {**params, "sample_weight": sample.weight}
        given = list(splitter.split(sample.X, sample.y, **params))
    splits = [(train, test) for train, test in given if len(train) and len(test)]
    if not splits:
        raise ValueError(
            f"The 'cv' parameter of {type(owner).__name__} gave no fold with both training and "
            "test rows."
        )
    return splits


def _fold_rows(rows: Any, sample: Sample) -> Indices:
    index = np.asarray(rows)
    index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)
    if index.size and not (index.min() >= 0 and index.max() < len(sample.place)):
        raise ValueError(
            f"The splits of cv contain the row {index.max() if index.min() >= 0 else index.min()}; "
            f"X has {len(sample.place)} rows, numbered from 0."
        )
    place = sample.place[index]
    return place[place >= 0]


def out_of_fold(
    owner: Any,
    estimators: Sequence[Named],
    responses: Sequence[ResponseMethod],
    sample: Sample,
    splits: Splits,
    params: Mapping[str, Mapping[str, Any]],
    *,
    refit: bool,
) -> OutOfFold:
    """Fit each base estimator on each fold (with `refit`, also on all rows) and predict test rows.

    Rows in several test folds get the mean of their predictions; of labels, the majority.
    """
    jobs: list[Job] = []
    for (name, estimator), response in zip(estimators, responses, strict=True):
        if refit:
            jobs.append(Job(name, estimator))
        for number, (train, test) in enumerate(splits, start=1):
            where = f"in fold {number} of {len(splits)}"
            jobs.append(Job(name, estimator, where, train, test, response))
    outcomes = fit_estimators(
        owner, jobs, sample.X, sample.y, params, n_jobs=owner.n_jobs, verbose=owner.verbose
    )
    size = len(splits) + int(refit)
    predictions, whole, by_fold = [], [], []
    for number, response in enumerate(responses):
        own = outcomes[number * size : (number + 1) * size]
        if refit:
            whole.append(own[0].fitted)
        folds = own[int(refit) :]
        by_fold.append([outcome.fitted for outcome in folds])
        predicted = [outcome.predictions for outcome in folds]
        predictions.append(_merge_folds(predicted, splits, sample.n, response))
    covered = np.zeros(sample.n, dtype=bool)
    for _, test in splits:
        covered[test] = True
    return OutOfFold(predictions, covered, whole, by_fold)


def _merge_folds(
    predicted: list[Floats], splits: Splits, n: int, response: ResponseMethod
) -> Floats:
    """Merge the predictions of the test folds into one array of all rows."""
    if response.n_labels:
        labels = []
        for k, n_classes in enumerate(response.n_labels):
            each = [np.eye(n_classes)[part[:, k].astype(int)] for part in predicted]
            votes = _sums(each, splits, n)
            labels.append(np.where(votes.any(axis=1), np.argmax(votes, axis=1), np.nan))
        return np.stack(labels, axis=1)
    times = _sums([np.ones((len(part), 1)) for part in predicted], splits, n)
    total = _sums(predicted, splits, n)
    return np.divide(total, times, out=np.full_like(total, np.nan), where=times > 0)


def _sums(parts: list[Floats], splits: Splits, n: int) -> Floats:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(
            f"A base estimator returned {sorted(widths)} columns in different folds; expected the "
            "same number in all of them."
        )
    total = np.zeros((n, widths.pop()))
    for part, (_, test) in zip(parts, splits, strict=True):
        np.add.at(total, test, part)
    return total


class FoldModels:
    """The models of all folds of one base estimator, which predict by their mean.

    Parameters
    ----------
    estimators_ : list of estimators
        One fitted model per fold.
    """

    def __init__(self, estimators_: list[Any]) -> None:
        self.estimators_ = estimators_

    def __repr__(self) -> str:
        return f"FoldModels({self.estimators_!r})"

    def fingerprint(self) -> str:
        """SHA-256 of the fitted models."""
        folds = {f"fold {number}": model for number, model in enumerate(self.estimators_)}
        return fingerprint(model_fingerprints("fold model", folds))


def parts_of(models: Iterable[Any]) -> list[Any]:
    """The models, and in the place of `FoldModels` those of all folds."""
    parts = []
    for model in models:
        parts += model.estimators_ if isinstance(model, FoldModels) else [model]
    return parts


def predict_with(response: ResponseMethod, model: Any, X: Any) -> Floats:
    """Predictions of a model; of `FoldModels`, the mean (of labels, the majority)."""
    if not isinstance(model, FoldModels):
        return response(model, X)
    predicted = [response(fold, X) for fold in model.estimators_]
    all_rows = [(np.empty(0, dtype=np.intp), np.arange(len(predicted[0])))] * len(predicted)
    return _merge_folds(predicted, all_rows, len(predicted[0]), response)

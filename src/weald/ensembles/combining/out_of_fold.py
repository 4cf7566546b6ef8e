"""Out-of-fold answers: what each member says of rows it has not seen."""

from collections.abc import Mapping, Sequence
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
    """Answers of every member, NaN in rows that no fold tested; and the models.

    `whole` are the members fitted on all rows (empty if none were asked for), `by_fold` the models
    of each member, fold by fold.
    """

    predictions: list[Floats]
    covered: NDArray[np.bool_]
    whole: list[Any]
    by_fold: list[list[Any]]


def splits_of(owner: Any, cv: Any, sample: Sample, params: Mapping[str, Any]) -> Splits:
    """The rows to train on and to test on in each fold, as scikit-learn's `cv` means them.

    Splits given as lists of row numbers count the rows passed to fit; those without weight are
    left out of them.
    """
    from sklearn.model_selection import check_cv

    splitter = check_cv(cv, sample.y, classifier=is_classifier(owner))
    if hasattr(cv, "__iter__"):
        given = [
            (_kept(train, sample), _kept(test, sample)) for train, test in splitter.split(sample.X)
        ]
    else:
        if isinstance(splitter, ContentKFold):
            params = {**params, "sample_weight": sample.weight}
        given = list(splitter.split(sample.X, sample.y, **params))
    splits = [(train, test) for train, test in given if len(train) and len(test)]
    if not splits:
        raise ValueError(
            f"{type(owner).__name__} found no fold with rows to train on and rows to test on."
        )
    return splits


def _kept(rows: Any, sample: Sample) -> Indices:
    index = np.asarray(rows)
    index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)
    if index.size and not (index.min() >= 0 and index.max() < len(sample.place)):
        raise ValueError(
            f"A fold names row {index.max() if index.min() >= 0 else index.min()}; "
            f"there are {len(sample.place)} rows, numbered from 0."
        )
    place = sample.place[index]
    return place[place >= 0]


def out_of_fold(
    owner: Any,
    members: Sequence[Named],
    responses: Sequence[ResponseMethod],
    sample: Sample,
    splits: Splits,
    params: Mapping[str, Mapping[str, Any]],
    *,
    refit: bool,
) -> OutOfFold:
    """Fit every member on every fold (and, with `refit`, on all rows), and ask it the other rows.

    A row that several folds test gets the mean of its answers, labels the most frequent one.
    """
    jobs: list[Job] = []
    for (name, estimator), response in zip(members, responses, strict=True):
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
        mine = outcomes[number * size : (number + 1) * size]
        if refit:
            whole.append(mine[0].fitted)
        folds = mine[int(refit) :]
        by_fold.append([outcome.fitted for outcome in folds])
        predicted = [outcome.predictions for outcome in folds]
        predictions.append(_gathered(predicted, splits, sample.n, response))
    covered = np.zeros(sample.n, dtype=bool)
    for _, test in splits:
        covered[test] = True
    return OutOfFold(predictions, covered, whole, by_fold)


def _gathered(predicted: list[Floats], splits: Splits, n: int, response: ResponseMethod) -> Floats:
    """Put the folds' answers into the places of their rows."""
    if response.method == "predict" and response.classes is not None:
        n_classes = len(response.classes)
        votes = _sums([np.eye(n_classes)[part[:, 0].astype(int)] for part in predicted], splits, n)
        labels = np.where(votes.any(axis=1), np.argmax(votes, axis=1), np.nan)
        return np.asarray(labels[:, np.newaxis])
    times = _sums([np.ones((len(part), 1)) for part in predicted], splits, n)
    total = _sums(predicted, splits, n)
    return np.divide(total, times, out=np.full_like(total, np.nan), where=times > 0)


def _sums(parts: list[Floats], splits: Splits, n: int) -> Floats:
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(
            f"A member gave answers of {sorted(widths)} columns in different folds; they cannot be "
            "put together."
        )
    total = np.zeros((n, widths.pop()))
    for part, (_, test) in zip(parts, splits, strict=True):
        np.add.at(total, test, part)
    return total


class FoldModels:
    """The fold models of one member, kept as they are: they answer together, by their mean.

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
        """SHA-256 of what all of them have learnt."""
        folds = {f"fold {number}": model for number, model in enumerate(self.estimators_)}
        return fingerprint(model_fingerprints("fold model", folds))


def together(response: ResponseMethod, model: Any, X: Any) -> Floats:
    """The answers of a model, or of the fold models of one: the mean, of labels the majority."""
    if not isinstance(model, FoldModels):
        return response(model, X)
    predicted = [response(fold, X) for fold in model.estimators_]
    everything = [(np.empty(0, dtype=np.intp), np.arange(len(predicted[0])))] * len(predicted)
    return _gathered(predicted, everything, len(predicted[0]), response)

"""Permutation importance of columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.members.members import n_rows_of
from weald.explain.checks import check_model, checked_table, column_names, number_of_columns
from weald.explain.mixing import MixedRows
from weald.explain.printing import Printed, Table
from weald.lazy import picture
from weald.parameters import NoneOr, OneOf, Seed, Whole
from weald.resampling import seed_of

Floats = NDArray[np.float64]

_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance(Printed):
    """Permutation importances: how much worse predictions are if a column is shuffled.

    Attributes
    ----------
    feature_names : list of str
        Names of the columns.
    importances_mean : array, shape (columns,)
        Mean decrease of the score (or increase of the out-of-bag error) over the repeats.
    importances_std : array, shape (columns,)
        Standard deviation over the repeats.
    importances : array, shape (columns, repeats)
        Decrease in each repeat.
    scoring : str
        Name of the score or loss.
    rows : str
        The rows it was measured on.
    standard_error : array, shape (columns,), or None
        Standard error of `importances_mean` over the sampling of the rows; out-of-bag only.
    """

    feature_names: list[str]
    importances_mean: Floats
    importances_std: Floats
    importances: Floats = field(repr=False)
    scoring: str
    rows: str
    standard_error: Floats | None = None

    def _table(self) -> Table:
        order = np.argsort(-self.importances_mean, kind="stable")
        title = f"Permutation importance by {self.scoring} on {self.rows}"
        rows = [
            [self.feature_names[i], float(self.importances_mean[i]), float(self.importances_std[i])]
            for i in order[:_SHOWN]
        ]
        return Table(title, ["column", "mean", "std"], rows, len(order) - len(rows))

    def plot(self, **kwargs: Any) -> Any:
        """Draw the importances as bars: `weald.plot.importance`.

        Parameters
        ----------
        **kwargs
            Parameters of that function, such as `ax`.

        Returns
        -------
        axes
            The axes of the picture.
        """
        return picture("importance")(self, **kwargs)

    def _columns(self) -> dict[str, Any]:
        order = np.argsort(-self.importances_mean, kind="stable")
        columns = {
            "column": [self.feature_names[i] for i in order],
            "mean": self.importances_mean[order],
            "std": self.importances_std[order],
        }
        if self.standard_error is not None:
            columns["standard_error"] = self.standard_error[order]
        return columns


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 10,
    sample_weight: Any = None,
    out_of_bag: bool = False,
    random_state: Any = None,
) -> PermutationImportance:
    """Measure how much worse a model predicts if the values of a column are shuffled.

    Unlike `feature_importances_`, it does not favour columns with many values, and is about 0 for
    a column of pure noise if the rows are not those of the fit. Correlated columns share their
    importance.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, frame or sparse table, shape (rows, columns)
        Held-out rows; with `out_of_bag`, the rows of the fit in the same order.
    y : array, shape (rows,)
        Their targets.
    scoring : str, callable or None, default=None
        Score as in scikit-learn; None: the model's `score`. With `out_of_bag`, a loss as for
        `oob_.error`.
    n_repeats : int, default=10
        Number of times each column is shuffled.
    sample_weight : array, shape (rows,), or None
        Row weights of the score. Not with `out_of_bag`, which uses the weights of the fit.
    out_of_bag : bool, default=False
        Whether to measure the out-of-bag error of the rows of the fit: each row is predicted by the
        base estimators that were not fitted on it. For forests and bags with `oob_score=True` and
        for `BoostedTrees*` with several boosters.
    random_state : int, RandomState or None, default=None
        Seed of the shuffles; None means 0.

    Returns
    -------
    PermutationImportance
        Mean and spread of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import RandomForestRegressor
    >>> from weald.explain import permutation_importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = 3 * X[:, 0] + X[:, 1]
    >>> model = RandomForestRegressor(50, random_state=0).fit(X[:300], y[:300])
    >>> found = permutation_importance(model, X[300:], y[300:], n_repeats=5)
    >>> found.importances_mean.argsort().tolist()
    [2, 1, 0]
    """
    for name, limit, value in (
        ("n_repeats", Whole(1), n_repeats),
        ("out_of_bag", OneOf((True, False)), out_of_bag),
        ("random_state", NoneOr(Seed()), random_state),
    ):
        if not limit.admits(value):
            raise ValueError(f"{name} must be {limit.expected}. Got {value!r} instead.")
    check_model(model)
    seed = seed_of(0 if random_state is None else random_state)
    if out_of_bag:
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is not supported with out_of_bag=True, which uses the weights of "
                "the fit. Leave it out."
            )
        return _out_of_bag(model, X, y, scoring, n_repeats, seed)
    return _of_rows(model, X, y, scoring, n_repeats, sample_weight, seed)


def _out_of_bag(
    model: Any, X: Any, y: Any, loss: Any, n_repeats: int, seed: int
) -> PermutationImportance:
    if not hasattr(model, "oob_permutation_importance"):
        raise ValueError(
            f"{type(model).__name__} has no out-of-bag predictions. Pass held-out rows and "
            "out_of_bag=False."
        )
    found = model.oob_permutation_importance(
        X, y, loss=loss, n_repeats=n_repeats, random_state=seed
    )
    return PermutationImportance(
        feature_names=column_names(model, X, len(found.columns)),
        importances_mean=found.importances_mean,
        importances_std=found.importances_std,
        importances=found.importances,
        scoring=found.loss,
        rows="out-of-bag rows",
        standard_error=found.standard_error,
    )


def _refuse_missing(y: Any) -> None:
    """Raise ValueError if a number among the targets is missing."""
    target = np.asarray(y)
    if target.dtype.kind == "f" and np.isnan(target).any():
        row = int(np.flatnonzero(np.isnan(target.reshape(len(target), -1)).any(axis=1))[0])
        raise ValueError(
            f"y is NaN in row {row}: a row without a target has no score. Leave such rows out."
        )


def _of_rows(
    model: Any, X: Any, y: Any, scoring: Any, n_repeats: int, sample_weight: Any, seed: int
) -> PermutationImportance:
    from sklearn.metrics import check_scoring
    from sklearn.utils.validation import check_consistent_length

    X = checked_table(model, X)
    check_consistent_length(X, y, sample_weight)
    _refuse_missing(y)
    scorer = check_scoring(model, scoring)
    weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    n_rows, n_columns = n_rows_of(X), number_of_columns(model, X)
    rows, draws = MixedRows([X]), np.random.default_rng(seed)
    before = float(scorer(model, X, y, **weights))
    importances = np.empty((n_columns, n_repeats))
    source = np.repeat(np.arange(n_rows)[:, np.newaxis], n_columns, axis=1)
    for column in range(n_columns):
        for repeat in range(n_repeats):
            source[:, column] = draws.permutation(n_rows)
            shuffled = float(scorer(model, rows.mixed(source), y, **weights))
            importances[column, repeat] = before - shuffled
        source[:, column] = np.arange(n_rows)
    return PermutationImportance(
        feature_names=column_names(model, X, n_columns),
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
        scoring="score" if scoring is None else str(getattr(scoring, "__name__", scoring)),
        rows=f"{n_rows} rows",
    )

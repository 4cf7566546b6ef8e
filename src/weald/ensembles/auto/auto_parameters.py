"""Parameters of the automatic ensembles."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weald.ensembles.auto.leaderboard import Leaderboard
from weald.ensembles.auto.metric import MetricLimit
from weald.ensembles.base import CheckedEstimator
from weald.parameters import (
    AnyOf,
    Columns,
    Jobs,
    Limit,
    Members,
    NoneOr,
    OneOf,
    Real,
    Seed,
    Verbosity,
    Whole,
)

Floats = NDArray[np.float64]


class AutoParameters(CheckedEstimator):
    """The best ensemble of many models within a time limit.

    Trains a fixed list of models in order, each with predictions for rows it was not trained on
    (out-of-bag, or by cross-validation on common folds), and selects a weighted mean of them by
    greedy selection. The models are boosted trees of several shapes, random forests, extra trees
    and rotation forests; and, on scaled and one-hot encoded columns, a linear model, a small neural
    network and nearest neighbours.

    Parameters
    ----------
    time_limit : float or None, default=60
        Time limit in seconds for the whole fit. The models, and so the ensemble, then depend on the
        speed of the machine. None: the whole list is trained, up to `max_models`, and fits are
        reproducible.
    metric : str or callable, default="auto"
        Score to maximise: the name of a scikit-learn scorer, or a callable ``scorer(estimator, X,
        y)``. "auto": "neg_log_loss" for classification, "neg_root_mean_squared_error" for
        regression.
    n_folds : int or "auto", default="auto"
        Number of folds for models without out-of-bag predictions. "auto": 8 up to 1,000 rows, 5
        above.
    max_models : int or None, default=None
        Maximum number of models to train. None: 4 up to 100 rows (more would overfit the
        selection), else all.
    portfolio : "trees", list of (str, estimator) pairs or None, default=None
        Further models: any scikit-learn compatible estimators, which are fitted on the table as
        passed to `fit`, after the first of weald's models. A pair with the name of one of weald's
        models replaces it, 'drop' leaves it out. "trees": only weald's tree ensembles, for which
        `fingerprint` and exact Shapley values are available.
    keep_models : bool, default=False
        Whether to keep the models of weight 0, too, in `models_`.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Categorical columns: those of string and unordered categorical dtype ("from_dtype"), those
        listed by name, position or boolean mask, or none (None).
    verbose : int, default=0
        If positive, show on stderr which model is being trained and the best score so far.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the models. None means 0: two fits are equal.
    n_jobs : int or None, default=None
        Number of threads of weald's models; None means all usable cores.

    Attributes
    ----------
    leaderboard_ : Leaderboard
        All models that were tried: scores, weights and times. Prints as a table.
    models_ : dict of str to estimator
        The fitted models by name. They are fitted on class indices and, other than those of
        `portfolio`, on numeric columns.
    weights_ : array
        Weights of the models, in the order of `models_`; their sum is 1.
    best_score_ : float
        Score of the ensemble on rows that its models were not trained on. Since the weights were
        selected on these rows, it is slightly optimistic.
    metric_ : str
        Name of the score.
    stopped_by_ : str
        What ended the search: "portfolio" (the end of the list), "max_models", "time_limit" or
        "interrupt".
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Column names, if all of them are strings.
    """

    leaderboard_: Leaderboard
    weights_: Floats
    best_score_: float
    metric_: str
    stopped_by_: str

    time_limit: float | None
    metric: Any
    n_folds: int | str
    max_models: int | None
    portfolio: Any
    keep_models: bool
    categorical_features: Any
    verbose: int
    random_state: Any
    n_jobs: int | None

    _limits: ClassVar[Mapping[str, Limit]] = {
        "time_limit": NoneOr(Real(0.0, open_below=True)),
        "metric": MetricLimit(),
        "n_folds": AnyOf((OneOf(("auto",)), Whole(2))),
        "max_models": NoneOr(Whole(1)),
        "portfolio": AnyOf((OneOf(("trees",)), NoneOr(Members()))),
        "keep_models": OneOf((True, False)),
        "categorical_features": Columns(),
        "verbose": Verbosity(),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    def __init__(
        self,
        *,
        time_limit: float | None = 60,
        metric: Any = "auto",
        n_folds: int | str = "auto",
        max_models: int | None = None,
        portfolio: Any = None,
        keep_models: bool = False,
        categorical_features: Any = "from_dtype",
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.time_limit = time_limit
        self.metric = metric
        self.n_folds = n_folds
        self.max_models = max_models
        self.portfolio = portfolio
        self.keep_models = keep_models
        self.categorical_features = categorical_features
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

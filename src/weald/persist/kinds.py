"""The classes that a model file may contain, by the names used in it.

This list is the whole surface of `weald.load`: a name that is not here is an error. Names stay for
ever; a class that moves or is renamed keeps its name here.
"""

from functools import cache
from importlib import import_module
from typing import Any

_ENSEMBLES = "weald.ensembles"
_ESTIMATORS = (
    "AdaBoost",
    "AutoEnsemble",
    "Bagging",
    "Blending",
    "BoostedTrees",
    "DecisionTree",
    "ExtraTrees",
    "GradientBoosting",
    "Imported",
    "OptionTree",
    "RandomForest",
    "RotationForest",
    "Stacking",
    "Voting",
)

_MODULES: dict[str, str] = {
    **{f"{name}{task}": _ENSEMBLES for name in _ESTIMATORS for task in ("Classifier", "Regressor")},
    "BoostedTreesSurvival": _ENSEMBLES,
    "RandomSurvivalForest": _ENSEMBLES,
    "IsolationForest": _ENSEMBLES,
    "BoostedTreesRanker": _ENSEMBLES,
    # columns
    **dict.fromkeys(
        ("Number", "Category", "TextCategory", "Ordered", "Moment", "Span"), "weald.data.columns"
    ),
    "EncodedCategory": "weald.data.level_means",
    "ColumnPlan": "weald.data.plan",
    # trees
    "Forest": "weald.trees.forest",
    "OptionForest": "weald.trees.option_forest",
    "Rotations": "weald.trees.rotations",
    "RotatedForest": "weald.trees.rotations",
    "LeafFacts": "weald.trees.view",
    # losses
    "BuiltinLoss": "weald.losses.builtin",
    "QuantileLosses": "weald.losses.quantiles",
    "CoxLoss": "weald.losses.survival",
    "AftLoss": "weald.losses.survival",
    "TargetLosses": "weald.losses.targets",
    "RankingLoss": "weald.losses.ranking",
    # cross-validation
    "ContentKFold": "weald.resampling",
    # parts of ensembles
    "Member": f"{_ENSEMBLES}.auto.training",
    "Leaderboard": f"{_ENSEMBLES}.auto.leaderboard",
    "LeaderboardRow": f"{_ENSEMBLES}.auto.leaderboard",
    "OutOfFoldRecord": f"{_ENSEMBLES}.auto.auto_base",
    "ColumnEncoder": f"{_ENSEMBLES}.auto.encoding",
    "ScaledTarget": f"{_ENSEMBLES}.auto.scaled_target",
    **dict.fromkeys(
        ("NeighboursClassifier", "NeighboursRegressor"), f"{_ENSEMBLES}.auto.neighbours"
    ),
    **dict.fromkeys(("NetworkClassifier", "NetworkRegressor"), f"{_ENSEMBLES}.auto.network"),
    "Form": f"{_ENSEMBLES}.adaboost.adaboost_forms",
    "FoundStump": f"{_ENSEMBLES}.adaboost.stumps",
    "Stump": f"{_ENSEMBLES}.adaboost.stumps",
    "Start": f"{_ENSEMBLES}.gradient_boosting.initial_scores",
    "TrainedDescent": f"{_ENSEMBLES}.gradient_boosting.trained_descent",
    "TrainedState": f"{_ENSEMBLES}.boosted_trees.trained_state",
    "OffsetMark": f"{_ENSEMBLES}.warm",
    "History": f"{_ENSEMBLES}.rounds.history",
    "BoosterFolds": f"{_ENSEMBLES}.boosted_trees.folds",
    "Record": f"{_ENSEMBLES}.out_of_bag.tally",
    "RowSamples": "weald.resampling.samples",
    "FinalInput": f"{_ENSEMBLES}.combining.stacked",
    "Layer": f"{_ENSEMBLES}.combining.stacked",
    "ResponseMethod": f"{_ENSEMBLES}.members.response_methods",
    "FoldModels": f"{_ENSEMBLES}.combining.out_of_fold",
    "GreedySelection": f"{_ENSEMBLES}.combining.greedy",
    "NonNegativeSum": f"{_ENSEMBLES}.combining.nonnegative",
    "NonNegativeProduct": f"{_ENSEMBLES}.combining.nonnegative",
    "DensityClassifier": f"{_ENSEMBLES}.combining.density",
    "TwoGroupClassifier": f"{_ENSEMBLES}.bagging.class_groups",
    "RuleListClassifier": f"{_ENSEMBLES}.distilling.rule_list",
    "RuleListRegressor": f"{_ENSEMBLES}.distilling.rule_list",
    **dict.fromkeys(
        (
            "Rows",
            "Features",
            "Seeds",
            "AlgorithmRandomness",
            "HyperParameters",
            "Algorithms",
            "Representation",
            "Noise",
            "Classes",
            "BayesianBootstrap",
        ),
        f"{_ENSEMBLES}.bagging.diversifiers",
    ),
}

# Classes whose name is taken by a public one.
_RENAMED = {
    "TreeBagClassifier": (f"{_ENSEMBLES}.forests.bagged_trees", "BaggingClassifier"),
    "TreeBagRegressor": (f"{_ENSEMBLES}.forests.bagged_trees", "BaggingRegressor"),
}

# Estimators of scikit-learn whose prediction is NumPy on a few arrays, so that no content of a file
# can make compiled code read beyond them.
_SKLEARN = {
    **dict.fromkeys(
        (
            "ElasticNet",
            "Lasso",
            "LinearRegression",
            "LogisticRegression",
            "LogisticRegressionCV",
            "Ridge",
            "RidgeCV",
            "RidgeClassifier",
        ),
        "sklearn.linear_model",
    ),
    **dict.fromkeys(("BernoulliNB", "GaussianNB", "MultinomialNB"), "sklearn.naive_bayes"),
    **dict.fromkeys(("DummyClassifier", "DummyRegressor"), "sklearn.dummy"),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), "sklearn.neural_network"),
    **dict.fromkeys(
        ("LabelBinarizer", "LabelEncoder", "MinMaxScaler", "StandardScaler"),
        "sklearn.preprocessing",
    ),
    **dict.fromkeys(
        ("GroupKFold", "KFold", "RepeatedKFold", "StratifiedKFold", "TimeSeriesSplit"),
        "sklearn.model_selection",
    ),
    "LinearDiscriminantAnalysis": "sklearn.discriminant_analysis",
    "Pipeline": "sklearn.pipeline",
    "SimpleImputer": "sklearn.impute",
}

KINDS: dict[str, tuple[str, str]] = {
    **{name: (module, name) for name, module in _MODULES.items()},
    **_RENAMED,
    **{f"sklearn.{name}": (module, name) for name, module in _SKLEARN.items()},
}

_KINDS_OF_NAME: dict[str, list[str]] = {}
for _kind, (_, _name) in KINDS.items():
    _KINDS_OF_NAME.setdefault(_name, []).append(_kind)


@cache
def class_of(kind: str) -> type[Any] | None:
    """The class of that name in model files, or None."""
    if kind not in KINDS:
        return None
    module, name = KINDS[kind]
    found: type[Any] = getattr(import_module(module), name)
    return found


def kind_of(cls: type[Any]) -> str | None:
    """The name of a class in model files, or None."""
    for kind in _KINDS_OF_NAME.get(cls.__name__, ()):
        if class_of(kind) is cls:
            return kind
    return None

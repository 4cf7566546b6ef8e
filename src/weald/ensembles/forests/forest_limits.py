"""Valid values of the parameters of forests."""

from collections.abc import Mapping

from weald.ensembles.dropped_levels import STATISTICS_LIMITS
from weald.ensembles.max_features import MAX_FEATURES
from weald.parameters import (
    MOST_DRAWS,
    AnyOf,
    CallableOr,
    ColumnDirections,
    Columns,
    Jobs,
    Limit,
    NoneOr,
    OneOf,
    Real,
    Seed,
    Share,
    Whole,
)

FOREST_LIMITS: Mapping[str, Limit] = {
    "n_estimators": AnyOf((Whole(1, 1_000_000), OneOf(("auto",)))),
    "max_depth": NoneOr(Whole(1)),
    "min_samples_split": AnyOf((Whole(2), Share(0.0, 1.0, open_below=True))),
    "min_samples_leaf": AnyOf((Whole(1), Share(0.0, 1.0, open_below=True, open_above=True))),
    "min_weight_fraction_leaf": Real(0.0, 0.5),
    "max_features": MAX_FEATURES,
    "categorical_features": Columns(),
    "max_leaf_nodes": NoneOr(Whole(2)),
    "min_impurity_decrease": Real(0.0),
    "bootstrap": OneOf((True, False)),
    "oob_score": CallableOr(OneOf((True, False))),
    "n_jobs": Jobs(),
    "random_state": Seed(),
    "verbose": Whole(0),
    "warm_start": OneOf((True, False)),
    "ccp_alpha": Real(0.0),
    "max_samples": NoneOr(AnyOf((Whole(1, MOST_DRAWS), Share(0.0, open_below=True)))),
    "monotonic_cst": NoneOr(ColumnDirections()),
    "feature_sampling": OneOf(("node", "tree")),
    **STATISTICS_LIMITS,
}

"""Valid values of the parameters of single trees."""

from collections.abc import Mapping

from weald.parameters import (
    AnyOf,
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

TREE_LIMITS: Mapping[str, Limit] = {
    "max_depth": NoneOr(Whole(1)),
    "max_leaf_nodes": NoneOr(Whole(2)),
    "splitter": OneOf(("best", "random")),
    "min_samples_split": AnyOf((Whole(2), Share(0.0, 1.0, open_below=True))),
    "min_samples_leaf": AnyOf((Whole(1), Share(0.0, 1.0, open_below=True, open_above=True))),
    "min_weight_fraction_leaf": Real(0.0, 0.5),
    "min_impurity_decrease": Real(0.0),
    "max_features": NoneOr(
        AnyOf((Whole(1), Share(0.0, 1.0, open_below=True), OneOf(("sqrt", "log2", "third"))))
    ),
    "random_state": Seed(),
    "ccp_alpha": Real(0.0),
    "monotonic_cst": NoneOr(ColumnDirections()),
    "growth": OneOf(("best_first", "depth_wise", "symmetric")),
    "max_bins": NoneOr(Whole(2, 65535)),
    "exact": OneOf((True, False)),
    "categorical_features": Columns(),
    "n_jobs": Jobs(),
}

"""Parameter names of other libraries, and their equivalents in weald.

Used in the errors for unknown parameters. `peer_arguments` covers arguments of methods.
"""

from collections.abc import Collection
from typing import NamedTuple

LIBRARIES = ("scikit-learn", "LightGBM", "XGBoost", "CatBoost")


class Way(NamedTuple):
    """Advice for classes that have all of `needs`: parameters, arguments or methods."""

    needs: tuple[str, ...]
    advice: str  # {kind}: Classifier or Regressor


class Group(NamedTuple):
    """Names with the same meaning; the first of `ways` that applies to a class is its advice."""

    names: str  # by library, in the order of LIBRARIES, separated by |; - for none
    ways: tuple[Way, ...]

    def spellings(self) -> set[str]:
        """All names of the group."""
        return set(self.names.split()) - {"|", "-"}


def use(name: str, note: str = "") -> Way:
    """Recommend the parameter `name`.

    >>> use("loss").advice, use("min_gain", "half of gamma").advice
    ('Use loss.', 'Use min_gain: half of gamma.')
    """
    return Way((name,), f"Use {name}: {note}." if note else f"Use {name}.")


def always(advice: str) -> Way:
    """Advice that applies to every class."""
    return Way((), advice)


def find_way(groups: Collection[Group], name: str, known: Collection[str]) -> Way | None:
    """Return the first advice for another library's `name` whose needs are all `known`.

    >>> find_way(PARAMETERS, "eta", ["n_estimators", "learning_rate"]).advice
    'Use learning_rate.'
    >>> find_way(PARAMETERS, "learning_rat", ["n_estimators", "learning_rate"]) is None
    True
    """
    for group in groups:
        if name in group.spellings():
            for way in group.ways:
                if all(one in known for one in way.needs):
                    return way
    return None


def is_peer_name(groups: Collection[Group], name: str) -> bool:
    """Whether another library uses `name`.

    >>> is_peer_name(PARAMETERS, "num_leaves"), is_peer_name(PARAMETERS, "num_leafs")
    (True, False)
    """
    return any(name in group.spellings() for group in groups)


# For meta-estimators, whose base estimator has the parameter.
OF_ESTIMATOR = (
    Way(
        ("estimator",),
        "It belongs to the base estimator: estimator=weald.DecisionTree{kind}(…) with its own "
        "parameters.",
    ),
    Way(("estimators",), "It belongs to the base estimators in the list `estimators`."),
    Way(("portfolio",), "It belongs to the models: pass those with other settings in `portfolio`."),
)
_NO_GPU = (
    "weald runs on the CPU only: there is no GPU support. Leave it out; n_jobs is the number of "
    "threads."
)
STOPPING = (
    Way(
        ("early_stopping", "n_iter_no_change"),
        "Use n_iter_no_change, the number of rounds without improvement, and early_stopping=True "
        "if n_estimators is set.",
    ),
    use("n_iter_no_change", "the number of rounds without improvement before the fit stops"),
    always("It has no early stopping, because it is not fitted in rounds."),
)

PARAMETERS: tuple[Group, ...] = (
    Group(
        "n_estimators max_iter | n_estimators num_iterations num_iteration n_iter num_tree "
        "num_trees num_round num_rounds nrounds num_boost_round max_iter | n_estimators "
        "num_boost_round num_round n_rounds nrounds | iterations n_estimators num_boost_round "
        "num_trees",
        (
            use("n_estimators"),
            Way(("estimators",), "There are as many base estimators as `estimators` lists."),
            always(
                "It is one tree; weald.RandomForest{kind} and weald.BoostedTrees{kind} have "
                "n_estimators."
            ),
        ),
    ),
    Group(
        "learning_rate | learning_rate shrinkage_rate eta | learning_rate eta | learning_rate "
        "eta lr",
        (
            use("learning_rate"),
            always("It does no boosting; weald.BoostedTrees{kind} has learning_rate."),
        ),
    ),
    Group(
        "max_leaf_nodes | num_leaves num_leaf max_leaves max_leaf max_leaf_nodes | max_leaves "
        "| max_leaves num_leaves",
        (use("max_leaf_nodes"), *OF_ESTIMATOR),
    ),
    Group(
        "max_depth | max_depth | max_depth | depth max_depth",
        (use("max_depth", "None, instead of -1 or 0, means no limit"), *OF_ESTIMATOR),
    ),
    Group(
        "- | - | grow_policy | grow_policy",
        (
            use("growth", "'best_first' (lossguide), 'depth_wise' or 'symmetric'"),
            Way(
                ("max_leaf_nodes", "criterion"),
                "Leave it out: with max_leaf_nodes its trees grow best-first, else depth-first.",
            ),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "min_samples_leaf | min_child_samples min_data_in_leaf min_data_per_leaf min_data "
        "min_samples_leaf | - | min_data_in_leaf min_child_samples",
        (use("min_samples_leaf"), *OF_ESTIMATOR),
    ),
    Group(
        "min_samples_split | - | - | -",
        (use("min_samples_leaf", "the minimum number of rows in a leaf"), *OF_ESTIMATOR),
    ),
    Group(
        "- | min_child_weight min_sum_hessian_in_leaf min_sum_hessian_per_leaf "
        "min_sum_hessian min_hessian | min_child_weight | -",
        (
            use("min_child_weight"),
            Way(
                ("min_weight_fraction_leaf", "min_samples_leaf"),
                "Use min_samples_leaf, or min_weight_fraction_leaf, a share of the total weight.",
            ),
            use("min_samples_leaf", "the minimum number of rows in a leaf"),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "l2_regularization | reg_lambda lambda_l2 lambda l2_regularization | reg_lambda "
        "lambda | l2_leaf_reg reg_lambda",
        (
            use("l2_regularization"),
            always("It has no L2 penalty; weald.BoostedTrees{kind} has l2_regularization."),
        ),
    ),
    Group(
        "- | reg_alpha lambda_l1 l1_regularization | reg_alpha | -",
        (
            use("l1_regularization"),
            always("It has no L1 penalty; weald.BoostedTrees{kind} has l1_regularization."),
        ),
    ),
    Group(
        "alpha | alpha | alpha quantile_alpha | alpha",
        (
            Way(
                ("quantile", "huber_alpha", "l1_regularization"),
                "Use quantile for the level of loss='quantile', huber_alpha for that of "
                "loss='huber', l1_regularization for the L1 penalty.",
            ),
            use("l1_regularization", "the L1 penalty, XGBoost's alpha"),
            always("It has no quantile loss; weald.BoostedTreesRegressor has quantile."),
        ),
    ),
    Group(
        "quantile | - | - | -",
        (
            use("alpha", "the level of loss='quantile'"),
            always("It has no quantile loss; weald.BoostedTreesRegressor has quantile."),
        ),
    ),
    Group(
        "- | tweedie_variance_power | tweedie_variance_power | variance_power",
        (
            use("tweedie_power"),
            always("It has no Tweedie loss; weald.BoostedTreesRegressor has loss='tweedie'."),
        ),
    ),
    Group(
        "- | - | huber_slope | delta",
        (
            use("huber_alpha", "the fraction of rows with a quadratic loss, not a residual"),
            use("alpha", "the fraction of rows with a quadratic loss, not a residual"),
            always("It has no Huber loss; weald.BoostedTreesRegressor has loss='huber'."),
        ),
    ),
    Group(
        "min_impurity_split | min_split_gain min_gain_to_split | gamma min_split_loss | -",
        (
            use("min_gain", "half of their value, because gains in weald include the factor 1/2"),
            use("min_impurity_decrease", "the minimum impurity decrease of a split"),
            use("ccp_alpha", "it prunes splits with a smaller gain"),
            use("min_samples_leaf", "there is no minimum gain of a split"),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "subsample | subsample bagging_fraction bagging sub_row pos_bagging_fraction "
        "neg_bagging_fraction | subsample | subsample",
        (
            use("subsample"),
            use("max_samples", "the number of rows drawn for each base estimator"),
            always("It has no row subsampling; forests and weald.Bagging{kind} have max_samples."),
        ),
    ),
    Group(
        "max_samples | - | - | -",
        (
            use("subsample", "a fraction of the rows, drawn anew for every tree"),
            always("It has no row subsampling; forests and weald.Bagging{kind} have max_samples."),
        ),
    ),
    Group(
        "- | bagging_freq subsample_freq | - | sampling_frequency",
        (
            use("subsample", "rows are drawn anew for every tree if it is below 1"),
            always("Leave it out: rows are drawn anew for every base estimator."),
        ),
    ),
    Group(
        "- | colsample_bytree feature_fraction sub_feature | colsample_bytree | -",
        (
            Way(
                ("max_features", "feature_sampling"),
                "Use max_features with feature_sampling='tree'.",
            ),
            use("max_features"),
            Way(("estimator",), "Column subsampling: weald.Bagging{kind} has max_features."),
            always("It has no column subsampling; weald.BoostedTrees{kind} has max_features."),
        ),
    ),
    Group(
        "- | - | colsample_bylevel | rsm colsample_bylevel",
        (
            Way(
                ("max_features", "feature_sampling", "growth"),
                "Use max_features with feature_sampling='level'.",
            ),
            use("max_features"),
            always("It has no column subsampling; weald.BoostedTrees{kind} has max_features."),
        ),
    ),
    Group(
        "max_features | feature_fraction_bynode sub_feature_bynode colsample_bynode | "
        "colsample_bynode | -",
        (
            Way(
                ("max_features", "feature_sampling"),
                "Use max_features with feature_sampling='node'.",
            ),
            use("max_features"),
            always("It has no column subsampling; weald.BoostedTrees{kind} has max_features."),
        ),
    ),
    Group(
        "max_bins | max_bin | max_bin max_bins | border_count max_bin",
        (use("max_bins"), always("Leave it out: it uses all values, without binning.")),
    ),
    Group(
        "loss | objective objective_type app application loss | objective | loss_function "
        "objective",
        (
            Way(
                ("reweight",),
                "Leave it out: AdaBoost has one objective; weald.BoostedTrees{kind} has loss.",
            ),
            use("loss"),
            Way(
                ("criterion",),
                "Use criterion, the quality of a split; weald.BoostedTrees{kind} has loss.",
            ),
            always("The base estimators determine the loss."),
        ),
    ),
    Group(
        "criterion | - | - | score_function",
        (
            use("criterion"),
            Way(("loss", "l2_regularization"), "Use loss: splits are found from its gradients."),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "categorical_features | categorical_feature cat_feature cat_features "
        "categorical_column | enable_categorical feature_types | cat_features",
        (
            use(
                "categorical_features",
                "names or positions of columns; text and category columns are detected without it",
            ),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "- | cat_smooth cat_l2 max_cat_threshold max_cat_to_onehot min_data_per_group | "
        "max_cat_to_onehot max_cat_threshold | one_hot_max_size max_ctr_complexity simple_ctr "
        "combinations_ctr",
        (always("Leave it out: categorical splits have no parameters of their own."),),
    ),
    Group(
        "monotonic_cst | monotone_constraints mc monotone_constraint monotonic_cst | "
        "monotone_constraints | monotone_constraints",
        (
            use("monotonic_cst"),
            always("It has no monotonic constraints; weald.BoostedTrees{kind} has monotonic_cst."),
        ),
    ),
    Group(
        "interaction_cst | interaction_constraints | interaction_constraints | -",
        (
            use("interaction_cst"),
            always(
                "It has no interaction constraints; weald.BoostedTrees{kind} has interaction_cst."
            ),
        ),
    ),
    Group(
        "class_weight | class_weight scale_pos_weight is_unbalance unbalance unbalanced_sets "
        "| scale_pos_weight | class_weights auto_class_weights scale_pos_weight",
        (
            use("class_weight", "'balanced', or a dict such as {{0: 1.0, 1: 5.0}}"),
            always("Pass sample_weight to fit."),
        ),
    ),
    Group(
        "- | num_class num_classes | num_class | classes_count",
        (always("Leave it out: the classes are read from y."),),
    ),
    Group(
        "early_stopping n_iter_no_change | early_stopping_round early_stopping_rounds "
        "early_stopping n_iter_no_change | early_stopping_rounds | early_stopping_rounds "
        "od_wait od_type od_pval use_best_model",
        STOPPING,
    ),
    Group(
        "scoring | metric metrics metric_types | eval_metric | eval_metric custom_metric",
        (
            use("scoring", "a name of scikit-learn's scorers, such as 'accuracy' or 'r2'"),
            always("It uses no metric during fit: evaluate it afterwards with sklearn.metrics."),
        ),
    ),
    Group(
        "validation_fraction | - | - | eval_fraction",
        (
            use("validation_fraction"),
            always("It has no validation set: split the data with sklearn.model_selection."),
        ),
    ),
    Group(
        "verbose | verbose verbosity silent | verbosity silent verbose | verbose "
        "logging_level silent verbose_eval metric_period",
        (use("verbose", "0 is silent"), always("Leave it out: it has no verbose output.")),
    ),
    Group(
        "n_jobs | n_jobs num_threads num_thread nthread nthreads | n_jobs nthread | thread_count",
        (use("n_jobs"),),
    ),
    Group(
        "random_state | random_state random_seed seed bagging_seed feature_fraction_seed "
        "data_random_seed | random_state seed | random_state random_seed",
        (
            use("random_state"),
            Way(
                ("estimators",),
                "It is not random itself: set random_state of the base estimators.",
            ),
            always("Leave it out: it is deterministic."),
        ),
    ),
    Group(
        "- | device device_type gpu_device_id gpu_platform_id gpu_use_dp num_gpu | device "
        "gpu_id predictor | task_type devices gpu_ram_part",
        (always(_NO_GPU),),
    ),
    Group(
        "- | tree_learner force_row_wise force_col_wise | tree_method | -",
        (
            Way(
                ("exact", "max_bins"),
                "Leave it out: histograms are the default, exact=True tries all thresholds, and "
                "there is no GPU support.",
            ),
            always("Leave it out: there is only one algorithm, on the CPU."),
        ),
    ),
    Group(
        "- | boosting_type boosting boost data_sample_strategy | booster | boosting_type "
        "bootstrap_type",
        (
            always(
                "Leave it out: weald.BoostedTrees{kind} boosts trees with row subsampling "
                "(subsample); there is no DART, GOSS or linear booster."
            ),
        ),
    ),
    Group(
        "init | boost_from_average | base_score | boost_from_average",
        (
            use("init", "an estimator, or 'zero'"),
            always(
                "Leave it out: boosting starts with the optimal constant; "
                "weald.GradientBoosting{kind} has init."
            ),
        ),
    ),
    Group(
        "- | use_missing zero_as_missing | missing | nan_mode",
        (
            always(
                "Leave it out: NaN and None are missing values, and are handled natively. Replace "
                "other codes, such as -999, by NaN first."
            ),
        ),
    ),
    Group(
        "- | importance_type | importance_type | -",
        (
            Way(
                ("importances",), "Leave it out: call importances('gain'), ('cover') or ('count')."
            ),
            always("Leave it out: see sklearn.inspection.permutation_importance."),
        ),
    ),
    Group(
        "bootstrap oob_score | - | - | -",
        (
            Way(
                ("n_bags",),
                "Use n_bags=5: each booster leaves out a fold of the rows, and oob_ has the "
                "out-of-bag predictions.",
            ),
            Way(
                ("subsample",),
                "Use subsample; weald.BoostedTrees{kind} has n_bags, with out-of-bag predictions.",
            ),
            always("It uses no bootstrap samples; forests and weald.Bagging{kind} do."),
        ),
    ),
    Group(
        "base_estimator | - | - | -",
        (
            use("estimator"),
            Way(("estimators",), "Use estimators, a list of (name, estimator) pairs."),
            always("Its base estimators are trees; weald.Bagging{kind} takes any estimator."),
        ),
    ),
    Group(
        "algorithm | - | - | -",
        (use("form", "'samme' is the default"), always("Leave it out: there is only one.")),
    ),
    Group(
        "warm_start | - | - | -",
        (always("It cannot continue an earlier fit."),),
    ),
    Group(
        "- | callbacks | callbacks | callback",
        (
            Way(("set_callbacks",), "Use set_callbacks(…) before fit."),
            Way(
                ("fit(monitor)",), "Pass fit(X, y, monitor=…), a function called after each round."
            ),
            always("It has no callbacks."),
        ),
    ),
    Group(
        "- | - | multi_strategy | -",
        (
            use("multi_output", "'tree_per_target' or 'vector_leaves'"),
            always("weald.BoostedTreesRegressor has multi_output."),
        ),
    ),
    Group(
        "- | max_delta_step path_smooth linear_tree extra_trees drop_rate top_rate other_rate "
        "| max_delta_step sampling_method | random_strength "
        "bagging_temperature leaf_estimation_method leaf_estimation_iterations "
        "model_shrink_rate langevin",
        (always("weald has no equivalent: leave it out."),),
    ),
)

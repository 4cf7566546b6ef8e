"""Names that other libraries give to arguments of methods, and what to use here instead."""

from weald.peer_names import OF_ESTIMATOR, STOPPING, Group, Way, always

_VALIDATION = (
    Way(
        ("X_val", "y_val"),
        "Pass validation rows as fit(X, y, X_val=…, y_val=…); early_stopping=True stops by them.",
    ),
    Way(
        ("n_iter_no_change", "validation_fraction"),
        "It takes no validation rows: n_iter_no_change=10 holds out validation_fraction of the "
        "rows itself; weald.BoostedTrees{kind} takes X_val and y_val.",
    ),
    always("It learns from X and y only: judge validation rows afterwards by score(X_val, y_val)."),
)

ARGUMENTS: tuple[Group, ...] = (
    Group(
        "validation_data | eval_set valid_sets | eval_set evals | eval_set",
        _VALIDATION,
    ),
    Group(
        "validation_split | - | - | -",
        (
            Way(
                ("validation_fraction",),
                "Set validation_fraction when the model is made.",
            ),
            *_VALIDATION,
        ),
    ),
    Group(
        "sample_weight_eval_set | eval_sample_weight | sample_weight_eval_set | -",
        (Way(("sample_weight_val",), "Use sample_weight_val."), *_VALIDATION),
    ),
    Group(
        "- | early_stopping_rounds | early_stopping_rounds | early_stopping_rounds",
        tuple(
            Way(way.needs, f"Early stopping is set when the model is made. {way.advice}")
            if way.needs
            else way
            for way in STOPPING
        ),
    ),
    Group(
        "scoring | eval_metric feval | eval_metric | eval_metric",
        (
            Way(("scoring",), "Set scoring when the model is made."),
            always("It is fitted by one criterion: judge it afterwards with sklearn.metrics."),
        ),
    ),
    Group(
        "categorical_features | categorical_feature | feature_types | cat_features "
        "text_features embedding_features",
        (
            Way(
                ("categorical_features",),
                "Set categorical_features when the model is made; text and category columns are "
                "found without it.",
            ),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "monitor | callbacks | callbacks | callbacks",
        (
            Way(("set_callbacks",), "Use set_callbacks(…) before fit."),
            Way(("monitor",), "Use monitor, a function that is called after each round."),
            always("It calls no functions while it is fitted."),
        ),
    ),
    Group(
        "- | verbose | verbose verbose_eval | verbose logging_level silent plot metric_period",
        (
            Way(("verbose",), "Set verbose when the model is made."),
            always("Leave it out: it prints nothing."),
        ),
    ),
    Group(
        "- | init_model | xgb_model | init_model",
        (
            Way(("warm_start",), "Set warm_start=True, and call fit again with more n_estimators."),
            always("It cannot add to an earlier fit."),
        ),
    ),
    Group(
        "- | init_score eval_init_score | base_margin base_margin_eval_set | baseline",
        (
            Way(
                ("init",), "There is no offset of single rows; init is an estimator to begin with."
            ),
            always("There is no offset of single rows in weald."),
        ),
    ),
    Group(
        "- | feature_name | feature_names | -",
        (
            always(
                "Pass a frame (pandas, polars, pyarrow): columns have the names they have there."
            ),
        ),
    ),
    Group(
        "class_weight | - | - | -",
        (
            Way(("class_weight",), "Set class_weight when the model is made."),
            always("Pass sample_weight."),
        ),
    ),
    Group(
        "check_input | predict_disable_shape_check validate_features | validate_features | -",
        (always("Leave it out: tables are always checked."),),
    ),
    Group(
        "- | num_iteration start_iteration | iteration_range ntree_limit best_iteration "
        "best_ntree_limit | ntree_start ntree_end",
        (
            Way(
                ("staged_predict",),
                "All rounds that were kept predict, after early stopping those up to the best one; "
                "staged_predict(X) has the predictions after each round.",
            ),
            always("All base estimators predict; there is no way to take some of them only."),
        ),
    ),
    Group(
        "- | raw_score | output_margin | prediction_type",
        (
            Way(("decision_function",), "Raw scores are decision_function(X)."),
            always("There are no raw scores other than what predict returns."),
        ),
    ),
    Group(
        "- | pred_leaf | pred_leaf | -",
        (
            Way(("apply",), "The leaf of each row is apply(X)."),
            always("Its base estimators need not be trees: ask them one by one."),
        ),
    ),
    Group(
        "- | pred_contrib | pred_contribs approx_contribs pred_interactions | -",
        (
            always(
                "There are no SHAP values in weald; the shap package explains any model's "
                "predictions."
            ),
        ),
    ),
    Group(
        "- | - | - | thread_count",
        (Way(("n_jobs",), "Set n_jobs, by set_params(n_jobs=…) also after fit."),),
    ),
    Group(
        "quantiles | - | - | -",
        (
            Way(("predict_quantiles",), "Use predict_quantiles(X, quantiles)."),
            always("There are no quantiles of its predictions."),
        ),
    ),
    Group(
        "return_std | - | - | -",
        (
            Way(
                ("predict_proba(return_std)",),
                "Classes have no spread; predict_proba(X, return_std=True) has that of the shares.",
            ),
            always("It has no base estimators whose predictions could be compared."),
        ),
    ),
)

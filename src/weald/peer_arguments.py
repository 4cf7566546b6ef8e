"""Method arguments of other libraries, and their equivalents in weald."""

from weald.peer_names import OF_ESTIMATOR, STOPPING, Group, Way, always

_VALIDATION = (
    Way(
        ("X_val", "y_val"),
        "Pass the validation set as fit(X, y, X_val=…, y_val=…), several as dicts by name; early "
        "stopping uses the first.",
    ),
    Way(
        ("n_iter_no_change", "validation_fraction"),
        "It takes no validation set: n_iter_no_change=10 holds out validation_fraction of the "
        "rows itself; weald.BoostedTrees{kind} takes X_val and y_val.",
    ),
    always("It has no validation set: evaluate it after fit with score(X_val, y_val)."),
)

_NO_OFFSET = always("It adds to no given scores; weald.BoostedTrees{kind} takes offset.")

ARGUMENTS: tuple[Group, ...] = (
    Group(
        "validation_data X_val y_val | eval_set valid_sets eval_names valid_names | "
        "eval_set evals | eval_set",
        _VALIDATION,
    ),
    Group(
        "validation_split | - | - | -",
        (
            Way(
                ("validation_fraction",),
                "Set validation_fraction in the constructor.",
            ),
            *_VALIDATION,
        ),
    ),
    Group(
        "sample_weight_eval_set sample_weight_val | eval_sample_weight | sample_weight_eval_set "
        "| -",
        (Way(("sample_weight_val",), "Use sample_weight_val."), *_VALIDATION),
    ),
    Group(
        "- | early_stopping_rounds | early_stopping_rounds | early_stopping_rounds",
        tuple(
            Way(way.needs, f"Early stopping is set in the constructor. {way.advice}")
            if way.needs
            else way
            for way in STOPPING
        ),
    ),
    Group(
        "scoring | eval_metric feval | eval_metric | eval_metric",
        (
            Way(
                ("metrics",),
                "Set scoring in the constructor, by which early stopping decides, or metrics, a "
                "list of what else to record.",
            ),
            Way(("scoring",), "Set scoring in the constructor."),
            always("It uses no metric during fit: evaluate it afterwards with sklearn.metrics."),
        ),
    ),
    Group(
        "categorical_features | categorical_feature | feature_types | cat_features "
        "text_features embedding_features",
        (
            Way(
                ("categorical_features",),
                "Set categorical_features in the constructor; text and category columns are "
                "detected without it.",
            ),
            *OF_ESTIMATOR,
        ),
    ),
    Group(
        "monitor | callbacks | callbacks | callbacks",
        (
            Way(("set_callbacks",), "Use set_callbacks(…) before fit."),
            Way(("monitor",), "Use monitor, a function that is called after each round."),
            always("It has no callbacks."),
        ),
    ),
    Group(
        "- | verbose | verbose verbose_eval | verbose logging_level silent plot metric_period",
        (
            Way(("verbose",), "Set verbose in the constructor."),
            always("Leave it out: it has no verbose output."),
        ),
    ),
    Group(
        "- | init_model | xgb_model | init_model",
        (
            Way(("warm_start",), "Set warm_start=True, and call fit again with more n_estimators."),
            always("It cannot continue an earlier fit."),
        ),
    ),
    Group(
        "offset | init_score | base_margin | baseline",
        (
            Way(("fit(offset)",), "Use offset, the raw scores of the rows, in fit and in predict."),
            _NO_OFFSET,
        ),
    ),
    Group(
        "- | eval_init_score | base_margin_eval_set | -",
        (
            Way(
                ("fit(offset_val)",), "Pass offset_val to fit: the raw scores of the rows of X_val."
            ),
            Way(("fit(offset)",), "It takes no validation set; offset is for the training rows."),
            _NO_OFFSET,
        ),
    ),
    Group(
        # of generalised linear models
        "exposure | exposure | exposure | exposure",
        (
            Way(
                ("fit(offset)",),
                "Use offset=np.log(exposure), in fit and in predict, with a loss that has a log "
                "link, such as loss='poisson'.",
            ),
            _NO_OFFSET,
        ),
    ),
    Group(
        "weight | weight | weight | weight",
        (Way(("sample_weight",), "Use sample_weight."), always("Only fit and score take weights.")),
    ),
    Group(
        "- | feature_name | feature_names | -",
        (always("Pass a data frame (pandas, polars, pyarrow): its column names are used."),),
    ),
    Group(
        "class_weight | eval_class_weight | - | -",
        (
            Way(("class_weight",), "Set class_weight in the constructor."),
            always("Pass sample_weight."),
        ),
    ),
    Group(
        "check_input | predict_disable_shape_check validate_features | validate_features | -",
        (always("Leave it out: inputs are always validated."),),
    ),
    Group(
        "- | num_iteration start_iteration | iteration_range ntree_limit best_iteration "
        "best_ntree_limit | ntree_start ntree_end",
        (
            Way(
                ("predict(n_rounds)",),
                "predict(X, n_rounds=…) uses the first rounds only; without it predictions use all "
                "rounds, after early stopping those up to the best one.",
            ),
            always("Predictions always use all base estimators."),
        ),
    ),
    Group(
        "- | raw_score | output_margin | prediction_type",
        (
            Way(("decision_function",), "Use decision_function(X) for raw scores."),
            always("It has no raw scores other than the result of predict."),
        ),
    ),
    Group(
        "- | pred_leaf | pred_leaf | -",
        (
            Way(("apply",), "Use apply(X) for leaf indices."),
            always("Its base estimators need not be trees: call apply on those that are."),
        ),
    ),
    Group(
        "- | pred_contrib | pred_contribs approx_contribs pred_interactions | -",
        (always("Use weald.explain.shap(model, X) for Shapley values."),),
    ),
    Group(
        "- | - | - | thread_count",
        (Way(("n_jobs",), "Set n_jobs, with set_params(n_jobs=…) also after fit."),),
    ),
    Group(
        "quantiles | - | - | -",
        (
            Way(("predict_quantiles",), "Use predict_quantiles(X, quantiles)."),
            always("It has no quantile predictions."),
        ),
    ),
    Group(
        "return_std | - | - | -",
        (
            Way(
                ("predict_proba(return_std)",),
                "Use predict_proba(X, return_std=True): class labels have no standard deviation.",
            ),
            always("It has no base estimators to compute a standard deviation from."),
        ),
    ),
)

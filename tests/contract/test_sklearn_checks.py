"""scikit-learn's checks of every public estimator.

The default parameters of every class run all of them. Other variants run those that a parameter can
break and that no test of ours (test_every_estimator.py, test_model_files.py) makes stricter for
every variant. `--all-variants` (`make test-all`) runs every check on every variant.
"""

from functools import cache
from typing import Any
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from contract import old_checks
from contract.subjects import (
    EVERY_ESTIMATOR,
    EVERY_VARIANT,
    made,
    settings,
    variants_of,
    why_weights_are_no_repetitions,
)

# They require predictions of the shape of y, which several quantiles do not have.
OF_ONE_COLUMN = (
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_regressors_train",
)

# Not for variants: the outcome does not depend on parameters, or tests of ours assert more. A check
# that is not in this list, such as one that a later scikit-learn adds, runs on every variant.
ONLY_FOR_DEFAULTS = {
    # The constructor, `get_params`, `set_params`, tags and methods of the class.
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_partial_fit_n_features",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_regressors_no_decision_function",
    "check_set_params",
    "check_valid_tag_types",
    # Arguments and return value of `fit`, and methods before it.
    "check_estimators_fit_returns_self",
    "check_estimators_unfitted",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_pipeline_consistency",
    "check_requires_y_none",
    "check_transformers_unfitted",
    # Containers: X, y and weights are converted to numeric arrays before parameters matter.
    "check_array_api_input",
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_f_contiguous_array_estimator",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_pandas_series",
    "check_transformer_data_not_an_array",
    # Input that is refused by validation.
    "check_all_zero_sample_weights_error",
    "check_classifiers_regression_target",
    "check_complex_data",
    "check_estimator_sparse_tag",
    "check_estimators_empty_data_messages",
    "check_fit1d",
    "check_fit2d_predict1d",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
    # Tests of ours for every variant: refits, copies and orders of rows give the same bits, sparse
    # tables the model of dense ones; fit and predict change no parameter, attribute or array.
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_readonly_memmap_input",
    "check_sample_weights_not_overwritten",
}


def name_of(check: Any) -> str:
    return getattr(check, "func", check).__name__


def is_for_every_variant(check: Any) -> bool:
    """Whether a parameter can break it; read-only arrays on disk are read before that."""
    on_disk = getattr(check, "keywords", {}).get("readonly_memmap", False)
    return name_of(check) not in ONLY_FOR_DEFAULTS and not on_disk


@cache
def checks_of(estimator: type, variant: str) -> list[tuple[Any, Any]]:
    """All of scikit-learn's checks of the variant, each with the model to check."""
    fewer = {} if variant == "defaults" else settings(estimator, n_estimators=10, quality="fast")
    # Some checks fit without a seed: the outcome must not depend on it.
    seeded = settings(estimator, random_state=0)
    model = made(estimator, **fewer, **seeded, **variants_of(estimator)[variant])
    return [
        (checked, check)
        for checked, check in estimator_checks_generator(model)
        if variant != "quantiles" or name_of(check) not in OF_ONE_COLUMN
    ]


def sklearn_checks(*, all_variants: bool) -> list[Any]:
    cases = []
    for estimator, variant in EVERY_VARIANT:
        # Checks that the defaults do not run, because of their tags, are not left out.
        of_defaults = {name_of(check) for _, check in checks_of(estimator, "defaults")}
        for checked, check in checks_of(estimator, variant):
            name = name_of(check)
            is_new = variant == "defaults" or name not in of_defaults
            if all_variants or is_new or is_for_every_variant(check):
                label = f"{estimator.__name__}-{variant.replace(' ', '_')}-{name}"
                cases.append(pytest.param(checked, check, id=label))
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "check" in metafunc.fixturenames:
        cases = sklearn_checks(all_variants=metafunc.config.getoption("--all-variants"))
        metafunc.parametrize(("model", "check"), cases)


# check_class_weight_classifiers sets it on every model that has the parameter.
@pytest.mark.filterwarnings("ignore:n_iter_no_change=20 of")
def test_scikit_learn_check(model: Any, check: Any) -> None:
    name = name_of(check)
    if name.startswith("check_sample_weight_equivalence"):
        reason = why_weights_are_no_repetitions(model)
        if reason is not None:
            pytest.skip(reason)
    if old_checks.is_faulty(model, name):
        pytest.skip("scikit-learn 1.6 compares fits of different labels here")
    try:
        with old_checks.without_warnings_of(name):
            check(model)
    except SkipTest as skipped:
        # Checks may be skipped only because of a missing library, or of a method that trees of
        # several outputs need not have.
        allowed = ("array_api", "does not have a decision_function method")
        if not any(reason in str(skipped) for reason in allowed):
            raise AssertionError(f"scikit-learn skipped a check: {skipped}") from skipped
        raise


def test_what_is_checked(pytestconfig: pytest.Config) -> None:
    """Weights are checked for every variant, everything for the defaults; no outdated names."""
    cases = sklearn_checks(all_variants=pytestconfig.getoption("--all-variants"))
    names = {case.id for case in cases}
    for estimator, variant in EVERY_VARIANT:
        start = f"{estimator.__name__}-{variant.replace(' ', '_')}-"
        for layout in ("dense", "sparse"):
            assert f"{start}check_sample_weight_equivalence_on_{layout}_data" in names
    every_name = set()
    for estimator in EVERY_ESTIMATOR:
        of_defaults = {name_of(check) for _, check in checks_of(estimator, "defaults")}
        assert {f"{estimator.__name__}-defaults-{name}" for name in of_defaults} <= names
        every_name |= of_defaults
    if not old_checks.ARE_OLD:
        assert every_name >= ONLY_FOR_DEFAULTS

"""Parameter names of scikit-learn, LightGBM, XGBoost and CatBoost: errors name weald's own."""

import inspect
import re

import numpy as np
import pytest

import weald
from contract.subjects import EVERY_ESTIMATOR, quick
from weald.calls import argument_advice, parameter_advice
from weald.peer_arguments import ARGUMENTS
from weald.peer_names import LIBRARIES, PARAMETERS, find_way

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


def parameters_of(estimator) -> list[str]:
    return list(quick(estimator).get_params(deep=False))


def spellings(groups) -> list[str]:
    return sorted({name for group in groups for name in group.spellings()})


def check_what_is_named(advice: str, estimator, known: set[str]) -> None:
    """Check that all `name=` and `method(` of an advice exist, in this or in the named class."""
    for name, owner in re.findall(r"(weald\.(\w+))", advice):
        assert hasattr(weald, owner), name
    elsewhere = re.findall(
        r"weald\.(\w+)\(?[^.;]*? (?:has|have|takes) (\w+)(?: and (\w+))?", advice
    )
    for owner, *names in elsewhere:
        other = set(parameters_of(getattr(weald, owner))) | {"X_val", "y_val", "offset"}
        other |= {"any", "bootstrap"}
        assert {name for name in names if name and name != "loss"} <= other, advice
    if "weald." in advice:
        return
    for name in re.findall(r"\b(\w+)=", advice):
        assert name in known, (estimator, advice)
    for name in re.findall(r"^Use (\w+)\b", advice):
        assert name in known, (estimator, advice)


@every_estimator
def test_every_name_that_is_advised_exists(estimator) -> None:
    known = parameters_of(estimator)
    methods = {name for name in dir(estimator) if not name.startswith("_")}
    for name in spellings(PARAMETERS):
        if name in known:
            continue
        advice = parameter_advice(estimator, name, known)
        assert advice, (estimator, name)
        check_what_is_named(advice, estimator, {*known, *methods, "monitor"})
    for method in ("fit", "predict"):
        taken = set(getattr(estimator, method).__wrapped__.__code__.co_varnames)
        for name in set(spellings(ARGUMENTS)) - taken:
            advice = argument_advice(estimator, method, name)
            assert advice, (estimator, method, name)
            check_what_is_named(
                advice, estimator, {*known, *methods, *taken, "return_std", "n_rounds"}
            )


@every_estimator
def test_the_constructor_and_set_params_give_the_advice(estimator) -> None:
    known = parameters_of(estimator)
    for name in ("num_leaves", "eta", "device", "reg_lambda", "cat_features", "objective"):
        advice = parameter_advice(estimator, name, known)
        with pytest.raises(TypeError) as made:
            estimator(**{name: 1})
        call = f"{estimator.__name__}() got an unexpected keyword argument {name!r}. "
        assert str(made.value) == call + advice
        model = quick(estimator)
        with pytest.raises(ValueError, match=f"^Invalid parameter {name!r} for est") as changed:
            model.set_params(**{name: 1})
        assert advice in str(changed.value)


def test_settings_are_changed_all_or_none() -> None:
    model = weald.BoostedTreesClassifier(n_estimators=100)
    with pytest.raises(ValueError, match="Use max_leaf_nodes"):
        model.set_params(n_estimators=7, num_leaves=3)
    assert model.n_estimators == 100


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("num_leaves", "Use max_leaf_nodes."),
        ("eta", "Use learning_rate."),
        ("lr", "Use learning_rate."),
        ("max_iter", "Use n_estimators."),
        ("iterations", "Use n_estimators."),
        ("num_boost_round", "Use n_estimators."),
        ("n_rounds", "Use n_estimators."),
        ("reg_lambda", "Use l2_regularization."),
        ("lambda_l2", "Use l2_regularization."),
        ("l2_leaf_reg", "Use l2_regularization."),
        ("reg_alpha", "Use l1_regularization."),
        ("loss_function", "Use loss."),
        ("feature_fraction", "Use max_features with feature_sampling='tree'."),
        ("bagging_fraction", "Use subsample."),
        ("min_data_in_leaf", "Use min_samples_leaf."),
        ("thread_count", "Use n_jobs."),
        ("random_seed", "Use random_state."),
        ("monotone_constraints", "Use monotonic_cst."),
        ("verbosity", "Use verbose: 0 is silent."),
        (
            "gamma",
            "Use min_gain: half of their value, because gains in weald include the factor 1/2.",
        ),
        ("n_estimator", "Did you mean 'n_estimators'?"),
    ],
)
def test_names_of_boosted_trees(name, advice) -> None:
    with pytest.raises(TypeError) as raised:
        weald.BoostedTreesClassifier(**{name: 1})
    assert str(raised.value).endswith(f" {name!r}. {advice}")


def test_no_name_is_guessed() -> None:
    with pytest.raises(TypeError, match="It has 'loss', 'quality', 'n_estimators'"):
        weald.BoostedTreesClassifier(interval=3)


@pytest.mark.parametrize("name", ["device", "gpu_id", "task_type"])
def test_there_is_no_gpu(name) -> None:
    with pytest.raises(TypeError, match="there is no GPU support"):
        weald.RandomForestClassifier(**{name: "gpu"})


def test_values_without_names() -> None:
    with pytest.raises(TypeError) as raised:
        weald.BoostedTreesClassifier(200)
    text = "BoostedTreesClassifier() takes its parameters by name: use n_estimators=200."
    assert str(raised.value) == text
    with pytest.raises(TypeError, match=r"by name after estimator: use n_estimators=50\."):
        weald.AdaBoostClassifier(None, 50)
    with pytest.raises(TypeError, match="write the name of the parameter"):
        weald.BoostedTreesClassifier(object())
    assert weald.RandomForestClassifier(200).n_estimators == 200


def test_arguments_of_fit() -> None:
    for name in ("eval_set", "validation_data"):
        with pytest.raises(TypeError) as raised:
            weald.BoostedTreesClassifier().fit(X, y, **{name: [(X, y)]})
        assert str(raised.value) == (
            f"BoostedTreesClassifier.fit() got an unexpected keyword argument '{name}'. Pass "
            "the validation set as fit(X, y, X_val=…, y_val=…), several as dicts by name; "
            "early stopping uses the first."
        )
    with pytest.raises(TypeError, match="Set categorical_features in the constructor"):
        weald.RandomForestClassifier().fit(X, y, cat_features=[0])
    with pytest.raises(TypeError, match=r"Use monitor, a function"):
        weald.GradientBoostingRegressor().fit(X, y, callbacks=[])
    with pytest.raises(TypeError, match=r"(?s)BaggingRegressor.fit\(\) got 'eval_set'.*score\("):
        weald.BaggingRegressor().fit(X, y, eval_set=[(X, y)])
    trees = [("a", weald.DecisionTreeClassifier())]
    with pytest.raises(TypeError, match=r"(?s)StackingClassifier.fit\(\) got 'eval_set'.*score\("):
        weald.StackingClassifier(trees).fit(X, y, eval_set=[(X, y)])


@pytest.mark.parametrize("method", ["fit", "predict"])
@pytest.mark.parametrize("kind", ["BoostedTrees", "GradientBoosting", "AdaBoost", "RandomForest"])
def test_scores_to_start_from(kind: str, method: str) -> None:
    model = getattr(weald, f"{kind}Regressor")(n_estimators=2).fit(X, y)
    given = (X, y) if method == "fit" else (X,)

    def advice(name: str) -> str:
        with pytest.raises(TypeError) as raised:
            getattr(model, method)(*given, **{name: y})
        start = f"{kind}Regressor.{method}() got an unexpected keyword argument {name!r}. "
        assert str(raised.value).startswith(start)
        return str(raised.value).removeprefix(start)

    takes = kind in ("BoostedTrees", "GradientBoosting")
    for name in ("init_score", "base_margin", "baseline"):
        ours = "Use offset, the raw scores of the rows, in fit and in predict."
        none = "It adds to no given scores; weald.BoostedTreesRegressor takes offset."
        assert advice(name) == (ours if takes else none)
    assert advice("exposure") == (
        "Use offset=np.log(exposure), in fit and in predict, with a loss that has a log link, such "
        "as loss='poisson'."
        if takes
        else none
    )
    assert ("offset_val" in advice("eval_init_score")) == (kind == "BoostedTrees")
    assert advice("weight") == (
        "Use sample_weight." if method == "fit" else "Only fit and score take weights."
    )


def test_arguments_of_predict() -> None:
    model = weald.BoostedTreesClassifier(n_estimators=2, min_samples_leaf=1).fit(X, y)
    for name in ("num_iteration", "ntree_limit", "iteration_range"):
        with pytest.raises(TypeError, match=r"BoostedTreesClassifier.predict\(\).*n_rounds="):
            model.predict(X, **{name: 1})
    with pytest.raises(TypeError, match=r"Use decision_function\(X\) for raw scores"):
        model.predict(X, raw_score=True)
    with pytest.raises(TypeError, match=r"Use weald\.explain\.shap\(model, X\)"):
        model.predict(X, pred_contrib=True)


@every_estimator
def test_wrong_calls_name_the_class_of_the_user(estimator) -> None:
    model = quick(estimator)
    for method in ("fit", "predict", "score", "predict_interval", "predict_set", "predict_proba"):
        if hasattr(estimator, method):
            with pytest.raises(TypeError) as raised:
                getattr(model, method)()
            start = rf"{estimator.__name__}\.{method}\(\) missing .*'X'.*\. It takes X"
            assert re.match(start, str(raised.value)), raised.value
    with pytest.raises(TypeError, match=r"fit\(\) got 19 positional arguments"):
        model.fit(*[X] * 19)
    with pytest.raises(TypeError, match=r"predict\(\) was called on a class. Create a model first"):
        estimator.predict()


def test_an_error_inside_a_method_stays_as_it_is() -> None:
    class Loss:
        def gradient_hessian(self, y, score):
            raise TypeError("mine")

        def start(self, y, weight):
            return 0.0

    with pytest.raises(TypeError, match="mine"):
        weald.BoostedTreesRegressor(loss=Loss()).fit(X, y)


def test_libraries_are_named_for_all_names() -> None:
    for group in (*PARAMETERS, *ARGUMENTS):
        assert group.names.count("|") == len(LIBRARIES) - 1
        assert group.spellings() and group.ways
    assert find_way(PARAMETERS, "zzz", ()) is None


def test_positional_parameters_are_those_of_scikit_learn() -> None:
    """What a script passes without a name is the same parameter here."""
    import sklearn.ensemble
    import sklearn.tree

    def by_place(cls: type) -> list[str]:
        parameters = inspect.signature(cls).parameters.values()
        return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]

    compared = 0
    for module in (sklearn.ensemble, sklearn.tree):
        for name in set(module.__all__) & set(weald.__all__):
            assert by_place(getattr(weald, name)) == by_place(getattr(module, name)), name
            compared += 1
    assert compared == 17
    assert weald.BaggingRegressor(None, 7).n_estimators == 7

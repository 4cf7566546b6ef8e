"""Base estimators of any kind: names, failures, invalid predictions, metadata, parallel fits."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensembles.members.foreign import Awkward, Counting, Failing, Odd
from weald import (
    BlendingClassifier,
    BoostedTreesClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    MemberError,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)

KINDS = [VotingClassifier, BlendingClassifier, StackingClassifier]
every_kind = pytest.mark.parametrize("kind", KINDS)


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def soft(kind: type, members: list, **more) -> object:
    return kind(members, **({"voting": "soft"} if kind is VotingClassifier else {}), **more)


TREE = DecisionTreeClassifier(max_depth=2)

BAD_ESTIMATORS = {
    "no list": (3, "non-empty list of (name, estimator) pairs"),
    "empty": ([], "non-empty list of (name, estimator) pairs"),
    "no pairs": ([TREE], "a non-empty list of (string, estimator) tuples"),
    "triples": ([("a", TREE, 1)], "a non-empty list of (string, estimator) tuples"),
    "twice": ([("a", TREE), ("b", TREE), ("a", TREE)], "'a' is used more than once"),
    "underscores": ([("a__b", TREE)], "must not contain '__'"),
    "a parameter": ([("n_jobs", TREE)], "'n_jobs' of an estimator is also a parameter"),
    "a number as name": ([(1, TREE)], "must be a string"),
    "a class": ([("a", DecisionTreeClassifier)], "must be an instance, DecisionTree"),
    "no estimator": ([("a", 3.5)], "Estimator 'a' of"),
    "other text": ([("a", "dorp")], "Estimator 'a' of"),
    "all dropped": ([("a", "drop"), ("b", "drop")], "All estimators"),
}  # fmt: skip


@every_kind
@pytest.mark.parametrize("case", BAD_ESTIMATORS)
def test_bad_estimators_are_refused(kind, case: str) -> None:
    members, fragment = BAD_ESTIMATORS[case]
    with pytest.raises((ValueError, TypeError)) as raised:
        kind(members).fit(*data())
    assert fragment in str(raised.value)
    assert kind.__name__ in str(raised.value)


def test_estimators_of_the_wrong_kind() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="Estimator 'a' of VotingClassifier must be a classifier"):
        VotingClassifier([("a", DecisionTreeRegressor())]).fit(X, y)
    with pytest.raises(ValueError, match="Estimator 'a' of VotingRegressor must be a regressor"):
        VotingRegressor([("a", TREE)]).fit(X, y)
    with pytest.raises(ValueError, match="'final_estimator' .* must be a classifier"):
        StackingClassifier([("a", TREE)], LinearRegression()).fit(X, y)
    # A stack may use predictions of regressors too.
    StackingClassifier([("a", DecisionTreeRegressor(max_depth=2))]).fit(X, y).predict(X)


@every_kind
def test_ensemble_of_one_estimator(kind) -> None:
    X, y = data()
    model = soft(kind, [("only", TREE)]).fit(X, y)
    assert model.predict(X).shape == y.shape
    ask = model.disagreement if kind is not VotingClassifier else None
    with pytest.raises(ValueError, match="needs the predictions of at least two estimators"):
        ask(X) if ask else model.predict_proba(X, return_std=True)


# ---- failures ----


@every_kind
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError, KeyError, Awkward])
def test_failure_names_the_estimator_and_keeps_the_others(kind, n_jobs: int, error: type) -> None:
    if n_jobs == 2 and error not in (ValueError, Awkward):
        return  # starting processes takes a while
    X, y = data()
    members = [("good", TREE), ("bad", Failing(error)), ("fine", LogisticRegression())]
    model = soft(kind, members, n_jobs=n_jobs)
    before = dict(vars(model))
    with pytest.raises(MemberError) as raised:
        model.fit(X, y)
    message = str(raised.value)
    assert f"Estimator 'bad' of {kind.__name__} failed" in message and "luck" in message
    if error in (ValueError, TypeError):
        assert isinstance(raised.value, error)
    assert vars(model) == before
    assert list(raised.value.failed) == ["bad"]
    fitted = raised.value.fitted
    assert list(fitted) == ["good", "fine"]
    vote = VotingClassifier(list(fitted.items()), voting="soft", prefit=True).fit(X, y)
    assert vote.score(X, y) > 0.8


def test_all_that_failed_are_named() -> None:
    members = [("a", Failing()), ("b", TREE), ("c", Failing(RuntimeError))]
    with pytest.raises(MemberError, match="Also failed: 'c'") as raised:
        VotingClassifier(members).fit(*data())
    assert set(raised.value.failed) == {"a", "c"}


def test_a_failure_in_a_fold_names_the_fold() -> None:
    members = [("late", Failing(ValueError, needs=50)), ("good", TREE)]
    with pytest.raises(
        MemberError, match="'late' .* in fold 1 of 3: ValueError: no luck"
    ) as raised:
        StackingClassifier(members, cv=3).fit(*data())
    assert list(raised.value.fitted) == ["good"]


def test_failed_final_estimator_keeps_all_base_estimators() -> None:
    X, y = data()
    with pytest.raises(MemberError, match="Estimator 'final_estimator' .* failed to fit") as raised:
        StackingClassifier([("good", TREE)], Failing()).fit(X, y)
    assert raised.value.fitted["good"].score(X, y) > 0.8


@pytest.mark.parametrize("kind", [BlendingClassifier, StackingClassifier])
@pytest.mark.parametrize(
    ("way", "fragment"),
    [
        ("nan", "returned NaN or infinity in 1 of"),
        ("infinite", "returned NaN or infinity in"),
        ("rows", "returned an array of shape"),
        ("columns", "returned 4 columns for 2 classes"),
        ("scalar", "returned an array of shape ()"),
        ("text", "returned <U3, such as"),
    ],
)
def test_odd_predictions_are_refused_by_name(kind, way: str, fragment: str) -> None:
    with pytest.raises(MemberError) as raised:
        kind([("good", TREE), ("odd", Odd(way))]).fit(*data())
    assert "Estimator 'odd'" in str(raised.value) and fragment in str(raised.value)


def test_odd_predictions_in_predict() -> None:
    X, y = data()
    model = VotingClassifier([("good", TREE), ("odd", Odd("nan"))], voting="soft").fit(X, y)
    with pytest.raises(
        MemberError, match="Estimator 'odd' .* to predict: .* row 1 of its argument"
    ):
        model.predict(X)


# ---- parameters of base estimators ----


@every_kind
def test_base_estimators_are_parameters(kind) -> None:
    model = kind([("tree", TREE), ("boosted", BoostedTreesClassifier(quality="fast"))])
    params = model.get_params()
    assert params["tree"] is TREE and params["tree__max_depth"] == 2
    model.set_params(boosted__n_estimators=7, tree="drop", n_jobs=1)
    assert model.get_params()["boosted__n_estimators"] == 7
    model.fit(*data())
    assert model.named_estimators_["tree"] == "drop"
    assert [type(e).__name__ for e in model.estimators_] == ["BoostedTreesClassifier"]
    assert model.estimators_[0].n_estimators_ == 7
    copy = clone(model)
    assert copy.get_params()["boosted__n_estimators"] == 7
    assert copy.named_estimators["boosted"] is not model.named_estimators["boosted"]


def test_base_estimators_of_layers_are_parameters_too() -> None:
    model = StackingClassifier([("a", TREE)], layers=[[("b", TREE), ("c", TREE)]])
    model.set_params(b__max_depth=5, c="drop")
    assert model.get_params()["b__max_depth"] == 5
    model.fit(*data())
    assert [list(layer) for layer in model.layers_] == [["a"], ["b"]]
    with pytest.raises(ValueError, match="'a' is used more than once"):
        StackingClassifier([("a", TREE)], layers=[[("a", TREE)]]).fit(*data())


@every_kind
def test_given_estimators_are_not_modified(kind) -> None:
    tree = DecisionTreeClassifier(max_depth=2)
    kind([("a", tree), ("b", tree)]).fit(*data())
    assert not hasattr(tree, "forest_") and tree.n_jobs is None


# ---- weights and metadata ----


def test_weights_go_through_pipelines() -> None:
    X, y = data()
    w = np.where(y == 1, 5.0, 1.0)
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    model = StackingClassifier([("pipe", pipe), ("tree", TREE)]).fit(X, y, w)
    expected = clone(pipe).fit(X, y, logisticregression__sample_weight=w)
    assert np.array_equal(
        model.named_estimators_["pipe"].predict_proba(X), expected.predict_proba(X)
    )


@every_kind
def test_estimators_without_sample_weight_are_named(kind) -> None:
    X, y = data()
    members = [("tree", TREE), ("near", KNeighborsClassifier())]
    with pytest.raises(TypeError, match="KNeighborsClassifier does not .* 'near'"):
        kind(members).fit(X, y, np.ones(len(y)))


@every_kind
def test_routed_metadata(kind) -> None:
    X, y = data()
    w, groups = np.arange(1.0, len(y) + 1), np.arange(len(y)) % 12
    with sklearn.config_context(enable_metadata_routing=True):
        members = [
            ("tree", DecisionTreeClassifier(max_depth=2).set_fit_request(sample_weight=True)),
            ("near", KNeighborsClassifier()),
            (
                "pipe",
                make_pipeline(
                    StandardScaler().set_fit_request(sample_weight=False),
                    LogisticRegression().set_fit_request(sample_weight=True),
                ),
            ),
        ]
        more = {}
        if kind is StackingClassifier:
            from sklearn.model_selection import GroupKFold

            more = {"cv": GroupKFold(3)}
        model = kind(members, **more).fit(X, y, sample_weight=w, groups=groups)
        lonely = DecisionTreeClassifier(max_depth=2).fit(X, y, w)
        fitted = model.named_estimators_["tree"]
        assert fitted.fingerprint() == lonely.fingerprint()
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            kind([("tree", TREE)]).fit(X, y, sample_weight=w)


@every_kind
def test_other_metadata_needs_routing(kind) -> None:
    with pytest.raises(TypeError, match="'colour', which requires metadata routing"):
        kind([("tree", TREE)]).fit(*data(), colour="red")


def test_lists_of_documents_are_tables_too() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    texts = ["good fine day", "bad sad night", "fine good", "sad bad"] * 6
    y = ["up", "down"] * 12
    pipe = make_pipeline(CountVectorizer(), MultinomialNB())
    for kind in KINDS:
        model = kind([("bayes", pipe), ("again", pipe)]).fit(texts, y)
        assert model.predict(["a good day", "a sad night"]).tolist() == ["up", "down"]


# ---- parallel fits ----


@every_kind
@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_any_number_of_jobs_gives_the_same(kind, n_jobs) -> None:
    X, y = data(200)
    members = [
        ("a", DecisionTreeClassifier()),
        ("b", BoostedTreesClassifier(quality="fast", n_estimators=5)),
    ]
    more = {"random_state": 0} if kind is BlendingClassifier else {}
    models = [soft(kind, members, n_jobs=jobs, **more).fit(X, y) for jobs in (1, n_jobs)]
    assert np.array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert [member.n_jobs for member in models[1].estimators_] == [None, None]


def test_weald_estimators_share_the_cores() -> None:
    """Cores are divided among weald's own estimators, unless they set n_jobs."""
    from weald.ensembles.members.members import Job, workers_and_threads
    from weald.threads import thread_count

    cores = thread_count(None)
    free = [Job(str(i), DecisionTreeClassifier()) for i in range(4 * cores)]
    assert workers_and_threads(free, None) == (cores, 1)
    assert workers_and_threads(free[:1], None) == (1, None)
    assert workers_and_threads([*free, Job("own", DecisionTreeClassifier(n_jobs=1))], None) == (
        1,
        None,
    )
    assert workers_and_threads([*free, Job("other", Counting())], None) == (1, None)
    assert workers_and_threads(free, 2) == (2, None)
    assert workers_and_threads(free[:3], 10**9) == (3, None)


def test_prefit_requires_fitted_estimators() -> None:
    X, y = data()
    for model in (
        VotingClassifier([("a", TREE)], prefit=True),
        StackingClassifier([("a", TREE)], cv="prefit"),
    ):
        with pytest.raises(NotFittedError):
            model.fit(X, y)


def test_verbose_logs_every_fit(caplog) -> None:
    VotingClassifier([("a", TREE), ("b", TREE)], verbose=True, n_jobs=1).fit(*data())
    assert caplog.messages == [
        "a: fitted on all rows",
        "b: fitted on all rows",
    ]

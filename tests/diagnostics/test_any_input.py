"""Any model, table and target: a result of bounded size, or a clear error."""

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import weald

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest() -> Any:
    return weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(*CANCER)


# ---- wrong input ----


def test_unfitted() -> None:
    with pytest.raises(NotFittedError):
        weald.diagnose(weald.RandomForestClassifier(), *CANCER)
    with pytest.raises(TypeError, match="takes a fitted model"):
        weald.diagnose(weald.RandomForestClassifier, *CANCER)
    with pytest.raises(TypeError, match="takes a fitted model"):
        weald.diagnose("forest", *CANCER)


@pytest.mark.parametrize("look", [weald.diagnose, weald.report])
def test_models_of_other_tasks_and_tables_in_parts(look: Any, forest: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    times = weald.survival.target(np.ones(60), np.arange(60) + 1.0)
    survival = weald.RandomSurvivalForest(2).fit(X, times)
    with pytest.raises(TypeError, match="RandomSurvivalForest predicts censored times"):
        look(survival, X, times)
    ranks = np.arange(60) % 3
    ranker = weald.BoostedTreesRanker(n_estimators=2).fit(X, ranks, group=[10] * 6)
    with pytest.raises(TypeError, match="ranks the rows of queries"):
        look(ranker, X, ranks)
    parts, y = weald.parts([pd.DataFrame({"a": [1.0, 2.0], "b": [0, 1]})], target="b")
    with pytest.raises(TypeError, match="X is a table in parts"):
        look(forest, parts, y)


def test_other_rows_and_columns(forest: Any) -> None:
    X, y = CANCER
    with pytest.raises(ValueError, match="30 features"):
        weald.diagnose(weald.DecisionTreeClassifier().fit(X, y), X[:, :3], y)
    with pytest.raises(ValueError, match="must be the 569 rows of the fit"):
        weald.diagnose(forest, X[:300], y[:300])
    with pytest.raises(ValueError, match="must be the 569 rows of the fit"):
        weald.diagnose(forest, X, y[::-1])
    without_record = weald.RandomForestClassifier(30, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X must hold the rows of the fit"):
        weald.diagnose(without_record, X[:300], y[:300])
    theirs = sklearn.ensemble.RandomForestClassifier(30).fit(X, y)
    with pytest.raises(ValueError, match="must hold the training rows"):
        weald.diagnose(theirs, X[:300], y[:300])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        weald.diagnose(forest, X, y[:10])
    with pytest.raises(ValueError, match="label 5 in row 0, which is none of the 2 classes"):
        weald.diagnose(forest, X, y + 5)
    with pytest.raises(ValueError, match="needs y"):
        weald.diagnose(forest, X, None)
    with pytest.raises(ValueError, match="table of rows and columns"):
        weald.diagnose(forest, X[:, 0], y)
    with pytest.raises(ValueError, match="y_test was given without X_test"):
        weald.diagnose(forest, X, y, y_test=y)


def test_few_rows() -> None:
    X, y = CANCER
    tree = weald.DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="at least 10 rows to say anything; got 1"):
        weald.diagnose(tree, X[:1], y[:1])
    small = weald.DecisionTreeClassifier().fit(X[:12], y[:12])
    assert weald.diagnose(small, X[:12], y[:12]).n_used == 12


def test_several_outputs() -> None:
    X, y = load_diabetes(return_X_y=True)
    both = np.column_stack([y, y])
    model = weald.DecisionTreeRegressor().fit(X, both)
    with pytest.raises(ValueError, match="takes one output; y has the shape"):
        weald.diagnose(model, X, both)
    labels = weald.DecisionTreeClassifier().fit(X, both > 140)
    with pytest.raises(ValueError, match="takes models with one output"):
        weald.diagnose(labels, X, both > 140)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_repeats": 2}, {"n_repeats": -1}, {"cv": 1}, {"max_rows": 3}, {"learning_curve": 3},
        {"random_state": None}, {"n_jobs": 0},
    ],
)  # fmt: skip
def test_wrong_parameters(forest: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        weald.diagnose(forest, *CANCER, **wrong)


def test_groups_of_another_length(forest: Any) -> None:
    with pytest.raises(ValueError, match="groups must have one entry for each of the 569 rows"):
        weald.diagnose(forest, *CANCER, groups=[1, 2])


# ---- models ----


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(3),
        LinearSVC(),
        DummyClassifier(),
        weald.OptionTreeClassifier(max_depth=2),
        weald.VotingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier())]),
        weald.StackingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier())]),
        weald.BoostedTreesClassifier(n_estimators=5, n_bags=10),
        weald.GradientBoostingClassifier(n_estimators=5),
        weald.RotationForestClassifier(5, random_state=0),
        weald.AutoEnsembleClassifier(time_limit=None, max_models=1, portfolio="trees"),
        weald.BaggingClassifier(KNeighborsClassifier(), n_estimators=30, random_state=0),
        sklearn.ensemble.BaggingClassifier(n_estimators=30, max_features=0.5, random_state=0),
        sklearn.ensemble.GradientBoostingClassifier(n_estimators=5),
        sklearn.ensemble.HistGradientBoostingClassifier(max_iter=5),
        sklearn.ensemble.AdaBoostClassifier(n_estimators=5),
        sklearn.ensemble.VotingClassifier([("a", LogisticRegression()), ("b", LinearSVC())]),
    ],
    ids=lambda model: type(model).__module__.split(".")[0] + "." + type(model).__name__,
)
def test_any_classifier(model: Any) -> None:
    """Labels of text and a pandas frame, three classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["one", "two", "three"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, labels)
    found = weald.diagnose(model, X, labels, n_repeats=3, cv=3)
    assert [note for note in found.notes if "because each row is unseen" not in note] == []
    assert found.errors[found.source].n == 150
    assert str(found).startswith(f"Diagnosis of {type(model).__name__}: 3 classes, 150 rows")


def test_a_model_that_cannot_be_refitted() -> None:
    """It is diagnosed on rows that it was not fitted on."""

    class Mean:
        def predict(self, X: Any) -> Any:
            return np.full(len(X), 150.0)

    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="Cannot clone object .* refit=False"):
        weald.diagnose(Mean(), X, y)
    found = weald.diagnose(Mean(), X, y, refit=False)
    assert found.source == "held-out" and "training" not in found.errors
    assert found.bias_variance is None and found.notes == []
    assert {"no better than a constant", "worse than a forest"} <= {
        one.topic for one in found.findings
    }
    assert "held-out rows" in str(found)


def test_rows_that_were_not_fitted_on(forest: Any) -> None:
    X, y = CANCER
    half = weald.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X[:300], y[:300])
    found = weald.diagnose(half, X[300:], y[300:], refit=False)
    assert found.errors["held-out"].value == pytest.approx(
        (half.predict(X[300:]) != y[300:]).mean()
    )
    assert found.correlation.n_members == 30 and found.diversity is not None
    with pytest.raises(ValueError, match="leave out X_test"):
        weald.diagnose(half, X[300:], y[300:], refit=False, X_test=X, y_test=y)
    with pytest.raises(ValueError, match="refit"):
        weald.diagnose(half, X, y, refit="no")
    report = weald.report(half, X[300:], y[300:], diagnosis=found, n_examples=10)
    assert "held-out rows (unseen)" in report.html


def test_refits_that_fail_are_noted() -> None:
    class Once(LinearRegression):
        """Fits whole tables only: five folds of 442 rows, but no bootstrap sample of 295."""

        def fit(self, X: Any, y: Any) -> Any:
            if len(X) < 300:
                raise RuntimeError("too few rows for me")
            return super().fit(X, y)

    X, y = load_diabetes(return_X_y=True)
    found = weald.diagnose(Once().fit(X, y), X, y)
    assert found.bias_variance is None
    assert found.notes == ["refits, because of RuntimeError: too few rows for me"]
    assert "Not measured: refits" in str(found) and "Not measured: refits" in found.to_html()


# ---- tables ----


def test_many_classes() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 4)), np.arange(900) % 300
    found = weald.diagnose(weald.DecisionTreeClassifier().fit(X, y), X, y, n_repeats=3, cv=3)
    assert [one.topic for one in found.findings if one.severity == "critical"] == [
        "no better than a constant"
    ]
    assert len(str(found)) < 5000
    assert "labels in doubt" not in {one.topic for one in found.findings}


def test_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5000))
    y = (X[:, 7] > 0).astype(int)
    model = weald.DecisionTreeClassifier(max_depth=2).fit(X, y)
    found = weald.diagnose(model, X, y, n_repeats=0, cv=2)
    assert len(found.columns) == 5000
    assert max(found.columns, key=lambda one: one.skill).name == "column 7"
    assert len(str(found)) < 5000


def test_a_class_of_one_row() -> None:
    X, y = IRIS
    y = y.copy()
    y[0] = 9
    found = weald.diagnose(weald.RandomForestClassifier(30, random_state=0).fit(X, y), X, y)
    assert found.notes == []


def test_one_class() -> None:
    X, _ = IRIS
    y = np.zeros(150, dtype=int)
    found = weald.diagnose(weald.DecisionTreeClassifier().fit(X, y), X, y, n_repeats=3)
    assert found.errors["constant"].value == 0 and found.findings == []


def test_constant_target() -> None:
    X, _ = IRIS
    found = weald.diagnose(weald.DecisionTreeRegressor().fit(X, np.ones(150)), X, np.ones(150))
    assert [one.severity for one in found.findings if one.severity != "info"] == []


@pytest.mark.parametrize("library", ["polars", "pyarrow", "sparse", "list"])
def test_any_table(library: str) -> None:
    X, y = IRIS
    table: Any
    if library == "polars":
        import polars as pl

        table = pl.DataFrame(X, schema=list("abcd"))
    elif library == "pyarrow":
        import pyarrow as pa

        table = pa.table({name: X[:, i] for i, name in enumerate("abcd")})
    else:
        table = csr_matrix(X) if library == "sparse" else X.tolist()
    model = weald.DecisionTreeClassifier(max_depth=2).fit(table, y)
    found = weald.diagnose(model, table, y, X_test=table, y_test=y, n_repeats=3, cv=3)
    assert found.notes == [] and len(found.copies.in_test) == 150
    if library in ("polars", "pyarrow"):
        assert [one.name for one in found.columns] == list("abcd")


def test_text_dates_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=200), "t": rng.choice(["a", "b"], 200)})
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200) // 9, unit="D")
    frame["took"] = pd.to_timedelta(rng.integers(0, 99, 200), unit="s")
    frame["size"] = pd.Categorical(rng.choice(list("SML"), 200), list("SML"), ordered=True)
    frame.loc[::7, ["n", "t", "when", "took", "size"]] = None
    y = np.where(frame.t == "a", 1.0, 2.0) + rng.normal(size=200)
    found = weald.diagnose(weald.DecisionTreeRegressor(max_depth=2).fit(frame, y), frame, y)
    assert found.notes == []


def test_rows_are_sampled() -> None:
    X, y = CANCER
    tree = weald.DecisionTreeClassifier().fit(X, y)
    found = weald.diagnose(tree, X, y, max_rows=200, n_repeats=3)
    assert found.n_used == 200 and found.n_rows == 569
    assert found.errors["training"].n == 200
    assert "200 of them looked at" in str(found)
    flipped = y.copy()
    flipped[[5, 300]] ^= 1
    forest = weald.RandomForestClassifier(60, random_state=0).fit(X, flipped)
    some = weald.diagnose(forest, X, flipped, max_rows=400, n_repeats=0)
    assert 300 in some.doubtful.rows.tolist()  # the position in X, not in the sample


def test_groups_stay_together() -> None:
    """Ten noisy copies of each point: without groups the error looks much too low."""
    rng = np.random.default_rng(0)
    centres, labels = rng.normal(size=(40, 8)), rng.integers(0, 2, 40)
    X = np.repeat(centres, 10, axis=0) + 0.01 * rng.normal(size=(400, 8))
    y, groups = np.repeat(labels, 10), np.repeat(np.arange(40), 10)
    model = weald.DecisionTreeClassifier().fit(X, y)
    apart = weald.diagnose(model, X, y, n_repeats=0)
    together = weald.diagnose(model, X, y, groups=groups, n_repeats=0)
    assert apart.errors["cross-validation"].value < 0.02
    assert together.errors["cross-validation"].value > 0.3


def test_same_twice_and_for_any_row_order_of_folds() -> None:
    X, y = IRIS
    tree = weald.DecisionTreeClassifier().fit(X, y)
    first, second = (weald.diagnose(tree, X, y, n_repeats=3) for _ in range(2))
    assert str(first) == str(second)


def test_imported_on_first_use() -> None:
    code = (
        "import sys, weald; before = 'weald.diagnostics' in sys.modules; weald.diagnose; "
        "print(before, 'weald.diagnostics' in sys.modules, 'matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "False"]

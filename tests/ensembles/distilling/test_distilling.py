"""Distillation: any teacher, any table, fidelity on validation rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor as TheirBoosting
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import weald
from weald.ensembles.distilling.distilled import r2_estimate, share_estimate

KINDS = ["tree", "option_tree", "rules"]
FEW = {"n_samples": 800}


def diabetes() -> tuple[np.ndarray, ...]:
    """Whether the disease went on by more than 140: 300 rows to train, 142 to test."""
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    y = (progression > 140).astype(int)
    return X[:300], y[:300], X[300:], y[300:]


def forest() -> weald.RandomForestClassifier:
    X, y, _, _ = diabetes()
    return weald.RandomForestClassifier(20, random_state=0).fit(X, y)


def mixed(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 400, n),
            "paid": np.where(rng.random(n) < 0.6, 0.0, rng.exponential(5.0, n)),
            "city": pd.Categorical(rng.choice(["Bonn", "Köln", "Ulm"], n)),
            "word": rng.choice(["a", "b"], n).astype(object),
            "flag": rng.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "city"] = np.nan
    frame.loc[::11, "day"] = pd.NaT
    y = (frame["size"].fillna(0) + (frame["city"] == "Ulm") + frame["flag"] > 0.7).to_numpy()
    return frame, np.where(y, "yes", "no")


# ---- what comes of it ----


@pytest.mark.parametrize("student", KINDS)
def test_student_is_small_faithful_and_measured(student: str) -> None:
    X, _, X_val, y_val = diabetes()
    teacher = forest()
    clone = weald.distill(teacher, X, X_val=X_val, y_val=y_val, student=student, max_leaf_nodes=16)
    size = clone.model.get_n_rules() if student == "rules" else clone.model.get_n_leaves()
    assert 8 <= size <= 16
    agrees = clone.model.predict(X_val) == teacher.predict(X_val)
    assert clone.fidelity.value == agrees.mean() > 0.8
    assert clone.fidelity.low < clone.fidelity.value < clone.fidelity.high
    assert clone.fidelity.n == len(X_val)
    assert clone.unseen_by_teacher and clone.held_back is None
    assert clone.student_accuracy.value == (clone.model.predict(X_val) == y_val).mean()
    assert clone.teacher_accuracy.value == teacher.score(X_val, y_val)
    gap = np.abs(clone.model.predict_proba(X_val) - teacher.predict_proba(X_val))
    assert clone.gap == pytest.approx(gap.mean())
    assert clone.text() == clone.model.text() and "column" in clone.text()
    assert "on validation rows" in str(clone) and "student" in str(clone)
    # The worst row, and the worst region, are really the worst.
    assert gap.sum(axis=1)[clone.worst(1)[0]] == gap.sum(axis=1).max()
    regions = clone.regions(3)
    assert regions[0].rows * regions[0].disagreement >= regions[1].rows * regions[1].disagreement
    assert all("<=" in region.condition or ">" in region.condition for region in regions[:1])
    if student != "option_tree":
        whole = clone.regions(99)
        assert sum(region.rows for region in whole) == len(X_val)
        wrong = sum(region.rows * region.disagreement for region in whole)
        assert wrong == pytest.approx((~agrees).sum())


def test_student_is_fitted_to_probabilities() -> None:
    """If the teacher never predicts the second class, its labels are uninformative."""

    class Unsure:
        classes_ = np.array([0, 1])

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            share = 0.1 + 0.3 * (X[:, 0] > 0)
            return np.column_stack([1 - share, share])

        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X), dtype=int)

    X = np.random.default_rng(0).normal(size=(400, 2))
    clone = weald.distill(Unsure(), X, max_leaf_nodes=2)
    assert clone.model.forest_.feature[0] == 0 and abs(clone.model.forest_.threshold[0]) < 0.05
    np.testing.assert_allclose(sorted(clone.model.forest_.value[:, 1]), [0.1, 0.4], atol=2e-3)
    assert clone.fidelity.value == 1.0 and clone.gap < 0.02


def test_more_leaves_more_fidelity() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + X[:, 1]
    teacher = LinearRegression().fit(X, y)
    clone = weald.distill(teacher, X, X_val=rng.normal(size=(400, 2)))
    points = clone.curve([2, 8, 32, 128])
    assert [point.size for point in points] == [2, 8, 32, 128]
    values = [point.fidelity.value for point in points]
    assert values == sorted(values) and values[0] < 0.7 < 0.95 < values[-1] < 1
    assert all(point.accuracy is None for point in points)
    sixteen = clone.curve([16])[0]
    assert sixteen.fidelity == clone.fidelity


def test_student_beats_a_tree_fitted_on_the_data() -> None:
    """Few rows and a good model: predictions for synthetic rows improve the distilled tree."""
    rng = np.random.default_rng(2)
    X, X_test = rng.normal(size=(80, 2)), rng.normal(size=(2000, 2))
    teacher = LinearRegression().fit(X, X.sum(axis=1))
    clone = weald.distill(teacher, X, X_val=X_test, y_val=X_test.sum(axis=1), max_leaf_nodes=32)
    direct = weald.DecisionTreeRegressor(max_leaf_nodes=32).fit(X, X.sum(axis=1))
    assert clone.student_accuracy.low > direct.score(X_test, X_test.sum(axis=1)) + 0.01


def test_rows_are_held_out_without_x_val() -> None:
    X, y, _, _ = diabetes()
    clone = weald.distill(forest(), X, y, **FEW)
    held = clone.held_back
    assert 48 <= len(held) <= 72 and not clone.unseen_by_teacher
    assert clone.fidelity.n == len(held)
    assert clone.student_accuracy.value == (clone.model.predict(X[held]) == y[held]).mean()
    assert "rows held out from the student" in str(clone)
    assert weald.distill(forest(), X, **FEW).student_accuracy is None


# ---- the same again ----


@pytest.mark.parametrize("student", KINDS)
def test_order_of_rows_and_threads_change_nothing(student: str) -> None:
    X, _, X_val, _ = diabetes()
    teacher = forest()
    first = weald.distill(teacher, X, X_val=X_val, student=student, n_jobs=1, **FEW)
    order = np.random.default_rng(0).permutation(len(X))
    second = weald.distill(teacher, X[order], X_val=X_val, student=student, n_jobs=2, **FEW)
    assert first.model.fingerprint() == second.model.fingerprint()
    other = weald.distill(teacher, X, X_val=X_val, student=student, random_state=1, **FEW)
    assert first.model.fingerprint() != other.model.fingerprint()


def test_teacher_is_not_modified() -> None:
    X, _, _, _ = diabetes()
    teacher = forest()
    before = teacher.fingerprint()
    weald.distill(teacher, X, **FEW)
    assert teacher.fingerprint() == before


# ---- any teacher, any table ----


def test_models_of_scikit_learn_are_distilled() -> None:
    X, y, X_val, y_val = diabetes()
    for teacher in (
        TheirForest(20, random_state=0),
        make_pipeline(StandardScaler(), TheirForest(5, random_state=0)),
    ):
        clone = weald.distill(teacher.fit(X, y), X, X_val=X_val, y_val=y_val, **FEW)
        assert clone.fidelity.value > 0.75
    numbers = TheirBoosting(random_state=0).fit(X, X[:, 1] * X[:, 5])
    clone = weald.distill(numbers, X, X_val=X_val, max_leaf_nodes=64, **FEW)
    assert clone.fidelity.value > 0.85 and clone.gap > 0
    assert clone.regions(1)[0].disagreement > 0


def test_teacher_without_probabilities() -> None:
    X, y, X_val, y_val = diabetes()
    names = np.array(["well", "ill"])[y]
    teacher = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, names)
    clone = weald.distill(teacher, X, X_val=X_val, y_val=np.array(["well", "ill"])[y_val], **FEW)
    assert set(clone.model.classes_) == {"ill", "well"}
    assert clone.fidelity.value > 0.8 and clone.student_accuracy.value > 0.6


@pytest.mark.parametrize("student", KINDS)
def test_frames_with_all_kinds_of_columns(student: str) -> None:
    X, y = mixed()
    teacher = weald.BoostedTreesClassifier(quality="fast", n_estimators=20).fit(X, y)
    X_val, y_val = mixed(200, seed=1)
    clone = weald.distill(teacher, X, X_val=X_val, y_val=y_val, student=student, **FEW)
    assert clone.fidelity.value > 0.75
    assert "city" in clone.text() or "flag" in clone.text()
    assert all(region.condition for region in clone.regions())


def test_other_containers() -> None:
    X, y = mixed()
    numbers = X[["size", "count", "paid"]]
    for container in (
        pl.from_pandas(X),
        pl.from_pandas(X).to_arrow(),
        pl.from_pandas(X).lazy(),
        X.to_numpy(dtype=object),
        numbers.to_numpy(dtype=float).tolist(),
        sp.csr_matrix(np.nan_to_num(numbers.to_numpy(dtype=float))),
        np.asfortranarray(np.nan_to_num(numbers.to_numpy(dtype=np.float32))),
        numbers.fillna(0).to_numpy().astype(int),
    ):
        teacher = weald.BoostedTreesClassifier(quality="fast", n_estimators=5).fit(container, y)
        clone = weald.distill(teacher, container, y, **FEW)
        assert clone.fidelity.value > 0.6, type(container)


def test_numeric_categories_are_those_of_the_teacher() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 60, 500), rng.normal(size=500)]).astype(float)
    y = (X[:, 0] % 2 == 1).astype(int)
    teacher = weald.BoostedTreesClassifier(
        quality="fast", n_estimators=20, categorical_features=[0]
    ).fit(X, y)
    clone = weald.distill(teacher, X, max_leaf_nodes=2, n_samples=2000)
    assert clone.model.categorical_features == [0]
    assert clone.fidelity.value > 0.85 and "in {" in clone.text()
    with pytest.raises(ValueError, match="'categorical_features' parameter of distill"):
        weald.distill(teacher, X, categorical_features=3.5)


# ---- what cannot be ----


def test_bad_teachers() -> None:
    X, y, _, _ = diabetes()
    with pytest.raises(NotFittedError):
        weald.distill(weald.RandomForestClassifier(), X)
    with pytest.raises(NotFittedError):
        weald.distill(TheirForest(), X)
    with pytest.raises(TypeError, match="requires a fitted model with a predict method"):
        weald.distill(object(), X)
    with pytest.raises(TypeError, match="requires a fitted model with a predict method"):
        weald.distill(TheirForest, X)
    with pytest.raises(ValueError, match="one output; LinearRegression has 2"):
        weald.distill(LinearRegression().fit(X, np.column_stack([y, y])), X)
    with pytest.raises(ValueError, match="one output; .* has several"):
        weald.distill(TheirForest(3).fit(X, np.column_stack([y, y])), X)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 10"):
        weald.distill(forest(), X[:, :3])

    class Broken:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="NaN or infinity"):
        weald.distill(Broken(), X)


@pytest.mark.parametrize(
    ("parameters", "fragment"),
    [
        ({"student": "net"}, "'student' parameter of distill must be one of 'tree'"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes' parameter of distill"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf' parameter"),
        ({"n_samples": -1}, "'n_samples' parameter"),
        ({"smoothing": 1.5}, "'smoothing' parameter"),
        ({"validation_fraction": 0.0}, "'validation_fraction' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"y_val": [0]}, "y_val requires X_val"),
        ({"y": [0, 1]}, "y must have one value per row"),
        ({"X_val": [[0.0] * 8], "y": [0]}, "Pass y_val instead"),
        ({"X_val": [[0.0] * 8], "y_val": [7]}, "label 7 in row 0, which is no class"),
        ({"X_val": [[0.0] * 8], "y_val": [None]}, "label None in row 0, which is no class"),
        ({"X_val": np.zeros((0, 8))}, "X_val has no rows"),
        ({"X_val": [1.0]}, "X_val must be a table"),
    ],
)
def test_bad_arguments(parameters, fragment: str) -> None:
    with pytest.raises(ValueError, match=fragment):
        weald.distill(forest(), diabetes()[0], **{**FEW, **parameters})


def test_strange_tables() -> None:
    X = np.column_stack([np.full(60, 3.0), np.full(60, np.nan), np.arange(60.0)])
    teacher = weald.DecisionTreeClassifier().fit(X, np.arange(60) // 30)
    for student in KINDS:
        assert weald.distill(teacher, X, student=student, **FEW).fidelity.value > 0.9
        alone = weald.distill(teacher, X[:, :3], student=student, n_samples=0, smoothing=0.0)
        assert alone.n_synthetic == 0 and alone.fidelity.value > 0.9
    flat = X[:, :2]
    constant = weald.DecisionTreeClassifier().fit(flat, np.arange(60) % 2)
    for student in KINDS:
        clone = weald.distill(constant, flat, student=student, **FEW)
        assert clone.fidelity.value == 1.0 and len(clone.text().splitlines()) == 1
        assert clone.regions()[0].rows == clone.fidelity.n
    one_class = weald.DecisionTreeClassifier().fit(X, np.full(60, "only"))
    assert weald.distill(one_class, X, **FEW).model.predict(X).tolist() == ["only"] * 60
    flat_numbers = weald.DecisionTreeRegressor().fit(X, np.full(60, 2.0))
    assert weald.distill(flat_numbers, X, **FEW).fidelity.value == 1.0
    with pytest.raises(ValueError, match="1 row, of which none can be held out"):
        weald.distill(teacher, X[:1])
    assert weald.distill(teacher, X[:1], X_val=X, **FEW).fidelity.n == 60
    with pytest.raises(ValueError, match="sizes must be integers"):
        weald.distill(teacher, X, **FEW).curve([1])


# ---- the figures ----


def test_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(0)
    hits = [0, 0]
    for _ in range(300):
        share = share_estimate(rng.random(80) < 0.9)
        hits[0] += share.low <= 0.9 <= share.high
        x = rng.normal(size=400)
        r2 = r2_estimate(x + rng.normal(size=400) / 2, x)
        hits[1] += r2.low <= 0.8 <= r2.high
    assert all(0.92 <= hit / 300 <= 0.98 for hit in hits)
    certain = share_estimate(np.ones(50, dtype=bool))
    assert certain.value == certain.high == 1 and 0.9 < certain.low < 1

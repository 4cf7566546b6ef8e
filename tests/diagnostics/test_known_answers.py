"""Models and tables whose diagnosis is known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weald

FRIEDMAN = make_friedman1(600, noise=1.0, random_state=0)
CANCER = load_breast_cancer(return_X_y=True)


def topics(found: Any, *severities: str) -> set[str]:
    wanted = severities or ("critical", "warning")
    return {one.topic for one in found.findings if one.severity in wanted}


def diagnosed(model: Any, X: Any, y: Any, **kwargs: Any) -> Any:
    found = weald.diagnose(model.fit(X, y), X, y, **kwargs)
    assert all(np.isfinite(one.number) and one.text for one in found.findings)
    return found


# ---- bias and variance ----


def test_overfitted_tree() -> None:
    found = diagnosed(weald.DecisionTreeRegressor(), *FRIEDMAN)
    assert topics(found) == {"variance"}
    assert found.errors["training"].value == 0 < 8 < found.errors["cross-validation"].value
    (one,) = (one for one in found.findings if one.topic == "variance")
    parts = found.bias_variance
    assert one.number == pytest.approx(1 - parts.bias_and_noise / parts.error) and one.number > 0.5
    assert "Bag it" in one.advice


def test_overfitted_classifier() -> None:
    X, y = make_classification(1500, 20, n_informative=8, flip_y=0.2, random_state=0)
    found = diagnosed(weald.DecisionTreeClassifier(), X, y)
    assert {"variance", "overconfident"} <= topics(found)
    assert "bias" not in topics(found)


@pytest.mark.parametrize("n_classes", [0, 2])
def test_stump(n_classes: int) -> None:
    X, y = FRIEDMAN if n_classes == 0 else CANCER
    kind = weald.DecisionTreeClassifier if n_classes else weald.DecisionTreeRegressor
    found = diagnosed(kind(max_depth=1), X, y)
    assert "bias" in topics(found) and "variance" not in topics(found)
    (one,) = (one for one in found.findings if one.topic == "bias")
    assert 0 < one.number <= found.reference.gap.value
    assert "more flexible model" in one.advice


def test_line_through_a_curve() -> None:
    assert topics(diagnosed(LinearRegression(), *FRIEDMAN)) == {"bias"}


# ---- base estimators ----


def test_equal_base_estimators() -> None:
    bag = weald.BaggingClassifier(
        weald.DecisionTreeClassifier(max_depth=3), n_estimators=10, bootstrap=False
    )
    found = diagnosed(bag, *CANCER, n_repeats=0)
    assert found.correlation.rho == pytest.approx(1.0)
    assert found.diversity.q == found.diversity.kappa == 1.0
    assert found.diversity.disagreement == 0.0
    assert "equal base estimators" in topics(found)


def test_few_base_estimators() -> None:
    found = diagnosed(weald.BaggingRegressor(n_estimators=5, random_state=0), *FRIEDMAN)
    assert "few base estimators" in topics(found)
    (one,) = (one for one in found.findings if one.topic == "few base estimators")
    correlation = found.correlation
    now, twice = correlation.error(5), correlation.error(10)
    assert one.number == pytest.approx((now - twice) / now)
    many = diagnosed(weald.BaggingRegressor(n_estimators=100, random_state=0), *FRIEDMAN)
    assert "few base estimators" not in topics(many)
    # The promise is kept: five times as many lower the out-of-bag error by what was foretold.
    unseen = many.errors["out-of-bag"].value
    assert unseen == pytest.approx(correlation.error(100), rel=0.15)


def test_out_of_bag_errors_are_those_of_the_ledger() -> None:
    forest = weald.RandomForestClassifier(60, oob_score=True, random_state=0).fit(*CANCER)
    found = weald.diagnose(forest, *CANCER, n_repeats=0)
    assert found.errors["out-of-bag"].value == pytest.approx(forest.oob_.error())
    expected = weald.theory.error_correlation(forest, *CANCER)
    assert found.correlation.v == pytest.approx(expected.v)
    assert found.correlation.c == pytest.approx(expected.c)
    theirs = sklearn.ensemble.RandomForestClassifier(60, oob_score=True, random_state=0)
    found = diagnosed(theirs, *CANCER, n_repeats=0)
    assert found.source == "out-of-bag"
    assert 1 - found.errors["out-of-bag"].value == pytest.approx(theirs.oob_score_)


def test_edges() -> None:
    ada = weald.AdaBoostClassifier(n_estimators=40).fit(*CANCER)
    found = weald.diagnose(ada, *CANCER, n_repeats=0)
    np.testing.assert_allclose(found.edges, 0.5 - ada.estimator_errors_)
    assert "weak learners without an edge" not in topics(found)
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(600, 3)), rng.random(600) < 0.5
    useless = diagnosed(weald.AdaBoostClassifier(n_estimators=150), X, noise, n_repeats=0)
    assert {"weak learners without an edge", "no better than a constant"} <= topics(useless)
    digits = load_digits(return_X_y=True)
    several = weald.AdaBoostClassifier(n_estimators=20, form="samme").fit(*digits)
    found = weald.diagnose(several, *digits, n_repeats=0, max_rows=500)
    np.testing.assert_allclose(found.edges, 0.9 - several.estimator_errors_)


def test_rounds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 5))
    y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(800) < 0.2)
    many = diagnosed(weald.BoostedTreesClassifier(quality="fast", n_estimators=300), X, y)
    assert "too many rounds" in topics(many)
    assert many.rounds.values[many.rounds.best - 1] == many.rounds.values.min()
    few = weald.BoostedTreesRegressor(quality="fast", n_estimators=8, learning_rate=0.05)
    assert "too few rounds" in topics(diagnosed(few, *FRIEDMAN, n_repeats=3))


# ---- rows and columns ----


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["forest", "tree", "line"])
def test_flipped_labels(seed: int, kind: str) -> None:
    """Ten per cent of the labels are flipped; the diagnosis finds most of them, and few others."""
    X, y = make_classification(
        1500, 20, n_informative=8, class_sep=1.5, flip_y=0, random_state=seed
    )
    rng = np.random.default_rng(seed)
    is_wrong = np.zeros(1500, dtype=bool)
    is_wrong[rng.permutation(1500)[:150]] = True
    model = {
        "forest": weald.RandomForestClassifier(random_state=0),
        "tree": weald.DecisionTreeClassifier(),
        "line": LogisticRegression(),
    }[kind]
    found = diagnosed(model, X, np.where(is_wrong, 1 - y, y), n_repeats=0)
    rows = found.doubtful.rows
    # The table depends on the BLAS library in the last digits, and these figures with it.
    assert is_wrong[rows].mean() > 0.7  # precision
    assert is_wrong[rows].sum() / 150 > 0.6  # recall
    np.testing.assert_array_equal(found.doubtful.suggested, 1 - found.doubtful.given)
    assert (np.diff(found.doubtful.doubt) <= 0).all()
    assert "labels in doubt" in topics(found)
    clean = diagnosed(model, X, y, n_repeats=0)
    assert "labels in doubt" not in topics(clean)


def test_overlapping_classes_are_not_mislabelled() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = rng.random(1500) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    found = diagnosed(weald.RandomForestClassifier(random_state=0), X, y, n_repeats=0)
    assert "labels in doubt" not in topics(found)


def test_wrong_target_of_a_regression() -> None:
    X, y = FRIEDMAN
    y = y.copy()
    y[[3, 77]] += [500.0, -400.0]
    found = diagnosed(weald.RandomForestRegressor(random_state=0), X, y, n_repeats=0)
    assert found.doubtful.rows.tolist()[:2] == [3, 77]
    assert "targets in doubt" in topics(found, "info")


def test_leaks_are_named() -> None:
    rng = np.random.default_rng(0)
    n = 800
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})
    y = (frame.a + (frame.b == "x") + 0.3 * rng.normal(size=n) > 0.3).astype(int)
    frame["status"] = np.where(y == 1, "paid", "open")
    frame["score"] = y + 0.01 * rng.normal(size=n)
    found = diagnosed(weald.RandomForestClassifier(random_state=0), frame, y, n_repeats=0)
    leaks = [one.text for one in found.findings if one.topic == "leak"]
    assert len(leaks) == 2 and "'status'" in "".join(leaks) and "'score'" in "".join(leaks)
    skills = {one.name: one.skill for one in found.columns}
    assert skills["status"] == 1.0 and 0.3 < skills["a"] < 0.9 and skills["b"] < 0.6

    rare = (rng.random(n) < 0.03).astype(int)  # one row in thirty
    frame = frame[["a", "b"]].assign(flag=rare * 7.0)
    found = diagnosed(weald.RandomForestClassifier(random_state=0), frame, rare, n_repeats=0)
    assert "leak" in topics(found, "critical")

    heavy = np.exp(3 * frame.a.to_numpy())
    frame = frame.assign(total=np.log1p(heavy))
    found = diagnosed(weald.RandomForestRegressor(random_state=0), frame, heavy, n_repeats=0)
    assert {"'a'", "'total'"} == {
        one.text.split()[1] for one in found.findings if one.topic == "leak"
    }


def test_identifiers_are_named() -> None:
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {"a": rng.normal(size=n), "row": np.arange(n) + 1000, "amount": rng.integers(0, 10**7, n)}
    )
    frame["key"] = [f"K{i:05d}" for i in rng.permutation(n)]
    y = (frame.a > 0) ^ (rng.random(n) < 0.2)
    found = diagnosed(weald.DecisionTreeClassifier(), frame, y, n_repeats=0)
    named = {one.text.split()[1]: one for one in found.findings if one.topic == "identifier"}
    assert set(named) == {"'row'", "'key'"}
    assert named["'row'"].severity == "warning"  # the full tree splits on it


def test_copies() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 3)), 3, axis=0)
    y = (X[:, 0] > 0).astype(int)
    y[:9:3] ^= 1  # three rows differ from their copies
    found = diagnosed(
        weald.RandomForestClassifier(random_state=0), X, y, X_test=X[:40], y_test=y[:40]
    )
    assert len(found.copies.rows) == 200
    assert found.copies.conflicting.tolist() == list(range(9))
    assert found.copies.least_error == pytest.approx(3 / 300)
    assert {"copies", "test rows in the training rows"} <= topics(found)
    assert len(found.copies.in_test) == 40


def test_test_rows_of_another_kind() -> None:
    X, y = CANCER
    rng = np.random.default_rng(0)
    forest = weald.RandomForestClassifier(random_state=0).fit(X[:400], y[:400])
    same = weald.diagnose(forest, X[:400], y[:400], X_test=X[400:], y_test=y[400:], n_repeats=0)
    assert "test rows differ" not in topics(same)
    others = rng.permuted(X[400:], axis=0)
    found = weald.diagnose(forest, X[:400], y[:400], X_test=others, y_test=y[400:], n_repeats=0)
    assert "test rows differ" in topics(found)
    gap = found.errors["test"].value - found.errors["out-of-bag"].value
    (one,) = (one for one in found.findings if one.topic == "test rows differ")
    assert one.number == pytest.approx(gap)


def test_calibration() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 0]))
    good = diagnosed(LogisticRegression(), X, y, n_repeats=0)
    assert good.calibration.error < good.calibration.limit
    assert topics(good) == set()
    sure = diagnosed(weald.DecisionTreeClassifier(), X, y, n_repeats=0)
    assert sure.calibration.gap > 0.2 and "overconfident" in topics(sure)


def test_learning_curve() -> None:
    found = diagnosed(
        weald.DecisionTreeRegressor(min_samples_leaf=5), *FRIEDMAN, n_repeats=0, learning_curve=True
    )
    curve = found.learning_curve
    assert curve.n_rows.tolist() == [100, 200, 400]
    assert curve.errors[0].value > curve.errors[2].value
    assert "more rows" in topics(found, "info")


# ---- no false alarms ----


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (weald.RandomForestClassifier(random_state=0), CANCER),
        (weald.RandomForestRegressor(random_state=0), FRIEDMAN),
        (weald.BoostedTreesClassifier(quality="fast", n_estimators=60), CANCER),
        (weald.AdaBoostClassifier(n_estimators=80), CANCER),
        (weald.ExtraTreesClassifier(random_state=0), CANCER),
        (make_pipeline(StandardScaler(), LogisticRegression()), CANCER),
        (sklearn.ensemble.RandomForestClassifier(random_state=0), CANCER),
        (weald.RandomForestClassifier(random_state=0), load_digits(return_X_y=True)),
    ],
    ids=["forest", "regression", "boosted", "ada", "extra", "line", "sklearn", "digits"],
)
def test_good_models(model: Any, rows: Any) -> None:
    found = diagnosed(model, *rows, max_rows=700)
    assert topics(found) == set(), found
    assert found.notes == []

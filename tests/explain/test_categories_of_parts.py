"""Shapley values of ensembles whose base estimators receive the codes of categories."""

import numpy as np
import pytest

import weald
from weald.explain import shap

pd = pytest.importorskip("pandas")


def table(n: int) -> "pd.DataFrame":
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("abcdef"), n), "km": rng.normal(size=n)})
    frame.loc[::17, "city"] = None
    return frame


def test_adaboost_of_own_trees_is_exact() -> None:
    frame = table(300)
    y = frame["city"].isin(["b", "e"]) ^ (frame["km"] > 0.5)
    base = weald.DecisionTreeClassifier(max_depth=2)
    model = weald.AdaBoostClassifier(base, n_estimators=4).fit(frame, y)
    explained = shap(model, frame)
    assert explained.is_exact
    total = explained.base_values + explained.values.sum(axis=1)
    assert np.ravel(total) == pytest.approx(model.decision_function(frame), abs=1e-9)
    assert np.abs(explained.values[:, 0]).max() > 0.01

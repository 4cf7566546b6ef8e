"""Rule lists: the first matching rule predicts, and texts describe the rules."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from weald.ensembles import RuleListClassifier, RuleListRegressor


def table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.integers(0, 30, n).astype(float),
            "b": rng.integers(0, 30, n).astype(float),
            "c": pd.Categorical(rng.choice(["u", "v", "w"], n)),
        }
    )
    X.loc[::8, "a"] = np.nan
    y = ((X["a"].fillna(0) > 12) & (X["b"] < 20)) | (X["c"] == "w")
    return X, np.where(y, "in", "out")


def meets(X: pd.DataFrame, conditions: str) -> np.ndarray:
    """Read the words of a rule again."""
    fits = np.ones(len(X), dtype=bool)
    for one in conditions.split(" and "):
        name, rest = one.split(" ", 1)
        x = X[name]
        if "{" in rest:
            levels = rest[rest.index("{") + 1 : -1].split(", ")
            fits &= (x.isin(levels) != rest.startswith("not")).to_numpy()
        elif rest in ("is not missing", "is missing"):
            fits &= (x.isna() == (rest == "is missing")).to_numpy()
        else:
            sign, bound = rest.split(" ")[:2]
            holds = x <= float(bound) if sign == "<=" else x > float(bound)
            fits &= np.where(x.isna(), rest.endswith("or missing"), holds)
    return fits


@pytest.mark.parametrize("most", [2, 5, 12])
def test_first_matching_rule_predicts(most: int) -> None:
    X, y = table()
    rules = RuleListClassifier(max_rules=most, min_samples_leaf=3).fit(X, y)
    assert 2 <= rules.get_n_rules() <= most
    left = np.ones(len(X), dtype=bool)
    for rule in range(rules.get_n_rules()):
        last = rule == rules.get_n_rules() - 1
        here = left if last else left & meets(X, rules.conditions(rule))
        assert (rules.rule_of(X) == rule).tolist() == here.tolist()
        assert rules.weight_[rule] == here.sum() >= 3
        counts = [(y[here] == label).mean() for label in rules.classes_]
        np.testing.assert_allclose(rules.answer_[rule], counts)
        left &= ~here
    lines = rules.text().splitlines()
    assert len(lines) == rules.get_n_rules()
    assert lines[0].startswith("if ") and lines[-1].startswith("else ")
    assert rules.score(X, y) > 0.7


def test_more_rules_fit_better() -> None:
    X, y = table()
    scores = [RuleListClassifier(max_rules=n).fit(X, y).score(X, y) for n in (1, 3, 8)]
    assert scores == sorted(scores) and scores[-1] > 0.95 > scores[0]
    numbers = X["b"].to_numpy() ** 2
    scores = [RuleListRegressor(max_rules=n).fit(X, numbers).score(X, numbers) for n in (1, 3, 8)]
    assert scores == sorted(scores) and abs(scores[0]) < 1e-12 and scores[-1] > 0.9


def test_rows_in_any_order_and_weights_of_any_scale() -> None:
    X, y = table()
    weight = np.random.default_rng(2).integers(0, 4, len(X))
    order = np.random.default_rng(1).permutation(len(X))
    for own in (None, weight):
        one = RuleListClassifier(n_jobs=1).fit(X, y, own)
        shuffled = None if own is None else own[order]
        two = RuleListClassifier(n_jobs=2).fit(X.iloc[order], y[order], shuffled)
        assert one.fingerprint() == two.fingerprint()
    scaled = RuleListClassifier().fit(X, y, weight * 4)
    assert scaled.fingerprint() == one.fingerprint()
    assert np.array_equal(scaled.weight_, 4 * one.weight_)


def test_weights_are_repetitions_where_no_row_is_counted() -> None:
    X, y = table()
    X = X[["a", "b"]]
    weight = np.arange(len(X)) % 3
    again = np.repeat(np.arange(len(X)), weight)
    rules = RuleListClassifier(min_samples_leaf=1).fit(X, y, weight)
    repeated = RuleListClassifier(min_samples_leaf=1).fit(X.iloc[again], y[again])
    assert rules.fingerprint() == repeated.fingerprint()
    assert np.array_equal(rules.weight_, repeated.weight_)


def test_min_samples_leaf_counts_rows_not_weights() -> None:
    X, y = table()
    rules = RuleListClassifier(min_samples_leaf=40).fit(X, y, np.where(np.arange(300) < 30, 100, 1))
    assert rules.get_n_rules() > 1
    assert np.bincount(rules.rule_of(X)).min() >= 40


@pytest.mark.parametrize("rules", [RuleListClassifier, RuleListRegressor])
@pytest.mark.parametrize("fewest", [1, 5])
def test_scikit_learn_checks(rules: type, fewest: int) -> None:
    for model, check in estimator_checks_generator(rules(min_samples_leaf=fewest)):
        name = getattr(check, "func", check).__name__
        # min_samples_leaf counts rows as they are given, whatever they weigh.
        if fewest == 1 or not name.startswith("check_sample_weight_equivalence"):
            check(model)


def test_bad_rules() -> None:
    X, y = table()
    for wrong in ({"max_rules": 0}, {"max_conditions": 0}, {"min_samples_leaf": 0}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RuleListClassifier(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="tree must be 0"):
        RuleListClassifier().fit(X, y).text(1)

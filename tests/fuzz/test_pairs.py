"""Random pairs of parameters of every estimator; the same cases in every run.

`make fuzz-api` goes on for as long as it is told to. A failure prints a program that shows it.
"""

import inspect
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

import weald
from contract.subjects import EVERY_ESTIMATOR
from fuzz.cases import Case
from fuzz.choices import LEFT_OUT, values_of
from fuzz.invariants import INVARIANTS
from fuzz.run import checked

every_estimator = pytest.mark.parametrize("estimator", EVERY_ESTIMATOR)
N_CASES = 8


@every_estimator
def test_pairs_of_parameters(estimator: type) -> None:
    seen: Counter[str] = Counter()
    failures = [
        failure
        for seed in range(N_CASES)
        for failure in checked(Case(estimator.__name__, seed), seen)
    ]
    assert not failures, "\n".join(failures)
    assert seen["refused"] < N_CASES
    assert seen["threads"] == seen["pickled"] == N_CASES - seen["refused"]


def test_most_cases_are_fitted_and_every_invariant_is_checked() -> None:
    seen: Counter[str] = Counter()
    names = [estimator.__name__ for estimator in EVERY_ESTIMATOR]
    for name in names:
        case = Case(name, 0)
        seen["refused"] += case.is_refused
        for invariant in ("container", "whole_weights", "probabilities"):
            try:
                seen[invariant] += not case.is_refused and INVARIANTS[invariant](case)
            except AssertionError:  # test_pairs_of_parameters says so
                seen[invariant] += 1
    assert seen["refused"] < 0.4 * len(names)
    assert seen["container"] > 0.4 * len(names)
    assert seen["probabilities"] > 0.6 * len(names)
    assert seen["whole_weights"] > 0.2 * len(names)


@every_estimator
def test_every_parameter_is_drawn_or_left_out_with_a_reason(estimator: type) -> None:
    parameters = set(inspect.signature(estimator).parameters)
    single = {"criterion"} & {  # one value: there is no other
        name
        for name, limit in estimator._limits.items()
        if len(getattr(limit, "values", "..")) == 1
    }
    assert parameters - set(LEFT_OUT) - single == set(values_of(estimator))


def test_tables_have_more_values_than_bins() -> None:
    for seed in range(5):
        table = Case("BoostedTreesRegressor", seed).table
        first = table.X.iloc[:, 0] if table.has_text else table.X[:, 0]
        assert len(np.unique(first)) > 255


# ---- the checks themselves ----


class DependsOnOrder(weald.DecisionTreeClassifier):
    """Does not look at the last row."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        weight = None if sample_weight is None else sample_weight[:-1]
        return super().fit(X[:-1], y[:-1], weight)


class DependsOnThreads(weald.DecisionTreeClassifier):
    """One leaf more for every thread."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.max_leaf_nodes = 2 + (self.n_jobs or 1)
        return super().fit(X, y, sample_weight)


class DependsOnTheBatch(weald.DecisionTreeClassifier):
    """Predictions depend on the number of rows, and do not sum to 1."""

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X) / (1 + 1e-9 * len(X))


class DependsOnTheScale(weald.DecisionTreeClassifier):
    """Heavy rows make deep trees."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        total = 1.0 if sample_weight is None else float(np.sum(sample_weight))
        self.max_leaf_nodes = 2 + int(total) % 7
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("kind", "invariants"),
    [
        (DependsOnOrder, {"order_of_rows"}),
        (DependsOnThreads, {"threads"}),
        (DependsOnTheBatch, {"row_by_row", "probabilities"}),
        (DependsOnTheScale, {"scaled_weights", "whole_weights"}),
    ],
)
def test_broken_estimators_are_found(
    kind: type, invariants: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weald, kind.__name__, kind, raising=False)
    found = set()
    for seed in range(12):
        case = Case(kind.__name__, seed)
        if case.is_refused or case.table.has_text:
            continue
        for name, invariant in INVARIANTS.items():
            try:
                invariant(case)
            except AssertionError:
                found.add(name)
    assert invariants <= found


def test_the_program_that_shows_a_failure_runs() -> None:
    case = Case("DecisionTreeRegressor", 0)
    program = case.code("threads").split("<<'END'\n")[1].removesuffix("END")
    paths = [path for path in sys.path if path.endswith("tests")]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{program}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert "DecisionTreeRegressor" in run.stdout

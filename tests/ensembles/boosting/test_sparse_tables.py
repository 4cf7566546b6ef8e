"""Boosted trees of sparse tables, whose codes are kept in lists: models of the dense tables."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from native.instructions import run_with
from weald import BoostedTreesClassifier, BoostedTreesRegressor, _native
from weald.data import ListedTable, sparse_binning
from weald.ensembles.boosted_trees import early_stopping
from weald.trees import growing

N = 900


@pytest.fixture(autouse=True)
def _any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_binning, "_MOST_STORED", 1.0)


def table_of(kind: str) -> Any:
    """Stored are counts, or numbers of both signs, zeros and missing values; a column is empty."""
    rng = np.random.default_rng(1)
    stored = rng.random((N, 40)) < 0.08
    values = 1.0 + rng.poisson(1.0, stored.shape)
    if kind == "numbers":
        values = rng.normal(size=stored.shape)
        values[rng.random(stored.shape) < 0.1] = 0.0
        values[rng.random(stored.shape) < 0.1] = np.nan
    stored[:, 7] = False
    stored[:, 9] = True
    rows, columns = np.nonzero(stored)
    return sparse.csr_matrix((values[stored], (rows, columns)), shape=stored.shape)


def target_of(table: Any, classes: int = 0) -> np.ndarray:
    rng = np.random.default_rng(2)
    dense = np.nan_to_num(np.clip(table.toarray(), -3, 3), nan=0.5)
    y = dense @ rng.normal(size=dense.shape[1]) + rng.normal(size=N)
    return y if classes == 0 else np.argsort(np.argsort(y)) * classes // N


def assert_same_models(
    table: Any, y: np.ndarray, monkeypatch: pytest.MonkeyPatch, fitted: Any = None, **settings: Any
) -> None:
    """Of the sparse table in each format and of the dense one, of 1 and 2 threads."""
    kind = BoostedTreesClassifier if y.dtype.kind == "i" else BoostedTreesRegressor
    seen = []
    grower = growing.TreeGrower.__init__

    def spy(self: Any, binned: Any, *args: Any, **more: Any) -> None:
        seen.append(type(binned))
        grower(self, binned, *args, **more)

    monkeypatch.setattr(growing.TreeGrower, "__init__", spy)
    settings = {"n_estimators": 8, "random_state": 3, **settings}
    dense = kind(**settings, n_jobs=1).fit(table.toarray(), y, **(fitted or {}))
    assert ListedTable not in seen
    assert dense.forest_.n_trees > 0
    for X, n_jobs in ((table, 1), (table.tocsc(), 2), (table.tocoo(), 1)):
        seen.clear()
        model = kind(**settings, n_jobs=n_jobs).fit(X, y, **(fitted or {}))
        assert set(seen) == {ListedTable}
        assert model.fingerprint() == dense.fingerprint()
        assert np.array_equal(model.predict(table), dense.predict(table.toarray()))
        assert np.array_equal(model.train_loss_, dense.train_loss_)


@pytest.mark.parametrize("kind", ["counts", "numbers"])
@pytest.mark.parametrize("classes", [0, 2, 5])
@pytest.mark.parametrize("quality", ["fast", "default"])
def test_tasks(kind: str, classes: int, quality: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(kind)
    assert_same_models(table, target_of(table, classes), monkeypatch, quality=quality)


@pytest.mark.parametrize(
    "settings",
    [
        {"subsample": 0.5},
        {"early_stopping": True, "validation_fraction": 0.2, "n_iter_no_change": 2},
        {"monotonic_cst": np.resize([1, 0, -1], 40)},
        {"max_bins": 2},
        {"max_bins": 5},
        {"min_samples_leaf": 1, "max_leaf_nodes": 60},
        {"min_samples_leaf": 100},
        {"max_features": 0.3},
        {"growth": "depth_wise", "max_depth": 4},
        {"loss": "absolute_error"},
        {"n_bags": 3},
    ],
)
def test_settings(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("numbers")
    assert_same_models(table, target_of(table), monkeypatch, **settings)


def test_classes_of_vector_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("numbers")
    assert_same_models(
        table, target_of(table, 4), monkeypatch, multi_class="vector_leaves", quality="fast"
    )


@pytest.mark.parametrize("quality", ["fast", "default"])
def test_sample_weights(quality: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("numbers")
    weight = np.random.default_rng(5).choice([0.0, 1e-9, 0.5, 1.0, 30.0], N)
    assert_same_models(
        table, target_of(table, 2), monkeypatch, {"sample_weight": weight}, quality=quality
    )


def test_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("counts")
    for n in (2, 30):
        y = np.arange(n) * 1.0
        dense = BoostedTreesRegressor(quality="fast", min_samples_leaf=1, n_estimators=3)
        expected = dense.fit(table[:n].toarray(), y).fingerprint()
        assert dense.fit(table[:n], y).fingerprint() == expected


def test_symmetric_trees_and_many_bins_read_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("numbers")
    y = target_of(table)
    for settings in ({"growth": "symmetric", "max_depth": 3}, {"max_bins": 300}, {"exact": True}):
        model = BoostedTreesRegressor(quality="fast", n_estimators=3, **settings)
        expected = model.fit(table.toarray(), y).fingerprint()
        assert model.fit(table, y).fingerprint() == expected


def test_loss_of_some_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that most columns do not tell apart are drawn by all values, in any order."""
    monkeypatch.setattr(early_stopping, "TRAIN_LOSS_ROWS", 200)
    table = sparse.hstack([sparse.csr_matrix((N, 20)), table_of("counts")], format="csr")
    y = target_of(table, 2)
    model = BoostedTreesClassifier(quality="fast", n_estimators=4)
    some = model.fit(table, y).train_loss_
    assert np.array_equal(model.fit(table.toarray(), y).train_loss_, some)
    order = np.random.default_rng(1).permutation(N)
    assert np.array_equal(model.fit(table[order], y[order]).train_loss_, some)
    monkeypatch.setattr(early_stopping, "TRAIN_LOSS_ROWS", 10**6)
    all_ = model.fit(table, y).train_loss_
    assert some == pytest.approx(all_, rel=0.5)
    assert not np.array_equal(some, all_)


@pytest.mark.parametrize("instructions", _native.runnable_instructions())
def test_each_instruction_set(instructions: str) -> None:
    run_with(
        instructions,
        """
import numpy as np
from ensembles.boosting.test_sparse_tables import sparse_binning, table_of, target_of
from weald import BoostedTreesClassifier
sparse_binning._MOST_STORED = 1.0
table = table_of("numbers")
model = BoostedTreesClassifier(n_estimators=6, random_state=0, n_jobs=2)
y = target_of(table, 2)
assert model.fit(table, y).fingerprint() == model.fit(table.toarray(), y).fingerprint()
""",
    )

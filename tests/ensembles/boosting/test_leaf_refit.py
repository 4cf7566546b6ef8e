"""Leaves estimated anew on all rows after a fraction was held out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor
from weald.ensembles.boosted_trees.booster import BoostingRun
from weald.ensembles.boosted_trees.leaf_refit import LeafRefit
from weald.ensembles.boosted_trees.trained_state import trees_of_booster
from weald.ensembles.staging import staged_scores
from weald.trees import TreeLimits


def data(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 5


def stopped(kind, **parameters):
    settings = {"quality": "fast", "n_estimators": 40, "min_samples_leaf": 5}
    return kind(**{**settings, "early_stopping": True, "random_state": 0, **parameters})


def refit_leaves(forest, training, loss, **settings):
    """The plain twin of the refit during training: trees are applied to the rows afterwards."""
    refit = LeafRefit(training, loss, **settings)
    refit.add_forest(forest)
    return refit.refitted(forest)


def refit_after(run: BoostingRun, forest, training):
    return refit_leaves(
        forest,
        training,
        run._loss,
        learning_rate=float(run._settings.learning_rate),
        limits=run._limits,
        fraction=run._settings.subsample,
        n_threads=1,
    )


LOSSES = ["squared_error", "absolute_error", "huber", "poisson", "gamma", "tweedie"]


def test_splits_stay_and_leaf_values_change() -> None:
    X, y = data()
    model = stopped(BoostedTreesRegressor).fit(X, y)
    before = model._state.forest.part(0, model.forest_.n_trees)
    for name in ("feature", "threshold", "right", "missing_left", "gain"):
        assert np.array_equal(getattr(model.forest_, name), getattr(before, name))
    assert not np.array_equal(model.forest_.value, before.value)
    assert model.forest_.base_score[0] == pytest.approx(y.mean(), rel=1e-14)
    assert before.base_score[0] != model.forest_.base_score[0]


def test_first_leaves_by_hand() -> None:
    X, y = data()
    model = stopped(BoostedTreesRegressor, n_estimators=1, l2_regularization=2.0).fit(X, y)
    leaf = model._leaves(X)[:, 0]
    for number, value in enumerate(model.forest_.value[:, 0]):
        own = y[leaf == number] - y.mean()
        assert value == pytest.approx(0.1 * own.sum() / (len(own) + 2.0), rel=1e-12)
    assert model.forest_.weight[model.forest_.feature < 0].tolist() == np.bincount(leaf).tolist()
    assert model.forest_.weight[0] == 400


def check_leaves(model, *given) -> None:
    """Fit, and look whether the rows of the fit give its leaves again."""
    checked = []
    train = BoostingRun._train

    def trained(self):
        stopped_by = train(self)
        forest = self.state().forest
        again = refit_after(self, forest, self._training)
        assert np.array_equal(again.value, forest.value)
        assert np.array_equal(again.base_score, forest.base_score)
        assert again.weight == pytest.approx(forest.weight, rel=1e-12)
        checked.append(forest)
        return stopped_by

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoostingRun, "_train", trained)
        model.fit(*given)
    assert checked


@pytest.mark.parametrize("subsample", [1.0, 0.6])
@pytest.mark.parametrize("weights", [None, "whole", "other"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_rows_give_the_same_leaves(loss: str, weights, subsample: float) -> None:
    """The rows that the trees were grown on give back every bit of their leaves."""
    X, y = data(200)
    rng = np.random.default_rng(1)
    weight = {"whole": rng.integers(0, 4, 200), "other": rng.random(200) + 0.1}.get(weights)
    y = y if loss in LOSSES[:3] else y - y.min() + 0.1
    model = BoostedTreesRegressor(
        quality="fast",
        loss=loss,
        n_estimators=5,
        min_samples_leaf=5,
        l2_regularization=0.5,
        subsample=subsample,
    )
    model.set_params(random_state=0)
    check_leaves(model, X, y, weight)


def test_the_same_rows_give_the_same_leaves_of_classes() -> None:
    X, y = data(300)
    y = np.digitize(y, [-0.5, 0.5])
    check_leaves(BoostedTreesClassifier(quality="fast", n_estimators=5), X, y)


def check_twin(model, *given, **metadata) -> None:
    """Fit, and compare with the twin each booster's leaves that were refitted on the way."""
    checked = []
    refitted = BoostingRun._refitted

    def compared(self, forest):
        found = refitted(self, forest)
        for k, training in enumerate(self._boosters.trainings):
            trees = trees_of_booster(forest, k, self._n_boosters, self._loss)
            twin, own = refit_after(self, forest.picked(trees), training), found.picked(trees)
            for name in ("value", "weight", "base_score"):
                assert np.array_equal(getattr(own, name), getattr(twin, name)), name
            assert not np.array_equal(own.value, forest.picked(trees).value)
        checked.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoostingRun, "_refitted", compared)
        model.fit(*given, **metadata)
    assert checked
    assert checked[0].n_trees > 1


@pytest.mark.parametrize("n_bags", [None, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_trees_are_refitted_as_if_applied_to_the_rows(loss: str, n_bags) -> None:
    X, y = data()
    X[::7, 0] = np.nan
    y = y if loss in LOSSES[:3] else y - y.min() + 0.1
    weight = np.random.default_rng(1).random(400) + 0.1
    for more in ({}, {"subsample": 0.7}, {"l2_regularization": 0.5, "l1_regularization": 0.1}):
        model = stopped(BoostedTreesRegressor, loss=loss, n_bags=n_bags, **more)
        check_twin(model, X, y, weight)


@pytest.mark.parametrize("n_bags", [None, 3])
@pytest.mark.parametrize("multi_class", ["tree_per_class", "vector_leaves"])
def test_classes_are_refitted_as_if_applied_to_the_rows(multi_class: str, n_bags) -> None:
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcde"))
    table["a"] = np.where(X[:, 0] > 0, "up", "down")
    table["b"] = np.array(list("pqrstuvwxyz"))[np.digitize(X[:, 1], np.linspace(-2, 2, 9))]
    classes = np.digitize(y, [-0.5, 0.5])
    model = stopped(BoostedTreesClassifier, multi_class=multi_class, n_bags=n_bags)
    check_twin(model, table, classes)
    check_twin(stopped(BoostedTreesClassifier, n_bags=n_bags), table, classes > 0)


@pytest.mark.parametrize("more", [{"monotonic_cst": [-1, 0, 0, 0, 0]}, {"exact": True}])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_other_trees_are_refitted_as_if_applied_to_the_rows(loss: str, more) -> None:
    check_twin(stopped(BoostedTreesRegressor, loss=loss, **more), *data())


def test_many_rows_are_refitted_as_if_applied(monkeypatch) -> None:
    X, y = data(2_000)
    monkeypatch.setattr("weald.ensembles.rounds.tree_learners._MANY_ROWS", 100)
    check_twin(stopped(BoostedTreesClassifier, n_jobs=2), X, y > 0)


def test_a_continued_fit_refits_its_earlier_rounds() -> None:
    X, y = data()
    for n_bags in (None, 3):
        patient = {"n_iter_no_change": 100, "n_bags": n_bags}
        whole = stopped(BoostedTreesRegressor, **patient).fit(X, y).fingerprint()
        model = stopped(BoostedTreesRegressor, n_estimators=25, warm_start=True, **patient)
        model.fit(X, y)
        check_twin(model.set_params(n_estimators=40), X, y)
        assert model.fingerprint() == whole


@pytest.mark.parametrize("more", [{}, {"subsample": 0.7}])
def test_order_scale_of_weights_and_threads_do_not_matter(more) -> None:
    X, y = data(200)
    X, y = np.concatenate([X, X[:60]]), np.concatenate([y, y[:60]])
    rng = np.random.default_rng(1)
    weight, order = rng.integers(0, 4, 260), rng.permutation(260)
    model = stopped(BoostedTreesRegressor, min_child_weight=0.0, **more)
    whole = model.fit(X, y, weight).fingerprint()
    assert model.fit(X[order], y[order], weight[order]).fingerprint() == whole
    assert model.fit(X, y, weight * 4).fingerprint() == whole
    assert model.set_params(n_jobs=2).fit(X, y, weight).fingerprint() == whole
    kept = weight > 0
    assert model.fit(X[kept], y[kept], weight[kept]).fingerprint() == whole


def test_frames_are_read_in_pieces(monkeypatch) -> None:
    X, y = data()
    table = pd.DataFrame(X, columns=list("abcde"))
    table["a"] = np.where(X[:, 0] > 0, "up", "down")
    whole = stopped(BoostedTreesRegressor).fit(table, y)
    monkeypatch.setattr("weald.ensembles.staging._DENSE_VALUES", 50)
    monkeypatch.setattr("weald.ensembles.boosted_trees.leaf_refit.KNOWN_LEAVES", 900)
    monkeypatch.setattr("weald.ensembles.staging.KNOWN_LEAVES", 900)
    pieces = stopped(BoostedTreesRegressor).fit(table, y)
    assert pieces.fingerprint() == whole.fingerprint()
    *_, last = pieces.staged_predict(table)
    *_, one = whole.staged_predict(table)
    assert np.array_equal(last, one)


def test_a_model_of_no_rounds_starts_at_all_rows() -> None:
    y = np.random.default_rng(0).normal(size=60)
    model = stopped(BoostedTreesRegressor).fit(np.zeros((60, 1)), y)
    assert model.n_estimators_ == 0
    assert model.predict([[0.0]])[0] == pytest.approx(y.mean(), rel=1e-14)


def fitted(kind, y, **parameters):
    """A forest and what it was grown from."""
    caught = []
    train = BoostingRun._train

    def trained(self):
        stopped_by = train(self)
        caught.extend((self.state().forest, self._training, self._loss))
        return stopped_by

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoostingRun, "_train", trained)
        kind(quality="fast", n_estimators=1, min_samples_leaf=5, **parameters).fit(data()[0], y)
    return caught


def refitted(forest, training, loss, **limits):
    more = {"learning_rate": 0.1, "fraction": 1.0, "n_threads": 1}
    return refit_leaves(forest, training, loss, limits=TreeLimits(l2=0.5, **limits), **more)


def test_one_tree_for_all_scores_by_hand() -> None:
    X, y = data()
    y = np.digitize(y, [-0.5, 0.5])
    grown, training, loss = fitted(BoostedTreesClassifier, y)
    one = grown.part(0, 1)
    n_leaves = len(one.value)
    one = replace(one, output=np.array([-1], dtype=np.int32), value=np.zeros((n_leaves, 3)))
    again = refitted(one, training, loss)
    leaf = again.apply(X, n_threads=1)[:, 0]
    shares = np.bincount(y) / len(y)
    for number in range(n_leaves):
        own = y[leaf == number]
        for k in range(3):
            gradient = len(own) * shares[k] - (own == k).sum()
            hessian = len(own) * shares[k] * (1 - shares[k])
            assert again.value[number, k] == pytest.approx(-0.1 * gradient / (hessian + 0.5))
    assert again.weight[0] == pytest.approx(len(y) * (shares * (1 - shares)).sum())
    stages = list(staged_scores(again, X, 1))
    assert len(stages) == 1
    assert np.array_equal(stages[0], again.predict(X, n_threads=1))


def test_penalty_of_size() -> None:
    X, y = data()
    forest, training, loss = fitted(BoostedTreesRegressor, y)
    plain = refitted(forest, training, loss, l1=3.0)
    leaf = forest.apply(X, n_threads=1)[:, 0]
    for number, value in enumerate(plain.value[:, 0]):
        total = (y[leaf == number] - y.mean()).sum()
        total = np.sign(total) * max(abs(total) - 3.0, 0.0)
        assert value == pytest.approx(0.1 * total / ((leaf == number).sum() + 0.5), abs=1e-14)


def test_new_leaves_keep_directions() -> None:
    X, y = data()
    model = stopped(BoostedTreesRegressor, monotonic_cst=[-1, 0, 0, 0, 0]).fit(X, y)
    grid = np.repeat(X[:20], 50, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 50), 20)
    assert (np.diff(model.predict(grid).reshape(20, 50), axis=1) <= 0).all()

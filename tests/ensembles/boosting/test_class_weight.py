"""class_weight of boosted trees: a factor of the weights of rows, not of their counts."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_sample_weight

from weald import BoostedTreesClassifier


def quick(**parameters) -> BoostedTreesClassifier:
    fast = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0}
    return BoostedTreesClassifier(quality="fast", **{**fast, **parameters})


def data(n: int = 400, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    X = np.round(rng.normal(size=(n, 3)), 1)
    y = np.searchsorted([0.9, 1.7][: n_classes - 1], X[:, 0] + rng.normal(size=n) / 2)
    return X, np.array(["often", "rare", "rarest"])[y]


DICT = {"often": 0.25, "rarest": 3.5}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weight", ["balanced", DICT])
def test_they_are_weights_of_rows(n_classes: int, weight) -> None:
    """The naive twin: scikit-learn's weights of the rows, given as sample weights."""
    X, y = data(n_classes=n_classes)
    if n_classes == 2:
        weight = weight if isinstance(weight, str) else {"often": 0.25}
    by_row = compute_sample_weight(weight, y)
    ours = quick(class_weight=weight).fit(X, y)
    assert ours.fingerprint() == quick().fit(X, y, by_row).fingerprint()
    both = quick(class_weight=weight).fit(X, y, np.full(len(y), 1 / 3))
    assert both.predict_proba(X) == pytest.approx(ours.predict_proba(X), abs=0.05)


def test_rare_classes_are_found_more_often() -> None:
    X, y = data(2000)
    plain, balanced = quick().fit(X, y), quick(class_weight="balanced").fit(X, y)
    rarest = y == "rarest"
    assert (balanced.predict(X[rarest]) == "rarest").mean() > (
        plain.predict(X[rarest]) == "rarest"
    ).mean()
    # Balanced classes start alike.
    assert np.ptp(balanced.forest_.base_score) < 1e-12


def test_weights_of_one_and_balanced_classes_change_no_bit() -> None:
    X, y = data(n_classes=2)
    plain = quick().fit(X, y).fingerprint()
    assert quick(class_weight={"rare": 1.0}).fit(X, y).fingerprint() == plain
    even = np.arange(len(y)) % 2
    balanced = quick(class_weight="balanced").fit(X, even)
    assert balanced.fingerprint() == quick().fit(X, even).fingerprint()


EVERY_WEIGHT = pytest.mark.parametrize("weight", ["balanced", {"rare": 2, "often": 1, "rarest": 5}])


@EVERY_WEIGHT
@pytest.mark.parametrize("own", [{}, {"max_features": 1}, {"multi_class": "vector_leaves"}])
def test_whole_weights_are_repetitions_where_no_row_is_counted(own: dict, weight) -> None:
    X, y = data()
    copies = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"class_weight": weight, "min_samples_leaf": 1, **own}
    weighted = quick(**settings).fit(X, y, copies)
    repeated = quick(n_jobs=2, **settings)
    repeated.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert repeated.fingerprint() == weighted.fingerprint()


@EVERY_WEIGHT
@pytest.mark.parametrize(
    "own", [{}, {"subsample": 0.5}, {"early_stopping": True, "subsample": 0.7}, {"n_bags": 2}]
)
def test_order_and_scale_of_weights_do_not_matter(own: dict, weight) -> None:
    """With copies of rows among them; X is rounded."""
    X, y = data()
    rng = np.random.default_rng(0)
    X, y = np.concatenate([X, X[:90]]), np.concatenate([y, y[:90]])
    own = {"class_weight": weight, "min_child_weight": 0.0, **own}
    for counts in (rng.integers(0, 4, len(y)), rng.exponential(size=len(y))):
        order = rng.permutation(len(y))
        expected = quick(**own).fit(X, y, counts).fingerprint()
        shuffled = quick(n_jobs=3, **own).fit(X[order], y[order], counts[order])
        scaled = quick(**own).fit(X, y, counts * 4)
        assert shuffled.fingerprint() == scaled.fingerprint() == expected


def test_a_class_of_zero_weight_is_in_classes_but_not_fitted() -> None:
    X, y = data()
    model = quick(class_weight={"rarest": 0.0}).fit(X, y)
    assert model.classes_.tolist() == ["often", "rare", "rarest"]
    assert model.predict_proba(X)[:, 2].max() < 1e-9
    rest = quick().fit(X, y, (y != "rarest").astype(float))
    assert rest.fingerprint() == model.fingerprint()


@pytest.mark.parametrize("scoring", ["loss", "accuracy", None])
def test_validation_rows_are_weighted_by_class(scoring) -> None:
    """The naive twin: weights of the rows of `X_val`, as scikit-learn gives them by their class."""
    X, y = data(900)
    learnt, judging = slice(0, 600), slice(600, 900)
    weight = {"often": 0.25, "rare": 1.5, "rarest": 3.5}
    by_row = compute_sample_weight(weight, y)
    own = {"scoring": scoring, "early_stopping": True, "n_estimators": 40, "n_iter_no_change": 3}
    ours = quick(class_weight=weight, **own)
    ours.fit(X[learnt], y[learnt], X_val=X[judging], y_val=y[judging])
    twin = quick(**own).fit(X[learnt], y[learnt], by_row[learnt], X[judging], y[judging])
    assert ours.validation_score_.tolist() != twin.validation_score_.tolist()
    twin.fit(X[learnt], y[learnt], by_row[learnt], X[judging], y[judging], by_row[judging])
    assert ours.fingerprint() == twin.fingerprint()
    assert ours.validation_score_ == pytest.approx(twin.validation_score_, rel=1e-12)
    shares = ours.predict_proba(X[judging])
    loss = log_loss(y[judging], shares, sample_weight=by_row[judging])
    assert ours.validation_loss_[ours.n_estimators_] == pytest.approx(loss, rel=1e-9)


def test_classes_of_zero_weight_do_not_enter_validation() -> None:
    X, y = data(600)
    common = y != "rarest"
    learnt, judging = slice(0, 400), slice(400, 600)
    model = quick(class_weight={"rarest": 0.0})
    model.fit(X[learnt], y[learnt], X_val=X[judging], y_val=y[judging])
    weight = common[judging].astype(float)
    twin = quick().fit(
        X[learnt], y[learnt], common[learnt].astype(float), X[judging], y[judging], weight
    )
    assert np.array_equal(model.validation_loss_, twin.validation_loss_)
    rare = ~common
    with pytest.raises(ValueError, match="weight 0 to every class of y_val"):
        model.fit(X[learnt], y[learnt], X_val=X[rare], y_val=y[rare])


def test_extreme_weights() -> None:
    X, y = data()
    base = quick(class_weight={"often": 1, "rare": 2, "rarest": 3}, min_child_weight=0.0)
    expected = base.fit(X, y).predict_proba(X)
    for size in (1e-300, 1e300):
        weight = {"often": size, "rare": 2 * size, "rarest": 3 * size}
        model = quick(class_weight=weight, min_child_weight=0.0).fit(X, y)
        assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)
        model.fit(X, y, np.full(len(y), 1 / size))
        assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_extreme_weights_of_rows_and_classes_together(size: float) -> None:
    """Their product is beyond the range of floats."""
    X, y = data()
    own = {"min_child_weight": 0.0, "l2_regularization": 0.0}
    expected = quick(class_weight={"often": 1, "rare": 2, "rarest": 3}, **own).fit(X, y)
    weight = {"often": size, "rare": 2 * size, "rarest": 3 * size}
    for rows in (np.full(len(y), size), np.full(len(y), size) * [*[1.0] * (len(y) - 1), 1 + 1e-9]):
        with np.errstate(all="raise"):
            model = quick(class_weight=weight, **own).fit(X, y, rows)
        assert model.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=1e-6)


def test_what_is_refused() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="are not in class_weight, which names"):
        quick(class_weight={"never": 2.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight gives every class"):
        quick(class_weight={"often": 0, "rare": 0, "rarest": 0}).fit(X, y)
    for wrong in ("balance", {}, {"often": -1.0}, 3, [1.0, 2.0]):
        with pytest.raises(ValueError, match="class_weight.*non-empty dict of labels"):
            quick(class_weight=wrong).fit(X, y)

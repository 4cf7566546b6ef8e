"""User-defined losses: their arguments, and errors for invalid return values."""

import numpy as np
import pytest

from weald import BoostedTreesClassifier, BoostedTreesRegressor, GradientBoostingRegressor
from weald.losses import BuiltinLoss, LossChoice, UserLoss, best_step
from weald.losses.roots import root_of
from weald.parameters import OneOf


def data(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.abs(X[:, 1]) + rng.normal(size=n) / 10


class SquaredError:
    def gradient_hessian(self, y, score):
        return score - y, np.ones_like(y)

    def loss(self, y, score):
        return (score - y) ** 2 / 2


class Clipped:
    def gradient_hessian(self, y, score):
        return np.clip(score - y, -1.0, 1.0), np.ones_like(y)

    def loss(self, y, score):
        return np.minimum(np.abs(score - y), 1.0)


class Logistic:
    def gradient_hessian(self, y, score):
        p = 1 / (1 + np.exp(-score))
        return p - y, p * (1 - p)

    def link(self, score):
        return 1 / (1 + np.exp(-score))


class Softmax:
    def gradient_hessian(self, y, score):
        powers = np.exp(score - score.max(axis=1, keepdims=True))
        p = powers / powers.sum(axis=1, keepdims=True)
        return p - np.eye(score.shape[1])[y.astype(int)], p * (1 - p)


@pytest.mark.parametrize("more", [{}, {"early_stopping": True}, {"subsample": 0.5}])
def test_a_user_s_squared_error_is_ours(more: dict) -> None:
    X, y = data()
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    settings = {"n_estimators": 10, "random_state": 0, **more}
    for w in (None, weight):
        ours = BoostedTreesRegressor(quality="fast", **settings).fit(X, y, w)
        theirs = BoostedTreesRegressor(quality="fast", loss=SquaredError(), **settings).fit(X, y, w)
        assert theirs.predict(X) == pytest.approx(ours.predict(X), abs=1e-8)
        assert theirs.n_estimators_ == ours.n_estimators_


@pytest.mark.parametrize(("loss", "n_classes"), [(Logistic(), 2), (Softmax(), 3)])
def test_a_user_s_log_loss_is_ours(loss, n_classes: int) -> None:
    X, y = data()
    labels = np.array(["a", "b", "c"])[np.argsort(np.argsort(y)) * n_classes // len(y)]
    ours = BoostedTreesClassifier(quality="fast", n_estimators=15).fit(X, labels)
    theirs = BoostedTreesClassifier(quality="fast", loss=loss, n_estimators=15).fit(X, labels)
    # Many scores start at zero, ours at the shares, which are equal here.
    assert theirs.predict_proba(X) == pytest.approx(ours.predict_proba(X), abs=0.01)


def test_the_start_is_where_gradients_add_up_to_zero() -> None:
    y = np.array([1.0, 2.0, 6.0, 1e6])
    loss = UserLoss(SquaredError(), 1, 1, of_classes=False)
    assert loss.base_scores(y, None, None) == pytest.approx([y.mean()], rel=1e-9)
    weight, copies = np.array([1.0, 3.0, 0.5, 2.0]), np.array([2, 0, 1, 1])
    expected = (y * weight * copies).sum() / (weight * copies).sum()
    assert loss.base_scores(y, weight, copies) == pytest.approx([expected], rel=1e-9)
    assert loss.mean(y, np.zeros((1, 4)), weight, copies) == pytest.approx(
        (y**2 / 2 * weight * copies).sum() / (weight * copies).sum()
    )


class Answers:
    """Returns the given gradients and hessians."""

    def __init__(self, gradient=None, hessian=None, loss=None, link=None) -> None:
        self.parts = gradient, hessian
        self.values, self.linked = loss, link

    def gradient_hessian(self, y, score):
        gradient = score - y if self.parts[0] is None else self.parts[0](y)
        return gradient, np.ones_like(y) if self.parts[1] is None else self.parts[1](y)

    def loss(self, y, score):
        return (score - y) ** 2 if self.values is None else self.values(y)

    def link(self, score):
        return score if self.linked is None else self.linked(score)


class OneArray:
    def gradient_hessian(self, y, score):
        return score - y


class Raises:
    def gradient_hessian(self, y, score):
        raise ZeroDivisionError("my own mistake")


WRONG = {
    "NaN": (Answers(lambda y: np.where(y > 1, np.nan, 0)), "gradient that is not finite"),
    "infinity": (Answers(lambda y: np.full_like(y, np.inf)), "inf in row 0"),
    "shape": (Answers(lambda y: y[:-1]), r"shape of `score`, \(200,\); got the shape \(199,\)"),
    "matrix": (Answers(lambda y: y[:, np.newaxis]), r"got the shape \(200, 1\)"),
    "negative hessian": (Answers(hessian=lambda y: -np.ones_like(y)), "negative hessian: -1.0"),
    "NaN hessian": (Answers(hessian=lambda y: np.full_like(y, np.nan)), "hessian that is no"),
    "one array": (OneArray(), "must return two arrays"),
    "loss of one number": (Answers(loss=np.mean), "one number per row"),
    "mask": (Answers(lambda y: np.ma.masked_array(y, y > 1)), "returned a masked array"),
    "complex": (Answers(lambda y: y + 1j), "returned complex numbers; expected real"),
    "complex hessian": (Answers(hessian=lambda y: y + 1j), "returned complex numbers"),
    "text": (Answers(lambda y: y.astype(str)), "; expected numbers"),
    "dates": (Answers(lambda y: np.full(len(y), np.datetime64("2024"))), "; expected numbers"),
    "loss with a mask": (Answers(loss=lambda y: np.ma.masked_array(y, y > 1)), "masked array"),
    "loss of complex numbers": (Answers(loss=lambda y: y + 0j), "returned complex numbers"),
    "loss of NaN": (Answers(loss=lambda y: np.full_like(y, np.nan)), "loss that is not finite"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_return_values_raise_errors_that_name_the_loss(case: str) -> None:
    X, y = data()
    loss, fragment = WRONG[case]
    model = BoostedTreesRegressor(
        quality="fast", loss=loss, early_stopping="loss" in case, random_state=0
    )
    with pytest.raises(ValueError, match=fragment) as raised:
        model.fit(X, y)
    assert type(loss).__name__ in str(raised.value)
    assert not hasattr(model, "forest_")


def test_wrong_links_and_errors_of_the_user() -> None:
    X, y = data()
    model = BoostedTreesRegressor(
        quality="fast", loss=Answers(link=lambda s: s[:-1]), n_estimators=2
    ).fit(X, y)
    with pytest.raises(ValueError, match="link of the loss Answers must return the shape"):
        model.predict(X)
    model = BoostedTreesRegressor(
        quality="fast", loss=Answers(link=lambda s: s + 1j), n_estimators=2
    ).fit(X, y)
    with pytest.raises(ValueError, match="link of the loss Answers returned complex numbers"):
        model.predict(X)
    with pytest.raises(ZeroDivisionError, match="my own mistake"):
        BoostedTreesRegressor(quality="fast", loss=Raises()).fit(X, y)


class Meddling:
    def gradient_hessian(self, y, score):
        score -= y
        return score, np.ones_like(y)


def test_a_loss_cannot_change_what_it_is_shown() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="read-only"):
        BoostedTreesRegressor(quality="fast", loss=Meddling()).fit(X, y)


def test_hessians_of_zero_give_a_constant_model() -> None:
    X, y = data()
    flat = Answers(hessian=np.zeros_like)
    model = BoostedTreesRegressor(quality="fast", loss=flat, n_estimators=3).fit(X, y)
    assert len(set(model.predict(X))) == 1


@pytest.mark.parametrize("power", [-300, -200, 200, 299])
@pytest.mark.parametrize("early", [False, True])
def test_targets_of_extreme_size(power: int, early: bool) -> None:
    """A user's loss receives the target unscaled: what leaves the range of floats is an error, what
    underflows has no effect, and everything else is fitted."""
    X, y = data()
    y = y * 10.0**power
    model = BoostedTreesRegressor(
        quality="fast", loss=Clipped(), n_estimators=10, early_stopping=early
    )
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    model.set_params(loss=SquaredError(), early_stopping=False)
    if power == 299:
        with pytest.raises(ValueError, match="The scores left the range of floats in round 1"):
            model.fit(X, y)
        return
    said = model.fit(X, y).predict(X)
    assert np.isfinite(said).all() and np.ptp(said) <= np.ptp(y)
    assert np.isfinite(model.feature_importances_).all()
    if power == 200:
        assert np.corrcoef(said / 1e200, y / 1e200)[0, 1] > 0.9


def test_one_class_needs_no_trees() -> None:
    X, _ = data()
    for loss in (Logistic(), Softmax()):
        model = BoostedTreesClassifier(quality="fast", loss=loss).fit(X, np.full(len(X), "only"))
        assert model.predict(X[:3]).tolist() == ["only"] * 3
        assert model.forest_.n_trees == 0


def test_what_a_loss_may_be() -> None:
    X, y = data()
    choice = LossChoice(OneOf(("squared_error",)), ("gradient_hessian",))
    assert choice.admits(SquaredError()) and choice.admits("squared_error")
    for wrong in (SquaredError, object(), "pinball", None, 3):
        assert not choice.admits(wrong)
        with pytest.raises(ValueError, match="The 'loss' parameter of BoostedTreesRegressor"):
            BoostedTreesRegressor(quality="fast", loss=wrong).fit(X, y)
    with pytest.raises(ValueError, match="gradient_hessian"):
        BoostedTreesRegressor(
            quality="fast", loss=type("Half", (), {"gradient": lambda *_: 0})()
        ).fit(X, y)


@pytest.mark.parametrize("most", [2.0, 100.0])
def test_zeros_of_slopes(most: float) -> None:
    assert root_of(lambda x: x - 1.5, most=most) == pytest.approx(1.5, rel=1e-11)
    assert root_of(lambda x: x**3 + 1, most=most) == pytest.approx(-1, rel=1e-11)
    assert root_of(lambda x: 1.0 if x > 0.7 else -1.0, most=most) == pytest.approx(0.7, rel=1e-11)
    assert root_of(lambda _: 0.0, most=most) == 0.0
    assert root_of(lambda _: -1.0, most=most) == most
    assert root_of(lambda _: 1.0, most=most) == -most
    assert root_of(lambda _: np.nan, most=most) == 0.0
    assert 0.0 <= root_of(lambda x: -1.0 if x < 1.2 else np.nan, most=most) < 1.2
    # The product of two such slopes is zero.
    assert root_of(lambda _: -1e-200, most=most) == most
    assert root_of(lambda x: 1e-200 * (x - 1.5), most=most) == pytest.approx(1.5, rel=1e-11)


def test_a_best_step_needs_gradients_only_and_survives_overflow() -> None:
    class Poisson:
        def gradient(self, y, score):
            return np.exp(score) - y

    y, zero = np.full(10, 3.0), np.zeros((1, 10))
    own = UserLoss(Poisson(), 1, 1, of_classes=False)
    ours = BuiltinLoss("poisson", 1, 1)
    for loss in (own, ours):
        step = best_step(loss, y, zero, np.full((1, 10), 1e3), None, None)
        assert step == pytest.approx(np.log(3) / 1e3, rel=1e-9)
    model = GradientBoostingRegressor(loss=Poisson(), n_estimators=3).fit(np.eye(10), y)
    assert model.predict(np.eye(10)) == pytest.approx(np.log(3), rel=1e-6)

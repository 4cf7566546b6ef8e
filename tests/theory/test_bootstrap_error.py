"""The .632 estimates, against loops and where the true error is known."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from weald import DecisionTreeClassifier, DecisionTreeRegressor
from weald.theory import error_632, error_632_from_members, error_632plus
from weald.theory.scoring import scorer_for

LOSSES = {
    "zero_one": lambda y, p: float(y != p),
    "squared_error": lambda y, p: (y - p) ** 2,
    "absolute_error": lambda y, p: abs(y - p),
}


def naive(
    predictions: np.ndarray, in_bag: np.ndarray, fitted: np.ndarray, y: np.ndarray, loss: str
) -> dict[str, float]:
    """Everything by loops, after the formulas."""
    of = LOSSES[loss]
    n = len(y)
    err = np.mean([of(y[i], fitted[i]) for i in range(n)])
    per_row = []
    for i in range(n):
        out = [k for k in range(len(predictions)) if in_bag[k, i] == 0]
        if out:
            per_row.append(np.mean([of(y[i], predictions[k, i]) for k in out]))
    err1 = np.mean(per_row)
    gamma = np.mean([of(y[i], fitted[j]) for i in range(n) for j in range(n)])
    rate = min(max((err1 - err) / (gamma - err), 0.0), 1.0)
    w = 0.632 / (1 - 0.368 * rate)
    return {
        "plain": 0.368 * err + 0.632 * err1,
        "plus": (1 - w) * err + w * min(err1, gamma),
        "rate": rate,
        "n_unscored": n - len(per_row),
    }


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("badness", [0.2, 0.8, 3.0])
def test_arrays_against_loops(loss: str, badness: float, rng: np.random.Generator) -> None:
    n, members = 25, 6
    y = rng.integers(4, size=n).astype(float)
    fitted = np.where(rng.uniform(size=n) < 0.8, y, rng.integers(4, size=n))
    noise = np.round(badness * rng.normal(size=(members, n)))
    predictions, in_bag = y + noise, rng.integers(3, size=(members, n))
    in_bag[:, 3] = 1
    expected = naive(predictions, in_bag, fitted, y, loss)
    arrays = (predictions, in_bag, fitted, y)
    plain = error_632_from_members(*arrays, loss=loss)
    plus = error_632_from_members(*arrays, loss=loss, plus=True)
    assert plain.error == float(plain) == pytest.approx(expected["plain"], rel=1e-12)
    assert plus.error == pytest.approx(expected["plus"], rel=1e-12)
    assert plus.overfitting == plain.overfitting == pytest.approx(expected["rate"])
    assert plain.n_unscored == expected["n_unscored"] >= 1
    assert np.isnan(plain.row_left_out[3])
    assert (plain.method, plus.method, plain.weight) == (".632", ".632+", 0.632)


def test_all_pairs_of_every_loss(rng: np.random.Generator) -> None:
    y, answers = rng.normal(size=40), rng.normal(size=40)
    for loss in ("squared_error", "absolute_error", lambda y, p: np.maximum(y - p, 0)):
        of = loss if callable(loss) else LOSSES[loss]
        expected = np.mean([of(a, b) for a in y for b in answers])
        assert scorer_for("test", y, loss).mean_over_pairs(answers) == pytest.approx(expected)
    labels, said = np.array(list("abca")), np.array(list("bbda"))
    expected = np.mean([a != b for a in labels for b in said])
    assert scorer_for("test", labels, "zero_one").mean_over_pairs(said) == pytest.approx(expected)
    shares = rng.dirichlet([1, 1, 1], size=4)
    codes = [0, 1, 2, 0]
    expected = np.mean([-np.log(row[code]) for code in codes for row in shares])
    assert scorer_for("test", labels, "log_loss").mean_over_pairs(shares) == pytest.approx(expected)


def test_all_pairs_of_many_rows_come_in_pieces(rng: np.random.Generator) -> None:
    y, answers = rng.normal(size=3000), rng.normal(size=3000)
    pieces = scorer_for("test", y, lambda y, p: (y - p) ** 2).mean_over_pairs(answers)
    assert pieces == pytest.approx(scorer_for("test", y, "squared_error").mean_over_pairs(answers))


def test_a_learner_by_heart_of_labels_that_mean_nothing(rng: np.random.Generator) -> None:
    """One neighbour, random labels: the error is 0.5, and only .632+ estimates that.

    One table of 300 rows gives it with a standard deviation of 0.025, so eight are averaged.
    """
    model, settings = KNeighborsClassifier(1), {"n_repeats": 25, "random_state": 0}
    tables = [(rng.normal(size=(300, 5)), rng.integers(2, size=300)) for _ in range(8)]
    plain = [error_632(model, *table, **settings) for table in tables]
    plus = [error_632plus(model, *table, **settings) for table in tables]
    assert {found.apparent for found in plain + plus} == {0.0}
    assert np.mean([found.left_out for found in plus]) == pytest.approx(0.5, abs=0.03)
    assert np.mean([found.error for found in plain]) == pytest.approx(0.316, abs=0.02)
    # The smaller of Err and γ, both near 0.5, is on average a little below it.
    assert np.mean([found.error for found in plus]) == pytest.approx(0.485, abs=0.03)
    assert min(found.weight for found in plus) > 0.9


def test_a_linear_model_that_is_right(rng: np.random.Generator) -> None:
    """Noise of variance 1, p = 3 columns and a constant: the error is about 1 + (p + 1)/n."""
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=400)
    for estimate in (error_632, error_632plus):
        found = estimate(LinearRegression(), X, y, n_repeats=40, random_state=0)
        # The spread of a mean of 400 squares is sqrt(2/400) = 0.07.
        assert found.error == pytest.approx(1.01, abs=0.2)
        assert found.apparent < found.error < found.left_out
        assert found.overfitting < 0.02


def test_estimates_lie_between_their_parts() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (DecisionTreeClassifier(max_depth=1), GaussianNB()):
        plain = error_632(model, X, y, n_repeats=20, random_state=0)
        plus = error_632plus(model, X, y, n_repeats=20, random_state=0)
        assert plain.apparent <= plain.error <= plain.left_out
        assert plain.error <= plus.error <= plus.left_out
        assert plain.left_out == plus.left_out
        # γ by the shares of the classes.
        answers = model.fit(X, y).predict(X)
        shares = np.bincount(y) / 150 @ (np.bincount(answers, minlength=3) / 150)
        assert plus.no_information == pytest.approx(1 - shares)


def test_labels_probabilities_numbers_and_functions() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    settings = {"n_repeats": 5, "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=2)
    assert error_632(tree, X, names, **settings).error == error_632(tree, X, y, **settings).error
    soft = error_632plus(tree, X, names, loss="log_loss", **settings)
    assert soft.loss == "log_loss" and soft.no_information > np.log(3)
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=2)
    mine = error_632plus(tree, X, y, loss=lambda y, p: abs(y - p), **settings)
    assert mine.error == pytest.approx(
        error_632plus(tree, X, y, loss="absolute_error", **settings).error
    )


class RefusesOneClass(DecisionTreeClassifier):
    def fit(self, X: object, y: np.ndarray) -> "RefusesOneClass":
        assert len(np.unique(y)) > 1
        return super().fit(X, y)


def test_a_rare_class_is_not_lost() -> None:
    """Nearly a third of all bootstrap samples would miss a class of one row."""
    X = np.arange(20.0).reshape(-1, 1)
    y = np.array([1] + [0] * 19)
    found = error_632(RefusesOneClass(), X, y, n_repeats=30, random_state=0)
    # The row itself is never left out by a sample of both classes.
    assert found.n_unscored == 1


def test_seed_and_number_of_processes() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = KNeighborsRegressor(3)
    one = error_632(model, X, y, n_repeats=6, random_state=1)
    two = error_632(model, X, y, n_repeats=6, random_state=1, n_jobs=2)
    other = error_632(model, X, y, n_repeats=6, random_state=2)
    np.testing.assert_array_equal(one.row_left_out, two.row_left_out)
    assert one.error != other.error
    state = np.random.RandomState(0)
    first = error_632(model, X, y, n_repeats=6, random_state=state)
    assert first.error != error_632(model, X, y, n_repeats=6, random_state=state).error


def test_the_result_is_described_as_of_a_single_model(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    found = error_632plus(DecisionTreeClassifier(), X, y, n_repeats=4, random_state=0, verbose=1)
    assert "single model trained on 150 rows, not of an ensemble" in str(found)
    assert found.to_dict()["n_members"] == 4
    assert capfd.readouterr().err.endswith("4/4\n")


def test_bad_input() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier()
    with pytest.raises(ValueError, match="'n_repeats' parameter of error_632plus must be an int"):
        error_632plus(tree, X, y, n_repeats=0)
    with pytest.raises(ValueError, match="'loss' parameter of error_632 must be one of"):
        error_632(tree, X, y, loss="brier")
    with pytest.raises(TypeError, match="'estimator' parameter of error_632"):
        error_632(None, X, y)
    with pytest.raises(ValueError, match="y must hold numbers for this loss"):
        error_632(tree, X, np.array(list("abc"))[y], loss="squared_error")
    with pytest.raises(ValueError, match="No row is out of bag"):
        error_632(DecisionTreeClassifier(), X[:1], y[:1], n_repeats=3)


def test_bad_arrays() -> None:
    predictions, in_bag, y = np.zeros((2, 4)), np.zeros((2, 4)), np.zeros(4)
    with pytest.raises(ValueError, match="predictions must have the shape"):
        error_632_from_members(predictions[:, :3], in_bag, y, y, loss="zero_one")
    with pytest.raises(ValueError, match="fitted must have 4 rows"):
        error_632_from_members(predictions, in_bag, y[:3], y, loss="zero_one")
    with pytest.raises(ValueError, match=r"in 'fitted' must have the shape \(rows, 2\)"):
        error_632_from_members(predictions, in_bag, y, [0, 1, 0, 1], loss="log_loss")
    with pytest.raises(ValueError, match="predictions of model 0 must be finite"):
        error_632_from_members(predictions + np.nan, in_bag, y, y, loss="squared_error")
    with pytest.raises(ValueError, match="No row is out of bag"):
        error_632_from_members(predictions, in_bag + 1, y, y, loss="squared_error")

"""Bias, variance and noise: identities, loops, and tasks whose parts are known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weald import BoostedTreesClassifier, DecisionTreeClassifier, DecisionTreeRegressor
from weald.theory import bias_variance

DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def halves(data: tuple) -> tuple:
    X, y = data
    return X[::2], y[::2], X[1::2], y[1::2]


def line(x: np.ndarray) -> np.ndarray:
    return 3.0 * x[:, 0]


def draw(rng: np.random.Generator, n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(size=(n, 1))
    return x, line(x) + rng.normal(scale=0.5, size=n)


# Squared error.


def test_parts_add_up_to_the_error() -> None:
    found = bias_variance(DecisionTreeRegressor(), *halves(DIABETES), n_repeats=20, random_state=0)
    assert found.variance + found.bias_and_noise == pytest.approx(found.error, rel=1e-12)
    rows = found.per_row
    np.testing.assert_allclose(rows["variance"] + rows["bias_and_noise"], rows["error"])
    assert (found.bias_squared, found.noise, found.noise_from) == (None, None, "unknown")
    # By loops over training sets and rows.
    y = halves(DIABETES)[3]
    answers = found.predictions
    error = np.mean([(answers[r, i] - y[i]) ** 2 for r in range(20) for i in range(len(y))])
    variance = np.mean([np.var(answers[:, i], ddof=1) for i in range(len(y))])
    assert (found.error, found.variance) == (pytest.approx(error), pytest.approx(variance))


def test_a_mean_on_a_line() -> None:
    """The mean of n targets: variance (9/12 + 0.25)/n, bias² 9/12, noise 0.25."""
    found = bias_variance(
        DummyRegressor(), generator=lambda rng: draw(rng, 20), true_target=line,
        X_test=np.linspace(0.0005, 0.9995, 1000)[:, None],
        y_test=draw_at(np.linspace(0.0005, 0.9995, 1000)), n_repeats=400, random_state=0,
    )  # fmt: skip
    assert found.variance == pytest.approx(1.0 / 20, abs=4 * found.standard_errors["variance"])
    assert found.bias_squared == pytest.approx(0.75, abs=4 * found.standard_errors["bias_squared"])
    assert found.noise == pytest.approx(0.25, abs=4 * found.standard_errors["noise"])
    assert found.standard_errors["variance"] < 0.005
    assert found.standard_errors["bias_squared"] < 0.05
    total = found.variance + found.bias_squared + found.noise + found.remainder
    assert total == pytest.approx(found.error, rel=1e-12)
    assert abs(found.remainder) < 4 * found.standard_errors["remainder"]


def draw_at(x: np.ndarray) -> np.ndarray:
    return 3.0 * x + np.random.default_rng(5).normal(scale=0.5, size=len(x))


def test_few_training_sets_give_the_same_on_average() -> None:
    """Bias² is not inflated by the variance that three models leave in their mean."""
    x = np.linspace(0.05, 0.95, 10)[:, None]
    found = [
        bias_variance(
            LinearRegression(), X_test=x, y_test=line(x), true_target=line, generator=draw,
            n_repeats=3, random_state=seed,
        )
        for seed in range(150)
    ]  # fmt: skip
    many = bias_variance(
        LinearRegression(), X_test=x, y_test=line(x), true_target=line, generator=draw,
        n_repeats=2000, random_state=0,
    )  # fmt: skip
    spread = np.std([one.bias_squared for one in found]) / np.sqrt(150)
    mean = np.mean([one.bias_squared for one in found])
    # A line is fitted without bias; a third of the variance would be far away.
    assert mean == pytest.approx(0.0, abs=4 * spread)
    assert many.variance / 3 > 8 * spread
    assert np.mean([one.variance for one in found]) == pytest.approx(many.variance, rel=0.15)


def test_noise_where_rows_repeat() -> None:
    """Five copies of every x: the noise shows, and the parts add up exactly."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.uniform(size=400), 5)[:, None]
    y = line(x) + rng.normal(scale=0.5, size=len(x))
    found = bias_variance(
        DummyRegressor(), X_test=x, y_test=y, generator=draw, n_repeats=200, random_state=0
    )
    assert (found.noise_from, found.bias_and_noise, found.remainder) == ("repeats", None, 0.0)
    parts = found.variance + found.bias_squared + found.noise
    assert parts == pytest.approx(found.error, rel=1e-12)
    assert found.noise == pytest.approx(0.25, abs=4 * found.standard_errors["noise"])
    assert found.bias_squared == pytest.approx(0.75, abs=4 * found.standard_errors["bias_squared"])
    # By loops over groups.
    groups = [y[x[:, 0] == value] for value in np.unique(x)]
    assert found.noise == pytest.approx(np.mean([np.var(group, ddof=1) for group in groups]))


def test_spread_covers_what_another_seed_gives() -> None:
    """Over 60 runs of fresh rows and training sets the z-scores have a spread of about 1."""
    x = np.random.default_rng(1)
    scores = {"error": [], "variance": [], "bias_and_noise": []}
    runs = []
    for seed in range(60):
        X_test, y_test = draw(x, 60)
        runs.append(
            bias_variance(
                DecisionTreeRegressor(max_depth=2, n_jobs=1), X_test=X_test, y_test=y_test,
                generator=draw, n_repeats=40, random_state=seed,
            )
        )  # fmt: skip
    for name, z in scores.items():
        values = np.array([getattr(run, name) for run in runs])
        errors = np.array([run.standard_errors[name] for run in runs])
        z.extend((values - values.mean()) / errors)
        assert 0.6 < np.std(z) < 1.5, name


def test_repeated_rows_in_frames_and_missing_values() -> None:
    frame = pd.DataFrame({"a": [1.0, 1.0, np.nan, np.nan], "b": ["x", "x", "y", "y"]})

    class Constant(BaseEstimator):
        def fit(self, X: object, y: object) -> "Constant":
            self.mean_ = np.mean(y)
            return self

        def predict(self, X: object) -> np.ndarray:
            return np.full(len(X), self.mean_)

    y = np.array([1.0, 3.0, 4.0, 6.0])
    found = bias_variance(Constant(), frame, y, frame, y, n_repeats=5, random_state=0)
    assert (found.noise_from, found.noise) == ("repeats", 2.0)
    frame["b"] = list("wxyz")
    assert bias_variance(Constant(), frame, y, frame, y, n_repeats=5).noise_from == "unknown"


# 0/1 loss.


def test_two_classes_without_noise() -> None:
    """Domingos: error = B + (1 - 2B)V in every row."""
    X, y = IRIS
    X, y = X[50:, :2], np.array(["no", "yes"])[y[50:] - 1]
    found = bias_variance(
        DecisionTreeClassifier(), X[::2], y[::2], X[1::2], y[1::2], true_target=y[1::2],
        n_repeats=31, random_state=0,
    )  # fmt: skip
    B, V = found.per_row["bias"], found.per_row["variance"]
    assert 0 < B.mean() < 1 and V.mean() > 0
    np.testing.assert_allclose(found.per_row["error"], B + (1 - 2 * B) * V, atol=1e-15)
    assert (found.noise, found.noise_effect) == (0.0, pytest.approx(0.0, abs=1e-15))
    expected = found.bias + found.variance_unbiased - found.variance_biased
    assert found.error == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_parts_by_the_letter(n_classes: int, rng: np.random.Generator) -> None:
    """Domingos' c₂ = 1 or -P(pred = best | pred ≠ main), by loops."""
    answers = rng.integers(n_classes, size=(30, 40))
    y = rng.integers(n_classes, size=40)
    found = bias_variance(Parrot(answers), *parrot_data(answers), y, n_repeats=30, random_state=0)
    seen = found.predictions
    total = 0.0
    for i in range(40):
        values, counts = np.unique(seen[:, i], return_counts=True)
        main = values[counts.argmax()]
        B, V = float(main != y[i]), np.mean(seen[:, i] != main)
        others = seen[seen[:, i] != main, i]
        c2 = 1.0 if B == 0 else -(np.mean(others == y[i]) if len(others) else 0.0)
        row = {name: rows[i] for name, rows in found.per_row.items()}
        assert row["bias_and_noise"] == B
        assert row["variance"] == pytest.approx(V)
        assert row["variance_unbiased"] - row["variance_biased"] == pytest.approx(c2 * V)
        assert row["error"] == pytest.approx(B + c2 * V)
        total += row["error"] / 40
    assert found.error == pytest.approx(total)


class Parrot(ClassifierMixin, BaseEstimator):
    """Predicts one of the given rows of predictions, chosen by its training set."""

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Parrot":
        self.row_ = int(X[0, 0]) % len(self.answers)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.answers[self.row_]


def parrot_data(answers: np.ndarray) -> tuple:
    n = answers.shape[1]
    return np.arange(n)[:, None], np.arange(n) % 2, np.arange(n)[:, None]


def test_noise_of_labels() -> None:
    """One label in five is flipped; a nearest neighbour of clean classes would be perfect."""
    rng = np.random.default_rng(0)

    def flipped(rng: np.random.Generator, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(-1, 1, size=(n, 1))
        clean = x[:, 0] > 0
        return x, np.where(rng.uniform(size=n) < 0.2, ~clean, clean)

    X_test, y_test = flipped(rng, 2000)
    found = bias_variance(
        KNeighborsClassifier(1), X_test=X_test, y_test=y_test, generator=flipped,
        true_target=lambda x: x[:, 0] > 0, n_repeats=100, random_state=0,
    )  # fmt: skip
    assert found.noise == pytest.approx(0.2, abs=0.04)
    assert found.bias < 0.03
    # One neighbour repeats the flips: V = 0.2, and noise adds (1 - 2·0.2)·0.2 to the error.
    assert found.variance == pytest.approx(0.2, abs=0.04)
    assert found.noise_effect == pytest.approx(0.12, abs=0.03)
    parts = found.bias + found.variance_unbiased - found.variance_biased + found.noise_effect
    assert parts == pytest.approx(found.error, rel=1e-12)


def test_noise_is_estimated_from_repeated_rows() -> None:
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    y = np.array(["a", "a", "a", "b", "b", "b", "b", "b", "b", "a"])
    found = bias_variance(DecisionTreeClassifier(), X, y, X, y, n_repeats=40, random_state=0)
    assert found.noise_from == "repeats"
    assert found.noise == pytest.approx(0.3)
    assert found.bias == 0.0


def test_classes_by_any_name() -> None:
    X, y, X_test, y_test = halves(IRIS)
    names = np.array(["x", "a", "k"])
    model = BoostedTreesClassifier(quality="fast", n_estimators=3, n_jobs=1)
    numbers = bias_variance(model, X, y, X_test, y_test, n_repeats=5, random_state=0)
    words = bias_variance(model, X, names[y], X_test, names[y_test], n_repeats=5, random_state=0)
    assert words.error == numbers.error and words.variance == numbers.variance
    np.testing.assert_array_equal(words.predictions, names[numbers.predictions])


# Training sets.


class Recorder(BaseEstimator):
    """Predicts the number of its training rows and the number of distinct ones."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Recorder":
        self.answer_ = len(X) + len(np.unique(X)) / 1000
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.answer_)


@pytest.mark.parametrize(
    ("settings", "rows", "is_repeating"),
    [
        ({}, 40, True),
        ({"max_samples": 0.5}, 20, True),
        ({"max_samples": 0.5, "bootstrap": False}, 20, False),
        ({"bootstrap": False}, 40, False),
    ],
)
def test_resampling(settings: dict, rows: int, is_repeating: bool) -> None:
    X = np.arange(40.0)[:, None]
    settings = {"n_repeats": 10, "random_state": 0, **settings}
    found = bias_variance(Recorder(), X, X[:, 0], X, X[:, 0], **settings)
    sizes = np.floor(found.predictions[:, 0])
    distinct = 1000 * (found.predictions[:, 0] - sizes)
    assert (sizes == rows).all()
    assert (distinct.round() < rows).all() if is_repeating else (distinct.round() == rows).all()


def test_seed_and_number_of_processes() -> None:
    forest = make_pipeline(StandardScaler(), RandomForestRegressor(n_estimators=2))
    data = halves(DIABETES)
    one = bias_variance(forest, *data, n_repeats=4, random_state=3)
    two = bias_variance(forest, *data, n_repeats=4, random_state=3, n_jobs=2)
    other = bias_variance(forest, *data, n_repeats=4, random_state=4)
    np.testing.assert_array_equal(one.predictions, two.predictions)
    assert one.standard_errors == two.standard_errors
    assert one.error != other.error
    # Of one training set only the forest's own draws differ; with a given seed nothing does.
    same = {"n_repeats": 3, "bootstrap": False, "random_state": 0}
    assert bias_variance(forest, *data, **same).variance > 0
    forest.set_params(randomforestregressor__random_state=0)
    assert bias_variance(forest, *data, **same).variance == 0


def test_a_generator_in_other_processes() -> None:
    settings = {"generator": lambda rng: draw(rng, 30), "n_repeats": 4, "random_state": 0}
    one = bias_variance(LinearRegression(), **settings)
    two = bias_variance(LinearRegression(), n_jobs=2, **settings)
    np.testing.assert_array_equal(one.predictions, two.predictions)
    assert one.n_rows == 30


def test_text_dictionary_and_bar(capfd: pytest.CaptureFixture[str]) -> None:
    found = bias_variance(DecisionTreeRegressor(), *halves(DIABETES), n_repeats=3, random_state=0)
    assert capfd.readouterr() == ("", "")
    assert "Noise and bias are not separable" in str(found)
    assert "bias² and noise" in str(found) and "±" in str(found)
    assert found.to_dict()["error"] == found.error
    bias_variance(
        DecisionTreeClassifier(), *halves(IRIS), n_repeats=3, random_state=0, verbose=1,
        true_target=halves(IRIS)[3],
    )  # fmt: skip
    shown = capfd.readouterr()
    assert shown.out == "" and shown.err.endswith("3/3\n")
    with pytest.raises(AttributeError):
        found.error = 0.0
    assert not found.per_row["error"].flags.writeable


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_repeats": 2}, r"'n_repeats' parameter of bias_variance must be an int in .* \[3"),
        ({"max_samples": 0.0}, "'max_samples' parameter"),
        ({"bootstrap": "yes"}, "'bootstrap' parameter"),
        ({"loss": "log_loss"}, "'loss' parameter of bias_variance must be one of"),
        ({"true_target": np.zeros(3)}, "one value for each of the 221 test rows; it has 3"),
        ({"true_target": lambda X: np.full(len(X), np.nan)}, "true_target must hold finite"),
        ({"generator": draw}, "pass either those or the generator"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    settings = {"n_repeats": 3, **settings}
    with pytest.raises(ValueError, match=message):
        bias_variance(LinearRegression(), *halves(DIABETES), **settings)


def test_bad_data() -> None:
    X, y, X_test, y_test = halves(DIABETES)
    with pytest.raises(ValueError, match="needs X_test and y_test"):
        bias_variance(LinearRegression(), X, y)
    with pytest.raises(ValueError, match="y_test is missing"):
        bias_variance(LinearRegression(), X, y, X_test)
    with pytest.raises(ValueError, match="X is missing"):
        bias_variance(LinearRegression(), X_test=X_test, y_test=y_test)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        bias_variance(LinearRegression(), X, y, X_test, y_test[:-1])
    with pytest.raises(TypeError, match="must be a function of a NumPy Generator"):
        bias_variance(LinearRegression(), X_test=X_test, y_test=y_test, generator=3)
    with pytest.raises(TypeError, match=r"must return a pair \(X, y\); it returned ndarray"):
        bias_variance(LinearRegression(), generator=lambda rng: np.zeros(3))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        bias_variance(DecisionTreeClassifier(), X, y + 0.5, X_test, y_test + 0.5)
    with pytest.raises(TypeError, match="'estimator' parameter of bias_variance"):
        bias_variance(LinearRegression, X, y, X_test, y_test)

"""Error against number of members: bagging of full trees, and AdaBoost of stumps.

    python examples/members.py --out members.png

The task: is a handwritten digit odd?
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import BaggingClassifier

from weald import AdaBoostClassifier, DecisionTreeClassifier
from weald.datasets import load_optdigits
from weald.theory import correlated_error, error_correlation, training_error_bound

BAGGED, BOOSTED = 60, 300


@dataclass(frozen=True)
class Result:
    """Shares of errors after every member; `brier` are squared errors of probabilities."""

    bag_train: np.ndarray
    bag_test: np.ndarray
    bag_left_out: np.ndarray
    brier_test: np.ndarray
    brier_foretold: np.ndarray
    boost_train: np.ndarray
    boost_test: np.ndarray
    boost_bound: np.ndarray


def compute() -> Result:
    """Bag 60 full trees and boost 300 stumps on the digits; follow their errors."""
    X, y, X_test, y_test = rows()
    bag = BaggingClassifier(DecisionTreeClassifier(), n_estimators=BAGGED, random_state=0).fit(X, y)
    boost = AdaBoostClassifier(n_estimators=BOOSTED, form="half-log").fit(X, y)
    on_train, on_test = odd_shares(bag, X), odd_shares(bag, X_test)
    found = error_correlation(bag, X, y)
    members = np.arange(1, BAGGED + 1)
    mean = running_mean(on_test)
    return Result(
        bag_train=wrong(running_mean(on_train), y),
        bag_test=wrong(mean, y_test),
        bag_left_out=left_out_errors(bag, on_train, y),
        brier_test=2 * ((mean - y_test) ** 2).mean(axis=1),
        brier_foretold=correlated_error(found.v, found.c, members),
        boost_train=np.array([(answers != y).mean() for answers in boost.staged_predict(X)]),
        boost_test=np.array([(a != y_test).mean() for a in boost.staged_predict(X_test)]),
        boost_bound=training_error_bound(boost.estimator_errors_, cumulative=True),
    )


def rows() -> tuple[np.ndarray, ...]:
    """Half of the digits to learn from and half to test on.

    Not the parts of the original files: their test digits are by other writers, so that rows left
    out in training, by the same writers, would be too easy a test.
    """
    parts = [load_optdigits(part=part) for part in ("train", "test")]
    # Arrays, since the members of scikit-learn's bag know no names of columns.
    X = np.concatenate([np.asarray(part.data) for part in parts])
    y = np.concatenate([part.target % 2 for part in parts])
    order = np.random.default_rng(0).permutation(len(y))
    learn, test = order[::2], order[1::2]
    return X[learn], y[learn], X[test], y[test]


def odd_shares(bag: BaggingClassifier, X: np.ndarray) -> np.ndarray:
    """What every member gives for the class "odd", shape (members, rows)."""
    return np.array([member.predict_proba(X)[:, 1] for member in bag.estimators_])


def running_mean(shares: np.ndarray) -> np.ndarray:
    """The mean of the first members, for every number of them."""
    return np.cumsum(shares, axis=0) / np.arange(1, len(shares) + 1)[:, None]


def wrong(means: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Share of rows on the wrong side of one half, for every number of members."""
    return ((means > 0.5) != y).mean(axis=1)


def left_out_errors(bag: BaggingClassifier, shares: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Every row judged by those of the first members that did not see it."""
    is_out = (
        np.array([np.bincount(rows, minlength=len(y)) for rows in bag.estimators_samples_]) == 0
    )
    n_out = np.cumsum(is_out, axis=0)
    sums = np.cumsum(np.where(is_out, shares, 0.0), axis=0)
    is_wrong = (sums > 0.5 * n_out) != y
    return np.array([w[n > 0].mean() for w, n in zip(is_wrong, n_out, strict=True)])


def describe(result: Result) -> str:
    """The ends of the curves."""
    return (
        f"bagging: {100 * result.bag_test[0]:.1f} % of new rows wrong with 1 tree, "
        f"{100 * result.bag_test[-1]:.1f} % with {BAGGED}\n"
        f"boosting: {100 * result.boost_test[0]:.1f} % with 1 stump, "
        f"{100 * result.boost_test[-1]:.1f} % with {BOOSTED}"
    )


def draw(result: Result):
    """Errors of the bag, its squared error against the formula, errors of boosting."""
    import matplotlib.pyplot as plt
    from pictures import BLUE, GREEN, GREY, ORANGE

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    bagged, boosted = np.arange(1, BAGGED + 1), np.arange(1, len(result.boost_test) + 1)
    left.plot(bagged, 100 * result.bag_test, color=BLUE, label="new rows")
    left.plot(bagged, 100 * result.bag_left_out, color=GREEN, ls="--", label="rows left out")
    left.plot(bagged, 100 * result.bag_train, color=ORANGE, ls=":", label="training rows")
    left.set(title="bagging of full trees", ylabel="wrong, %")
    middle.plot(bagged, result.brier_test, color=BLUE, label="new rows")
    middle.plot(
        bagged, result.brier_foretold, color=GREY, ls="--",
        label="v/K + (K - 1)c/K, from rows left out",
    )  # fmt: skip
    middle.set(title="the same: squared error of probabilities", ylabel="squared error")
    right.plot(boosted, 100 * result.boost_test, color=BLUE, label="new rows")
    right.plot(boosted, 100 * result.boost_train, color=ORANGE, ls=":", label="training rows")
    right.plot(
        boosted, 100 * result.boost_bound, color=GREY, ls="--",
        label=r"bound $\prod 2\sqrt{e(1-e)}$",
    )  # fmt: skip
    right.set(title="AdaBoost of stumps", ylabel="wrong, %")
    for axes in (left, middle, right):
        axes.set(xlabel="members", ylim=(0, None), xlim=(0, None))
        axes.legend(frameon=False, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    from pictures import run

    run(compute, draw, describe, "members")

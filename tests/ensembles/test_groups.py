"""Groups of rows that are sampled, held out and out-of-bag together."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from weald import (
    BaggingClassifier,
    BaggingRegressor,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RotationForestClassifier,
    RotationForestRegressor,
)
from weald.data import Rows
from weald.ensembles.forests import auto_settings
from weald.ensembles.out_of_bag import oob_pruning
from weald.ensembles.rounds.loop import Training, prepare

N, N_GROUPS = 120, 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).round(1)
Y = X[:, 0] + np.abs(X[:, 1]) + RNG.normal(size=N) / 4
GROUPS = RNG.integers(0, N_GROUPS, N)
ORDER = RNG.permutation(N)
# The first row of each group.
FIRST = np.array([np.flatnonzero(np.equal(GROUPS, g))[0] for g in range(N_GROUPS)])
NAMES = np.array([f"patient {k}" for k in range(N_GROUPS)])[GROUPS]

BAGS = [
    RandomForestRegressor(6, min_samples_leaf=2, max_features=2),
    RandomForestRegressor(6),  # selects its settings by out-of-bag error
    RandomForestClassifier(6, min_samples_leaf=2, max_features=2),
    ExtraTreesRegressor(6, bootstrap=True),
    ExtraTreesClassifier(6, bootstrap=True),
    RotationForestRegressor(4, bootstrap=True),
    RotationForestClassifier(4, bootstrap=True),
    BaggingRegressor(n_estimators=6),
    BaggingRegressor(LinearRegression(), 6),
    BaggingClassifier(GaussianNB(), 6),
]
every_bag = pytest.mark.parametrize("bag", BAGS, ids=lambda model: type(model).__name__)

BOOSTED: list[Any] = [
    BoostedTreesRegressor(quality="fast", n_estimators=6, subsample=0.5),
    BoostedTreesRegressor(quality="fast", n_estimators=6, early_stopping=True),
    BoostedTreesRegressor(quality="fast", n_estimators=6, n_bags=3),
    BoostedTreesRegressor(
        quality="fast", n_estimators=6, n_bags=3, early_stopping=True, subsample=0.7
    ),
    BoostedTreesClassifier(quality="fast", n_estimators=6, early_stopping=True, subsample=0.5),
    BoostedTreesClassifier(quality="fast", n_estimators=6, n_bags=2),
    GradientBoostingRegressor(n_estimators=6, subsample=0.5),
    GradientBoostingRegressor(n_estimators=6, n_iter_no_change=3),
    GradientBoostingClassifier(n_estimators=6, n_iter_no_change=3, subsample=0.7),
]
every_booster = pytest.mark.parametrize("booster", BOOSTED, ids=str)

# No rows are sampled or held out.
DRAW_NOTHING = [
    RandomForestRegressor(2, bootstrap=False),
    ExtraTreesClassifier(2),
    RotationForestRegressor(2),
    BaggingRegressor(n_estimators=2, bootstrap=False),
    BaggingClassifier(GaussianNB(), 2, bootstrap=False),
    BoostedTreesRegressor(quality="fast", n_estimators=2),
    BoostedTreesClassifier(quality="fast", n_estimators=2, max_features=1),
    GradientBoostingRegressor(n_estimators=2),
    GradientBoostingClassifier(n_estimators=2),
]


def seeded(model: Any, **settings: Any) -> Any:
    return clone(model).set_params(random_state=0, **settings)


def target(model: Any) -> np.ndarray:
    return np.digitize(Y, [0.3, 1.0]) if hasattr(model, "predict_proba") else Y


def predicted(model: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def are_whole(values: np.ndarray, groups: np.ndarray = GROUPS) -> bool:
    """Whether all rows of a group have the same value."""
    return all(len(set(values[groups == g].tolist())) == 1 for g in np.unique(groups))


def counts_of(model: Any) -> np.ndarray:
    return model.oob_.in_bag.toarray()


# ---- bags and forests ----


@every_bag
@pytest.mark.parametrize(
    ("draws", "n_drawn"),
    [
        ({}, N_GROUPS),
        ({"max_samples": 5}, 5),
        ({"max_samples": 0.5}, N_GROUPS // 2),
        ({"bootstrap": False, "max_samples": 0.75}, 9),
    ],
    ids=str,
)
def test_whole_groups_are_in_a_bag_or_out_of_it(bag: Any, draws: dict, n_drawn: int) -> None:
    model = seeded(bag, **draws).fit(X, target(bag), groups=NAMES)
    for counts in counts_of(model):
        assert are_whole(counts)
        assert counts[FIRST].sum() == n_drawn
        assert model.bootstrap or counts.max() == 1
    assert len(np.unique(counts_of(model), axis=0)) > 1


@every_bag
def test_labels_of_any_kind_and_rows_in_any_order(bag: Any) -> None:
    y = target(bag)
    for labels in (GROUPS, NAMES):
        expected = predicted(seeded(bag).fit(X, y, groups=labels))
        shuffled = seeded(bag).fit(X[ORDER], y[ORDER], groups=labels[ORDER])
        assert np.array_equal(predicted(shuffled), expected)
        assert np.array_equal(predicted(seeded(bag).fit(X, y, groups=labels.tolist())), expected)
    as_floats = predicted(seeded(bag).fit(X, y, groups=GROUPS.astype(float)))
    assert np.array_equal(as_floats, predicted(seeded(bag).fit(X, y, groups=GROUPS)))


def test_groups_are_drawn_alike_and_rows_keep_their_weights() -> None:
    weight = np.where(GROUPS == 0, 100.0, RNG.integers(1, 4, N))
    model = RandomForestRegressor(300, max_features=2, min_samples_leaf=1, random_state=0)
    model.fit(X, Y, weight, groups=GROUPS)
    plain = clone(model).fit(X, Y, groups=GROUPS)
    drawn = np.zeros(N_GROUPS)
    for number in range(300):
        counts = model.in_bag_counts(number)
        assert np.array_equal(counts, plain.in_bag_counts(number))
        assert model.forest_.tree(number).weight[0] == (counts * weight).sum()
        drawn += counts[FIRST]
    # Five standard deviations: all groups are equally probable, whatever the row weights.
    assert (np.abs(drawn - 300) < 5 * np.sqrt(300)).all()


def test_rows_without_weight_are_in_no_group() -> None:
    weight = np.where(GROUPS == 3, 0.0, 1.0)
    model = RandomForestRegressor(5, random_state=0).fit(X, Y, weight, groups=GROUPS)
    kept = weight > 0
    fewer = clone(model).fit(X[kept], Y[kept], groups=GROUPS[kept])
    assert model.fingerprint() == fewer.fingerprint()
    counts = counts_of(model)
    assert not counts[:, ~kept].any()
    assert np.array_equal(counts[:, kept], counts_of(fewer))


def repeated_measurements(n_groups: int = 60, each: int = 8) -> tuple[np.ndarray, ...]:
    """The target is noise per group, and one column nearly identifies the group."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(n_groups), each)
    table = np.column_stack([rng.permutation(n_groups)[groups], rng.normal(size=len(groups))])
    return table, rng.normal(size=n_groups)[groups], groups


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(60, max_features=None, min_samples_leaf=1),
        BaggingRegressor(n_estimators=60),
    ],
    ids=lambda model: type(model).__name__,
)
def test_repeated_measurements_do_not_flatter_the_score_out_of_bag(model: Any) -> None:
    table, y, groups = repeated_measurements()
    model = seeded(model, oob_score=True)
    assert model.fit(table, y).oob_score_ > 0.9
    assert model.fit(table, y, groups=groups).oob_score_ < 0.0


@pytest.mark.parametrize("bootstrap", [True, False])
def test_settings_of_large_tables_are_chosen_by_whole_groups(
    monkeypatch: pytest.MonkeyPatch, bootstrap: bool
) -> None:
    monkeypatch.setattr(auto_settings, "_MOST_DRAWS", 30)
    monkeypatch.setattr(auto_settings, "_MOST_ROWS", 50)
    tried: list[Any] = []
    real = auto_settings._fewer

    def noted(*arguments: Any) -> Any:
        tried.append(real(*arguments))
        return tried[-1]

    monkeypatch.setattr(auto_settings, "_fewer", noted)
    draws = {"bootstrap": bootstrap, "max_samples": None if bootstrap else 0.75}
    model = RandomForestRegressor(5, random_state=0, **draws)
    expected = model.fit(X, Y, groups=GROUPS).auto_trials_
    few = tried[0]
    sizes = np.bincount(GROUPS)
    some = {row.tobytes() for row in few.rows.table}
    chosen = [g for g, row in enumerate(X[FIRST]) if row.tobytes() in some]
    assert few.rows.n == sizes[chosen].sum() < N
    assert few.samples.n_units == len(chosen)
    for number in range(5):
        assert are_whole(few.samples.drawn(number), few.ordered.groups.of_row)
    assert np.isfinite([one["oob_error"] for one in expected]).all()
    again = model.fit(X[ORDER], Y[ORDER], groups=GROUPS[ORDER]).auto_trials_
    assert again == expected


@pytest.mark.parametrize("kind", [RandomForestRegressor, BaggingRegressor])
def test_whole_groups_select_the_pruning_or_validate_it(
    monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    """Rows of one group in both halves would bias the error estimate of the pruning."""
    steering = np.zeros(N, dtype=bool)
    real = oob_pruning._prune

    def noted(tree: Any, leaf_of_row: Any, wanted: np.ndarray, weight: Any) -> Any:
        steering[np.isin(Y, wanted[:, 0])] = True
        return real(tree, leaf_of_row, wanted, weight)

    monkeypatch.setattr(oob_pruning, "_prune", noted)
    assert len(np.unique(Y)) == N
    model = kind(n_estimators=40, oob_score=True, random_state=0).fit(X, Y, groups=GROUPS)
    model.prune_oob(X, Y)
    assert 0 < steering.sum() < N
    assert are_whole(steering)


# ---- boosting ----


def prepared(**settings: Any) -> Training:
    rows = Rows(X, Y).in_groups(GROUPS, np.ones(N, dtype=bool))
    usual = {"fraction": 1.0, "held_fraction": None, "asked_by": "early_stopping=False"}
    usual |= {"random_state": 0, "strata": False, "n_threads": 1}
    return prepare(rows, **{**usual, **settings})


def groups_in(training: Training) -> np.ndarray:
    """Group of each row of a fit, in the order of the fit."""
    assert training.rows.groups is not None
    return training.rows.groups.of_row


def test_a_round_samples_whole_groups() -> None:
    training = prepared(fraction=0.5)
    rounds = [training.drawn(0.5, number)[0] for number in range(20)]
    for drawn in rounds:
        assert are_whole(drawn, groups_in(training)) and 0 < drawn.sum() < N
        left = training.not_drawn(drawn)
        assert np.array_equal(left + drawn, np.ones(N, dtype=np.int64))
    assert len(np.unique(rounds, axis=0)) > 10


@pytest.mark.parametrize("held", [0.1, 0.4])
def test_whole_groups_are_held_out(held: float) -> None:
    training = prepared(held_fraction=held, fraction=0.5)
    assert are_whole(training.held_out, groups_in(training))
    assert training.held_out.mean() == pytest.approx(held, abs=GROUPS.size / N_GROUPS / N)
    for number in range(5):
        assert not training.drawn(0.5, number)[0][training.held_out].any()


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.filterwarnings("ignore:.* no effect:weald.errors.WealdWarning")
def test_boosters_draw_whole_groups(stops: bool) -> None:
    model = BoostedTreesRegressor(
        quality="fast", n_estimators=3, n_bags=8, early_stopping=stops, random_state=0
    ).fit(X, Y, groups=NAMES)
    for seen in model.oob_.in_bag:
        assert are_whole(seen)
        assert 0.7 * N_GROUPS < seen[FIRST].sum() < 0.9 * N_GROUPS
    assert len(np.unique(counts_of(model), axis=0)) == 8


def test_folds_of_groups_do_not_depend_on_weights() -> None:
    """That boosters use the weights: boosting/test_fold_boosters.py, against a reference."""
    weight = RNG.integers(1, 5, N).astype(float)
    settings: dict[str, Any] = {"n_estimators": 3, "min_samples_leaf": 1, "random_state": 0}
    bags = BoostedTreesRegressor(quality="fast", n_bags=3, **settings).fit(
        X, Y, weight, groups=GROUPS
    )
    plain = BoostedTreesRegressor(quality="fast", n_bags=3, **settings).fit(X, Y, groups=GROUPS)
    assert np.array_equal(counts_of(bags), counts_of(plain))


@every_booster
def test_boosters_do_not_depend_on_row_order(booster: Any) -> None:
    y, weight = target(booster), RNG.integers(1, 4, N)
    for labels in (GROUPS, NAMES):
        expected = seeded(booster).fit(X, y, weight, groups=labels).fingerprint()
        other = seeded(booster).fit(X[ORDER], y[ORDER], weight[ORDER], groups=labels[ORDER])
        assert other.fingerprint() == expected
    assert seeded(booster).fit(X, y, weight).fingerprint() != expected


@pytest.mark.parametrize(
    "model",
    [
        BoostedTreesRegressor(
            quality="fast", n_estimators=60, early_stopping=True, min_samples_leaf=1, random_state=0
        ),
        GradientBoostingRegressor(n_estimators=60, n_iter_no_change=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_repeated_measurements_stop_a_fit_early(model: Any) -> None:
    table, y, groups = repeated_measurements()
    assert model.fit(table, y).n_estimators_ > 40
    assert model.fit(table, y, groups=groups).n_estimators_ < 15


def test_repeated_measurements_do_not_flatter_a_round() -> None:
    table, y, groups = repeated_measurements()
    model = GradientBoostingRegressor(n_estimators=10, subsample=0.7, random_state=0)
    assert model.fit(table, y).oob_improvement_.sum() > 0.2 * y.var()
    assert model.fit(table, y, groups=groups).oob_improvement_.sum() < 0.0


# ---- errors ----


@pytest.mark.parametrize("model", [*BAGS, *BOOSTED], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "groups",
    [
        [*NAMES[:-1].tolist(), None],
        np.r_[GROUPS[:-1].astype(float), np.nan],
        GROUPS[:-1],
        np.append(GROUPS, 1),
        GROUPS[:, np.newaxis],
        "patient",
    ],
    ids=["None", "NaN", "too few", "too many", "a column", "one label"],
)
def test_wrong_groups_are_refused(model: Any, groups: Any) -> None:
    with pytest.raises(ValueError, match=r"groups must (hold one label for each of the 120|not)"):
        seeded(model).fit(X, target(model), groups=groups)


def test_missing_labels_of_pandas_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    for labels in (
        pandas.Series([*NAMES[:-1], None], dtype="string"),
        pandas.Series([*GROUPS[:-1], None], dtype="Int64"),
        pandas.Categorical([*NAMES[:-1], None]),
    ):
        with pytest.raises(ValueError, match="groups must not hold missing values: row 119"):
            RandomForestRegressor(2).fit(X, Y, groups=labels)
    model = RandomForestRegressor(2, random_state=0)
    expected = model.fit(X, Y, groups=NAMES).fingerprint()
    for labels in (pandas.Series(NAMES, dtype="string"), pandas.Categorical(NAMES)):
        assert model.fit(X, Y, groups=labels).fingerprint() == expected


@pytest.mark.parametrize("model", DRAW_NOTHING, ids=lambda model: type(model).__name__)
def test_groups_are_refused_where_nothing_is_drawn(model: Any) -> None:
    with pytest.raises(ValueError, match="groups says which rows are drawn"):
        seeded(model).fit(X, target(model), groups=GROUPS)


def test_groups_are_refused_where_the_user_holds_rows_out() -> None:
    model = BoostedTreesRegressor(quality="fast", n_estimators=2, early_stopping=True)
    with pytest.raises(ValueError, match="no rows are drawn or held out"):
        model.fit(X, Y, X_val=X, y_val=Y, groups=GROUPS)
    model.set_params(subsample=0.5).fit(X, Y, X_val=X, y_val=Y, groups=GROUPS)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (BoostedTreesRegressor(quality="fast", early_stopping=True), "early_stopping"),
        (GradientBoostingRegressor(n_iter_no_change=3), "n_iter_no_change"),
    ],
    ids=["boosted", "gradient"],
)
def test_one_group_cannot_be_parted(model: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} needs at least two groups.*give more groups"):
        model.fit(X, Y, groups=np.zeros(N))


@pytest.mark.parametrize("max_samples", [N_GROUPS + 1, 1.5])
def test_more_groups_than_there_are_cannot_be_drawn_without_replacement(max_samples) -> None:
    models = [RandomForestRegressor(2), BaggingRegressor(LinearRegression(), 2)]
    for model in models[: 2 if isinstance(max_samples, int) else 1]:
        model.set_params(bootstrap=False, max_samples=max_samples)
        with pytest.raises(ValueError, match=f"n_samples={N_GROUPS} .* of {N_GROUPS} groups"):
            model.fit(X, Y, groups=GROUPS)
